"""The programs of docs/other-languages.md send and run jobs, where their languages are there."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar, Final

import pytest

from ojs_aws import Job, RetryPolicy, SyncClient
from ojs_aws.client.results import JobFailedError
from ojs_aws.middleware.context import JobContext
from ojs_aws.testing import OjsServer
from ojs_aws.worker.delivery.answers import DeliveryError, EndpointError, WrongEndpointError
from ojs_aws.worker.delivery.endpoint import HttpDelivery
from tests.lambda_runtimes import tool
from tests.load import HUNG_S, wait_until

pytestmark = pytest.mark.thorough

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "other-languages.md").read_text("utf-8")
DRIVERS: Final = ROOT / "tests" / "clients" / "drivers"
DONE: Final = 'completed {"sent_to":"ada@example.com"}'


def save(folder: Path) -> None:
    """Write the programs of the page."""
    files = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert {name for name, _ in files} == {
        "ojs.mjs", "send.mjs", "worker.mjs", "main.go", "worker.sh", "worker.py", "endpoint.py",
    }  # fmt: skip
    for name, text in files:
        (folder / name).write_text(text)


def sent(folder: Path, url: str, send: list[str], work: list[str]) -> str:
    """What the program prints that sends, while the other one works."""
    environ = {**os.environ, "OJS_URL": url}
    environ.pop("OJS_API_KEY", None)
    worker = subprocess.Popen(work, cwd=folder, env=environ)
    try:
        done = subprocess.run(
            send, cwd=folder, env=environ, check=True, capture_output=True, text=True,
            timeout=HUNG_S,
        )  # fmt: skip
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(timeout=HUNG_S)
    return done.stdout.strip()


def test_node_sends_and_runs_a_job(tmp_path: Path, ojs_server: OjsServer) -> None:
    """By plain HTTP, from push to ACK."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node here")
    save(tmp_path)
    found = sent(tmp_path, ojs_server.url, [node, "send.mjs"], [node, "worker.mjs"])
    assert found == DONE


@pytest.mark.slow
def test_go_sends_and_runs_a_job(tmp_path: Path, ojs_server: OjsServer) -> None:
    """Built once, because the compiler takes its time."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go here")
    save(tmp_path)
    subprocess.run([go, "build", "-o", "jobs", "main.go"], cwd=tmp_path, check=True)
    program = str(tmp_path / "jobs")
    assert sent(tmp_path, ojs_server.url, [program], [program, "work"]) == DONE


def test_python_without_the_package_runs_jobs(tmp_path: Path, ojs_server: OjsServer) -> None:
    """With nothing but its own library: a result, and a failure of an unknown type."""
    save(tmp_path)
    environ = {**os.environ, "OJS_URL": ojs_server.url}
    environ.pop("OJS_API_KEY", None)
    worker = subprocess.Popen([sys.executable, "-I", "worker.py"], cwd=tmp_path, env=environ)
    try:
        with SyncClient(ojs_server.url) as client:
            sent = client.enqueue("email.send", ["ada@example.com"], queue="email")
            assert client.result(sent.job.id, timeout_s=HUNG_S) == {"sent_to": "ada@example.com"}
            once = RetryPolicy(max_attempts=1)
            unknown = client.enqueue("email.unknown", [], queue="email", retry=once)
            with pytest.raises(JobFailedError, match=r"email\.unknown"):
                client.result(unknown.job.id, timeout_s=HUNG_S)
    finally:
        worker.kill()
        worker.wait(timeout=HUNG_S)


def test_python_without_the_package_is_an_endpoint(tmp_path: Path) -> None:
    """Which refuses what is not signed by its key."""
    save(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environ = {**os.environ, "PORT": port, "OJS_SIGNING_SECRET": "key"}
    program = [sys.executable, "-I", "endpoint.py"]
    endpoint = subprocess.Popen(program, cwd=tmp_path, env=environ, stderr=subprocess.DEVNULL)

    def deliver(key: str, job_type: str = "email.send") -> object:
        url = f"http://127.0.0.1:{port}/jobs"
        job = Job(job_type, ["ada@example.com"], id="01a21c99-0000-7000-8000-000000000001")
        return HttpDelivery(url, signing_keys=lambda: [key], timeout_s=HUNG_S)(JobContext(job))

    try:
        ends_at, found = time.monotonic() + HUNG_S, None
        while found is None:
            try:
                found = deliver("key")
            except DeliveryError:
                assert time.monotonic() < ends_at
                time.sleep(0.05)
        assert found == {"sent_to": "ada@example.com"}
        with pytest.raises(WrongEndpointError, match="authentication"):
            deliver("other")
        with pytest.raises(EndpointError, match=r"email\.unknown"):
            deliver("key", "email.unknown")
    finally:
        endpoint.kill()
        endpoint.wait(timeout=HUNG_S)


def test_a_shell_script_runs_jobs(tmp_path: Path, ojs_server: OjsServer) -> None:
    """It reports a result and a failure, and ends on SIGTERM."""
    shell, *_ = [tool(each) for each in ("sh", "curl", "jq")]
    save(tmp_path)
    environ = {**os.environ, "OJS_URL": ojs_server.url}
    environ.pop("OJS_API_KEY", None)
    worker = subprocess.Popen([shell, "worker.sh"], cwd=tmp_path, env=environ)
    try:
        with SyncClient(ojs_server.url) as client:
            address = 'a"b\\n@example.com'
            sent = client.enqueue("email.send", [address], queue="email")
            once = RetryPolicy(max_attempts=1)
            other = client.enqueue("email.other", [address], queue="email", retry=once)
            assert client.wait(sent.id, timeout_s=HUNG_S) == {"sent_to": address}
            with pytest.raises(JobFailedError, match="ExitStatus: 64"):
                client.wait(other.id, timeout_s=HUNG_S)
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=HUNG_S) == 0


def test_the_examples_of_the_sdks_name_what_their_drivers_call() -> None:
    """The drivers run against the SDKs themselves (`python -m tests.clients`)."""
    blocks = re.findall(r"<!-- sdk: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    for driver, code in blocks:
        text = (DRIVERS / driver).read_text()
        names = re.findall(r"(?:ojs\.|new |\bworker\.|\bclient\.)(\w+)", code)
        assert names
        assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


class Busy(BaseHTTPRequestHandler):
    """Answers 503 to the first FETCH and the first ACK, and has a job for each other FETCH."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """Note what is asked."""
        self.rfile.read(int(self.headers["Content-Length"]))
        is_first = self.path not in self.asked
        self.asked.append(self.path)
        job = {"id": "1", "type": "email.send", "args": ["a"], "reservation_id": "r"}
        body = json.dumps({"error": {"code": "c", "message": "m"}} if is_first else {"jobs": [job]})
        self.send_response(503 if is_first else 200)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    "name", ["worker.mjs", pytest.param("main.go", marks=pytest.mark.slow), "worker.py"]
)
def test_a_worker_of_the_page_outlives_a_busy_server(tmp_path: Path, name: str) -> None:
    """It asks again after a FETCH that failed, and fetches the next job after an ACK that did."""
    save(tmp_path)
    command = [tool("node"), name] if name == "worker.mjs" else [sys.executable, "-I", name]
    if name == "main.go":
        subprocess.run([tool("go"), "build", "-o", "jobs", name], cwd=tmp_path, check=True)
        command = [str(tmp_path / "jobs"), "work"]
    Busy.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        environ = {**os.environ, "OJS_URL": f"http://127.0.0.1:{server.server_address[1]}"}
        worker = subprocess.Popen(command, cwd=tmp_path, env=environ)
        try:
            acks = "/ojs/v1/workers/ack"
            wait_until(lambda: worker.poll() is not None or Busy.asked.count(acks) > 1)
            assert worker.poll() is None
        finally:
            worker.kill()
            worker.wait(timeout=HUNG_S)
            server.shutdown()
