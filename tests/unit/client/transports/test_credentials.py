"""How clients and workers show who they are."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError, CredentialRetrievalError

from ojs_aws.client import ApiKey, Client, Resends, SigV4, SyncClient
from ojs_aws.client.transports.connection import HttpConnection
from ojs_aws.client.transports.requests import RouteRequest
from ojs_aws.domain.access import (
    PermissionDeniedError,
    TokenExpiredError,
    UnauthenticatedError,
)
from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.worker import Worker
from tests.unit.client.doubles import FakeServer, FakeTimer, answer

KEY = "ojs_0123456789abcdef_" + "k" * 43
URL = "https://ojs.example.com"


async def sent(server: FakeServer, **given: Any) -> Any:
    """The headers of a request."""
    given = {"url": URL, **given}
    connection = server.connection(None, **given)
    server.script = [answer(200, {"ok": True})]
    await connection.exchange(
        RouteRequest(operation="pause_queue", path={"queue": "a"}, query={"b": "c d"})
    )
    return server.requests[-1].headers


async def test_a_key_is_sent_as_a_bearer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given, or found in the environment; by hand outweighs the environment."""
    monkeypatch.delenv("OJS_API_KEY", raising=False)
    assert "Authorization" not in await sent(FakeServer())
    assert (await sent(FakeServer(), api_key=KEY))["Authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv("OJS_API_KEY", KEY + "\n")
    assert (await sent(FakeServer()))["Authorization"] == f"Bearer {KEY}"
    assert (await sent(FakeServer(), api_key="other"))["Authorization"] == "Bearer other"
    by_hand = {"authorization": "Basic x"}
    assert (await sent(FakeServer(), headers=by_hand))["Authorization"] == "Basic x"


def test_two_ways_to_be_known_are_refused() -> None:
    """Nobody could say which is meant."""
    for given in (
        {"api_key": KEY, "credentials": SigV4()},
        {"api_key": KEY, "headers": {"Authorization": "Basic x"}},
    ):
        with pytest.raises(ValueError, match="one of"):
            HttpConnection(URL, **given)


@pytest.mark.parametrize("make", [HttpConnection, Client, SyncClient, Worker])
def test_a_key_does_not_go_over_plain_http_to_another_machine(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever listens in between would have it (ojs-security, section 5)."""
    with pytest.raises(ValueError, match="plain HTTP"):
        make("http://ojs.example.com", api_key=KEY)
    monkeypatch.setenv("OJS_API_KEY", KEY)
    with pytest.raises(ValueError, match="plain HTTP"):
        make("http://ojs.example.com")
    for url in (URL, "http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:1"):
        HttpConnection(url)


def test_a_key_does_not_show_itself() -> None:
    """In a traceback or a log."""
    assert KEY not in repr(ApiKey(KEY))


@pytest.mark.parametrize("make", [HttpConnection, Client, SyncClient, Worker])
@pytest.mark.parametrize("odd", ["\n", "\u00fc", "\0"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(make: Any, odd: str) -> None:
    """The library's own error would show the whole header."""
    with pytest.raises(ValueError, match="no key has") as caught:
        make(URL, api_key=f"{KEY}{odd}x")
    assert KEY not in str(caught.value)
    HttpConnection(URL, api_key=f" {KEY}\r\n")  # files end in a line break


async def test_requests_are_signed_as_aws_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """By botocore, for API Gateway, with the query and the body; the session's token is sent."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-secret-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    headers = await sent(FakeServer(), credentials=SigV4(region="eu-west-1"))
    authorization = headers["Authorization"]
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/execute-api/aws4_request" in authorization
    assert "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token" in authorization
    assert headers["X-Amz-Security-Token"] == "token"
    assert "secret-secret" not in str(headers)


@pytest.mark.parametrize(
    ("host", "service"),
    [
        ("abc.execute-api.eu-west-1.amazonaws.com", "execute-api"),
        ("ojs.example.com", "execute-api"),
        ("abc.lambda-url.eu-west-1.on.aws", "lambda"),
    ],
)
def test_a_signature_names_the_service_of_its_url(
    host: str, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the job endpoint is Lambda, which refuses API Gateway's."""
    from ojs_aws.client.transports.credentials import BotocoreSigner

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    sign = BotocoreSigner("eu-west-1", None)
    made = sign("GET", f"https://{host}/ojs/v1/jobs", {"host": host}, b"")
    assert f"/eu-west-1/{service}/aws4_request" in made["Authorization"]


def test_a_signature_depends_on_all_that_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Method, path, query and body."""
    from ojs_aws.client.transports.credentials import BotocoreSigner

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    sign = BotocoreSigner("eu-west-1", None)
    headers = {"host": "ojs.example.com", "content-type": "application/json", "x-other": "1"}
    made = {
        sign(method, f"{URL}{path}", headers, body)["Authorization"]
        for method, path, body in (
            ("GET", "/a", b""),
            ("POST", "/a", b""),
            ("GET", "/b", b""),
            ("GET", "/a?q=1", b""),
            ("GET", "/a", b"x"),
        )
    }
    assert len(made) == 5


async def test_aws_credentials_that_cannot_be_read_are_asked_for_again() -> None:
    """Such as those of an instance whose metadata does not answer for a moment."""
    server, credentials = FakeServer(), SigV4("eu-west-1")
    problems: list[Exception] = [
        CredentialRetrievalError(provider="iam-role", error_msg="slow"),
        ClientError({"Error": {"Code": "Throttling", "Message": "slow"}}, "AssumeRole"),
    ]

    def sign(*_: object) -> dict[str, str]:
        if problems:
            raise problems.pop()
        return {}

    credentials._signer = sign
    connection = HttpConnection(
        URL,
        credentials=credentials,
        timer=FakeTimer(),
        resends=Resends(limit=2),
        http_transport=httpx.MockTransport(server.handle),
    )
    request = RouteRequest(operation="fetch")
    assert (await connection.exchange(request)).sends == 3
    assert len(server.requests) == 1
    problems += [CredentialRetrievalError(provider="iam-role", error_msg="slow")] * 3
    answered = await connection.exchange(request)
    assert isinstance(answered.error, BackendUnavailableError)


async def test_without_aws_credentials_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is sent."""
    import botocore.session

    monkeypatch.setattr(botocore.session.Session, "get_credentials", lambda _: None)
    with pytest.raises(ValueError, match="no AWS credentials"):
        await SigV4("eu-west-1").headers_for("GET", URL, {}, b"")


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"message": "Unauthorized"}, UnauthenticatedError),
        (403, {"message": "Forbidden"}, PermissionDeniedError),
        (401, {"error": {"code": "token_expired", "message": "over"}}, TokenExpiredError),
        (403, {"error": {"code": "permission_denied", "message": "no"}}, PermissionDeniedError),
    ],
)
def test_refusals_of_gateway_and_server_are_the_same_errors(
    status: int, body: dict[str, Any], kind: type[Exception]
) -> None:
    """API Gateway's own have no code."""
    from ojs_aws.client.results import error_of

    raised = error_of(status, body.get("error", {}), body.get("message", ""))
    assert type(raised) is kind
    assert not raised.retryable
