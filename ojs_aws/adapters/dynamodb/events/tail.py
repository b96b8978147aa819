"""Decides whether the last chunk of the event log is surely the last.

Chunks expire, and DynamoDB removes what has expired within days and in no order: the newest may be
gone while an older one is still there. Who took the number behind that one would use it a second
time, and readers whose cursor is past it would see nothing. So the number behind a chunk is taken
only while no chunk behind it can have expired: no chunk expires before the one in front of it, and
the last one that was found has some time left itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.events.chunks import chunk_time, position_of
from ojs_aws.adapters.dynamodb.values import Item, read_number
from ojs_aws.domain.timestamps import Instant

MARGIN_MS: Final = 3_600_000
"""How far the clocks of writers and of DynamoDB may be apart, and how long a put may take."""


class Tail(NamedTuple):
    """Holds a chunk that was the last one when it was read.

    :ivar at: when it was appended, by the clock of who did.
    :ivar ttl: when it expires, in seconds since the epoch.
    """

    position: int
    at: Instant
    ttl: int

    def is_surely_last(self, now: Instant, retention_s: int) -> bool:
        """Return whether no later chunk can have been removed.

        Both its own expiry and its age under the present retention count: earlier chunks may have
        had a shorter retention.
        """
        expires = min(self.ttl * 1000, self.at + retention_s * 1000)
        return expires - now > min(MARGIN_MS, retention_s * 250)


def tail_of(item: Item) -> Tail:
    """Return the tail that an item of the log represents."""
    return Tail(position_of(item), Instant(chunk_time(item)), read_number(item, n.TTL) or 0)
