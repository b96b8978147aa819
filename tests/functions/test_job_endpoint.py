"""The job endpoint as it is deployed: events of a function URL in, no gateway in between."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from aws_lambda_powertools import Logger

from ojs_aws.bootstrap import build_key_issuer
from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from ojs_aws.domain.envelope import Job
from ojs_aws.local.lambdas import LambdaContext, http_event
from ojs_aws.services.access.api_keys import KeyIssuer
from ojs_aws.transport.http.resolver import build_resolver
from ojs_aws.transport.http.routes import JOB_ENDPOINT, ROUTES, Group
from ojs_aws.worker.delivery.request import token_of
from ojs_aws.worker.secrets import worker_secrets
from tests.api import OJS
from tests.simulation.world import World

pytestmark = pytest.mark.moto

EVENTS = Path(__file__).parent / "events"
ARN = "arn:aws:sts::123456789012:assumed-role/Shop/s"
Invoke = Callable[[str, Any], Any]
Send = Callable[..., Any]


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> KeyIssuer:
    """The keys of a deployment that asks for them."""
    monkeypatch.setenv("OJS_AUTH", "api-key")
    return build_key_issuer(Settings(), boto3.client("dynamodb"))


@pytest.fixture
def send(invoke: Invoke) -> Send:
    """Sends a request to the URL; returns status and body of the answer."""

    def to_url(method: str, path: str, body: object = None, key: str = "", **context: Any) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": OJS} | ({"authorization": f"Bearer {key}"} if key else {})
        event = http_event(method, f"/ojs/v1{path}", "", headers, content)
        event["requestContext"] |= context
        answer = invoke("job_endpoint", event)
        return answer["statusCode"], json.loads(answer["body"] or "{}")

    return to_url


def test_a_jobs_life_at_one_url(invoke: Invoke, send: Send) -> None:
    """Pushed, fetched by a recorded event, kept by a heartbeat, completed, and read."""
    status, pushed = send("POST", "/jobs", {"type": "demo.echo", "args": ["x" * 20_000]})
    assert status == 201
    recorded = json.loads((EVENTS / "fetch_by_function_url.json").read_text("utf-8"))
    fetched = invoke("job_endpoint", recorded)
    (job,) = json.loads(fetched["body"])["jobs"]
    assert job["id"] == pushed["id"]
    assert fetched["headers"]["Content-Type"] == OJS
    beat = {"worker_id": "w", "active_jobs": [job["id"]]}
    assert send("POST", "/workers/heartbeat", beat)[1]["jobs_extended"] == [job["id"]]
    done = {"job_id": job["id"], "worker_id": "w", "result": [1]}
    assert send("POST", "/workers/ack", done)[1]["state"] == "completed"
    assert send("GET", f"/jobs/{job['id']}")[1]["result"] == [1]


def test_a_batch_a_failure_and_the_manifest_are_served_too(send: Send) -> None:
    """What else senders and workers need, and the paths outside of the base path."""
    status, batch = send("POST", "/jobs/batch", {"jobs": [{"type": "a", "args": []}] * 2})
    assert (status, batch["count"]) == (201, 2)
    _, fetched = send("POST", "/workers/fetch", {"queues": ["default"], "worker_id": "w"})
    failure = {"job_id": fetched["jobs"][0]["id"], "error": {"type": "Broken", "message": "m"}}
    assert send("POST", "/workers/nack", failure)[1]["state"] == "retryable"
    assert send("GET", "/health")[0] == 200


def test_each_operation_of_senders_and_workers_is_served(send: Send) -> None:
    """By each of its paths; operators' operations are answered with where they are."""
    for route in ROUTES:
        for path in route.paths:
            if not path.startswith("/ojs/v1/"):
                continue
            asked = path.removeprefix("/ojs/v1").replace("<", "a-").replace(">", "")
            status, answer = send(route.method, asked, {} if route.request else None)
            is_elsewhere = "the output ApiUrl" in answer.get("error", {}).get("hint", "")
            is_served = route.group in JOB_ENDPOINT
            assert is_elsewhere is not is_served, (route.endpoint, status, answer)


def test_keys_have_their_scopes_and_bounds(issuer: KeyIssuer, send: Send) -> None:
    """As behind the gateway: the same code finds the caller and checks the operation."""
    shop = issuer.create("shop", [Scope.PRODUCER], queues=["email"]).text
    job = {"type": "email.send", "args": [], "queue": "email"}
    assert send("POST", "/jobs", job, shop)[0] == 201
    assert send("POST", "/jobs", {**job, "queue": "other"}, shop)[0] == 403
    assert send("POST", "/workers/fetch", {"queues": ["email"]}, shop)[0] == 403
    worker = issuer.create("worker", [Scope.WORKER]).text
    assert send("POST", "/workers/fetch", {"queues": ["email"]}, worker)[0] == 200


@pytest.mark.parametrize("key", ["", "nonsense", "ojs_" + "0" * 16 + "_" + "x" * 43])
def test_requests_without_a_key_get_only_health(key: str, issuer: KeyIssuer, send: Send) -> None:
    """Unknown paths included, which say nothing to strangers either."""
    for method, path in (("POST", "/jobs"), ("GET", "/jobs/x"), ("GET", "/queues"), ("GET", "/x")):
        status, answer = send(method, path, {}, key)
        assert (status, answer["error"]["code"]) == (401, "unauthenticated")
    assert send("GET", "/health", None, key)[0] == 200


def test_a_caller_that_the_event_itself_names_is_replaced(issuer: KeyIssuer, send: Send) -> None:
    """Whoever may invoke the function directly could write any caller into the event."""
    found = {"id": "key:x", "name": "x", "permissions": ["enqueue"], "queues": [], "types": []}
    forged = {"lambda": {"ojs": json.dumps(found)}}
    status, _ = send("POST", "/jobs", {"type": "a", "args": []}, authorizer=forged)
    assert status == 401


def test_a_key_is_looked_up_once_in_its_time(
    issuer: KeyIssuer, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for each request; a refused one is looked up each time."""
    from ojs_aws.adapters.dynamodb.access import ApiKeys

    key, unknown = issuer.create("w", [Scope.WORKER]).text, "ojs_" + "0" * 16 + "_" + "x" * 43
    looked_up: list[str] = []
    load = ApiKeys.load

    def watched(self: ApiKeys, key_id: str) -> Any:
        looked_up.append(key_id)
        return load(self, key_id)

    monkeypatch.setattr(ApiKeys, "load", watched)
    for given in (key, key, key, unknown, unknown):
        send("POST", "/workers/fetch", {"queues": ["default"]}, given)
    assert [key[4:20], "0" * 16, "0" * 16] == looked_up


def test_a_table_that_does_not_answer_for_a_key_is_an_ojs_error(
    issuer: KeyIssuer, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was done: the client may send the request again. The gateway says 500."""
    from ojs_aws.adapters.dynamodb.access import ApiKeys
    from ojs_aws.domain.errors import BackendUnavailableError

    def fail(*_: object) -> None:
        raise BackendUnavailableError("GetItem failed.")

    key = issuer.create("shop", [Scope.PRODUCER]).text
    monkeypatch.setattr(ApiKeys, "load", fail)
    status, answer = send("POST", "/jobs", {"type": "a", "args": []}, key)
    assert (status, answer["error"]["retryable"]) == (503, True)


def test_by_iam_the_principal_is_the_caller(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lambda has checked the signature; the settings give scopes to principals."""
    monkeypatch.setenv("OJS_AUTH", "iam")
    monkeypatch.setenv("OJS_IAM_SCOPES", json.dumps({ARN: ["producer"]}))
    signed = {"iam": {"userArn": ARN}}
    job = {"type": "a", "args": []}
    assert send("POST", "/jobs", job, authorizer=signed)[0] == 201
    assert send("POST", "/workers/fetch", {"queues": ["a"]}, authorizer=signed)[0] == 403
    assert send("POST", "/jobs", job)[0] == 401


@pytest.mark.parametrize(("groups", "source"), [(JOB_ENDPOINT, "127.0.0.1"), (["system"], None)])
def test_the_log_names_the_address_that_no_gateway_logs(groups: Any, source: str | None) -> None:
    """In the line of each request; behind the gateway its own log has it."""
    lines = io.StringIO()
    logger = Logger(service=f"from-{source}", logger_handler=logging.StreamHandler(lines))
    resolver = build_resolver(World().backend, *map(Group, groups), logger=logger)
    resolver(http_event("GET", "/ojs/v1/health", "", {}, b""), LambdaContext("f", 29.0))
    assert json.loads(lines.getvalue()).get("source_ip") == source


def test_a_token_of_a_delivery_reports_at_the_url(
    issuer: KeyIssuer, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed by what the function's environment names; a key of another opens nothing."""
    worker_secrets.cache_clear()
    monkeypatch.setenv("OJS_SIGNING_SECRET", "whsec_test")
    producer, worker = (
        issuer.create(str(each), [each]).text for each in (Scope.PRODUCER, Scope.WORKER)
    )
    send("POST", "/jobs", {"type": "demo.echo", "args": []}, producer)
    (job,) = send("POST", "/workers/fetch", {"queues": ["default"]}, worker)[1]["jobs"]
    claimed = Job.from_json(json.dumps(job))
    for key, expected in (("whsec_other", 401), ("whsec_test", 200)):
        token = token_of(claimed, job["reservation_id"], key)
        status, _ = send("POST", f"/jobs/{job['id']}/ack", {}, token)
        assert status == expected
