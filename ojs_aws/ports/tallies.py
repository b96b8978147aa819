"""Declares the counters of what queues did by minute, and of what they hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from ojs_aws.domain.queues.tallies import QueueTotals, StreamLag, Tally
from ojs_aws.domain.timestamps import Instant


class Tallies(Protocol):
    """Counts by queue and minute, kept for a month, and in totals of each queue."""

    def add(
        self, queue: str, minute: Instant, tally: Tally, token: str, lag: StreamLag | None = None
    ) -> bool:
        """Add to the totals of a queue and to the counters of a minute.

        One write, and three when the minute is newer than the one before.

        :param minute: when it begins.
        :param token: names what is added.
        :param lag: how late it is, if the totals are to say so.
        :returns: False, and nothing is added, if that was what was added last to that minute.
        """

    def read(self, queue: str, since: Instant, until: Instant) -> list[tuple[Instant, Tally]]:
        """Return the minutes that begin in a time range, both ends included, in their order.

        Minutes in which nothing happened are left out. Costs one read, and one query for some
        4,000 minutes.
        """

    def totals(self) -> Mapping[str, QueueTotals]:
        """Return the totals of every queue that has any; one query reads some thousand queues."""

    def load(self, queue: str) -> QueueTotals:
        """Return the totals of one queue, strongly consistent."""

    def correct(
        self,
        queue: str,
        seen: QueueTotals,
        changes: Mapping[str, int],
        at: Instant,
        at_least: Collection[str],
    ) -> bool:
        """Correct the number of a queue's jobs after they were counted by reading.

        :param seen: the totals before the jobs were counted.
        :param changes: how many more there are, by the names of ``jobs``.
        :param at: when they were counted; zero when changes came meanwhile.
        :param at_least: see :class:`QueueTotals`.
        :returns: False, and nothing is changed, if somebody else corrected them meanwhile, or if
            changes came to totals that had been counted before.
        """
