"""Signing in to the deployed page at an OpenID Connect issuer, with PKCE, state and nonce."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest

from ojs_aws.dashboard.files import SignIn
from ojs_aws.dashboard.page_function import SIGN_IN, handler
from tests.dashboard.conftest import Tab
from tests.dashboard.issuer import CLIENT, Issuer, served
from tests.dashboard.test_quality import AXE, check_with_axe
from tests.load import HUNG_S

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PREFIX: Final = "/ops/jobs"


class Deployment:
    """Answers as a deployment does: the page's own function, and a gateway that checks tokens."""

    def __init__(self, issuer: Issuer, server: str, key: str) -> None:
        self.issuer = issuer
        self.server = server
        self.key = key
        self.refused = 0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (WSGI)."""
        path = environ["PATH_INFO"].removeprefix(PREFIX)
        if path.startswith("/ojs/"):
            status, headers, body = self._api(environ, path)
        else:
            folder, _, file = path.rpartition("/")
            event = {"routeKey": f"GET {folder}/{{file}}" if folder else f"GET {path}"}
            asked = {"accept": environ.get("HTTP_ACCEPT", "")}
            answer = handler({**event, "headers": asked, "pathParameters": {"file": file}}, None)
            status, headers = answer["statusCode"], answer["headers"]
            body = base64.b64decode(answer["body"]) if status == 200 else b""
        start_response(f"{status} OK", list(headers.items()))
        return [body]

    def _api(self, environ: WSGIEnvironment, path: str) -> tuple[int, dict[str, str], bytes]:
        scheme, _, token = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme != "Bearer" or not self.issuer.is_valid(token):
            self.refused += 1
            return 401, {"Content-Type": "application/json"}, b'{"message":"Unauthorized"}'
        length = int(environ.get("CONTENT_LENGTH") or 0)
        passed = httpx.request(
            environ["REQUEST_METHOD"],
            f"{self.server}{path}?{environ['QUERY_STRING']}",
            content=environ["wsgi.input"].read(length),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
            timeout=HUNG_S,
        )
        return passed.status_code, {"Content-Type": "application/json"}, passed.content


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """An issuer that behaves, unless a test changes it."""
    made = Issuer()
    with served(made) as url:
        made.url = url
        yield made


@pytest.fixture
def deployment(
    issuer: Issuer,
    closed_server: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Deployment]:
    """A deployment below a path prefix, whose page leads to the issuer."""
    chosen = SignIn(issuer=issuer.url, client_id=CLIENT, scopes=("openid", "ojs:admin"))
    monkeypatch.setenv(SIGN_IN, chosen.to_json())
    made = Deployment(issuer, closed_server[0], closed_server[1]["admin"])
    with served(made) as url:
        issuer.page = f"{url}{PREFIX}/"
        yield made


@pytest.fixture
def tab(browser: Any, deployment: Deployment, issuer: Issuer) -> Iterator[Tab]:
    """A tab for that deployment; no token may be in any address, nor be kept beyond the tab."""
    context = browser.new_context()
    opened = Tab(context.new_page(), issuer.page.rstrip("/"))
    yield opened
    opened.check()
    urls = [*opened.requests, opened.page.url, *(path for _, path, _ in issuer.asked)]
    assert not [url for url in urls for token in issuer.given if token in url]
    assert opened.page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    context.close()


def sign_in(tab: Tab, choice: str = "Allow") -> None:
    """Go to the issuer, and decide there."""
    dialog = tab.page.get_by_role("dialog", name="Sign in")
    dialog.get_by_role("button", name="Sign in at 127.0.0.1").click()
    tab.page.get_by_role("link", name=choice).click()


def says(tab: Tab, text: str) -> None:
    """Wait until the dialog asks to sign in again, and says why."""
    tab.page.get_by_role("dialog", name="Sign in").get_by_text(text).wait_for()
    assert tab.page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize("in_fragment", [False, True], ids=["query", "fragment"])
def test_the_issuer_leads_back_to_the_view_that_was_open(
    tab: Tab, issuer: Issuer, deployment: Deployment, *, in_fragment: bool
) -> None:
    """Below a path prefix; after a reload nobody signs in again; signing out ends the session."""
    issuer.answers_in_fragment = in_fragment
    page = tab.open("jobs?queue=nobody&state=available")
    sign_in(tab)
    page.get_by_role("heading", name="Jobs", level=1).wait_for()
    page.get_by_text("Live · ").wait_for()
    assert page.url == f"{tab.address}/#/jobs?queue=nobody&state=available"
    page.reload()
    page.get_by_text("Live · ").wait_for()
    assert issuer.grants() == ["authorization_code"]
    assert deployment.refused == 0
    codes = [url for url in tab.requests if url.startswith(tab.address) and "code=" in url]
    assert len(codes) == (0 if in_fragment else 1)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Signed out").wait_for()
    assert page.evaluate("sessionStorage.length") == 0 or page.url.startswith(issuer.url)
    assert issuer.refresh == set()  # it was revoked
    page.get_by_role("link", name="Back").click()
    page.get_by_role("dialog", name="Sign in").get_by_text("Sign in to use this page.").wait_for()


@pytest.mark.parametrize(
    ("answer", "claims", "text"),
    [
        ({"state": "another"}, {}, "does not fit to what this tab asked for"),
        ({"iss": "https://other.example"}, {}, "does not fit to what this tab asked for"),
        ({"code": "invented"}, {}, "refuses the sign-in: (invalid_grant)."),
        ({}, {"nonce": "another"}, "does not fit to what this tab asked for"),
        ({}, {"aud": "another"}, "does not fit to what this tab asked for"),
        ({}, {"exp": 1}, "does not fit to what this tab asked for"),
    ],
    ids=["state", "issuer", "code", "nonce", "audience", "expired"],
)
def test_an_answer_that_does_not_fit_signs_nobody_in(
    tab: Tab, issuer: Issuer, answer: dict[str, str], claims: dict[str, Any], text: str
) -> None:
    """Somebody else's answer, or one of another time."""
    issuer.answer_changes, issuer.claim_changes = answer, claims
    tab.open("queues")
    sign_in(tab)
    says(tab, text)
    assert tab.page.url == f"{tab.address}/#/queues"
    tab.complaints = [each for each in tab.complaints if "400" not in each]
    issuer.answer_changes, issuer.claim_changes = {}, {}
    sign_in(tab)
    tab.page.get_by_role("columnheader", name="Queue").wait_for()


def test_a_code_is_of_no_use_without_its_verifier(tab: Tab) -> None:
    """Who intercepts the issuer's answer has the code alone."""

    def change(route: Any) -> None:
        body = route.request.post_data.replace("code_verifier=", "code_verifier=x")
        route.continue_(post_data=body)

    page = tab.open("queues")
    page.route("**/token", change)
    sign_in(tab)
    says(tab, "refuses the sign-in: (invalid_grant).")
    tab.complaints = [each for each in tab.complaints if "400" not in each]


def test_an_answer_that_nobody_asked_for_signs_nobody_in(tab: Tab, issuer: Issuer) -> None:
    """A link with a code of somebody else; it is never sent to the issuer."""
    tab.page.goto(f"{tab.address}/?code=of-somebody&state=else")
    says(tab, "This tab did not ask for the sign-in that it was sent.")
    assert tab.page.url == f"{tab.address}/"
    assert issuer.asked == []


def test_a_declined_sign_in_says_so(tab: Tab) -> None:
    """In the issuer's words, which are text and no markup."""
    tab.open("queues")
    sign_in(tab, "Decline")
    says(tab, "The sign-in was declined: Nobody <b>allowed</b> it (access_denied).")


def test_a_token_is_renewed_before_it_expires(tab: Tab, issuer: Issuer) -> None:
    """Nobody notices, and each refresh token is used once."""
    issuer.lifetime_s = 20
    page = tab.open("queues")
    sign_in(tab)
    page.get_by_role("columnheader", name="Queue").wait_for()
    page.get_by_role("button", name="Refresh").click()
    page.wait_for_timeout(300)
    page.get_by_text("Live · ").wait_for()
    assert issuer.grants()[:2] == ["authorization_code", "refresh_token"]
    assert page.get_by_role("dialog").count() == 0
    assert len(issuer.refresh) == 1


def test_a_withdrawn_token_is_renewed_once(
    tab: Tab, issuer: Issuer, deployment: Deployment
) -> None:
    """The request that was refused is sent again; a change is made once."""
    httpx.post(
        f"{deployment.server}/ojs/v1/jobs",
        json={"type": "report.build", "args": [], "options": {"queue": "withdrawn"}},
        headers={"Authorization": f"Bearer {deployment.key}"},
        timeout=HUNG_S,
    ).raise_for_status()
    page = tab.open("queues/withdrawn")
    sign_in(tab)
    page.get_by_role("heading", name="Queue withdrawn").wait_for()
    issuer.access.clear()
    page.get_by_role("button", name="Pause").click()
    tab.confirm("Pause")
    tab.says("The queue withdrawn is paused.")
    assert issuer.grants() == ["authorization_code", "refresh_token"]
    tab.complaints = [each for each in tab.complaints if "401" not in each]


@pytest.mark.parametrize("has_refresh", [False, True], ids=["no refresh token", "a used one"])
def test_an_expired_sign_in_asks_to_sign_in_again(
    tab: Tab, issuer: Issuer, deployment: Deployment, *, has_refresh: bool
) -> None:
    """It is said plainly; no expired token is sent, and the view stays open."""
    issuer.gives_refresh_tokens, issuer.lifetime_s = has_refresh, 120
    page = tab.page
    page.clock.install()
    tab.open("queues")
    sign_in(tab)
    page.get_by_role("columnheader", name="Queue").wait_for()
    issuer.refresh.clear()
    page.clock.fast_forward(125_000)
    says(tab, "Your sign-in has expired.")
    assert deployment.refused == 0
    assert page.url == f"{tab.address}/#/queues"
    tab.complaints = [each for each in tab.complaints if "400" not in each]


def test_an_issuer_that_fails_for_a_while_ends_no_session(tab: Tab, issuer: Issuer) -> None:
    """The view says so, and goes on as soon as the issuer answers."""
    issuer.lifetime_s = 120
    page = tab.page
    page.clock.install()
    tab.open("queues")
    sign_in(tab)
    page.get_by_role("columnheader", name="Queue").wait_for()
    issuer.down = {"/token"}
    page.clock.fast_forward(125_000)
    tab.says("answers 503. Try again later.")
    issuer.down = set()
    page.get_by_role("button", name="Refresh").click()
    page.get_by_text("answers 503").wait_for(state="detached")
    assert page.get_by_role("dialog").count() == 0
    tab.complaints = [each for each in tab.complaints if "503" not in each]


def test_an_issuer_that_cannot_be_asked_is_explained(tab: Tab, issuer: Issuer) -> None:
    """It is down, or gives tokens where the page may not ask."""
    issuer.down = {"/.well-known/openid-configuration"}
    page = tab.open("queues")
    button = page.get_by_role("button", name="Sign in at 127.0.0.1")
    button.click()
    says(tab, "answers 503. Try again later.")
    issuer.down, issuer.token_origin = set(), "https://tokens.example"
    button.click()
    says(tab, "gives tokens at https://tokens.example, which this page may not ask")
    tab.complaints = [each for each in tab.complaints if "503" not in each]


def test_a_token_can_be_pasted_instead(tab: Tab, issuer: Issuer) -> None:
    """One that another program got."""
    page = tab.open("queues")
    page.get_by_text("Use a token that you have").click()
    if AXE.is_file():
        check_with_axe(page)
    page.get_by_label("Token").fill(issuer.give_token())
    page.get_by_role("button", name="Use the token").click()
    page.get_by_role("columnheader", name="Queue").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("dialog", name="Sign in").wait_for()
    assert json.loads(page.evaluate("JSON.stringify({ ...sessionStorage })")) == {}
