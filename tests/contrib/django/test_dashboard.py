"""The dashboard is for the staff, reads by default, and acts by permission."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import RequestFactory, override_settings

from ojs_aws.cli.dashboard_server import Reply

CHANGE = "ojs.change_jobs"
OWN = {"HTTP_SEC_FETCH_SITE": "same-origin"}


class Server:
    """Stands for the OJS server."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.headers: list[str] = []

    def forward(self, method: str, target: str, headers: dict[str, str], _: bytes) -> Reply:
        self.asked.append((method, target))
        self.headers += headers
        return Reply(200, {"Content-Type": "application/json"}, b"{}")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr("ojs_aws.contrib.django.dashboard._upstream", lambda *_: made)
    return made


def user(*, staff: bool = True, may_change: bool = False, known: bool = True) -> Any:
    return SimpleNamespace(
        is_active=True,
        is_staff=staff,
        is_authenticated=known,
        has_perm=lambda name: may_change and name == CHANGE,
    )


def ask(method: str, name: str, by: Any, **headers: str) -> Any:
    from ojs_aws.contrib.django.dashboard import dashboard  # when there is a project

    path, _, query = name.partition("?")
    request = RequestFactory().generic(method, f"/jobs/{path}", QUERY_STRING=query, **headers)
    request.user = by
    with override_settings(OJS={"URL": "http://127.0.0.1:1"}):
        return dashboard(request, path)


def test_staff_sees_the_page_and_reads_the_server(server: Server) -> None:
    page = ask("GET", "", user())
    assert (page.status_code, b"<title>" in page.content) == (200, True)
    assert ask("GET", "ojs/v1/jobs?state=active", user(), **OWN).status_code == 200
    assert server.asked == [("GET", "/ojs/v1/jobs?state=active")]


def test_a_visitor_signs_in_first_and_others_are_refused(server: Server) -> None:
    stranger = user(staff=False, known=False)
    assert ask("GET", "", stranger).status_code == 302
    assert ask("GET", "ojs/v1/jobs", stranger).status_code == 403
    assert ask("GET", "", user(staff=False)).status_code == 403
    assert server.asked == []


def test_actions_need_a_permission(server: Server) -> None:
    answer = ask("DELETE", "ojs/v1/jobs/1", user(), **OWN)
    assert (answer.status_code, CHANGE in answer.content.decode()) == (403, True)
    assert server.asked == []
    assert ask("DELETE", "ojs/v1/jobs/1", user(may_change=True), **OWN).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{}, {"HTTP_SEC_FETCH_SITE": "cross-site"}, {"HTTP_ORIGIN": "https://evil.example"}],
)
def test_pages_of_other_sites_cannot_act(server: Server, headers: dict[str, str]) -> None:
    answer = ask("POST", "ojs/v1/jobs", user(may_change=True), **headers)
    assert (answer.status_code, server.asked) == (403, [])


def test_a_path_cannot_lead_upwards(server: Server) -> None:
    assert ask("GET", "ojs/../admin", user(), **OWN).status_code == 400
    assert server.asked == []


def test_the_server_gets_nothing_of_the_projects_own_login(server: Server) -> None:
    """A token of the project would be taken for a key of the server, where it has none."""
    login = {"HTTP_AUTHORIZATION": "Bearer own", "HTTP_COOKIE": "sessionid=own"}
    assert ask("GET", "ojs/v1/jobs", user(), **OWN, **login).status_code == 200
    assert "sec-fetch-site" in server.headers
    assert not {"authorization", "cookie"} & {*server.headers}
