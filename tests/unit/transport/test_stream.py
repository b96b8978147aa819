"""The stream consumer: committed changes become events, and no record holds up the shard."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.codec import to_item
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobRecord
from ojs_aws.ports import Event
from ojs_aws.services.fetch import FetchRequest
from ojs_aws.transport.events.stream import Handler, build_stream
from tests.api import Api
from tests.simulation.world import World


def image(record: JobRecord, *, as_json: bool) -> dict[str, Any]:
    """An item's image, as Lambda hands it over (JSON) or as botocore does."""
    item = to_item(record, lambda _: 0)
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
def world() -> World:
    """A fresh backend over the model."""
    return World()


@pytest.fixture
def handler(world: World) -> Handler:
    """The consumer over it."""
    return build_stream(world.backend, read_image)


@pytest.fixture
def life(world: World) -> list[JobRecord]:
    """A job available, active and completed; its document is long enough to be deflated."""
    reply = Api(world.backend).post("/jobs", {"type": "demo.echo", "args": ["x" * 1000]})
    job_id = reply.json["id"]
    available = world.store.jobs[job_id]
    world.backend.fetch(FetchRequest(("default",)))
    active = world.store.jobs[job_id]
    world.backend.ack(job_id, None, None)
    return [available, active, world.store.jobs[job_id]]


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
    types = [event.type for event in world.events.events.values()]
    assert types == ["job.enqueued", "job.started", "job.completed"]


def test_a_repeated_batch_repeats_the_ids(
    world: World, handler: Handler, life: list[JobRecord]
) -> None:
    """Consumers drop repeats by id."""
    for _ in range(2):
        handler({"Records": batch(life)}, None)
    assert len(world.events.events) == 3


@pytest.mark.parametrize(
    "poison",
    [
        {},
        {"dynamodb": {}},
        {
            "dynamodb": {
                "SequenceNumber": "9",
                "NewImage": {"pk": {"S": "job#x"}, "sk": {"S": "job"}},
            }
        },
        {"dynamodb": {"SequenceNumber": "9", "NewImage": {"pk": 5}}},
    ],
)
def test_a_record_that_cannot_be_read_is_left_behind(
    world: World, handler: Handler, life: list[JobRecord], poison: dict[str, Any]
) -> None:
    """Those around it get their events, and it does not come again."""
    first, *rest = batch(life)
    assert handler({"Records": [first, poison, *rest]}, None) == {"batchItemFailures": []}
    assert len(world.events.events) == 3


def test_items_that_are_no_jobs_make_no_events(world: World, handler: Handler) -> None:
    """Documents with items of their own, queues, workers, events."""
    others = [("job#x", "blob#1"), ("queues", "default"), ("events#1", "job")]
    records = [
        {"dynamodb": {"SequenceNumber": "1", "NewImage": {"pk": {"S": pk}, "sk": {"S": sk}}}}
        for pk, sk in others
    ]
    assert handler({"Records": records}, None) == {"batchItemFailures": []}
    assert world.events.events == {}


def test_a_deleted_job_makes_no_event(
    world: World, handler: Handler, life: list[JobRecord]
) -> None:
    """TTL or an operator removed it: no transition."""
    handler({"Records": [record_of(1, life[-1], None)]}, None)
    assert world.events.events == {}


def test_a_batch_that_cannot_be_published_is_repeated_from_the_failing_record(
    world: World, handler: Handler, life: list[JobRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came before it is done; what comes after it waits, in order."""
    publish = world.events.publish

    def failing(events: Iterable[Event]) -> None:
        wanted = list(events)
        if any(event.type == "job.started" for event in wanted):
            raise BackendError("throttled")
        publish(wanted)

    monkeypatch.setattr(world.events, "publish", failing)
    assert handler({"Records": batch(life)}, None) == {
        "batchItemFailures": [{"itemIdentifier": "1"}]
    }
    assert [event.type for event in world.events.events.values()] == ["job.enqueued"]


def test_an_empty_batch_is_done(handler: Handler) -> None:
    """Nothing to publish, nothing to repeat."""
    assert handler({"Records": []}, None) == {"batchItemFailures": []}
