"""What a batch of stream records costs in AWS calls, and how far it gets through every trouble."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.columns import item_bytes, write_units
from ojs_aws.adapters.dynamodb.events.chunks import chunk_events
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.jobs.codec import to_item
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.events import Event
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.topology import STREAM_BATCH
from ojs_aws.transport.events.stream import Handler, build_stream
from tests.api import Api
from tests.aws import EmbeddedAws, embedded
from tests.contract.test_job_store import big_document
from tests.simulation.world import World

Record = dict[str, Any]


def lives(count: int) -> list[list[Record]]:
    """The stream records of some jobs, each from PUSH to ACK or to its discard."""
    world = World()
    api = Api(world.backend)
    made = []
    for number in range(count):
        retry = {"max_attempts": 1}
        job_id = api.post("/jobs", {"type": "demo.echo", "args": [], "retry": retry}).json["id"]
        steps: list[JobRecord | None] = [None, world.stored.jobs[job_id]]
        world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
        steps.append(world.stored.jobs[job_id])
        if number % 2:
            error = {"code": "broken", "message": "it broke"}
            api.post("/workers/nack", {"job_id": job_id, "error": error})
        else:
            api.post("/workers/ack", {"job_id": job_id})
        steps.append(world.stored.jobs[job_id])
        made.append(
            [
                record(f"{number}-{place}", before, after)
                for place, (before, after) in enumerate(itertools.pairwise(steps))
            ]
        )
    return made


def record(number: str, before: JobRecord | None, after: JobRecord | None) -> Record:
    """A stream record."""
    images = {"OldImage": before, "NewImage": after}
    return {
        "dynamodb": {
            "SequenceNumber": number,
            "ApproximateCreationDateTime": 1_760_000_000,
            **{name: to_item(job, lambda _, __: 0) for name, job in images.items() if job},
        }
    }


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """An AWS with a bus."""
    with embedded() as aws:
        aws.clients.events().create_event_bus(Name="jobs")
        yield replace(aws, settings=replace(aws.settings, event_bus="jobs"))


def test_a_batch_costs_one_log_write_one_per_queue_and_a_bus_call_per_ten(
    aws: EmbeddedAws,
) -> None:
    """Thirty jobs' lives in one queue: ninety records, 105 events, of which 45 go to the bus.

    Half of them failed, which is one write more: it groups the failures by error.
    """
    handler = build_stream(build_backend(aws.settings, aws.clients, parallel=IN_ORDER), read_image)
    first, *rest = lives(31)
    handler({"Records": first}, None)
    records = [each for life in rest for each in life]
    assert len(records) == 90
    with aws.calls.counted() as calls:
        handler({"Records": records}, None)
    assert calls == {"PutItem": 1, "PutEvents": 5, "UpdateItem": 2}


def test_a_full_batch_of_the_stream_is_one_append(aws: EmbeddedAws) -> None:
    """Its events fit one chunk, as each append may meet another one."""
    handler = build_stream(build_backend(aws.settings, aws.clients, parallel=IN_ORDER), read_image)
    first, *rest = lives(1 + STREAM_BATCH // 3)
    handler({"Records": first}, None)
    records = [each for life in rest for each in life]
    with aws.calls.counted() as calls:
        handler({"Records": records}, None)
    assert (len(records), calls["PutItem"], calls["Query"]) == (498, 1, 0)


def test_grouping_failures_costs_under_a_tenth_of_a_unit_a_job(aws: EmbeddedAws) -> None:
    """At a busy rate, whatever fails; a batch in which nothing failed writes nothing for it."""
    backend = build_backend(aws.settings, aws.clients, parallel=IN_ORDER)
    handler = build_stream(backend, read_image)
    busy = [each for life in lives(66)[1::2] for each in life]
    assert len(busy) == 99
    handler({"Records": busy}, None)
    pages = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    (item,) = [each for each in pages if each["pk"]["S"] == "failures"]
    assert write_units(item_bytes(item)) / 33 < 0.1
    rows, _ = backend.stores.failure_groups().read(Instant(0), Instant(2 * 10**12))
    (group,) = [each for row in rows for each in row.groups]
    assert (group.type, group.message, group.count) == ("broken", "it broke", 33)
    calm = [each for number, life in enumerate(lives(60)) if number % 2 == 0 for each in life]
    for number, each in enumerate(calm):
        each["dynamodb"]["SequenceNumber"] = f"calm-{number}"
    with aws.calls.counted() as calls:
        handler({"Records": calm}, None)
    assert calls["UpdateItem"] == 1


def test_a_repeated_batch_costs_nothing_in_the_same_process(aws: EmbeddedAws) -> None:
    """It remembers what is done."""
    handler = build_stream(build_backend(aws.settings, aws.clients, parallel=IN_ORDER), read_image)
    records = {"Records": [each for life in lives(3) for each in life]}
    handler(records, None)
    with aws.calls.counted() as calls:
        handler(records, None)
    assert calls == {}


def test_the_trace_of_a_large_job_is_in_its_events_without_a_read(aws: EmbeddedAws) -> None:
    """ojs-events, section 8: the document left the hot item, its trace did not."""
    backend = build_backend(aws.settings, aws.clients, parallel=IN_ORDER)
    body = {"type": "a.b", "args": [str(big_document(6_000))], "meta": {"trace_id": "4bf9"}}
    job = backend.stores.store.load(Api(backend).post("/jobs", body).json["id"])
    made = record("1", None, job)
    assert "M" in made["dynamodb"]["NewImage"]["d"]
    handler = build_stream(backend, read_image)
    handler({"Records": lives(1)[0]}, None)
    with aws.calls.counted() as calls:
        handler({"Records": [made]}, None)
    assert calls == {"PutItem": 1, "UpdateItem": 1}
    *_, event = Api(backend).get("/events").json["events"]
    assert event["data"]["trace_id"] == "4bf9"


class Died(BaseException):
    """The process is gone."""


class Troubled:
    """The log and the bus of one process, with troubles at chance's will.

    :ivar published: what the bus took, over all processes.
    """

    def __init__(self, backend: Backend, chance: random.Random, published: list[Event]) -> None:
        self._log = backend.events
        self._chance = chance
        self._published = published

    def append(self, events: Sequence[Event], now: Any) -> None:
        """Append, unless something happens before or after it took effect."""
        self._trouble(lambda: self._log.append(events, now))

    def take_refused(self) -> int:
        """How many appends came too late."""
        return self._log.take_refused()

    def set_aside(self, *arguments: Any) -> None:
        """Nothing may be set aside by troubles that pass."""
        raise AssertionError(arguments)

    def __call__(self, events: Sequence[Event]) -> list[str]:
        """Take some events, and die now and then."""
        refused = [event.id for event in events if self._chance.random() < 0.2]
        taken = [event for event in events if event.id not in refused]
        try:
            self._trouble(lambda: self._published.extend(taken))
        except BackendError:
            return [event.id for event in events]
        return refused

    def _trouble(self, call: Callable[[], None]) -> None:
        fate = self._chance.random()
        if fate < 0.1:
            raise Died
        if fate < 0.25:
            raise BackendError("refused")
        call()
        if fate < 0.35:
            raise Died
        if fate < 0.45:
            raise BackendError("the answer was lost")


@pytest.mark.parametrize("seed", range(12))
def test_every_transition_is_published_in_order_despite_faults(aws: EmbeddedAws, seed: int) -> None:
    """Promise 6.

    Records are shuffled between jobs, repeated, and cut into batches anyhow; processes die between
    the log and the bus; calls fail before and after they took effect.
    """
    chance = random.Random(seed)
    jobs = lives(6)
    shard = _interleaved([list(life) for life in jobs], chance)
    published: list[Event] = []
    hooked: list[Event] = []
    at = 0
    handler: Handler | None = None
    for _ in range(3000):
        if at >= len(shard):
            break
        handler = handler or _process(aws, chance, published, hooked)
        batch = shard[at : at + chance.randint(1, 7)]
        if chance.random() < 0.1:
            batch = shard[max(0, at - 3) : at + len(batch)]  # Lambda repeats a batch now and then
        try:
            failed = handler({"Records": batch}, None)["batchItemFailures"]
        except Died:
            handler = None
            continue
        reached = shard.index(batch[-1]) + 1
        if failed:
            numbers = [each["dynamodb"]["SequenceNumber"] for each in shard]
            reached = numbers.index(failed[0]["itemIdentifier"])
        at = max(at, reached)
    assert at == len(shard)
    logged = [event for item in _chunks(aws) for event in chunk_events(item)]
    expected = _expected(jobs)
    assert _first_of_each(logged) == expected
    assert {event.id for event in published} == {each for ids in expected.values() for each in ids}
    assert _first_of_each(hooked) == expected


def _interleaved(lives: list[list[Record]], chance: random.Random) -> list[Record]:
    """One shard: jobs anyhow, each in its order."""
    shard = []
    while lives := [life for life in lives if life]:
        shard.append(chance.choice(lives).pop(0))
    return shard


def _process(
    aws: EmbeddedAws, chance: random.Random, published: list[Event], hooked: list[Event]
) -> Handler:
    """A consumer in a new process."""
    backend = build_backend(aws.settings, aws.clients, parallel=IN_ORDER)
    troubled: Any = Troubled(backend, chance, published)
    stores = replace(backend.stores, events=lambda: troubled, announce=lambda: troubled)

    def hook(event: Event) -> None:
        if chance.random() < 0.05:
            raise Died
        hooked.append(event)

    return build_stream(Backend(aws.settings, stores), read_image, hooks=hook)


def _expected(jobs: list[list[Record]]) -> dict[str, list[str]]:
    """Ids of the events of each job, in order: what a consumer without faults publishes."""
    world = World()
    build_stream(world.backend, read_image)({"Records": [r for life in jobs for r in life]}, None)
    return _first_of_each(world.published())


def _first_of_each(events: Sequence[Event]) -> dict[str, list[str]]:
    """Ids by subject, in the order in which a consumer that drops repeats sees them."""
    seen: dict[str, list[str]] = {}
    for event in events:
        ids = seen.setdefault(event.subject, [])
        if event.id not in ids:
            ids.append(event.id)
    return seen


def _chunks(aws: EmbeddedAws) -> list[dict[str, Any]]:
    answer = aws.clients.dynamodb.query(
        TableName=aws.settings.table,
        KeyConditionExpression="#pk = :pk",
        ExpressionAttributeNames={"#pk": "pk"},
        ExpressionAttributeValues={":pk": {"S": "events"}},
    )
    return [dict(item) for item in answer["Items"]]
