"""A worker as a process of its own, ended by real signals; and finding workers by path."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ojs_aws.worker import LambdaWorker, Worker, load_worker, run_from_path
from ojs_aws.worker.paths import WorkerPathError
from tests.load import HUNG_S, wait_until
from tests.unit.client.doubles import JOB_ID

pytestmark = pytest.mark.thorough

PROGRAM = """
import asyncio, sys, time
from ojs_aws.worker import Worker

worker = Worker(sys.argv[1], queues=["q"], grace_s=float(sys.argv[3]), middleware=[])

@worker.handler("a.stubborn")
async def ignore(ctx, seconds):
    print("begun", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            pass

@worker.handler("a.b")
def handle(ctx, seconds):
    print("begun", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
    return "done"

worker.run()
print("ended", flush=True)
"""


class Server(ThreadingHTTPServer):
    """Gives out one job, and remembers what it learns of it."""

    daemon_threads = True

    def __init__(self, seconds: float, job_type: str = "a.b") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        job = {"id": JOB_ID, "type": job_type, "queue": "q", "args": [seconds], "attempt": 1}
        self.jobs = [job]
        self.received: list[tuple[str, dict[str, Any]]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.rpartition("/")[2]
        server.received.append((verb, body))
        answer: dict[str, Any] = {"state": "running"}
        if verb == "fetch":
            answer, server.jobs = {"jobs": server.jobs}, []
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    running: list[tuple[subprocess.Popen[str], Server]] = []

    def launch(
        seconds: float, grace_s: float = 20.0, job_type: str = "a.b"
    ) -> tuple[subprocess.Popen[str], Server]:
        server, program = Server(seconds, job_type), tmp_path / "program.py"
        program.write_text(PROGRAM)
        process = subprocess.Popen(
            [sys.executable, str(program), server.url, "-", str(grace_s)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        running.append((process, server))
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        return process, server

    yield launch
    for process, server in running:
        process.kill()
        process.communicate()
        server.shutdown()
        server.server_close()


def verbs(server: Server) -> list[str]:
    return [verb for verb, _ in server.received]


def test_sigterm_lets_the_job_finish_and_ends_cleanly(start: Any) -> None:
    """WRK-011, GS-001: drained, acknowledged, exit code 0, no fetch afterwards."""
    process, server = start(0.5)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=HUNG_S)
    assert (process.returncode, out) == (0, "ended\n")
    assert dict(server.received)["ack"]["result"] == "done"
    states = [body["state"] for verb, body in server.received if verb == "heartbeat"]
    assert states[-1] == "terminate"
    draining = next(
        n for n, (_, body) in enumerate(server.received) if body.get("state") == "terminate"
    )
    # One may have been on its way when the signal came; requests are served side by side.
    assert verbs(server)[draining:].count("fetch") <= 1


@pytest.mark.parametrize("job_type", ["a.b", "a.stubborn"])
def test_the_grace_period_ends_a_process_whose_handler_does_not(start: Any, job_type: str) -> None:
    """WRK-011, WRK-012: it is gone long before the handler would be, and the job goes back."""
    process, server = start(2 * HUNG_S, grace_s=0.5, job_type=job_type)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=HUNG_S)
    assert process.returncode == 0
    assert "ack" not in verbs(server)
    said = dict(server.received)["nack"]
    assert (said["requeue"], said["error"]["type"]) == (True, "ShutdownError")


def test_a_second_signal_ends_at_once(start: Any) -> None:
    """However long the grace period is."""
    process, server = start(2 * HUNG_S, grace_s=2 * HUNG_S)
    process.send_signal(signal.SIGINT)
    wait_until(lambda: any(body.get("state") == "terminate" for _, body in [*server.received]))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HUNG_S)
    assert {"ack", "nack"}.isdisjoint(verbs(server))


def test_a_worker_is_found_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``module:attribute``, or ``module`` for its ``worker``."""
    (tmp_path / "found_jobs.py").write_text(
        "from ojs_aws.worker import LambdaWorker, Worker\n"
        "worker = LambdaWorker()\nother = Worker('http://localhost')\nnothing = 1\n"
    )
    (tmp_path / "broken_jobs.py").write_text("import does_not_exist\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert isinstance(load_worker("found_jobs"), LambdaWorker)
    assert isinstance(load_worker("found_jobs:other"), Worker)
    for path in ("found_jobs:nothing", "found_jobs:absent", "no_such_module:x"):
        with pytest.raises(WorkerPathError):
            load_worker(path)
    with pytest.raises(ModuleNotFoundError, match="does_not_exist"):
        load_worker("broken_jobs")
    with pytest.raises(WorkerPathError, match="only a Worker runs as a process"):
        run_from_path("found_jobs")
