"""What clients learn when AWS refuses calls: 503 exactly where they may send the request again.

Several clients resend a PUSH without an id on 502 to 504, so a job that may be stored must never
be answered like that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api, Reply
from tests.attempts import BROKEN, LOST, TIMES_OUT, UNREACHABLE, Attempts
from tests.aws import EmbeddedAws, embedded

pytestmark = pytest.mark.moto

THROTTLED = "ThrottlingException"
CONFLICT = "TransactionConflictException"
BUSY = "TransactionCanceledException:None,TransactionConflict"
TAKEN = "TransactionCanceledException:None,ConditionalCheckFailed"
BODY = {"type": "a.b", "args": []}
BIG = "x" * 6000


class Server:
    """The API over an AWS whose attempts follow a script."""

    def __init__(self, aws: EmbeddedAws) -> None:
        self.aws = aws
        self.attempts = Attempts()
        for client in (aws.clients.dynamodb, aws.clients.sqs, aws.clients.s3()):
            self.attempts.steer(client)
        self.backend: Backend = build_backend(
            aws.settings, aws.clients, clock=FakeClock(), parallel=IN_ORDER
        )
        self.api = Api(self.backend)

    def post(self, path: str, body: object, operation: str, *script: str) -> Reply:
        """Send a request during which an operation's attempts go as the script says."""
        self.attempts.operations, self.attempts.script = (operation,), [*script]
        answer = self.api.post(path, body)
        self.attempts.script = []
        return answer

    def stored(self) -> int:
        """How many jobs there are."""
        items = self.aws.clients.dynamodb.scan(TableName=self.aws.settings.table)["Items"]
        return sum(item["sk"]["S"] == "job" for item in items)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with embedded() as aws:
        yield Server(aws)


def check(answer: Reply, status: int) -> None:
    assert (answer.status, answer.error["code"]) == (status, "backend_error")
    assert answer.error["retryable"] is True
    assert answer.headers.get("Retry-After") == ("1" if status == 503 else None)


@pytest.mark.parametrize(
    ("body", "operation", "refusal"),
    [
        (BODY, "PutItem", THROTTLED),
        (BODY, "PutItem", "ProvisionedThroughputExceededException"),
        (BODY, "PutItem", "RequestLimitExceeded"),
        (BODY, "PutItem", CONFLICT),
        (BODY, "PutItem", UNREACHABLE),
        ({"type": "a.b", "args": [BIG]}, "PutItem", THROTTLED),
        ({**BODY, "unique": {"keys": ["type"]}}, "TransactWriteItems", THROTTLED),
        ({**BODY, "unique": {"keys": ["type"]}}, "TransactWriteItems", BUSY),
        ({**BODY, "unique": {"keys": ["type"]}}, "TransactWriteItems", TAKEN),
        ({"jobs": [BODY, BODY]}, "TransactWriteItems", THROTTLED),
        ({"jobs": [BODY, BODY]}, "TransactWriteItems", BUSY),
    ],
)
def test_a_push_that_was_refused_each_time_may_be_sent_again(
    server: Server, body: dict[str, Any], operation: str, refusal: str
) -> None:
    """Nothing was written: 503, and when to come again; then it succeeds."""
    path = "/jobs/batch" if "jobs" in body else "/jobs"
    count = len(body.get("jobs", [0]))
    check(server.post(path, body, operation, *[refusal] * 60), 503)
    assert server.stored() == 0
    assert server.post(path, body, operation).status == 201
    assert server.stored() == count


@pytest.mark.parametrize("unknown", [LOST, TIMES_OUT, BROKEN])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_push_that_may_be_stored_is_not_to_be_sent_again(
    server: Server, unknown: str, place: int
) -> None:
    """One attempt of unknown end among refused ones: 500, as for any ambiguous commit."""
    script = [THROTTLED] * 60
    script[place] = unknown
    answer = server.post("/jobs", BODY, "PutItem", *script)
    if unknown == LOST and place == 2:
        assert server.stored() == 1
    check(answer, 500)


def test_a_push_that_meets_its_own_lost_attempt_is_there_once(server: Server) -> None:
    """The repeated put finds its own token."""
    assert server.post("/jobs", BODY, "PutItem", LOST).status == 201
    assert server.stored() == 1


@pytest.mark.parametrize("more", [{}, {"unique": {"keys": ["type", "args"]}}])
def test_a_batch_sent_again_while_it_is_committed_is_no_duplicate(
    server: Server, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    """DynamoDB shows some of its jobs, and that others are in a transaction: 503, then success."""
    ids = [f"0190a0b0-0000-7000-8000-00000000000{number}" for number in (1, 2)]
    body = {"jobs": [{**BODY, **more, "id": each, "args": [each]} for each in ids]}
    assert server.post("/jobs/batch", body, "TransactWriteItems").status == 201
    client: Any = server.aws.clients.dynamodb
    key = {"pk": {"S": f"job#{ids[0]}"}, "sk": {"S": "job"}}
    stored = client.get_item(TableName=server.aws.settings.table, Key=key)["Item"]

    def collide(**_: object) -> None:
        reasons = [
            {"Code": "ConditionalCheckFailed", "Item": stored},
            *[{"Code": "TransactionConflict"}] * (3 if more else 1),
        ]
        answer: Any = {
            "Error": {"Code": "TransactionCanceledException"},
            "CancellationReasons": reasons,
        }
        raise ClientError(answer, "TransactWriteItems")

    with monkeypatch.context() as patch:
        patch.setattr(client, "transact_write_items", collide)
        check(server.api.post("/jobs/batch", body), 503)
    assert server.api.post("/jobs/batch", body).status in {200, 201}
    assert server.stored() == 2


@pytest.mark.parametrize("body", [BODY, {"jobs": [BODY, BODY]}])
def test_what_is_refused_behind_the_write_does_not_fail_the_push(
    server: Server, body: dict[str, Any]
) -> None:
    """The message is the sweep's then; a second push would be a second job."""
    path, count = ("/jobs/batch", 2) if "jobs" in body else ("/jobs", 1)
    operation = "SendMessageBatch" if count > 1 else "SendMessage"
    answer = server.post(path, body, operation, *["RequestThrottled"] * 60)
    assert (answer.status, server.stored()) == (201, count)


def test_a_call_that_is_refused_behind_another_write_is_no_503(server: Server) -> None:
    """The log of a large batch is written before its commit."""
    body = {"jobs": [BODY] * 120}
    check(server.post("/jobs/batch", body, "TransactWriteItems", *[THROTTLED] * 60), 500)
    assert server.stored() == 0


def test_refused_bookkeeping_in_front_of_the_write_stays_a_503(server: Server) -> None:
    """The place in a bounded queue is written first, and given back."""
    server.backend.queues.config.change("default", {"max_size": 5})
    check(server.post("/jobs", BODY, "PutItem", *[THROTTLED] * 60), 503)
    assert server.stored() == 0


def test_an_ack_that_was_refused_may_be_sent_again(server: Server) -> None:
    """503 for every operation, not for PUSH alone."""
    job_id = server.post("/jobs", BODY, "").json["id"]
    server.api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"})
    check(server.post("/workers/ack", {"job_id": job_id}, "UpdateItem", *[THROTTLED] * 60), 503)
    assert server.post("/workers/ack", {"job_id": job_id}, "").status == 200


@pytest.mark.parametrize(
    ("code", "status", "text"),
    [
        ("NoSuchKey", 500, "missing"),
        ("AccessDenied", 503, "AccessDenied"),
        ("KMS.DisabledException", 503, "KMS.DisabledException"),
    ],
)
def test_only_a_missing_document_is_not_to_be_asked_for_again(
    server: Server, code: str, status: int, text: str
) -> None:
    """A policy or a KMS key that was changed by mistake is changed back; the document is there."""
    backend = build_backend(
        replace(server.aws.settings, inline_limit_bytes=10, s3_threshold_bytes=10),
        server.aws.clients,
        clock=FakeClock(),
        parallel=IN_ORDER,
    )
    api = Api(backend)
    args = ["".join(chr(0x4E00 + n) for n in range(3000))]
    job_id = api.post("/jobs", {"type": "a.b", "args": args}).json["id"]
    server.attempts.operations, server.attempts.script = ("GetObject",), [code] * 9
    answer = api.get(f"/jobs/{job_id}")
    assert (answer.status, answer.error["retryable"]) == (status, status == 503)
    assert ("Retry-After" in answer.headers) == (status == 503)
    assert text in answer.error["message"]
