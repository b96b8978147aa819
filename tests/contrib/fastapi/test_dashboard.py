"""The dashboard within an application: its login, its changes, and what it passes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import httpx
import pytest
from fastapi import FastAPI, Header, HTTPException

from ojs_aws.cli.dashboard_server import Upstream
from ojs_aws.contrib.fastapi.dashboard_router import dashboard
from ojs_aws.dashboard.files import STATIC
from tests.contrib.fastapi import TestClient

SERVER = "https://jobs.example.com"
RETRY = "/jobs/ojs/v1/admin/jobs/1/retry"


@dataclass
class Server:
    """An OJS server that notes what it is asked."""

    asked: list[httpx.Request] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return httpx.Response(200, json={"queues": []})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    opened = partial(Upstream, http_transport=httpx.MockTransport(made.answer))
    monkeypatch.setattr("ojs_aws.contrib.fastapi.dashboard_router.Upstream", opened)
    return made


def sign_in(authorization: str = Header("")) -> None:
    if authorization not in {"Bearer ada", "Bearer admin"}:
        raise HTTPException(401)


def admin(authorization: str = Header("")) -> None:
    if authorization != "Bearer admin":
        raise HTTPException(403)


@pytest.fixture
def http(server: Server) -> Iterator[TestClient]:
    app = FastAPI()
    made = dashboard(login=sign_in, url=SERVER, api_key="the-key")
    app.include_router(made, prefix="/jobs")
    free = dashboard(login=sign_in, changes=admin, url=SERVER, api_key="the-key")
    app.include_router(free, prefix="/admin-jobs")
    with TestClient(app, headers={"Authorization": "Bearer ada"}) as http:
        yield http


@pytest.mark.parametrize("path", ["/jobs/", "/jobs/ojs/v1/queues", "/jobs/assets/x.js"])
def test_nobody_sees_anything_without_the_login(
    http: TestClient, server: Server, path: str
) -> None:
    assert http.get(path, headers={"Authorization": ""}).status_code == 401
    assert http.post(path, headers={"Authorization": ""}).status_code == 401
    assert server.asked == []


def test_the_page_is_served_below_its_prefix(http: TestClient) -> None:
    answer = http.get("/jobs", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.url.path) == (200, "/jobs/")
    assert SERVER in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_questions_get_the_applications_credential_and_not_the_users(
    http: TestClient, server: Server
) -> None:
    answer = http.get("/jobs/ojs/v1/queues/a%2Fb?limit=2", headers={"Cookie": "session=1"})
    assert answer.json() == {"queues": []}
    [request] = server.asked
    assert str(request.url) == f"{SERVER}/ojs/v1/queues/a%2Fb?limit=2"
    assert request.headers["Authorization"] == "Bearer the-key"
    assert "cookie" not in request.headers


def test_nothing_is_changed_unless_the_application_lets_it(
    http: TestClient, server: Server
) -> None:
    refused = http.post(RETRY)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "permission_denied")
    assert http.post(f"/admin-{RETRY[1:]}").status_code == 403
    assert server.asked == []
    allowed = {"Authorization": "Bearer admin"}
    assert http.post(f"/admin-{RETRY[1:]}", headers=allowed).status_code == 200
    assert [request.method for request in server.asked] == ["POST"]


def test_a_page_of_another_site_changes_nothing(http: TestClient, server: Server) -> None:
    headers = {"Authorization": "Bearer admin", "Origin": "https://evil.example.com"}
    assert http.post(f"/admin-{RETRY[1:]}", headers=headers).status_code == 403
    assert server.asked == []


def test_a_body_that_is_too_long_is_refused(
    http: TestClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ojs_aws.contrib.fastapi.dashboard_router.MAX_BODY_BYTES", 3)
    allowed = {"Authorization": "Bearer admin"}
    answer = http.post(f"/admin-{RETRY[1:]}", headers=allowed, content=b"long")
    assert (answer.status_code, server.asked) == (413, [])


def test_a_dashboard_without_a_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OJS_URL", raising=False)
    app = FastAPI()
    app.include_router(dashboard(login=lambda: None), prefix="/jobs")
    with TestClient(app) as http, pytest.raises(ValueError, match="OJS_URL"):
        http.get("/jobs/")


def test_the_page_asks_with_the_cookies_of_the_application() -> None:
    """Else a login by cookie would let the page load, and refuse all that it asks."""
    scripts = [path.read_text("utf-8") for path in STATIC.glob("assets/*.js")]
    assert [script for script in scripts if 'credentials:"same-origin"' in script]
