"""Reads lists of stored jobs page by page; the modules here change jobs, and wake workers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.jobs.lists import Between, JobList, Page

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore

PAGE: Final = 100
"""Rows of a page, and jobs that one call reads."""


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
        cursor: str = "",
        size: Callable[[int], int] = lambda _: PAGE,
        most: int | None = None,
        newest_first: bool = True,
    ) -> Iterator[Page]:
        """Yield the pages of the list from a cursor on.

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
                cursor=cursor,
                newest_first=newest_first,
                between=self.between,
            )
            yield page
            if not page.cursor:
                return
            cursor = page.cursor
            most = None if most is None else most - len(page.jobs)
