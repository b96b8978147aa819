"""`ojs-aws local --auth` and `--cors-origin`: the same as deployed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ojs_aws.local import LocalOptions
from ojs_aws.local.http import Cors
from ojs_aws.local.server import LocalServer
from tests.load import HUNG_S

JOB = {"type": "demo.echo", "args": ["hi"]}


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """A server that asks for keys, in this process."""
    patch = pytest.MonkeyPatch()
    for name in list(os.environ):
        if name.startswith(("OJS_", "AWS_")):
            patch.delenv(name)
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    options = LocalOptions(port=0, has_auth=True, cors_origins=("https://jobs.example.com",))
    with LocalServer(options, os.environ) as server:
        thread = threading.Thread(target=server.serve)
        thread.start()
        yield server
        server.stop()
        thread.join()
    patch.undo()


def send(server: LocalServer, key: str, method: str, path: str, **more: object) -> httpx.Response:
    """A request with a key, or without one."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(trust_env=False, timeout=HUNG_S) as client:
        return client.request(method, server.url + path, headers=headers, **more)  # type: ignore[arg-type]


def test_there_is_a_key_of_each_scope_and_each_does_what_it_is_for(server: LocalServer) -> None:
    """The authorizer is the deployed one."""
    keys = server.keys
    pushed = send(server, keys["producer"], "POST", "/ojs/v1/jobs", json=JOB)
    assert pushed.status_code == 201
    path = f"/ojs/v1/jobs/{pushed.json()['job']['id']}"
    statuses = {scope: send(server, key, "GET", path).status_code for scope, key in keys.items()}
    assert statuses == {
        "producer": 403,
        "worker": 403,
        "operator": 200,
        "read-only": 200,
        "admin": 200,
    }
    assert send(server, keys["read-only"], "DELETE", path).status_code == 403


def test_without_a_key_there_is_health_and_the_manifest(server: LocalServer) -> None:
    """And nothing else."""
    assert send(server, "", "GET", "/ojs/v1/health").status_code == 200
    manifest = send(server, "", "GET", "/ojs/manifest")
    assert manifest.json()["authentication"]["schemes"] == ["api-key"]
    refused = send(server, "", "POST", "/ojs/v1/jobs", json=JOB)
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert send(server, "ojs_x", "GET", "/ojs/v1/queues").status_code == 401


def test_pages_of_configured_origins_may_read_answers_and_no_others(server: LocalServer) -> None:
    """HTTP binding, section 20: never ``*``."""
    asked = {"Access-Control-Request-Method": "POST"}
    with httpx.Client(trust_env=False, base_url=server.url, timeout=HUNG_S) as client:
        for origin, is_allowed in (
            ("https://jobs.example.com", True),
            ("https://evil.example.com", False),
        ):
            headers = {"Origin": origin}
            preflight = client.options("/ojs/v1/jobs", headers={**headers, **asked})
            answer = client.get("/ojs/v1/health", headers=headers)
            refused = client.get("/ojs/v1/queues", headers=headers)
            assert refused.status_code == 401
            expected = origin if is_allowed else None
            for each in (preflight, answer, refused):
                assert each.headers.get("Access-Control-Allow-Origin") == expected
            allowed = preflight.headers.get("Access-Control-Allow-Headers", "")
            assert ("authorization" in allowed) is is_allowed


def test_no_origin_means_no_cors() -> None:
    """Requests of programs pass as they are."""
    seen = []

    def application(environ: Any, _: object) -> list[bytes]:
        seen.append(environ)
        return []

    start: Any = None
    Cors(application, ["https://a.example"])({"REQUEST_METHOD": "OPTIONS"}, start)
    assert len(seen) == 1
