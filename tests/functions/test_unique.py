"""Unique jobs through the client, the stream and the API."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from ojs_aws import Client, Job
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend
from ojs_aws.client import HttpConnection
from ojs_aws.client.transports.connection import HttpTransport
from ojs_aws.domain.errors import BackendError, DuplicateError
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.transport.events.stream import build_stream
from tests.api import Api
from tests.aws import EmbeddedAws

BY_TYPE: dict[str, Any] = {"keys": ["type"]}


class ReturnsTheJobItKnows:
    """Enqueue middleware as many write it."""

    async def enqueue(self, job: Job, call_next: Any) -> Job:
        """Return the job that came, and not the one that call_next gave."""
        await call_next(job)
        return job

    async def enqueue_many(self, jobs: list[Job], call_next: Any) -> Any:
        """Pass all on."""
        return await call_next(jobs)


async def test_the_client_distinguishes_a_duplicate_from_its_own_job(backend: Backend) -> None:
    """Alone and in a batch, whatever the middleware returns."""
    client = Client.direct(backend=backend, middleware=[ReturnsTheJobItKnows()])
    first = await client.enqueue("a.b", [1], unique=BY_TYPE)
    assert (first.is_new, first.is_duplicate) == (True, False)
    policy = BY_TYPE | {"on_conflict": "ignore"}
    again = await client.enqueue("a.b", [2], unique=policy)
    assert (again.id, again.is_new, again.is_duplicate) == (first.id, False, True)
    assert again.asked_id != first.id
    other, third = await client.enqueue_many([Job("c.d", [1]), Job("a.b", [3], unique=policy)])
    assert (other.is_new, other.is_duplicate) == (True, False)
    assert (third.id, third.is_duplicate) == (first.id, True)
    with pytest.raises(DuplicateError) as error:
        await client.enqueue("a.b", [2], unique=BY_TYPE)
    assert error.value.details["existing_job_id"] == first.id


async def test_the_client_reads_the_same_from_http_answers(backend: Backend) -> None:
    """Duplicates and updates, alone and among others."""
    api = Api(backend)

    def answer(request: httpx.Request) -> httpx.Response:
        reply = api.send(request.method, request.url.path, request.content)
        return httpx.Response(reply.status, headers=dict(reply.headers), text=reply.text)

    connection = HttpConnection("http://ojs", http_transport=httpx.MockTransport(answer))
    async with Client(transport=HttpTransport(connection), middleware=[]) as client:
        first = await client.enqueue("a.b", [1], unique=BY_TYPE, scheduled_at="+PT1H")
        ignore = BY_TYPE | {"on_conflict": "ignore"}
        again = await client.enqueue("a.b", [2], unique=ignore)
        assert (again.id, again.is_new, again.is_duplicate) == (first.id, False, True)
        update = BY_TYPE | {"on_conflict": "replace_except_schedule"}
        other, third, fourth = await client.enqueue_many(
            [Job("c.d", [1]), Job("a.b", [3], unique=update), Job("e.f", [1], unique=ignore)]
        )
        assert [result.is_duplicate for result in (other, third, fourth)] == [False, True, False]
        assert third.id == first.id
        assert (await client.get(first.id)).args == [3]
        with pytest.raises(DuplicateError) as error:
            await client.enqueue("a.b", [4], unique=BY_TYPE)
        assert error.value.details["existing_job_id"] == first.id


def test_the_manifest_declares_the_strength(backend: Backend) -> None:
    """Section 8.3, ojs-conformance 4.2 (L4-UNIQ-003); clients read the capability as a boolean."""
    manifest = Api(backend).send("GET", "/ojs/manifest").json
    assert manifest["capabilities"]["unique_jobs"] is True
    assert manifest["unique_jobs"]["strength"] == "strong"
    assert manifest["unique_job_strength"] == "strong"


def removed(aws: EmbeddedAws, job_id: str, **who: Any) -> dict[str, Any]:
    """The stream record of a job that is removed."""
    key = {"pk": {"S": f"job#{job_id}"}, "sk": {"S": "job"}}
    table = aws.settings.table
    image = aws.clients.dynamodb.get_item(TableName=table, Key=key)["Item"]
    aws.clients.dynamodb.delete_item(TableName=table, Key=key)
    change = {
        "Keys": key,
        "OldImage": image,
        "SequenceNumber": "1",
        "ApproximateCreationDateTime": 1.0,
    }
    return {"Records": [{"eventName": "REMOVE", "dynamodb": change, **who}]}


def locks(aws: EmbeddedAws) -> list[str]:
    """The jobs that locks name."""
    answer = aws.clients.dynamodb.scan(TableName=aws.settings.table)
    return [item["j"]["S"] for item in answer["Items"] if item["sk"]["S"] == "lock"]


def test_a_lock_is_removed_with_its_job(aws: EmbeddedAws, backend: Backend) -> None:
    """By retention or by an operator; repeated records change nothing."""
    pushed = backend.jobs.push(Job("a.b", [1], unique=BY_TYPE)).record
    assert pushed is not None
    assert locks(aws) == [pushed.id]
    handle = build_stream(backend, read_image)
    event = removed(aws, pushed.id)
    for _ in range(2):
        assert handle(event, None) == {"batchItemFailures": []}
    assert locks(aws) == []


def test_a_lock_that_was_taken_over_stays(aws: EmbeddedAws, backend: Backend) -> None:
    """The job that is removed is not the one that it names."""
    old = backend.jobs.push(Job("a.b", [1], unique=BY_TYPE)).record
    new = backend.jobs.push(Job("a.b", [2], unique=BY_TYPE | {"on_conflict": "replace"})).record
    assert old is not None
    assert new is not None
    build_stream(backend, read_image)(removed(aws, old.id), None)
    assert locks(aws) == [new.id]


class Conflicts:
    """A client whose transactions meet others, so many times."""

    def __init__(self, client: Any, times: int) -> None:
        """Wrap a client."""
        self._client, self.times = client, times

    def __getattr__(self, name: str) -> Any:
        """The client's method."""
        return getattr(self._client, name)

    def transact_write_items(self, **arguments: Any) -> Any:
        """Answer as DynamoDB does while another transaction has the same item."""
        if self.times:
            self.times -= 1
            answer: Any = {
                "Error": {"Code": "TransactionCanceledException"},
                "CancellationReasons": [{"Code": "None"}, {"Code": "TransactionConflict"}],
            }
            raise ClientError(answer, "TransactWriteItems")
        return self._client.transact_write_items(**arguments)


def conflicting(aws: EmbeddedAws, times: int) -> Backend:
    """A backend that meets other transactions."""
    from dataclasses import replace

    client: Any = Conflicts(aws.clients.dynamodb, times)
    return build_backend(aws.settings, replace(aws.clients, dynamodb=client), parallel=IN_ORDER)


def test_a_job_that_meets_another_transaction_looks_again(aws: EmbeddedAws) -> None:
    """DynamoDB refuses one of two transactions that want an item at the same time."""
    assert conflicting(aws, 3).jobs.push(Job("a.b", [1], unique=BY_TYPE)).is_new
    with pytest.raises(DuplicateError):
        conflicting(aws, 1).jobs.push(Job("a.b", [2], unique=BY_TYPE))


def test_a_repeated_push_that_meets_another_transaction_finds_its_own_job(
    aws: EmbeddedAws,
) -> None:
    """Then DynamoDB does not say what is there."""
    job_id = "01990000-0000-7000-8000-aaaaaaaaaaaa"
    for times in (0, 1):
        pushed = conflicting(aws, times).jobs.push(Job("a.b", [1], id=job_id, unique=BY_TYPE))
        assert pushed.record is not None
        assert (pushed.record.id, pushed.is_new) == (job_id, times == 0)


@pytest.mark.usefixtures("no_pauses")
def test_a_key_that_stays_contended_is_an_error_to_be_repeated(aws: EmbeddedAws) -> None:
    """After a bounded number of looks."""
    with pytest.raises(BackendError) as error:
        conflicting(aws, 99).jobs.push(Job("a.b", [1], unique=BY_TYPE))
    assert error.value.retryable
