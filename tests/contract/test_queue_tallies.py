"""What queues did, in the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.queues.tallies import KEPT_S, DynamoTallies
from ojs_aws.domain.queues.tallies import MINUTE_MS, TOP, Kind, Tally
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Tallies
from tests.aws import EmbeddedAws, embedded
from tests.simulation.queue_memory import MemoryTallies

NOON = Instant(1_760_000_400_000)


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A fresh AWS."""
    with embedded() as aws:
        yield aws


@pytest.fixture(params=["table", "model", pytest.param("emulator", marks=pytest.mark.emulator)])
def tallies(request: pytest.FixtureRequest) -> Tallies:
    """The counters: in moto, in the model that services are tested with, in the emulator."""
    if request.param == "model":
        return MemoryTallies()
    name = "aws" if request.param == "table" else "emulated_aws"
    aws: EmbeddedAws = request.getfixturevalue(name)
    return DynamoTallies(aws.clients.dynamodb, aws.settings.table)


def tally(*waits: int, **counts: int) -> Tally:
    """What a batch did."""
    made = Tally()
    for kind, amount in counts.items():
        made.counts[Kind(kind)] += amount
    for wait in waits:
        made.waits.add(wait)
        made.runs.add(wait * 2)
    return made


def test_what_batches_did_adds_up_by_queue_and_minute(tallies: Tallies) -> None:
    """And is read by time, the oldest first."""
    later = Instant(NOON + 10 * MINUTE_MS)
    tallies.add("q", later, tally(enqueued=1), "1")
    assert tallies.add("q", NOON, tally(0, 40, started=2), "1")
    assert tallies.add("q", NOON, tally(40, 90_000, started=1, failed=3), "2")
    tallies.add("other", NOON, tally(completed=9), "1")
    both = tally(0, 40, 40, 90_000, started=3, failed=3)
    assert tallies.read("q", NOON, later) == [(NOON, both), (later, tally(enqueued=1))]
    assert tallies.read("q", Instant(NOON + 1), Instant(later - 1)) == []


def test_what_was_added_last_is_not_added_again(tallies: Tallies) -> None:
    """A process that died before it could say so, or an answer that was lost."""
    assert tallies.add("q", NOON, tally(started=2), "1")
    assert not tallies.add("q", NOON, tally(started=2), "1")
    assert tallies.read("q", NOON, NOON) == [(NOON, tally(started=2))]


def test_a_minute_costs_one_write_unit_however_the_times_differ(aws: EmbeddedAws) -> None:
    """All ranges of both times, in a month's item: below a kilobyte but for the widest spread."""
    tallies = DynamoTallies(aws.clients.dynamodb, aws.settings.table)
    wide = tally(*(2**octave for octave in range(16)), started=10**6, completed=10**6)
    with aws.calls.counted() as calls:
        tallies.add("q", NOON, wide, "1")
    assert calls == {"UpdateItem": 1}
    (item,) = _items(aws)
    assert _size(item) < 1024
    assert int(item["ttl"]["N"]) == NOON // 1000 + KEPT_S
    every = Tally()
    for number in range(TOP + 1):
        every.waits.ranges[number] = every.runs.ranges[number] = 10**6
    tallies.add("q", NOON, every, "2")
    (item,) = _items(aws)
    assert _size(item) < 2048


def test_a_month_is_read_page_by_page(aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query answers a megabyte at most."""
    tallies = DynamoTallies(aws.clients.dynamodb, aws.settings.table)
    for number in range(5):
        tallies.add("q", Instant(NOON + number * MINUTE_MS), tally(started=1), "1")
    original = aws.clients.dynamodb.query

    def two_at_a_time(**arguments: Any) -> Any:
        return original(**arguments, Limit=2)

    monkeypatch.setattr(aws.clients.dynamodb, "query", two_at_a_time)
    assert len(tallies.read("q", NOON, Instant(NOON + 9 * MINUTE_MS))) == 5


def _items(aws: EmbeddedAws) -> list[Any]:
    answer = aws.clients.dynamodb.query(
        TableName=aws.settings.table,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "tally#q"}},
    )
    return list(answer["Items"])


def _size(item: Any) -> int:
    """As DynamoDB bills it: names and values; a number is half a byte a digit, and one."""
    return sum(
        len(name) + (len(text) // 2 + 2 if kind == "N" else len(text))
        for name, value in item.items()
        for kind, text in value.items()
    )
