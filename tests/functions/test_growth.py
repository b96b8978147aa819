"""More of anything makes nothing dearer that does not ask for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import sequences
from benchmarks.growth import HOUR_MS, Counter, asked, backlogs, grown, queues, timers
from ojs_aws.domain.envelope import Job

pytestmark = pytest.mark.thorough

MINUTE_MS = 60_000


def test_a_hundred_thousand_timers_cost_no_more_than_a_hundred() -> None:
    points = [*timers(100), *timers(100_000)]
    assert min(point.calls for point in points) > 0
    assert grown(points) == []


def test_a_fetch_reads_as_much_with_thousands_in_line_as_with_a_hundred() -> None:
    """Two queries, one update, one message call; a block of 4 KB for each of its queries."""
    points = [*backlogs(100), *backlogs(3_000)]
    few, many = (point for point in points if point.what == "FETCH of a job")
    assert (few.units, many.units, many.calls) == (1.0, 1.0, few.calls)
    assert grown(points) == []


def test_a_fetch_of_one_queue_costs_the_same_among_many() -> None:
    few, many = ([p for p in queues(size) if p.what.startswith("FETCH")] for size in (1, 30))
    assert few[0].calls == many[0].calls > 0


def test_a_fetch_costs_the_more_the_more_empty_queues_it_names() -> None:
    (one,), (ten,) = asked(1), asked(10)
    assert 5 * one.calls < ten.calls < 11 * one.calls


def test_a_sequence_costs_the_same_at_any_length_and_among_any_number() -> None:
    """Its jobs run in their order, one at a time, and no item of it is left."""
    points = sequences.measure([10, 300], [10, 300])
    assert {each.cost.calls.total() for each in points} == {2, 3, 4}
    assert sequences.grown(points) == []
    dear = [replace(each, size=10**6, cost=each.cost + each.cost) for each in points]
    assert len(sequences.grown([*points, *dear])) == 6


def test_growth_is_noticed() -> None:
    points = [*timers(100)]
    dear = [replace(point, size=10**6, calls=point.calls + 50) for point in points]
    assert len(grown([*points, *dear])) == len(points)


def _waiting(count: Counter, minutes: list[float], *, is_held: bool) -> None:
    """Jobs that are due in so many minutes: stored, or held as numbers."""
    if not is_held:
        for each in minutes:
            count.backend.jobs.push(Job("timer", [1], scheduled_at=f"+PT{round(each * 60)}S"))
        return
    template = count.backend.jobs.push(Job("timer", [1], scheduled_at="+PT10H")).record
    assert template is not None
    now = count.sweep.clock.now()
    count.table.hold(template.id, [round(now + each * MINUTE_MS) for each in minutes])


@pytest.mark.parametrize("ticks", [1, 12])
def test_timers_held_as_numbers_are_counted_like_stored_ones(ticks: int) -> None:
    """The same messages are sent for what comes within reach, by the same calls."""
    minutes = [20 + each / 10 for each in range(130)] + [HOUR_MS / MINUTE_MS] * 5
    found = []
    for is_held in (False, True):
        count = Counter()
        _waiting(count, minutes, is_held=is_held)
        count.lab.take()
        bill = count.sweep.ticks(ticks)
        found.append((bill.calls, bill.armed))
    stored, held = found
    assert stored == held
    assert (held[1] > 0) is (ticks > 1)
