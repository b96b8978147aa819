"""The web handlers of the pages refuse what the backend has not just signed, and go on."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.lambda_runtimes import tool
from tests.load import HUNG_S, wait_until

pytestmark = pytest.mark.thorough

DOCS: Final = Path(__file__).parents[2] / "docs"
KEY: Final = "whsec_test"
BODY: Final = json.dumps(
    {"job": {"type": "email.send", "args": ["ä@example.com"]}}, separators=(",", ":")
).encode()
OLD_S: Final = 600
TIMESTAMP: Final = b"X-OJS-Timestamp"
SIGNATURE: Final = b"X-OJS-Signature"
FILES: Final = {
    "endpoint.mjs": "push-delivery.md",
    "endpoint.go": "push-delivery.md",
    "Endpoint.java": "push-delivery.md",
    "endpoint.py": "other-languages.md",
}


def command_of(name: str, folder: Path) -> list[str]:
    """Write the program of a page, and return the command that starts it."""
    page = (DOCS / FILES[name]).read_text("utf-8")
    found = re.search(rf"<!-- file: {re.escape(name)} -->\n```\w+\n(.*?)```", page, re.DOTALL)
    assert found is not None
    (folder / name).write_text(found[1])
    if name == "endpoint.go":
        subprocess.run([tool("go"), "build", "-o", "endpoint", name], cwd=folder, check=True)
        return [str(folder / "endpoint")]
    tools = {"endpoint.mjs": "node", "Endpoint.java": "java"}
    return [tool(tools[name]) if name in tools else sys.executable, name]


def headers(stamp: int, *, also: str = "") -> Mapping[bytes, bytes]:
    """Sign the body as the backend does, at an instant; a secret may hold two keys."""
    signed = hmac.new(KEY.encode(), f"{stamp}.".encode() + BODY, hashlib.sha256).hexdigest()
    return {TIMESTAMP: b"%d" % stamp, SIGNATURE: f"{also}sha256={signed}".encode()}


@pytest.fixture(
    params=[
        "endpoint.mjs",
        pytest.param("endpoint.go", marks=pytest.mark.slow),
        pytest.param("Endpoint.java", marks=pytest.mark.slow),
        "endpoint.py",
    ]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an endpoint of the pages."""
    command = command_of(request.param, tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environ = {**os.environ, "OJS_SIGNING_SECRET": KEY, "PORT": str(port)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environ)

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(listens)
        yield f"http://127.0.0.1:{port}/jobs"
    finally:
        process.terminate()
        process.wait(timeout=HUNG_S)


def test_an_endpoint_of_the_pages_runs_only_what_was_just_signed(url: str) -> None:
    """Old requests and odd ones get 401, and none ends the program: the next job runs."""
    now = int(time.time())
    odd: tuple[Mapping[bytes, bytes], ...] = (
        {},
        {TIMESTAMP: b"soon", SIGNATURE: b"sha256=x"},
        {TIMESTAMP: b"%d" % now, SIGNATURE: "é".encode("latin-1") * 71},
        headers(now - OLD_S),
        {**headers(now), TIMESTAMP: b"%d" % (now + 1)},
    )
    for each in odd:
        assert httpx.post(url, content=BODY, headers=each, timeout=HUNG_S).status_code == 401, each
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port or 80)) as half:
        half.sendall(b"POST /jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
    done = httpx.post(url, content=BODY, headers=headers(now, also="sha256=x,"), timeout=HUNG_S)
    assert done.json() == {"status": "completed", "result": {"sent_to": "ä@example.com"}}
