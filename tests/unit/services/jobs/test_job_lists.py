"""How many jobs some lists hold: by their rows, by counters, or a bound that says so."""

from __future__ import annotations

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Count, JobList, ListTotal, TotalKind
from ojs_aws.domain.queues.tallies import QueueTotals
from ojs_aws.services.jobs import job_lists
from ojs_aws.services.jobs.job_lists import JobFilter, ListCounts
from tests.simulation.world import World
from tests.unit.services.jobs.test_search import die, push

S = JobState


class Counted:
    """Tallies of which only the totals are asked; counts how often."""

    def __init__(self, **totals: QueueTotals) -> None:
        self.kept, self.asked = totals, 0

    def totals(self) -> dict[str, QueueTotals]:
        self.asked += 1
        return self.kept


def counts(world: World, tallies: Counted) -> ListCounts:
    return ListCounts(world.store, lambda: tallies)  # type: ignore[arg-type, return-value]


def total(found: ListCounts, queues: list[str], **wanted: object) -> ListTotal:
    """Count what a filter of states finds."""
    chosen = JobFilter(**wanted)  # type: ignore[arg-type]
    states = [str(state) for state in S if chosen.wants(state)]
    return found.total(queues, chosen.parts(World().clock.now()), states)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """One list may be counted."""
    monkeypatch.setattr(job_lists, "MAX_COUNTED", 1)


def test_few_lists_are_counted_row_by_row(world: World) -> None:
    """And no counter is asked."""
    push(world)
    die(world, queue="email")
    tallies = Counted()
    assert total(counts(world, tallies), ["default", "email"]) == ListTotal(2)
    assert tallies.asked == 0


@pytest.mark.usefixtures("few")
def test_many_lists_are_counted_by_the_counters_of_their_queues(world: World) -> None:
    """Dead letters are among the discarded; a number below zero is none."""
    held = {"available": 5, "discarded": 3, "dead_letter": 2, "active": -1, "cancelled": 7}
    tallies = Counted(
        a=QueueTotals(jobs=held), b=QueueTotals(jobs={"available": 1}), c=QueueTotals()
    )
    found = counts(world, tallies)
    assert total(found, ["a", "b", "gone"]) == ListTotal(16, TotalKind.ESTIMATE)
    states = frozenset({S.DISCARDED, S.ACTIVE})
    assert total(found, ["a", "c"], states=states) == ListTotal(3, TotalKind.ESTIMATE)


@pytest.mark.usefixtures("few")
def test_as_many_lists_as_may_be_are_counted_row_by_row(world: World) -> None:
    """And one more is not."""
    push(world, pending=True)
    tallies = Counted(default=QueueTotals(jobs={"pending": 5}))
    states = frozenset({S.PENDING})
    assert total(counts(world, tallies), ["default"], states=states) == ListTotal(1)
    found = total(counts(world, tallies), ["default", "email"], states=states)
    assert found == ListTotal(5, TotalKind.ESTIMATE)


@pytest.mark.usefixtures("few")
def test_where_no_queue_has_counters_nothing_is_claimed(world: World) -> None:
    """Not even that there is none."""
    nothing = ListTotal(0, TotalKind.AT_LEAST)
    assert total(counts(world, Counted()), ["a", "b"]) == nothing
    assert (
        counts(world, Counted(a=QueueTotals())).total(
            ["a", "b"], JobFilter().parts(World().clock.now()), ()
        )
        == nothing
    )


@pytest.mark.parametrize(
    ("counted", "kind"),
    [
        (Count(7), TotalKind.EXACT),
        (Count(7, is_exact=False), TotalKind.AT_LEAST),
        (Count(7, is_exact=False, is_most=True), TotalKind.ESTIMATE),
    ],
)
def test_a_sum_is_as_sure_as_the_least_sure_of_its_counts(
    world: World, monkeypatch: pytest.MonkeyPatch, counted: Count, kind: TotalKind
) -> None:
    """A list that is too long is a lower bound; one that may hold removed jobs an upper one."""
    before = world.store.count

    def count(queue: str, name: JobList, between: object = None) -> Count:
        return counted if name is JobList.COMPLETED else before(queue, name)

    monkeypatch.setattr(world.store, "count", count)
    push(world)
    assert total(counts(world, Counted()), ["default"]) == ListTotal(8, kind)
