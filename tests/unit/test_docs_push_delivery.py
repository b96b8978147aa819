"""The endpoints of docs/push-delivery.md run delivered jobs, where their languages are there."""

from __future__ import annotations

import os
import re
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from ojs_aws import SyncClient
from ojs_aws.domain.job import JobState
from ojs_aws.testing import OjsServer
from ojs_aws.worker.delivery.answers import COOLDOWN_S
from ojs_aws.worker.delivery.endpoint import HttpDelivery
from ojs_aws.worker.delivery.handlers import DeliveringHandler
from tests.lambda_runtimes import tool
from tests.load import HUNG_S, wait_until
from tests.unit.worker.delivery import test_tls
from tests.unit.worker.test_lambda_worker import Bench

pytestmark = pytest.mark.thorough
trusted = test_tls.trusted

PAGE: Final = (Path(__file__).parents[2] / "docs" / "push-delivery.md").read_text("utf-8")
KEY: Final = "whsec_test"
JOBS: Final = 25
MANY: Final = 1000
BATCHES_A_KILL: Final = 9


def program(name: str, *arguments: str) -> list[str]:
    """The command that runs a program; the test is skipped where it is missing."""
    return [tool(name), *arguments]


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody serves a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(command: Sequence[str], folder: Path, environ: dict[str, str]) -> Iterator[None]:
    """A process that ends with the block."""
    process = subprocess.Popen(command, cwd=folder, env=environ)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=HUNG_S)


def deliver(folder: Path, server: OjsServer, command: Sequence[str], *options: str) -> None:
    """Let an endpoint run jobs, and compare their results."""
    port = free_port()
    environ = {**os.environ, "OJS_SIGNING_SECRET": KEY, "PORT": str(port), "OJS_URL": server.url}
    environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    environ.pop("OJS_API_KEY", None)
    url = f"http://127.0.0.1:{port}/jobs"
    worker = [sys.executable, "-m", "ojs_aws.cli", "deliver", url, "--queue", "email", *options]
    with running(command, folder, environ), running(worker, folder, environ):
        wait_until(lambda: listens(port))
        with SyncClient(server.url) as client:
            jobs = [
                client.enqueue("email.send", [f"{number}@example.com"], queue="email")
                for number in range(JOBS)
            ]
            for number, job in enumerate(jobs):
                result = client.wait(job.id, timeout_s=HUNG_S)
                assert result == {"sent_to": f"{number}@example.com"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the programs of the page."""
    files = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    for name, text in files:
        (tmp_path / name).write_text(text)
    assert {name for name, _ in files} == {
        "endpoint.mjs", "endpoint.go", "Endpoint.java", "delivery_stack.py",
    }  # fmt: skip
    return tmp_path


def test_an_endpoint_in_node_runs_jobs(folder: Path, ojs_server: OjsServer) -> None:
    """It checks the signature, and answers results."""
    deliver(folder, ojs_server, program("node", "endpoint.mjs"))


def test_an_endpoint_in_node_reports_later(folder: Path, ojs_server: OjsServer) -> None:
    """With the lines of the page in the place of those that answer the outcome."""
    node = program("node", "endpoint.mjs")
    parts = dict(re.findall(r"<!-- part: ([\w ]+) -->\n```js\n(.*?)```", PAGE, re.DOTALL))
    endpoint = folder / "endpoint.mjs"
    answers = re.compile(r"  response\.setHeader.*?\n  response\.end\(JSON.*?\n", re.DOTALL)
    after = answers.sub(lambda _: parts["the answer"], endpoint.read_text()) + parts["the report"]
    assert after.count("202") == 1
    endpoint.write_text(after)
    deliver(folder, ojs_server, node, "--report-within", "60")


@pytest.mark.slow
def test_an_endpoint_in_go_runs_jobs(folder: Path, ojs_server: OjsServer) -> None:
    """Built once, because the compiler takes its time."""
    build = program("go", "build", "-o", "endpoint", "endpoint.go")
    subprocess.run(build, cwd=folder, check=True)
    deliver(folder, ojs_server, [str(folder / "endpoint")])


@pytest.mark.slow
def test_an_endpoint_in_java_runs_jobs(folder: Path, ojs_server: OjsServer) -> None:
    """Run from its source, which takes a compiler's start."""
    deliver(folder, ojs_server, program("java", "Endpoint.java"))


# --------------------------------------------------------------- a thousand jobs, with kills


@contextmanager
def encrypted(port: int, certificate: tuple[Path, Path]) -> Iterator[str]:
    """Serve HTTPS for a program, as a load balancer does; return the URL of its jobs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            """Pass on what both say, until one of them is gone."""
            with suppress(OSError):
                inner = socket.create_connection(("127.0.0.1", port))
                with inner, context.wrap_socket(self.request, server_side=True) as outer:
                    answers = threading.Thread(target=pump, args=(inner, outer), daemon=True)
                    answers.start()
                    pump(outer, inner)

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65_536):
                sink.sendall(part)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"https://localhost:{server.server_address[1]}/jobs"
        server.shutdown()


@dataclass
class Endpoint:
    """An endpoint of the page, which can be killed and started again."""

    command: list[str]
    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, unless it runs, and wait until it serves."""
        if self.process is None:
            environ = {**os.environ, "OJS_SIGNING_SECRET": KEY, "PORT": str(self.port)}
            self.process = subprocess.Popen(self.command, cwd=self.folder, env=environ)
            wait_until(lambda: listens(self.port))

    def kill(self) -> None:
        """Kill it, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=HUNG_S)
            self.process = None


def command_of(language: str, folder: Path) -> list[str]:
    """Build an endpoint, and return the command that starts it."""
    if language == "node":
        return program("node", "endpoint.mjs")
    if language == "go":
        build = program("go", "build", "-o", "endpoint", "endpoint.go")
        subprocess.run(build, cwd=folder, check=True)
        return [str(folder / "endpoint")]
    subprocess.run(program("javac", "Endpoint.java"), cwd=folder, check=True)
    return program("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "Endpoint")


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A worker of the queue `email` over an AWS in memory."""
    made = Bench(queue="email")
    yield made
    made.worker._loop.close()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["node", "go", "java"])
def test_each_job_has_one_outcome_whatever_is_killed(
    language: str, folder: Path, bench: Bench, trusted: test_tls.Authority
) -> None:
    """Endpoints are killed before a batch of jobs and in the middle of one, by turns."""
    endpoint = Endpoint(command_of(language, folder), folder)
    with encrypted(endpoint.port, trusted.certificate("localhost")) as url:
        deliver_all(endpoint, url, bench)


def deliver_all(endpoint: Endpoint, url: str, bench: Bench) -> None:
    """Deliver a thousand jobs, and look at their outcomes."""
    clock = bench.world.clock
    delivery = HttpDelivery(
        url,
        signing_keys=lambda: [KEY],
        timeout_s=HUNG_S,
        monotonic=lambda: clock.at / 1000,
    )
    handler = DeliveringHandler("email.*", delivery, is_async=False, signature=None)
    bench.worker.registry.add_pattern(handler)
    retry = {"max_attempts": 20}
    ids = [bench.push("email.send", f"{each}@example.com", retry=retry) for each in range(MANY)]
    batches = 0
    try:
        while bench.left():
            endpoint.start()
            batches += 1
            is_killed = batches % BATCHES_A_KILL == 0
            if is_killed and batches % 2:
                endpoint.kill()
            killer = threading.Timer(0.005, endpoint.kill)
            if is_killed:
                killer.start()
            bench.invoke()
            if is_killed:
                killer.join()
            clock.at += round(1000 * COOLDOWN_S) if is_killed else 1000
    finally:
        endpoint.kill()
    done = [bench.job(each) for each in ids]
    assert [each.state for each in done] == [JobState.COMPLETED] * MANY
    assert [str(each.result) for each in done] == [
        f'{{"sent_to":"{each}@example.com"}}' for each in range(MANY)
    ]
    lost = [failure.type for each in done for failure in each.failures]
    assert lost.count("NoAnswer") >= batches // BATCHES_A_KILL
