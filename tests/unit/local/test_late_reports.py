"""A web application answers 202 and reports later, to a server that asks for keys."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from ojs_aws import SyncClient
from ojs_aws.local import LocalOptions
from ojs_aws.local.server import LocalServer
from ojs_aws.worker.secrets import worker_secrets
from tests.load import HUNG_S, wait_until

pytestmark = pytest.mark.thorough

KEY = "whsec_test"


class Application:
    """Accepts each delivery, and works on it when the request has long been answered.

    :ivar deliveries: what was accepted.
    """

    def __init__(self) -> None:
        self.deliveries: list[dict[str, Any]] = []
        application = self

        class Web(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                signed = self.headers["X-OJS-Timestamp"].encode() + b"." + body
                expected = hmac.new(KEY.encode(), signed, hashlib.sha256).hexdigest()
                is_ours = self.headers["X-OJS-Signature"] == f"sha256={expected}"
                self.send_response(202 if is_ours else 401)
                self.end_headers()
                if is_ours:
                    application.deliveries.append(json.loads(body))

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jobs"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def delivery_of(self, job_id: str) -> dict[str, Any]:
        """The delivery of a job, once it is there."""
        wait_until(lambda: any(each["job"]["id"] == job_id for each in self.deliveries))
        return next(each for each in self.deliveries if each["job"]["id"] == job_id)


def report(delivery: dict[str, Any], path: str, body: object, method: str = "POST") -> int:
    """Report on a delivery with its own token; return the status."""
    said = delivery["report"]
    headers = {"Authorization": f"Bearer {said['token']}"}
    url = said["url"] + path
    with httpx.Client(trust_env=False, timeout=HUNG_S) as client:
        return client.request(method, url, headers=headers, json=body).status_code


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a machine that knows what signs deliveries, and nothing else of ours."""
    for name in list(os.environ):
        if name.startswith(("OJS_", "AWS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("OJS_SIGNING_SECRET", KEY)
    worker_secrets.cache_clear()


@contextmanager
def served(options: LocalOptions) -> Iterator[LocalServer]:
    """A server that answers in a thread of this process."""
    with LocalServer(options, os.environ) as server:
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join()


@pytest.fixture
def server(environ: None) -> Iterator[LocalServer]:
    """A server that asks for keys."""
    with served(LocalOptions(port=0, has_auth=True)) as server:
        yield server


@pytest.mark.usefixtures("environ")
def test_each_server_of_a_process_has_settings_of_its_own() -> None:
    """Functions that an earlier server started begin again, and read what this one says."""
    for has_auth, status in ((False, 200), (True, 401), (False, 200)):
        with served(LocalOptions(port=0, has_auth=has_auth)) as server:
            answer = httpx.get(f"{server.url}/ojs/v1/queues", trust_env=False, timeout=HUNG_S)
            assert answer.status_code == status


def test_an_application_accepts_jobs_and_reports_them_later(server: LocalServer) -> None:
    """Without a key of its own: the tokens of its deliveries open what it needs, and no more."""
    application = Application()
    environ = {
        **os.environ,
        "OJS_URL": server.url,
        "OJS_API_KEY": server.keys["worker"],
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-m", "ojs_aws.cli", "deliver", application.url]
    worker = subprocess.Popen([*command, "--report-within", "60"], env=environ)
    try:
        with SyncClient(server.url, api_key=server.keys["admin"]) as client:
            first, second = (client.enqueue("email.send", [number]) for number in (1, 2))
            one, two = application.delivery_of(first.id), application.delivery_of(second.id)
            assert client.get(first.id).state == "active"

            assert report(one, "/workers/heartbeat", {"visibility_timeout_ms": 90_000}) == 200
            assert report(one, f"/jobs/{first.id}/progress", {"progress": 0.5}) == 200
            assert report(one, f"/jobs/{first.id}/checkpoint", {"state": {"at": 1}}) == 200
            for path, body in (
                (f"/jobs/{second.id}/ack", {}),
                ("/jobs", {"type": "a.b", "args": []}),
                ("/workers/fetch", {"queues": ["default"]}),
                (f"/jobs/{first.id}/ack", {"attempt": 2}),
            ):
                assert report(one, path, body) == 403
            assert report(one, f"/jobs/{first.id}", None, "DELETE") == 403
            assert report(one, f"/jobs/{first.id}/ack", {"result": {"sent": True}}) == 200
            assert client.wait(first.id, timeout_s=HUNG_S) == {"sent": True}
            assert report(one, f"/jobs/{first.id}/ack", {}) == 409

            token = two["report"]["token"]
            two["report"]["token"] = token[:-1] + ("0" if token[-1] != "0" else "1")
            assert report(two, f"/jobs/{second.id}/ack", {}) == 401
            two["report"]["token"] = token
            error = {"type": "Broken", "message": "no", "retryable": False}
            assert report(two, f"/jobs/{second.id}/nack", {"error": error}) == 200
            assert client.get(second.id).state == "discarded"
    finally:
        worker.terminate()
        worker.wait(timeout=HUNG_S)
        application.server.shutdown()
        application.server.server_close()
