"""The authorizer function, and the functions behind it, as the gateway puts them together."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from aws_lambda_powertools import Logger

from ojs_aws.bootstrap import build_key_issuer
from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from ojs_aws.local.lambdas import http_event
from ojs_aws.services.access.api_keys import Authentication, KeyIssuer
from ojs_aws.transport.authorizer import build_authorizer

pytestmark = pytest.mark.moto

Invoke = Callable[[str, Any], Any]


@pytest.fixture
def issuer(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> KeyIssuer:
    """The keys of a deployment that asks for them."""
    monkeypatch.setenv("OJS_AUTH", "api-key")
    return build_key_issuer(Settings(), boto3.client("dynamodb"))


def send(invoke: Invoke, key: str, method: str, path: str, body: object = None) -> Any:
    """A request through the authorizer to its function."""
    content = b"" if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"} | ({"authorization": key} if key else {})
    event = http_event(method, path, "", headers, content)
    verdict = invoke("authorizer", event)
    assert verdict["isAuthorized"] is True
    assert all(isinstance(value, str) for value in verdict["context"].values())
    event["requestContext"]["authorizer"] = {"lambda": verdict["context"]}
    return invoke("producer", event)


def test_a_key_leads_from_the_header_to_the_operation(issuer: KeyIssuer, invoke: Invoke) -> None:
    """And only to those of its scope, on the queues that it is bound to."""
    key = f"Bearer {issuer.create('shop', [Scope.PRODUCER], queues=['email']).text}"
    job = {"type": "email.send", "args": [], "queue": "email"}
    pushed = send(invoke, key, "POST", "/ojs/v1/jobs", job)
    assert pushed["statusCode"] == 201
    path = pushed["headers"]["Location"]
    assert send(invoke, key, "GET", path)["statusCode"] == 403
    foreign = {**job, "queue": "other"}
    assert send(invoke, key, "POST", "/ojs/v1/jobs", foreign)["statusCode"] == 403


@pytest.mark.parametrize("key", ["", "Bearer nonsense", "Bearer ojs_" + "0" * 16 + "_" + "x" * 43])
def test_who_has_no_key_is_answered_by_the_function_in_the_form_of_ojs(
    key: str, issuer: KeyIssuer, invoke: Invoke
) -> None:
    """The gateway's own refusal would have no code that a client knows."""
    answer = send(invoke, key, "POST", "/ojs/v1/jobs", {"type": "email.send", "args": []})
    assert answer["statusCode"] == 401
    assert json.loads(answer["body"])["error"]["code"] == "unauthenticated"
    assert "WWW-Authenticate" in answer["headers"]


def test_the_log_of_the_authorizer_has_no_secret(issuer: KeyIssuer) -> None:
    """Whether the key is valid, ended, or none."""
    stream = io.StringIO()
    logger = Logger(service="authorizer's test", level="DEBUG", stream=stream)
    authorize = build_authorizer(Authentication(issuer.keys, issuer.clock), logger)
    valid = issuer.create("a", [Scope.PRODUCER])
    ended = issuer.create("b", [Scope.PRODUCER])
    issuer.revoke(ended.key.id)
    for text in (valid.text, ended.text, "ojs_" + "0" * 16 + "_" + "y" * 43, "whatever"):
        authorize(http_event("GET", "/", "", {"Authorization": f"Bearer {text}"}, b""), None)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["reason"] for line in lines] == ["revoked", "unknown", "malformed"]
    assert {line["event_type"] for line in lines} == {"authentication.failed"}
    assert lines[0]["principal"] == ended.key.id
    for secret in (valid.text[21:], ended.text[21:], "y" * 20, "whatever"):
        assert secret not in stream.getvalue()


def test_a_table_that_does_not_answer_refuses_nobody_for_good(
    issuer: KeyIssuer, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It raises: the gateway answers 500, and remembers nothing."""
    key = f"Bearer {issuer.create('shop', [Scope.PRODUCER]).text}"
    event = http_event("GET", "/ojs/v1/jobs/x", "", {"authorization": key}, b"")
    invoke("authorizer", event)
    from ojs_aws.adapters.dynamodb.access import ApiKeys
    from ojs_aws.domain.errors import BackendUnavailableError

    def fail(*_: object) -> None:
        raise BackendUnavailableError("GetItem failed.")

    monkeypatch.setattr(ApiKeys, "load", fail)
    with pytest.raises(BackendUnavailableError):
        invoke("authorizer", event)
