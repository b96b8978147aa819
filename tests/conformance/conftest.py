"""The server under test: the one named by OJS_TEST_URL, or a local one started for the session."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ojs_aws.cli.verify.conformance.runner import ConformanceRunner, open_client
from tests.load import HUNG_S

STOP_LIMIT_S = 15.0


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the server under test, without ``/ojs/v1``."""
    if given := os.environ.get("OJS_TEST_URL"):
        yield given.rstrip("/")
        return
    log = tmp_path_factory.mktemp("server") / "log.txt"
    port = _free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ojs_aws.cli", "local", "--port", str(port)],
            env={**os.environ, "OJS_TEST_MODE": "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_healthy(url, process, log)
        yield url
    finally:
        _stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + HUNG_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/ojs/v1/health", timeout=HUNG_S, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    pytest.fail(f"the local server did not start:\n{log.read_text('utf-8', 'replace')[-4000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def is_deployed() -> bool:
    """Whether the server is no local one in test mode: OJS_TEST_DEPLOYED is set to 1."""
    return os.environ.get("OJS_TEST_DEPLOYED") == "1"


@pytest.fixture(scope="session")
def run_name() -> str:
    """What keeps the queues of this run apart from those of others on the same server."""
    return secrets.token_hex(3)


@pytest.fixture(scope="session")
def http() -> Iterator[httpx.Client]:
    """A client that names itself as no known SDK."""
    with open_client() as client:
        yield client


@pytest.fixture(scope="session")
def runner(server_url: str, http: httpx.Client, run_name: str) -> ConformanceRunner:
    """A runner for our own cases."""
    return ConformanceRunner(server_url, http, run=run_name)
