"""A local server of its own for a benchmark: another process, on a free port, silent."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import httpx

ROOT: Final = Path(__file__).parents[1]
START_S: Final = 240.0
STOP_S: Final = 60.0


class ServerError(Exception):
    """The server did not start; the message holds what it printed."""


@contextmanager
def local_server(**environ: str) -> Iterator[str]:
    """Run ``ojs-aws local`` and yield its URL.

    :param environ: settings of the server, such as ``OJS_FETCH_WAIT_MS``.
    :raises ServerError: it does not answer in time.
    """
    port = free_port()
    with tempfile.TemporaryFile("w+") as printed:
        process = start_server(port, printed, **environ)
        try:
            url = f"http://127.0.0.1:{port}/ojs/v1/"
            if not answers(url, process):
                printed.seek(0)
                raise ServerError(printed.read()[-4000:])
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_S)


def start_server(
    port: int, output: IO[str] | int, *arguments: str, **environ: str
) -> subprocess.Popen[bytes]:
    """Start ``ojs-aws local`` on a port, and do not wait for it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OJS_")}
    return subprocess.Popen(
        [sys.executable, "-m", "ojs_aws.cli", "local", "--port", str(port), *arguments],
        env={**clean, "PYTHONPATH": str(ROOT), "POWERTOOLS_LOG_LEVEL": "ERROR", **environ},
        cwd=ROOT,
        stdout=output,
        stderr=subprocess.STDOUT,
    )


def http_client(url: str, connections: int) -> httpx.Client:
    """A client for so many threads; paths are relative to the API's base path."""
    return httpx.Client(
        base_url=url,
        headers={"Content-Type": "application/openjobspec+json", "User-Agent": "ojs-benchmark"},
        timeout=30,
        trust_env=False,
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
    )


def end_by_sigterm() -> None:
    """Let SIGTERM end this process as Ctrl-C does, so that what it started ends with it."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)


def free_port() -> int:
    """A port that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait until a server answers; False when it has ended, or does not in time."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends and process.poll() is None:
        try:
            if httpx.get(f"{url}health", trust_env=False, timeout=5).is_success:
                return True
        except httpx.HTTPError:
            time.sleep(0.1)
    return False
