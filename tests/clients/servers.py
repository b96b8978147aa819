"""The servers that clients are driven against: local or deployed, open or with API keys."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from infra.deployment import create_key, deploy, destroy
from infra.emulator import start_emulator
from tests.load import HUNG_S

START_S: Final = 180
_KEY: Final = re.compile(r"admin\s+(ojs_\S+)")
_URL: Final = re.compile(r"OJS backend at (http://[\d.:]+)")


@contextmanager
def serving(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Start a server for the time of the block; its address, and the key of an administrator."""
    started = _deployed if name.startswith("deployed") else _local
    with started(folder, has_keys=name.endswith("-keys")) as address:
        yield address


@contextmanager
def _local(folder: Path, *, has_keys: bool) -> Iterator[tuple[str, str]]:
    command = [sys.executable, "-m", "ojs_aws.cli", "local", "--port", "0"]
    log = folder / f"local-{has_keys}.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, *(["--auth"] if has_keys else [])], stdout=output, stderr=output
        )
    try:
        end = time.monotonic() + START_S
        while not (url := _URL.search(log.read_text())):
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"The local server did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.2)
        time.sleep(1)  # the keys are printed after the address
        key = _KEY.search(log.read_text())
        yield url[1], key[1] if key else ""
    finally:
        server.terminate()
        server.wait(HUNG_S)


@contextmanager
def _deployed(folder: Path, *, has_keys: bool) -> Iterator[tuple[str, str]]:
    del folder
    emulator = start_emulator(os.environ)
    try:
        context = {"auth": "api-key"} if has_keys else {}
        deployment = deploy(emulator, print, context)
        key = create_key(emulator, deployment, "clients", "admin") if has_keys else ""
        with _without_path(deployment.api_url) as url:
            yield url, key
        destroy(emulator)
    finally:
        emulator.stop()


@contextmanager
def _without_path(url: str) -> Iterator[str]:
    """Serve an API of the emulator at an address without a path, as API Gateway's are.

    The emulator knows APIs by a path before the API's own, which some clients drop.
    """
    api = urlsplit(url)

    class Forwarder(BaseHTTPRequestHandler):
        """Passes requests on as they are, and the answers back."""

        def forward(self) -> None:
            """Forward one request."""
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            kept = {
                n: v for n, v in self.headers.items() if n.lower() not in {"host", "connection"}
            }
            connection = HTTPConnection(api.hostname or "", api.port, timeout=HUNG_S)
            connection.request(self.command, api.path.rstrip("/") + self.path, body or None, kept)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"connection", "transfer-encoding", "content-length"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            with suppress(ConnectionError):  # a client that reads the answer no more
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward  # noqa: N815 - http.server's

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Forwarder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
