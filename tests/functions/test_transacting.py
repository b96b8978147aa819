"""Transactional enqueue: the job exists exactly if the business write does, and then it runs."""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from ojs_aws import Client, Job
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.errors import DuplicateError, InvalidRequestError, PayloadTooLargeError
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.events.stream import Handler, build_stream
from tests.aws import EmbeddedAws, embedded
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World

pytestmark = pytest.mark.moto

ROOT = Path(__file__).parents[2]
BY_TYPE: dict[str, Any] = {"keys": ["type"]}
ORDER: dict[str, Any] = {
    "Put": {
        "TableName": "orders",
        "Item": {"id": {"S": "1"}},
        "ConditionExpression": "attribute_not_exists(id)",
    }
}


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A fresh AWS with a table of the application's."""
    with embedded() as aws:
        aws.clients.dynamodb.create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield aws


@pytest.fixture
def client(backend: Backend) -> Client:
    """A client without middleware."""
    return Client.direct(backend=backend, middleware=[])


def commit(aws: EmbeddedAws, *items: Any) -> bool:
    """The application's transaction; False when it is cancelled."""
    try:
        aws.clients.dynamodb.transact_write_items(TransactItems=[*items])
    except ClientError:
        return False
    return True


def record_of(aws: EmbeddedAws, job_id: str, number: str = "1") -> dict[str, Any]:
    """The stream record of a new job."""
    key = {"pk": {"S": f"job#{job_id}"}, "sk": {"S": "job"}}
    image = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)["Item"]
    change = {
        "Keys": key,
        "NewImage": image,
        "SequenceNumber": number,
        "ApproximateCreationDateTime": 1.0,
    }
    return {"Records": [{"eventName": "INSERT", "dynamodb": change}]}


def received(backend: Backend, queue: str = "default") -> list[str]:
    """The jobs that visible messages name."""
    return [m.message.job_id for m in backend.stores.messages.receive(queue, 10, 0)]


@pytest.fixture
def stream(backend: Backend) -> Handler:
    """The function that reads the table's stream."""
    return build_stream(backend, read_image, count=lambda *_: None)


async def test_a_job_is_stored_by_the_applications_transaction(
    aws: EmbeddedAws, backend: Backend, client: Client, stream: Handler
) -> None:
    """It writes nothing before; afterwards a job like any other, whose message the stream sends.

    The settings of the queue are read once in some seconds.
    """
    with aws.calls.counted() as calls:
        made = await client.transact_item("order.confirm", ["1"], priority=5)
    assert calls == {"BatchGetItem": 1}
    assert backend.stores.store.load(made.id) is None
    assert commit(aws, ORDER, *made.items)
    assert received(backend) == []
    stream(record_of(aws, made.id), None)
    assert received(backend) == [made.id]
    (job,) = backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    assert (job.id, job.priority) == (made.id, 5)
    backend.jobs.ack(job.id, "w", None)
    assert (await client.get(made.id)).state == "completed"


async def test_the_limit_of_a_stored_job_is_seen_before_it_begins(
    aws: EmbeddedAws, backend: Backend, client: Client, stream: Handler
) -> None:
    """Or nobody could say how many wait for it, and wake them when it is lifted."""
    backend.limits.override("api", {"concurrency": 0})
    made = await client.transact_item("order.confirm", rate_limit={"key": "api", "concurrency": 1})
    assert commit(aws, ORDER, *made.items)
    stream(record_of(aws, made.id), None)
    counted = backend.limits.get("api")
    assert (counted.waiting, counted.bucket.queues) == (1, ("default",))
    assert received(backend) == [made.id]


async def test_there_is_no_job_when_the_write_is_refused(
    aws: EmbeddedAws, backend: Backend, client: Client
) -> None:
    """And no lock: the next one finds the way free."""
    assert commit(aws, ORDER)
    made = await client.transact_item("order.confirm", ["1"], unique=BY_TYPE)
    assert not commit(aws, ORDER, *made.items)
    assert backend.stores.store.load(made.id) is None
    assert backend.jobs.push(Job("order.confirm", ["1"], unique=BY_TYPE)).is_new


async def test_there_is_no_write_when_the_job_is_refused(
    aws: EmbeddedAws, backend: Backend, client: Client
) -> None:
    """Somebody took the key after it was looked up; the application asks again."""
    made = await client.transact_item("order.confirm", ["1"], unique=BY_TYPE)
    backend.jobs.push(Job("order.confirm", ["2"], unique=BY_TYPE))
    assert not commit(aws, ORDER, *made.items)
    with pytest.raises(DuplicateError):
        await client.transact_item("order.confirm", ["1"], unique=BY_TYPE)
    assert commit(aws, ORDER)


async def test_a_poller_gets_the_job_before_its_message(
    aws: EmbeddedAws, backend: Backend, client: Client
) -> None:
    """The process that reads the stream may be down: the item is the truth."""
    made = await client.transact_item("order.confirm", ["1"])
    assert commit(aws, ORDER, *made.items)
    (job,) = backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    assert job.id == made.id


class Fails:
    """A queue that cannot be reached for a while."""

    def __init__(self, backend: Backend) -> None:
        """Break the backend's."""
        self._inner, self.is_down = backend.job_messages.messages, True

    def __getattr__(self, name: str) -> Any:
        """The queue's method, as long as it is reached."""
        return getattr(self._inner, name)

    def send(self, *arguments: Any, **named: Any) -> None:
        """Send, or fail before or after it took effect."""
        from ojs_aws.domain.errors import BackendError

        if self.is_down:
            raise BackendError("no answer")
        self._inner.send(*arguments, **named)


async def test_a_message_that_cannot_be_sent_is_sent_when_the_record_comes_again(
    aws: EmbeddedAws, backend: Backend, client: Client
) -> None:
    """The crash between the transaction and the message, from each side."""
    made = await client.transact_item("order.confirm", ["1"])
    assert commit(aws, *made.items)
    queue: Any = Fails(backend)
    new_jobs = backend.jobs.new_jobs
    messages = replace(new_jobs.job_messages, messages=queue)
    backend.jobs.new_jobs = replace(new_jobs, job_messages=messages)
    consumer = build_stream(backend, read_image, count=lambda *_: None)
    event = record_of(aws, made.id)
    for _ in range(3):
        assert consumer(event, None)["batchItemFailures"] == [{"itemIdentifier": "1"}]
    queue.is_down = False
    for _ in range(3):
        assert consumer(event, None)["batchItemFailures"] == []
    assert received(backend) == [made.id]
    # a process that died after it had sent the message: another one sends it again, harmlessly
    build_stream(backend, read_image, count=lambda *_: None)(event, None)
    assert len(backend.jobs.fetch(FetchRequest(("default",), 5, "w"))) == 1
    backend.jobs.ack(made.id, "w", None)
    assert backend.jobs.fetch(FetchRequest(("default",), 5, "w")) == []


async def test_only_new_jobs_of_transactions_get_a_message_from_the_stream(
    aws: EmbeddedAws, backend: Backend, client: Client, stream: Handler
) -> None:
    """A pushed one has it, and a later change of one is none of its beginning."""
    pushed = backend.jobs.push(Job("a.b", [1])).record
    assert pushed is not None
    stream(record_of(aws, pushed.id), None)
    made = await client.transact_item("order.confirm", ["1"])
    assert commit(aws, *made.items)
    event = record_of(aws, made.id, "2")
    event["Records"][0]["dynamodb"]["OldImage"] = event["Records"][0]["dynamodb"]["NewImage"]
    with aws.calls.counted() as calls:
        stream(event, None)
    assert "SendMessage" not in calls
    assert received(backend) == [pushed.id]


@pytest.mark.parametrize(
    ("due", "later_s", "delays"),
    [("+PT10M", 0, {600}), ("+PT20M", 0, set()), ("+PT20M", 600, {600})],
)
async def test_a_scheduled_job_is_armed(
    aws: EmbeddedAws, due: str, later_s: int, delays: set[int]
) -> None:
    """Within SQS's reach by a delayed message, beyond it by the sweep, which knows its queue."""
    clock = FakeClock()
    backend = build_backend(aws.settings, aws.clients, clock=clock, parallel=IN_ORDER)
    client = Client.direct(backend=backend, middleware=[])
    made = await client.transact_item("order.remind", ["1"], queue="later", scheduled_at=due)
    clock.advance(s=later_s)
    assert commit(aws, *made.items)
    sent: set[int] = set()
    aws.clients.sqs.meta.events.register(
        "before-parameter-build.sqs.SendMessage",
        lambda params, **_: sent.add(params["DelaySeconds"]),
    )
    build_stream(backend, read_image)(record_of(aws, made.id), None)
    assert sent == delays
    assert "later" in [queue.name for queue in backend.queues.service.list()]
    if not delays:
        clock.advance(s=600)
        assert backend.upkeep.sweep.tick().armed == 1


async def test_unique_jobs_bring_their_lock(
    aws: EmbeddedAws, backend: Backend, client: Client
) -> None:
    """And take that of a job that has ended; ignoring and replacing work as in PUSH."""
    first = await client.transact_item("a.b", [1], unique=BY_TYPE)
    assert len(first.items) == 2
    assert commit(aws, *first.items)
    ignored = await client.transact_item("a.b", [2], unique=BY_TYPE | {"on_conflict": "ignore"})
    assert (ignored.items, ignored.id) == ([], first.id)
    second = await client.transact_item("a.b", [2], unique=BY_TYPE | {"on_conflict": "replace"})
    assert len(second.items) == 3
    assert commit(aws, *second.items)
    assert (await client.get(first.id)).state == "cancelled"
    await client.cancel(second.id)
    third = await client.transact_item("a.b", [3], unique=BY_TYPE)
    assert commit(aws, *third.items)
    assert not commit(aws, *third.items)


async def test_a_large_document_is_part_of_the_transaction(
    aws: EmbeddedAws, client: Client
) -> None:
    """One for S3 cannot be, and is refused before anything is uploaded."""
    text = os.urandom(20_000).hex()
    made = await client.transact_item("a.b", [text])
    assert len(made.items) == 2
    assert commit(aws, *made.items)
    assert (await client.get(made.id)).args == [text]
    with aws.calls.counted() as calls, pytest.raises(PayloadTooLargeError):
        await client.transact_item("a.b", [os.urandom(450_000).hex()])
    assert calls == {}


class Drops:
    """Enqueue middleware that lets nothing pass."""

    async def enqueue(self, job: Job, call_next: Any) -> None:
        """Drop."""
        del job, call_next


class Adds:
    """Enqueue middleware that leaves a mark."""

    async def enqueue(self, job: Job, call_next: Any) -> Any:
        """Mark."""
        job.meta = {**job.meta, "seen": True}
        return await call_next(job)


async def test_the_enqueue_middleware_runs_before(aws: EmbeddedAws, backend: Backend) -> None:
    """A dropped job leaves the business write alone."""
    client = Client.direct(backend=backend, middleware=[Drops()])
    made = await client.transact_item("a.b", [1])
    assert made.items == []
    assert made.dropped_by
    client = Client.direct(backend=backend, middleware=[Adds()])
    made = await client.transact_item("a.b", [1])
    assert commit(aws, *made.items)
    assert (await client.get(made.id)).meta == {"seen": True}


async def test_what_is_invalid_is_refused_at_once(client: Client) -> None:
    """By the name of the attribute."""
    with pytest.raises(InvalidRequestError) as error:
        await client.transact_item("a.b", [1], unique={"keys": ["argz"]})
    assert error.value.details["field"] == "unique.keys"


async def test_a_client_over_http_says_what_to_do() -> None:
    """A server cannot take part in the caller's transaction."""
    async with Client("http://127.0.0.1:9") as client:
        with pytest.raises(RuntimeError, match=r"Client\.direct"):
            await client.transact_item("a.b", [1])


def test_the_example_runs(
    aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An order and its job, and neither a second time."""
    monkeypatch.delenv("OJS_URL", raising=False)
    monkeypatch.setenv("OJS_TABLE", aws.settings.table)
    monkeypatch.setenv("OJS_QUEUE_URL_PREFIX", aws.settings.queue_url_prefix)
    runpy.run_path(str(ROOT / "examples/transactional_enqueue.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["enqueued", "refused"]
    assert lines[0].endswith("available")
    assert aws.clients.dynamodb.scan(TableName="orders")["Count"] == 1


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("due", [None, "+PT10M", "+PT20M"])
def test_no_fault_after_the_transaction_loses_the_message(fault: Fault, due: str | None) -> None:
    """Whichever call of the stream's function fails or ends it: the record comes again."""

    def play(world: World) -> str:
        attributes: dict[str, Any] = {} if due is None else {"scheduled_at": due}
        prepared = world.backend.jobs.transact(Job("order.confirm", ["1"], **attributes))
        world.aws.dynamodb.transact_write_items(TransactItems=cast("Any", prepared.actions))
        (job,) = world.stored.jobs.values()
        change = {"Keys": {}, "SequenceNumber": "1", "NewImage": {"id": job.id}}
        event = {"Records": [{"dynamodb": change}]}
        for _ in range(3):
            try:
                consumer = build_stream(world.backend, lambda _: job, count=lambda *_: None)
                if not consumer(event, None)["batchItemFailures"]:
                    break
            except ProcessDiedError:
                continue
        return job.id

    clean = World()
    play(clean)
    for faulty in range(len(clean.faults.calls)):
        world = World()
        world.faults.faulty, world.faults.fault = faulty, fault
        job_id = play(world)
        world.faults.faulty = None
        while world.clock.at < clean.clock.at + 1_260_000:
            world.backend.upkeep.sweep.tick()
            world.clock.advance(s=60)
        assert job_id in {m.message.job_id for m in world.messages.receive("default", 10, 30)}
