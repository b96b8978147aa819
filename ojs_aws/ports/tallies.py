"""What queues did, minute by minute."""

from __future__ import annotations

from typing import Protocol

from ojs_aws.domain.queues.tallies import Tally
from ojs_aws.domain.timestamps import Instant


class Tallies(Protocol):
    """Counters of each queue and minute, kept for a month."""

    def add(self, queue: str, minute: Instant, tally: Tally, token: str) -> bool:
        """Add to the counters of a minute by one write.

        :param minute: when it begins.
        :param token: names what is added.
        :returns: False, and nothing is added, if that was what was added last.
        """

    def read(self, queue: str, since: Instant, until: Instant) -> list[tuple[Instant, Tally]]:
        """The minutes that begin in a time range, both ends included, in their order.

        Minutes in which nothing happened are left out. Costs one query for some 4,000 minutes.
        """
