"""The stream's consumer in outages of AWS, and with records that end its process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from ojs_aws.adapters.dynamodb.columns import string
from ojs_aws.adapters.dynamodb.events.chunks import chunk_events
from ojs_aws.adapters.dynamodb.table import InTable
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.events import Event
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.events.stream_reader import LONGEST_OUTAGE_MS, MAX_ENDED, SUSPICIOUS_MS
from tests.aws import EmbeddedAws, changes_of, embedded, machine_ms
from tests.functions.shard import Context, Killed, Shard
from tests.functions.test_stream_calls import Record, lives

pytestmark = pytest.mark.thorough

HOUR_MS = 3_600_000
SHORTEST_S, LONGEST_S = 5.0, 20.0


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """An AWS."""
    with embedded() as aws:
        yield aws


def records(jobs: int) -> list[Record]:
    """The changes of some jobs, with numbers that sort."""
    found = [each for life in lives(jobs) for each in life]
    for number, each in enumerate(found):
        each["dynamodb"]["SequenceNumber"] = f"{number:05d}"
    return found


def numbers(aws: EmbeddedAws, partition: str) -> list[str]:
    """The sort keys in a partition."""
    return sorted(each["sk"]["S"] for each in rows(aws, partition))


def rows(aws: EmbeddedAws, partition: str) -> list[dict[str, Any]]:
    """The items of a partition."""
    table = InTable(aws.clients.dynamodb, aws.settings.table)
    return list(table.items("#pk = :pk", {"pk": string(partition)}))


def published(aws: EmbeddedAws) -> set[str]:
    """The ids of the events in the log."""
    return {event.id for item in rows(aws, "events") for event in chunk_events(item)}


def test_an_outage_of_the_table_for_an_hour_loses_no_event(aws: EmbeddedAws) -> None:
    """Throttled, KMS or the role: nothing is set aside, and an invocation comes each 13 s."""
    shard = Shard(aws, records(8))
    over_at = shard.clock.at + HOUR_MS

    def refuse(**_: Any) -> None:
        if shard.clock.at < over_at:
            answer: Any = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
            raise ClientError(answer, "PutItem")

    aws.clients.dynamodb.meta.events.register("before-call.dynamodb", refuse)
    shard.read()
    assert len(published(aws)) == 8 * 3 + 4  # every second one is discarded: an event more
    assert shard.counted == []
    assert numbers(aws, "events#aside") == numbers(aws, "tries#events") == []
    assert HOUR_MS / 1000 / LONGEST_S <= shard.invocations <= HOUR_MS / 1000 / SHORTEST_S
    assert all(SHORTEST_S <= each <= LONGEST_S for each in shard.pauses)


def test_an_outage_of_the_bus_for_an_hour_sets_nothing_aside(aws: EmbeddedAws) -> None:
    """It takes no event at all, so no single one is the reason."""
    taken: list[str] = []
    shard = Shard(aws, records(4))
    over_at = shard.clock.at + HOUR_MS

    def bus(events: list[Event]) -> list[str]:
        if shard.clock.at < over_at:
            return [event.id for event in events]
        taken.extend(event.id for event in events)
        return []

    shard.bus = bus
    shard.read()
    assert {*taken} == published(aws)
    assert (shard.counted, numbers(aws, "events#aside")) == ([], [])
    assert shard.invocations <= HOUR_MS / 1000 / SHORTEST_S


@pytest.mark.parametrize("alone", [False, True])
def test_an_event_that_the_bus_never_takes_blocks_for_a_bounded_time(
    aws: EmbeddedAws, alone: bool
) -> None:
    """Ten minutes if the bus takes others of its kind; else two hours, as in an outage."""
    changes = records(1 if alone else 10)
    poison: list[str] = []

    def bus(events: list[Event]) -> list[str]:
        poison.extend(event.id for event in events[:1] if not poison)
        return [event.id for event in events if event.id in poison]

    shard = Shard(aws, changes[:1] if alone else changes, bus=bus)
    began = shard.clock.at
    shard.read()
    assert shard.counted == [1]
    lasted = shard.clock.at - began
    assert lasted <= (LONGEST_OUTAGE_MS + 30_000 if alone else 15 * 60_000)
    assert (lasted >= LONGEST_OUTAGE_MS) == alone


@pytest.mark.parametrize("lasts_s", [60, 1])
def test_a_record_that_always_kills_the_function_is_set_aside(
    aws: EmbeddedAws, lasts_s: int
) -> None:
    """By time or by memory: alone, counted in the table, within a bounded time; others pass."""
    changes = records(60)
    seen: list[str] = []

    def hook(event: Event) -> None:
        if event.subject == deadly and event.type == "job.started":
            shard.clock.advance(s=lasts_s)
            raise Killed
        seen.append(event.id)

    shard = Shard(aws, changes, hook=hook)
    deadly = changes[40]["dynamodb"]["NewImage"]["pk"]["S"].removeprefix("job#")
    began = shard.clock.at
    shard.read()
    assert shard.counted == [1]
    assert numbers(aws, "events#aside") == ["00040"]
    (aside,) = rows(aws, "events#aside")
    assert f"ended {MAX_ENDED} times" in aside["why"]["S"]
    assert numbers(aws, "tries#events") == []
    assert len({*seen}) == len(published(aws)) - 1
    assert shard.clock.at - began <= SUSPICIOUS_MS + 20 * 60_000


def test_a_defect_that_raises_is_set_aside_like_one_that_kills(
    aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that no stage expects ends the invocation; the pause bounds how many there are."""
    changes = records(20)

    def break_on(_: object, found: list[Any], __: object) -> None:
        if any(each.number == "00033" for each in found):
            raise RuntimeError("a defect")

    name = "ojs_aws.transport.events.stream_effects.Consequences.wake"
    monkeypatch.setattr(name, break_on)
    shard = Shard(aws, changes)
    shard.read(most=200)
    assert shard.counted == [1]
    assert numbers(aws, "events#aside") == ["00033"]


def test_calls_to_sqs_that_hang_end_no_invocation(aws: EmbeddedAws) -> None:
    """Messages of seven queues are left: each call would take 18 s, and there are 60."""
    settings = replace(aws.settings, stream_deletes_messages=True, queues=())
    clock = FakeClock(Instant(machine_ms()))
    backend = build_backend(settings, aws.clients, clock=clock, parallel=IN_ORDER)
    stream = changes_of(aws)
    for queue in "abcdefg":
        job = Job("a.b", [], queue=queue)
        backend.jobs.push(job)
        (held,) = backend.jobs.fetch(FetchRequest((queue,), worker_id="w"))
        backend.jobs.ack(held.id, "w", None)
    changes, done = stream()
    done()
    shard = Shard(replace(aws, settings=settings), changes, clock)
    hung: list[str] = []

    def hang(model: Any, **_: Any) -> None:
        hung.append(model.name)
        shard.clock.advance(s=18)
        raise EndpointConnectionError(endpoint_url="sqs")

    aws.clients.sqs.meta.events.register("before-call.sqs", hang)
    shard.read()
    assert 1 < len(hung) < 7
    assert len(published(aws)) == 7 * 3


def test_slow_hooks_leave_the_rest_of_a_batch_to_the_next_invocation(aws: EmbeddedAws) -> None:
    """No invocation runs into its end, and each gets further, also in another process."""
    changes = records(20)
    seen: list[str] = []

    def hook(event: Event) -> None:
        shard.clock.advance(s=4)
        seen.append(event.id)
        if len(seen) % 5 == 0:
            shard._handler = None

    shard = Shard(aws, changes, hook=hook)
    shard.read(most=40)
    assert {*seen} == published(aws)
    assert (shard.counted, shard.pauses) == ([], [])


def test_a_batch_costs_no_call_more_than_without_a_reader(aws: EmbeddedAws) -> None:
    """Nor does a record that comes alone, as where there is little to do."""
    shard = Shard(aws, records(2))
    with aws.calls.counted() as calls:
        shard.read()
    assert calls["DeleteItem"] == 0
    alone = Shard(aws, records(4)[-1:])
    with aws.calls.counted() as calls:
        alone.read()
    assert (calls["PutItem"], calls["DeleteItem"]) == (1, 0)
    late = Shard(aws, records(6)[-1:])
    late.clock.advance(ms=SUSPICIOUS_MS + 1)
    with aws.calls.counted() as counted:
        late.read()
    assert counted["DeleteItem"] == 1
    assert counted["UpdateItem"] == calls["UpdateItem"] + 1


def test_a_pause_never_runs_into_the_end_of_the_invocation(aws: EmbeddedAws) -> None:
    """It ends ten seconds before."""
    shard = Shard(aws, records(1)[:1])

    def bus(events: list[Event]) -> list[str]:
        shard.clock.advance(s=43)
        return [event.id for event in events] if shard.invocations == 1 else []

    shard.bus = bus
    shard.read()
    assert shard.pauses == [7.0]
    assert Context(shard.clock).get_remaining_time_in_millis() == 60_000
