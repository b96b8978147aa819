"""The stream consumer: committed changes become events, and no record holds up the shard."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.jobs.codec import to_item
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.events import Event
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues.tallies import total
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.transport.events.stream import Handler, build_stream
from ojs_aws.transport.events.stream_effects import Hooks
from ojs_aws.transport.events.stream_reader import MAX_TRIES, PATIENCE
from tests.api import Api
from tests.simulation.faults import ProcessDiedError
from tests.simulation.world import World


def image(record: JobRecord, *, as_json: bool) -> dict[str, Any]:
    """An item's image, as Lambda hands it over (JSON) or as botocore does."""
    item = to_item(record, lambda _, __: 0)
    if not as_json:
        return dict(item)
    text = json.dumps(item, default=lambda binary: base64.b64encode(binary).decode())
    decoded: dict[str, Any] = json.loads(text)
    return decoded


def record_of(
    number: int, before: JobRecord | None, after: JobRecord | None, *, as_json: bool = True
) -> dict[str, Any]:
    """A stream record."""
    change: dict[str, Any] = {"SequenceNumber": str(number)}
    if before is not None:
        change["OldImage"] = image(before, as_json=as_json)
    if after is not None:
        change["NewImage"] = image(after, as_json=as_json)
    return {"eventName": "MODIFY", "dynamodb": change}


@pytest.fixture
def handler(world: World) -> Handler:
    """The consumer over it."""
    return build_stream(world.backend, read_image)


@pytest.fixture
def life(world: World) -> list[JobRecord]:
    """A job available, active and completed; its document is long enough to be deflated."""
    reply = Api(world.backend).post("/jobs", {"type": "demo.echo", "args": ["x" * 1000]})
    job_id = reply.json["id"]
    available = world.stored.jobs[job_id]
    world.backend.jobs.fetch(FetchRequest(("default",)))
    active = world.stored.jobs[job_id]
    world.backend.jobs.ack(job_id, None, None)
    return [available, active, world.stored.jobs[job_id]]


def batch(life: list[JobRecord], *, as_json: bool = True) -> list[dict[str, Any]]:
    """The stream records of a life."""
    steps = zip([None, *life], life, strict=False)
    return [record_of(n, before, after, as_json=as_json) for n, (before, after) in enumerate(steps)]


@pytest.mark.parametrize("as_json", [True, False])
def test_each_committed_change_becomes_its_event(
    world: World, handler: Handler, life: list[JobRecord], as_json: bool
) -> None:
    """Promise 6; the images may come from Lambda or from botocore."""
    assert handler({"Records": batch(life, as_json=as_json)}, None) == {"batchItemFailures": []}
    types = [event.type for event in world.published()]
    assert types == ["job.enqueued", "job.started", "job.completed"]


def test_a_repeated_batch_repeats_the_ids(
    world: World, handler: Handler, life: list[JobRecord]
) -> None:
    """Consumers drop repeats by id."""
    for _ in range(2):
        handler({"Records": batch(life)}, None)
    assert len(world.published()) == 3


@pytest.mark.parametrize(
    "poison",
    [
        {},
        {"dynamodb": {}},
        {
            "dynamodb": {
                "SequenceNumber": "9",
                "NewImage": {"pk": {"S": "job#x"}, "sk": {"S": "job"}, "v": {"N": "1"}},
            }
        },
        {"dynamodb": {"SequenceNumber": "9", "NewImage": {"pk": 5, "v": {"N": "1"}}}},
    ],
)
def test_a_record_that_cannot_be_read_is_left_behind(
    world: World, handler: Handler, life: list[JobRecord], poison: dict[str, Any]
) -> None:
    """Those around it get their events, and it does not come again."""
    first, *rest = batch(life)
    assert handler({"Records": [first, poison, *rest]}, None) == {"batchItemFailures": []}
    assert len(world.published()) == 3
    expected = 0 if poison == {"dynamodb": {}} else 1
    assert len([*world.events.aside(9)]) == expected


def test_items_that_are_no_jobs_make_no_events(world: World, handler: Handler) -> None:
    """Documents with items of their own, queues, workers, events."""
    others = [("job#x", "blob#1"), ("queues", "default"), ("events#1", "job")]
    records = [
        {"dynamodb": {"SequenceNumber": "1", "NewImage": {"pk": {"S": pk}, "sk": {"S": sk}}}}
        for pk, sk in others
    ]
    assert handler({"Records": records}, None) == {"batchItemFailures": []}
    assert world.published() == []


def test_a_deleted_job_makes_no_event(
    world: World, handler: Handler, life: list[JobRecord]
) -> None:
    """TTL or an operator removed it: no transition."""
    handler({"Records": [record_of(1, life[-1], None)]}, None)
    assert world.published() == []


def refusing(world: World, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A log that never takes events of a type, for a reason that is ours."""
    append = world.events.append

    def failing(events: Sequence[Event], now: Instant) -> None:
        if any(event.type == kind for event in events):
            raise ValueError("a defect")
        append(events, now)

    monkeypatch.setattr(world.events, "append", failing)


def another(world: World) -> JobRecord:
    """One more job."""
    reply = Api(world.backend).post("/jobs", {"type": "demo.echo", "args": []})
    return world.stored.jobs[reply.json["id"]]


def published_events(world: World) -> list[tuple[str, str]]:
    """What the log holds: subject and type."""
    return [(event.subject, event.type) for event in world.published()]


def test_a_change_that_cannot_be_logged_does_not_hold_up_other_jobs(
    world: World, handler: Handler, life: list[JobRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later changes of the same job wait for it, in order; it comes again."""
    refusing(world, monkeypatch, "job.started")
    other = another(world)
    records = [*batch(life), record_of(7, None, other)]
    assert handler({"Records": records}, None) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    job = life[0].id
    assert published_events(world) == [(job, "job.enqueued"), (other.id, "job.enqueued")]


def test_a_repeated_change_is_published_from_where_it_failed(
    world: World, handler: Handler, life: list[JobRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Order per job holds, and what was published is not published again by the same process."""
    with monkeypatch.context() as patch:
        refusing(world, patch, "job.started")
        records = batch(life)
        handler({"Records": records}, None)
    assert handler({"Records": records[1:]}, None) == {"batchItemFailures": []}
    types = [kind for _, kind in published_events(world)]
    assert types == ["job.enqueued", "job.started", "job.completed"]


def test_a_poison_change_is_set_aside_after_some_tries_and_counted(
    world: World, life: list[JobRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job's later events follow then; the record itself is kept whole."""
    counted: list[int] = []
    handler = build_stream(world.backend, read_image, count=lambda value, _: counted.append(value))
    refusing(world, monkeypatch, "job.started")
    records = [*batch(life), record_of(7, None, another(world))]
    answers = [handler({"Records": records}, None) for _ in range(MAX_TRIES + 1)]
    failed = {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert answers[: MAX_TRIES - 1] == [failed] * (MAX_TRIES - 1)
    assert answers[-1] == {"batchItemFailures": []}
    (aside,) = world.events.aside(9)
    assert json.loads(aside.record)["dynamodb"]["SequenceNumber"] == "1"
    assert counted == [1]
    job = life[0].id
    assert [kind for subject, kind in published_events(world) if subject == job] == [
        "job.enqueued",
        "job.completed",
    ]


def test_a_poison_change_of_two_large_images_holds_up_no_shard(
    world: World, handler: Handler, life: list[JobRecord]
) -> None:
    """Two items at the limit of DynamoDB, of which nothing compresses, fit no item together."""
    chance = random.Random(1)
    images = [{"d": {"B": base64.b64encode(chance.randbytes(400_000)).decode()}} for _ in "ab"]
    poison = {"SequenceNumber": "9", "OldImage": images[0], "NewImage": {"pk": 5, **images[1]}}
    records = [{"dynamodb": poison}, *batch(life)]
    assert handler({"Records": records}, None) == {"batchItemFailures": []}
    (aside,) = world.events.aside(9)
    assert json.loads(aside.record) == records[0]
    assert len(published_events(world)) == 3


def test_an_outage_sets_nothing_aside(
    world: World, handler: Handler, life: list[JobRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While nothing can be logged, the batch is repeated from its beginning."""

    def down(events: object, now: object) -> None:
        raise BackendError("throttled")

    with monkeypatch.context() as patch:
        patch.setattr(world.events, "append", down)
        for _ in range(3 * MAX_TRIES):
            answer = handler({"Records": batch(life)}, None)
            assert answer == {"batchItemFailures": [{"itemIdentifier": "0"}]}
    assert [*world.events.aside(9)] == []
    assert handler({"Records": batch(life)}, None) == {"batchItemFailures": []}
    assert len(published_events(world)) == 3


def test_what_was_set_aside_is_published_when_an_operator_asks(
    world: World, handler: Handler, life: list[JobRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the defect was fixed; what still fails stays, and the answer names it."""
    poison = {"dynamodb": {"SequenceNumber": "9", "NewImage": {"pk": 5, "v": {"N": "1"}}}}
    with monkeypatch.context() as patch:
        refusing(world, patch, "job.started")
        records = [*batch(life), record_of(7, None, another(world)), poison]
        for _ in range(MAX_TRIES + 1):
            handler({"Records": records}, None)
        assert {each.number for each in world.events.aside(9)} == {"1", "9"}
    answer = handler({"redrive": True}, None)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "9"}]}
    assert {each.number for each in world.events.aside(9)} == {"9"}
    assert published_events(world)[-1] == (life[0].id, "job.started")
    assert len(published_events(world)) == 4


def test_what_aws_never_accepts_is_set_aside_in_the_end(
    world: World, bus: Bus, life: list[JobRecord]
) -> None:
    """Kept whole, before Lambda would drop the batch; the log has had it all along."""
    handler = with_bus(world, bus)
    bus.refused = {"job.started"}
    records = {"Records": batch(life)}
    answers = [handler(records, None)["batchItemFailures"] for _ in range(PATIENCE)]
    assert [bool(answer) for answer in answers] == [True] * (PATIENCE - 1) + [False]
    assert [json.loads(a.record)["dynamodb"]["SequenceNumber"] for a in world.events.aside(9)] == [
        "1"
    ]
    assert len(published_events(world)) == 3


def test_hooks_keep_the_order_of_a_job_whose_event_the_bus_refused(
    world: World, bus: Bus, life: list[JobRecord]
) -> None:
    """What follows it waits, too."""
    seen: list[str] = []
    handler = with_bus(world, bus, lambda event: seen.append(event.type))
    bus.refused = {"job.started"}
    records = [*batch(life), record_of(7, None, another(world))]
    handler({"Records": records}, None)
    assert seen == ["job.enqueued", "job.enqueued"]
    bus.refused = set()
    assert handler({"Records": records}, None) == {"batchItemFailures": []}
    assert seen[2:] == ["job.started", "job.completed"]


def test_an_unreadable_record_that_cannot_be_set_aside_comes_again(
    world: World, handler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is dropped without a trace."""

    def down(change: object, now: object) -> None:
        raise BackendError("throttled")

    monkeypatch.setattr(world.events, "set_aside", down)
    poison = {"dynamodb": {"SequenceNumber": "9", "NewImage": {"pk": 5, "v": {"N": "1"}}}}
    assert handler({"Records": [poison]}, None) == {"batchItemFailures": [{"itemIdentifier": "9"}]}


class Bus:
    """A bus that refuses some events."""

    def __init__(self) -> None:
        self.taken: list[Event] = []
        self.refused: set[str] = set()

    def __call__(self, events: Sequence[Event]) -> list[str]:
        self.taken += [event for event in events if event.type not in self.refused]
        return [event.id for event in events if event.type in self.refused]


@pytest.fixture
def bus() -> Bus:
    """A bus."""
    return Bus()


def with_bus(world: World, bus: Bus, hooks: Hooks | None = None) -> Handler:
    """A consumer with a bus."""
    stores = replace(world.backend.stores, announce=lambda: bus)
    return build_stream(Backend(world.settings, stores), read_image, hooks=hooks)


def test_what_the_bus_refuses_is_repeated_and_nothing_else(
    world: World, bus: Bus, life: list[JobRecord]
) -> None:
    """The log has it already, and keeps it once."""
    handler = with_bus(world, bus)
    bus.refused = {"job.started"}
    failed = {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert handler({"Records": batch(life)}, None) == failed
    bus.refused = set()
    assert handler({"Records": batch(life)[1:]}, None) == {"batchItemFailures": []}
    assert sorted(event.type for event in bus.taken) == [
        "job.completed",
        "job.enqueued",
        "job.started",
    ]
    assert len(published_events(world)) == 3


def test_hooks_are_called_with_each_event_in_order(
    world: World, bus: Bus, life: list[JobRecord]
) -> None:
    """After the log and the bus, with the same ids."""
    seen: list[Event] = []
    handler = with_bus(world, bus, seen.append)
    handler({"Records": batch(life)}, None)
    assert seen == world.published() == bus.taken


def test_a_failing_hook_is_called_again_and_blocks_no_other_job(
    world: World, bus: Bus, life: list[JobRecord]
) -> None:
    """Later events of its job wait, so that a hook sees them in order, too."""
    seen: list[str] = []
    troubles = [RuntimeError("down")] * 2

    def hook(event: Event) -> None:
        if event.type == "job.started" and troubles:
            raise troubles.pop()
        seen.append(event.type)

    handler = with_bus(world, bus, hook)
    records = [*batch(life), record_of(7, None, another(world))]
    failed = {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert handler({"Records": records}, None) == failed
    assert seen == ["job.enqueued", "job.enqueued"]
    assert handler({"Records": records[1:]}, None) == failed
    assert handler({"Records": records[1:]}, None) == {"batchItemFailures": []}
    assert seen == ["job.enqueued", "job.enqueued", "job.started", "job.completed"]
    assert len(published_events(world)) == len(bus.taken) == 4


def test_a_hook_that_always_fails_is_given_up(
    world: World, bus: Bus, life: list[JobRecord]
) -> None:
    """After a bounded number of calls, even if everything fails; it is reported and kept."""
    calls: list[str] = []

    def hook(event: Event) -> None:
        calls.append(event.type)
        raise RuntimeError("never")

    handler = with_bus(world, bus, hook)
    first = {"Records": batch(life)[:1]}
    answers = [handler(first, None)["batchItemFailures"] for _ in range(MAX_TRIES)]
    assert [bool(answer) for answer in answers] == [True] * (MAX_TRIES - 1) + [False]
    assert calls == ["job.enqueued"] * MAX_TRIES
    assert "never" in next(world.events.aside(1)).reason


def test_a_process_that_dies_after_the_log_repeats_with_the_same_ids(
    world: World, bus: Bus, life: list[JobRecord]
) -> None:
    """The next process knows nothing of it: consumers drop repeats by id."""

    def dies(events: Sequence[Event]) -> list[str]:
        raise ProcessDiedError

    dying = with_bus(world, cast("Bus", dies))
    with pytest.raises(ProcessDiedError):
        dying({"Records": batch(life)}, None)
    with_bus(world, bus)({"Records": batch(life)}, None)
    assert len(world.published()) == 3
    assert {e.id for e in world.published()} == {e.id for e in bus.taken}
    assert len(bus.taken) == 3


def test_an_expired_job_is_forgotten_again_when_that_failed(
    world: World, handler: Handler, life: list[JobRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its documents do not stay for ever."""
    record = record_of(5, life[-1], None)
    record["userIdentity"] = {"principalId": "dynamodb.amazonaws.com"}
    forgotten: list[str] = []

    def forget(job: JobRecord) -> None:
        forgotten.append(job.id)
        if len(forgotten) == 1:
            raise BackendError("throttled")

    monkeypatch.setattr(world.store, "forget_documents", forget)
    assert handler({"Records": [record]}, None)["batchItemFailures"]
    assert handler({"Records": [record]}, None) == {"batchItemFailures": []}
    assert forgotten == [life[-1].id] * 2


def test_an_empty_batch_is_done(handler: Handler) -> None:
    """Nothing to publish, nothing to repeat."""
    assert handler({"Records": []}, None) == {"batchItemFailures": []}


def _ended(world: World, api: Api) -> list[dict[str, Any]]:
    """The records of a job's life."""
    steps: list[JobRecord | None] = [None]
    job_id = api.post("/jobs", {"type": "demo.echo", "args": []}).json["id"]
    steps.append(world.stored.jobs[job_id])
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    steps.append(world.stored.jobs[job_id])
    world.backend.jobs.ack(job_id, "w", None)
    steps.append(world.stored.jobs[job_id])
    return [record_of(n, *steps[n - 1 : n + 1]) for n in range(1, 4)]


def _tally(world: World) -> dict[str, int]:
    found = total(
        tally for _, tally in world.tallies.read("default", Instant(0), world.clock.now())
    )
    return {str(kind): amount for kind, amount in found.counts.items()}


LIFE = {"enqueued": 1, "started": 1, "completed": 1}


def test_what_a_queue_did_is_counted_once_though_batches_repeat(world: World) -> None:
    """In this process, and in another one that is given the same batch."""
    records = {"Records": _ended(world, Api(world.backend))}
    for _ in range(2):
        handler = build_stream(world.backend, read_image)
        for _ in range(2):
            handler(records, None)
    assert _tally(world) == LIFE


def test_what_comes_again_is_counted_when_it_does(world: World) -> None:
    """The records before the first that failed are counted with their batch, the others later."""
    records = _ended(world, Api(world.backend))
    first = records[1]["dynamodb"]["SequenceNumber"]
    trouble = [True]

    def hook(event: Event) -> None:
        if event.type == "job.started" and trouble:
            trouble.pop()
            raise ValueError

    handler = build_stream(world.backend, read_image, hooks=hook)
    assert handler({"Records": records}, None)["batchItemFailures"] == [{"itemIdentifier": first}]
    assert _tally(world) == {"enqueued": 1}
    handler = build_stream(world.backend, read_image)
    handler({"Records": records[1:]}, None)
    assert _tally(world) == LIFE


def test_counters_that_cannot_be_written_hold_nothing_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is done, and missing in the numbers."""

    def fail(*_: object) -> bool:
        raise BackendError("down")

    monkeypatch.setattr(world.tallies, "add", fail)
    handler = build_stream(world.backend, read_image)
    records = {"Records": _ended(world, Api(world.backend))}
    assert handler(records, None) == {"batchItemFailures": []}
    assert len(world.published()) == 3
