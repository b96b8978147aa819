"""Counts the jobs of lists: row by row in a few lists, by the queues' counters in many."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.job import JobState
from ojs_aws.domain.list_total import ListTotal, TotalKind
from ojs_aws.ports import Count, JobList, JobStore, Tallies
from ojs_aws.services.jobs.filter import Part

MAX_COUNTED: Final = 50
"""Lists whose rows one request counts."""

NOBODY_COUNTED: Final = ListTotal(0, TotalKind.AT_LEAST)

_WAITING: Final = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)


@dataclass(frozen=True, slots=True)
class ListCounts:
    """Counts jobs without reading them."""

    store: JobStore
    tallies: Callable[[], Tallies]

    def total(
        self, queues: Sequence[str], parts: Sequence[Part], counters: Collection[str]
    ) -> ListTotal:
        """Return how many jobs some lists of some queues hold.

        :param counters: the names under which the queues count these jobs: states, or
            ``dead_letter``; empty if they do not.
        """
        if len(queues) * len(parts) <= MAX_COUNTED:
            return _sum(
                [each for q in queues for part in parts for each in self._of(q, part, counters)]
            )
        return self._by_counters(queues, counters) if counters else NOBODY_COUNTED

    def _of(self, queue: str, part: Part, counters: Collection[str]) -> list[Count]:
        if part.name is not JobList.WAITING:
            return [self.store.count(queue, part.name, part.between)]
        if part.between is not None:
            # Of what time has overtaken, the state is not known without reading it.
            late = self.store.count(queue, part.name, part.between)
            return [Count(0, is_exact=not late.rows)]
        by_state = self.store.count_waiting(queue)
        return [by_state[state] for state in _WAITING if state in counters]

    def _by_counters(self, queues: Sequence[str], counters: Collection[str]) -> ListTotal:
        """Read the totals of all queues, which follow the table's stream (decision 62)."""
        there = self.tallies().totals()
        found = [there[name] for name in queues if name in there]
        if not found:
            return NOBODY_COUNTED
        jobs = sum(max(0, each.jobs.get(name, 0)) for each in found for name in counters)
        return ListTotal(jobs, TotalKind.ESTIMATE)


def _sum(counts: Sequence[Count]) -> ListTotal:
    jobs = sum(each.rows for each in counts)
    if all(each.is_exact for each in counts):
        return ListTotal(jobs)
    is_bound = not any(each.is_most for each in counts)
    return ListTotal(jobs, TotalKind.AT_LEAST if is_bound else TotalKind.ESTIMATE)
