"""Computes when messages come back whose jobs have to wait for a limit.

All of them permit the same first job in line, so what matters is how many come back when, not
which. Came all back when the limit opens, each would invoke a worker, and nearly all in vain; came
they back one by one, the limit would not be used. So they are spread over the windows to come,
about two to each job that may begin: hardly a place stays empty, and every second one is in vain
at most.
Those of a limit that cannot say when it opens (concurrency) come back ten in a second, within a
minute where they are not many, and whoever ends such a job wakes the next.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.limits.rules import LimitRefusal
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import MAX_DELAY_S

SLACK: Final = 2
"""How many messages come back for each job that may begin."""

FEW: Final = 20
"""So many are not spread: they fit into two invocations, and none should miss its window."""

LOOKS_PER_S: Final = 10
"""Messages of a queue that come back in a second where nothing says how fast jobs may begin."""

MAX_BLIND_MS: Final = 60_000
"""The longest wait there, while :data:`LOOKS_PER_S` allow it. With more than that the wait grows
with the number of messages, up to SQS's longest delay."""


@dataclass(frozen=True, slots=True)
class MessageBackoff:
    """Says when messages come back.

    :ivar opens_in_ms: when the limit opens, in milliseconds from now.
    :ivar slot_ms: how far apart windows are.
    :ivar slots: over how many windows the messages are spread.
    """

    opens_in_ms: int = 0
    slot_ms: int = 1000
    slots: int = 1

    def seconds(self, handle: str) -> int:
        """Return when a message comes back, spread by its receipt handle as if by chance."""
        slot = zlib.crc32(handle.encode()) * self.slots >> 32
        return min(-(-(self.opens_in_ms + slot * self.slot_ms) // 1000), MAX_DELAY_S)


def message_backoff(
    refusals: Collection[LimitRefusal], waiting: int, now: Instant
) -> MessageBackoff:
    """Return how to spread the messages of a queue, by the refusal that ends first.

    :param waiting: about how many messages there are.
    """
    if not refusals:
        return MessageBackoff()
    first = min(refusals, key=lambda refusal: refusal.until)
    opens_in, many = max(1, first.until - now), max(0, waiting - FEW)
    if first.per_s:
        per_slot = max(1, round(first.per_s * first.slot_ms / 1000))
        return MessageBackoff(opens_in, first.slot_ms, max(1, math.ceil(many / (SLACK * per_slot))))
    opens_in = min(opens_in, MAX_BLIND_MS)
    wanted_s = math.ceil(many / LOOKS_PER_S)
    longest_s = min(max(MAX_BLIND_MS // 1000, wanted_s), MAX_DELAY_S)
    room_s = longest_s - opens_in // 1000
    return MessageBackoff(opens_in, 1000, max(1, min(wanted_s, room_s)))
