"""The endpoints of docs/push-delivery.md run delivered jobs, where their languages are there."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from ojs_aws import SyncClient
from ojs_aws.testing import OjsServer
from tests.load import HUNG_S, wait_until

PAGE: Final = (Path(__file__).parents[2] / "docs" / "push-delivery.md").read_text("utf-8")
KEY: Final = "whsec_test"
JOBS: Final = 25


def program(tool: str, *arguments: str) -> list[str]:
    """The command that runs a program; the test is skipped where its tool is missing."""
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"there is no {tool} here")
    return [found, *arguments]


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


def deliver(folder: Path, server: OjsServer, command: Sequence[str]) -> None:
    """Let an endpoint run jobs, and compare their results."""
    port = free_port()
    environ = {**os.environ, "OJS_SIGNING_SECRET": KEY, "PORT": str(port), "OJS_URL": server.url}
    environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    environ.pop("OJS_API_KEY", None)
    url = f"http://127.0.0.1:{port}/jobs"
    worker = [sys.executable, "-m", "ojs_aws.cli", "deliver", url, "--queue", "email"]
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
