"""What all queues hold and did: which of them count, and how much one request may ask for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.queues import QueueInfo
from ojs_aws.domain.queues.tallies import MINUTE_MS, QueueTotals, StreamLag, Tally, TallyKind
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.stats import COUNTED, QueueCounts
from ojs_aws.services.system.statistics import (
    MAX_MINUTES,
    MAX_POINTS,
    PERIODS,
    RECENT_MS,
    Statistics,
)
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW


@dataclass
class Queues:
    """Some queues, with totals; notes which minutes are read."""

    totals_: dict[str, QueueTotals]
    ranges: list[tuple[str, int, int]] = field(default_factory=list)
    did: list[tuple[Instant, Tally]] = field(default_factory=list)

    def all(self) -> list[QueueInfo]:
        return [QueueInfo(name=name) for name in self.totals_]

    def tallies(self) -> Queues:
        return self

    def totals(self) -> dict[str, QueueTotals]:
        return self.totals_

    def minutes(self, queue: str, since: int, until: int) -> list[tuple[Instant, Tally]]:
        self.ranges.append((queue, since, until))
        return self.did

    def counts(self, _queue: str) -> QueueCounts:
        return QueueCounts(counts=dict.fromkeys(COUNTED, 1))

    def today(self, _queue: str) -> Tally:
        return Tally()


def statistics_of(queues: Queues) -> Statistics:
    given = cast("Any", queues)
    return Statistics(given, given, FakeClock(NOW))


def some(*names: str, **more: Any) -> Queues:
    return Queues({name: QueueTotals(**more) for name in names})


@pytest.mark.parametrize(
    ("queue", "hidden", "queues", "counted"),
    [("", "", 3, 1), ("", "a", 2, 1), ("b", "", 1, 1), ("b", "b", 0, 0), ("", "c", 2, 0)],
)
def test_the_queues_that_are_meant_count(
    queue: str, hidden: str, queues: int, counted: int
) -> None:
    """The lists of one queue are counted now; those of the others once."""
    kept = Queues({"a": QueueTotals(), "b": QueueTotals(), "c": QueueTotals(counted_at=NOW)})
    found = statistics_of(kept).totals(queue, lambda name: name != hidden)
    assert (found.queues, found.counted) == (queues, counted)


def lag(*lags: tuple[int, int]) -> StreamLag | None:
    """Of queues that were counted so long ago, with these lags."""
    kept = {
        str(number): QueueTotals(lag=StreamLag(Instant(NOW - ago), ms))
        for number, (ago, ms) in enumerate(lags)
    }
    return statistics_of(Queues(kept)).totals().lag


@pytest.mark.parametrize(
    ("lags", "expected"),
    [
        ([], None),
        ([(10, 500), (20, 700)], StreamLag(Instant(NOW - 10), 700)),
        ([(10, 700), (RECENT_MS, 900)], StreamLag(Instant(NOW - 10), 900)),
        ([(10, 700), (RECENT_MS + 1, 900)], StreamLag(Instant(NOW - 10), 700)),
        (
            [(RECENT_MS + 9, 900), (RECENT_MS + 1, 700)],
            StreamLag(Instant(NOW - RECENT_MS - 1), 700),
        ),
    ],
)
def test_the_lag_is_the_longest_of_late_else_the_last(
    lags: list[tuple[int, int]], expected: StreamLag | None
) -> None:
    assert lag(*lags) == expected


MINUTE = PERIODS["1m"]
END = Instant(NOW // MINUTE * MINUTE)


def points(minutes: int, queues: int = 1, period: str = "1m") -> int:
    """How many points a range of minutes has."""
    kept = some(*(f"q{number}" for number in range(queues)))
    since = Instant(END - minutes * MINUTE)
    return len(statistics_of(kept).history(period, since, END).points)


@pytest.mark.parametrize(
    ("minutes", "queues"), [(MAX_POINTS, 1), (MAX_POINTS, MAX_MINUTES // MAX_POINTS)]
)
def test_a_history_has_so_many_points_and_minutes_of_queues(minutes: int, queues: int) -> None:
    assert points(minutes, queues) == minutes
    with pytest.raises(InvalidRequestError, match="points over"):
        points(minutes + 1, queues)
    with pytest.raises(InvalidRequestError, match="points over"):
        points(minutes, MAX_MINUTES // MAX_POINTS + 1)


def test_a_history_ends_now_and_has_no_point_before_it_begins() -> None:
    kept = some("q")
    statistics = statistics_of(kept)
    assert not statistics.history("1m", Instant(NOW + 5 * MINUTE)).points
    assert not statistics.history("1m", Instant(NOW + 5 * MINUTE), Instant(NOW + 9 * MINUTE)).points
    late = statistics.history("1m", Instant(END - MINUTE), Instant(NOW + 9 * MINUTE))
    assert [each.at for each in late.points] == [END - MINUTE, END]
    early = statistics.history("1m", Instant(END - 3 * MINUTE), Instant(END - MINUTE))
    assert [each.at for each in early.points] == [END - 3 * MINUTE, END - 2 * MINUTE]
    with pytest.raises(InvalidRequestError, match="period"):
        statistics.history("2m")


def test_each_minute_counts_for_the_period_that_it_is_in() -> None:
    begin = Instant(NOW // PERIODS["5m"] * PERIODS["5m"] - 2 * PERIODS["5m"])
    tally = Tally(counts=Counter({TallyKind.STARTED: 1}))
    minutes = [Instant(begin + at * MINUTE_MS) for at in (0, 4, 5)]
    kept = some("q")
    kept.did = [(at, tally) for at in minutes]
    found = statistics_of(kept).history("5m", begin, Instant(begin + 2 * PERIODS["5m"]))
    assert [each.tally.counts[TallyKind.STARTED] for each in found.points] == [2, 1]


def test_a_history_says_by_how_many_jobs_a_queue_grew() -> None:
    """What came less what ended in any way; starts and repeated attempts change nothing."""
    counts = dict.fromkeys(TallyKind, 1) | {TallyKind.ENQUEUED: 7}
    kept = some("q")
    kept.did = [(Instant(END - MINUTE), Tally(counts=Counter(counts)))]
    history = statistics_of(kept).history("1m", Instant(END - 2 * MINUTE), END)
    assert history.growth == {"q": [0, 4]}
