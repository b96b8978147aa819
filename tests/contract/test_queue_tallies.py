"""What queues did, in the table."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any, cast

import pytest
from botocore.exceptions import EndpointConnectionError

from ojs_aws.adapters.dynamodb.queues.tallies import KEPT_S, Tallies
from ojs_aws.adapters.dynamodb.queues.totals import HELD, QUEUES, TENANTS, Counted
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.queues.tallies import (
    DAY_MS,
    MINUTE_MS,
    TOP,
    WINDOW_MS,
    QueueTotals,
    StreamLag,
    Tally,
    TallyKind,
    range_of,
)
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import STREAMED_SORT_KEYS
from tests.aws import EmbeddedAws, items_of

NOON = Instant(1_760_000_400_000)


@pytest.fixture(params=["table", pytest.param("emulator", marks=pytest.mark.emulator)])
def tallies(request: pytest.FixtureRequest) -> Tallies:
    """The counters, over each engine."""
    name = "aws" if request.param == "table" else "emulated_aws"
    aws: EmbeddedAws = request.getfixturevalue(name)
    return Tallies(aws.clients.dynamodb, aws.settings.table)


def tally(*waits: int, **counts: int) -> Tally:
    """What a batch did."""
    made = Tally()
    for kind, amount in counts.items():
        made.counts[TallyKind(kind)] += amount
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
    last = Instant(later + MINUTE_MS)
    tallies.add("q", last, tally(enqueued=1), "2")
    assert tallies.read("q", NOON, Instant(later - 1)) == [(NOON, both)]


def test_a_tenant_and_a_queue_of_one_name_are_counted_apart(aws: EmbeddedAws) -> None:
    """Their totals and their minutes."""
    queues, tenants = (
        Tallies(aws.clients.dynamodb, aws.settings.table, of) for of in (QUEUES, TENANTS)
    )
    later = Instant(NOON + MINUTE_MS)
    for counters, count in ((queues, 1), (tenants, 2)):
        for minute in (NOON, later):
            held = Tally(Counter({TallyKind.ENQUEUED: count}), held=Counter(available=count))
            counters.add("q", minute, held, str(minute))
    assert (jobs(queues), jobs(tenants)) == ({"available": 2}, {"available": 4})
    for counters, count in ((queues, 1), (tenants, 2)):
        each = tally(enqueued=count)
        assert counters.read("q", NOON, later) == [(NOON, each), (later, each)]


def test_what_was_added_last_is_not_added_again(tallies: Tallies) -> None:
    """A process that died before it could say so, or an answer that was lost."""
    assert tallies.add("q", NOON, tally(started=2), "1")
    assert not tallies.add("q", NOON, tally(started=2), "1")
    assert tallies.read("q", NOON, NOON) == [(NOON, tally(started=2))]


def test_a_minute_costs_one_write_unit_however_the_times_differ(aws: EmbeddedAws) -> None:
    """All ranges of both times, in a month's item: below a kilobyte but for the widest spread."""
    tallies = Tallies(aws.clients.dynamodb, aws.settings.table)
    wide = tally(*(2**octave for octave in range(16)), started=10**6, completed=10**6)
    wide.held.update(dict.fromkeys(HELD, 10**6))
    for number in range(7):
        tallies.add("q", Instant(NOON - (7 - number) * MINUTE_MS), wide, f"before {number}")
    tallies.add("q", NOON, wide, "1")
    with aws.calls.counted() as calls:
        tallies.add("q", NOON, wide, "2")
    assert calls == {"UpdateItem": 1}
    assert _size(_totals(aws)) < 1024
    assert all(_size(item) < 1024 for item in _items(aws))
    assert int(_items(aws)[0]["ttl"]["N"]) == NOON // 1000 - 7 * 60 + KEPT_S
    every = Tally()
    for number in range(TOP + 1):
        every.waits.ranges[number] = every.runs.ranges[number] = 10**6
    tallies.add("q", NOON, every, "3")
    assert _size(_totals(aws)) < 2048


def test_the_first_change_of_a_minute_costs_three_writes(aws: EmbeddedAws) -> None:
    """One that finds the minute before, its own item, and the new minute."""
    tallies = Tallies(aws.clients.dynamodb, aws.settings.table)
    tallies.add("q", NOON, tally(started=1), "1")
    with aws.calls.counted() as calls:
        tallies.add("q", Instant(NOON + MINUTE_MS), tally(started=1), "2")
    assert calls == {"UpdateItem": 3}


def held(**amounts: int) -> Tally:
    """A batch that changed how many jobs there are."""
    return Tally(held=Counter(amounts))


def jobs(tallies: Tallies, queue: str = "q") -> dict[str, int]:
    """Return the jobs that a queue holds, both ways of reading being the same."""
    totals = tallies.totals().get(queue, QueueTotals())
    assert totals == tallies.load(queue)
    return {name: amount for name, amount in totals.jobs.items() if amount}


def test_the_totals_follow_changes_in_any_minute(tallies: Tallies) -> None:
    """The newest, the next, one that is over, and one that had nothing before."""
    tallies.add("q", NOON, held(available=5), "1")
    tallies.add("q", NOON, held(available=-2, active=2), "2")
    tallies.add("q", Instant(NOON + MINUTE_MS), held(active=-1, completed=1), "3")
    tallies.add("q", NOON, held(active=-1, discarded=1, dead_letter=1), "4")
    tallies.add("q", Instant(NOON - MINUTE_MS), held(scheduled=7), "5")
    tallies.add("other", NOON, held(pending=1), "1")
    assert jobs(tallies) == {
        "available": 3,
        "completed": 1,
        "discarded": 1,
        "dead_letter": 1,
        "scheduled": 7,
    }
    assert jobs(tallies, "other") == {"pending": 1}


def test_a_batch_over_two_minutes_that_repeats_counts_once(tallies: Tallies) -> None:
    """Each minute keeps the token of what was added to it last, also when it is over."""
    later = Instant(NOON + MINUTE_MS)
    for is_new in (True, False):
        first = Tally(Counter({TallyKind.ENQUEUED: 3}), held=Counter(available=3))
        assert tallies.add("q", NOON, first, "1") is is_new
        assert tallies.add("q", later, held(available=-1, active=1), "2") is is_new
    assert jobs(tallies) == {"available": 2, "active": 1}
    assert tallies.read("q", NOON, later) == [(NOON, tally(enqueued=3))]
    for is_new in (True, False):
        assert tallies.add("q", NOON, held(available=1), "late") is is_new
    assert jobs(tallies) == {"available": 3, "active": 1}


def test_the_totals_know_the_last_minutes_and_the_day(tallies: Tallies) -> None:
    """Without a query for each queue; midnight ends the day."""
    midnight = NOON // DAY_MS * DAY_MS + DAY_MS
    for number in range(-8, 3):
        minute = Instant(midnight + number * MINUTE_MS)
        tallies.add("q", minute, tally(100, completed=1), str(number))
        tallies.add("q", minute, tally(completed=1), f"{number}+")
    totals = tallies.totals()["q"]
    assert totals.since(Instant(midnight - MINUTE_MS)).counts == {TallyKind.COMPLETED: 8}
    assert totals.since(Instant(0)).counts == {TallyKind.COMPLETED: 12}
    assert totals.since(Instant(0)).runs.average_ms == 200
    assert totals.on_day(Instant(midnight)).counts == {TallyKind.COMPLETED: 6}
    assert totals.on_day(Instant(midnight)).runs.average_ms == 200
    assert not totals.on_day(Instant(midnight + DAY_MS))


def test_the_totals_know_how_long_jobs_waited_of_late(tallies: Tallies) -> None:
    """The ranges of this window and the one before, and of the newest minute; nothing older."""
    for number, wait in enumerate((10_000, 20_000, 40, 40, 40, 40, 40, 500, 500, 500, 90)):
        minute = Instant(NOON + number * MINUTE_MS)
        tallies.add("q", minute, tally(wait, started=1), str(number))
    last = Instant(NOON + 10 * MINUTE_MS)
    found = tallies.load("q").times(last)
    assert found.waits.ranges == {range_of(40): 2, range_of(500): 3, range_of(90): 1}
    assert found.runs.count == found.waits.count
    assert not found.counts
    assert not tallies.load("q").times(Instant(last + 2 * WINDOW_MS)).waits.count


def test_the_totals_know_how_late_they_are(tallies: Tallies) -> None:
    """Also from a minute that is over; an update without a lag keeps the last one."""
    tallies.add("q", NOON, held(available=1), "1", StreamLag(Instant(NOON + 900), 800))
    assert tallies.load("q").lag == StreamLag(Instant(NOON + 900), 800)
    tallies.add("q", Instant(NOON + MINUTE_MS), held(available=1), "2", StreamLag(NOON, 70))
    tallies.add("q", Instant(NOON + MINUTE_MS), held(available=1), "3")
    assert tallies.load("q").lag == StreamLag(NOON, 70)
    late = StreamLag(Instant(NOON + 3 * MINUTE_MS), 2 * MINUTE_MS)
    tallies.add("q", NOON, held(available=1), "4", late)
    assert tallies.load("q").lag == late


def test_a_correction_keeps_what_is_added_meanwhile(tallies: Tallies) -> None:
    """The first always; later ones only if nothing was added, since that may be in the count."""
    seen = tallies.load("q")
    tallies.add("q", NOON, held(available=1), "1")
    assert tallies.correct("q", seen, {"available": 10}, Instant(0), ["completed"])
    assert not tallies.correct("q", seen, {"available": 10}, Instant(0), [])
    assert jobs(tallies) == {"available": 11}
    seen = tallies.load("q")
    assert (seen.counted_at, [*seen.at_least]) == (Instant(0), ["completed"])
    tallies.add("q", NOON, held(available=1), "2")
    assert not tallies.correct("q", seen, {"available": -5}, NOON, [])
    seen = tallies.load("q")
    assert tallies.correct("q", seen, {"available": -5}, NOON, [])
    assert not tallies.correct("q", seen, {"available": -5}, NOON, []), "another one came first"
    assert jobs(tallies) == {"available": 7}
    tallies.add("q", Instant(NOON + MINUTE_MS), held(available=1), "3")
    assert (jobs(tallies), tallies.load("q").counted_at) == ({"available": 8}, NOON)


def test_a_correction_waits_for_a_batch_that_goes_on_in_the_next_minute(tallies: Tallies) -> None:
    """Both minutes have the token of the batch."""
    assert tallies.correct("q", tallies.load("q"), {"available": 1}, Instant(0), [])
    tallies.add("q", NOON, held(available=1), "1")
    seen = tallies.load("q")
    tallies.add("q", Instant(NOON + MINUTE_MS), held(available=1), "1")
    assert not tallies.correct("q", seen, {"available": -1}, NOON, [])
    assert jobs(tallies) == {"available": 3}


def test_a_queue_in_which_nothing_ever_changed_is_corrected(tallies: Tallies) -> None:
    """Its jobs are older than its totals."""
    assert tallies.correct("q", tallies.load("q"), {"pending": 2}, Instant(0), [])
    assert tallies.correct("q", tallies.load("q"), {"pending": 1}, NOON, [])
    assert jobs(tallies) == {"pending": 3}


def test_the_totals_of_all_queues_are_four_queries(aws: EmbeddedAws) -> None:
    """And no item of theirs looks like a job to the stream, whatever the queue is called."""
    tallies = Tallies(aws.clients.dynamodb, aws.settings.table)
    for number in range(60):
        tallies.correct(f"q{number}", QueueTotals(), {"available": number}, NOON, [])
    tallies.correct("job", QueueTotals(), {"available": 1}, NOON, [])
    with aws.calls.counted() as calls:
        found = tallies.totals()
    assert calls == {"Query": 4}
    assert (len(found), found["q7"].jobs["available"]) == (61, 7)
    assert QUEUES.key("job")["sk"]["S"] not in STREAMED_SORT_KEYS


def test_what_all_hold_is_read_without_the_rest(tallies: Tallies) -> None:
    """So many in each of four partitions; one that was not counted by state holds nothing."""
    names = [f"q{number}" for number in range(20)]
    for number, name in enumerate(names):
        tallies.correct(name, QueueTotals(), {"available": number, "pending": 1}, NOON, [])
    found = dict(tallies.held(20))
    assert sorted(found) == sorted(names)
    assert found["q7"] == {**dict.fromkeys(HELD, 0), "available": 7, "pending": 1}
    parts = Counter(tallies.of.key(name)["pk"]["S"] for name in dict(tallies.held(2)))
    assert [*parts.values()] == [2, 2, 2, 2]


def test_a_minute_that_somebody_else_begins_is_added_to(
    aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two consumers find the minute before at once; neither loses anything."""
    one, other = (Tallies(aws.clients.dynamodb, aws.settings.table) for _ in range(2))
    one.add("q", NOON, held(available=1), "1")
    later, keep = Instant(NOON + MINUTE_MS), Tallies._keep_minute

    def meanwhile(self: Tallies, queue: str, old: QueueTotals) -> None:
        keep(self, queue, old)
        monkeypatch.setattr(Tallies, "_keep_minute", keep)
        assert other.add("q", later, held(available=10), "2")

    monkeypatch.setattr(Tallies, "_keep_minute", meanwhile)
    assert one.add("q", later, held(available=100), "3")
    assert jobs(one) == {"available": 111}


def test_the_end_of_a_minute_keeps_what_came_to_it_late(
    aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another consumer has begun the next minute, and adds to this one, before it is written."""
    one, other = (Tallies(aws.clients.dynamodb, aws.settings.table) for _ in range(2))
    one.add("q", NOON, tally(enqueued=1), "1")
    later, keep = Instant(NOON + MINUTE_MS), Tallies._keep_minute

    def meanwhile(self: Tallies, queue: str, old: QueueTotals) -> None:
        monkeypatch.setattr(Tallies, "_keep_minute", keep)
        assert other.add("q", later, tally(enqueued=10), "2")
        assert other.add("q", NOON, tally(enqueued=100), "3")
        keep(self, queue, old)

    monkeypatch.setattr(Tallies, "_keep_minute", meanwhile)
    assert one.add("q", later, tally(enqueued=1000), "4")
    done = [(NOON, tally(enqueued=101)), (later, tally(enqueued=1010))]
    assert one.read("q", NOON, later) == done


def test_the_first_minute_of_a_queue_begins_once(
    aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two consumers find a queue that was never counted; neither loses anything."""
    one, other = (Tallies(aws.clients.dynamodb, aws.settings.table) for _ in range(2))
    keep = Tallies._keep_minute

    def meanwhile(self: Tallies, queue: str, old: QueueTotals) -> None:
        monkeypatch.setattr(Tallies, "_keep_minute", keep)
        assert other.add("q", NOON, tally(enqueued=10), "1")
        keep(self, queue, old)

    monkeypatch.setattr(Tallies, "_keep_minute", meanwhile)
    assert one.add("q", NOON, tally(enqueued=100), "2")
    assert one.read("q", NOON, NOON) == [(NOON, tally(enqueued=110))]


@pytest.mark.parametrize("of", [QUEUES, TENANTS], ids=["queues", "tenants"])
@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("failing", range(6))
def test_a_write_that_fails_or_whose_answer_is_lost_counts_once(
    aws: EmbeddedAws, failing: int, is_done: bool, of: Counted
) -> None:
    """Each call in turn; the batch is added again, as by a process that is given it again."""
    broken = Failing(aws.clients.dynamodb, failing, is_done)
    tallies = Tallies(cast("Any", broken), aws.settings.table, of)
    later = Instant(NOON + MINUTE_MS)
    for minute, token in ((NOON, "1"), (later, "2"), (NOON, "3")):
        batch = Tally(Counter({TallyKind.ENQUEUED: 1}), held=Counter(available=1))
        for _ in range(2):
            with suppress(BackendError):
                tallies.add("q", minute, batch, token)
                break
    assert broken.calls > failing
    assert jobs(tallies) == {"available": 3}
    done = [(NOON, tally(enqueued=2)), (later, tally(enqueued=1))]
    assert tallies.read("q", NOON, later) == done


class Failing:
    """A client of which one write fails, before or after it took effect."""

    def __init__(self, client: Any, failing: int, is_done: bool) -> None:
        self._client, self._failing, self._is_done = client, failing, is_done
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        """Return the client's call, or one that fails."""
        call = getattr(self._client, name)
        if name not in {"update_item", "transact_write_items"}:
            return call

        def counted(**request: Any) -> Any:
            self.calls += 1
            if self.calls - 1 != self._failing:
                return call(**request)
            if self._is_done:
                call(**request)
            raise EndpointConnectionError(endpoint_url="table")

        return counted


def test_a_month_is_read_page_by_page(aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query answers a megabyte at most."""
    tallies = Tallies(aws.clients.dynamodb, aws.settings.table)
    for number in range(5):
        tallies.add("q", Instant(NOON + number * MINUTE_MS), tally(started=1), "1")
    original = aws.clients.dynamodb.query

    def two_at_a_time(**arguments: Any) -> Any:
        return original(**arguments, Limit=2)

    monkeypatch.setattr(aws.clients.dynamodb, "query", two_at_a_time)
    assert len(tallies.read("q", NOON, Instant(NOON + 9 * MINUTE_MS))) == 5


def _totals(aws: EmbeddedAws) -> Any:
    table = aws.settings.table
    return aws.clients.dynamodb.get_item(TableName=table, Key=QUEUES.key("q"))["Item"]


def _items(aws: EmbeddedAws) -> list[Any]:
    return items_of(aws, "tally#q")


def _size(item: Any) -> int:
    """As DynamoDB bills it: names and values; a number is half a byte a digit, and one."""
    return sum(
        len(name) + (len(text) // 2 + 2 if kind == "N" else len(text))
        for name, value in item.items()
        for kind, text in value.items()
    )
