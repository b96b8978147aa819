"""Names one list of a queue, reads it page by page, and counts its jobs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.job import JobState
from ojs_aws.domain.list_total import ListTotal, TotalKind
from ojs_aws.ports import Between, Count, JobList, JobStore, Page, Tallies
from ojs_aws.services.jobs.filter import Part

PAGE: Final = 100
"""Rows of a page, and jobs that one call reads."""
MAX_COUNTED: Final = 50
"""Lists whose rows one request counts."""
NOBODY_COUNTED: Final = ListTotal(0, TotalKind.AT_LEAST)
_WAITING: Final = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)


@dataclass(frozen=True, slots=True)
class ListStop:
    """Names a list of one queue, or a range of it.

    :ivar label: names the list in cursors; empty where every queue has one list only.
    """

    queue: str
    name: JobList
    between: Between | None = None
    label: str = ""

    def pages(
        self,
        store: JobStore,
        *,
        place: str = "",
        size: Callable[[int], int] = lambda _: PAGE,
        most: int | None = None,
        newest_first: bool = True,
    ) -> Iterator[Page]:
        """Yield the pages of the list from a place on.

        :param size: says how many rows to ask for, by the number of the page, from 0 on.
        :param most: rows in all; None for all that there are.
        """
        for number in itertools.count():
            if most is not None and most <= 0:
                return
            rows = size(number)
            page = store.listed(
                self.queue,
                self.name,
                rows if most is None else min(rows, most),
                cursor=place,
                newest_first=newest_first,
                between=self.between,
            )
            yield page
            if not page.cursor:
                return
            place = page.cursor
            most = None if most is None else most - len(page.jobs)


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
