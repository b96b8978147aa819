"""Stores which bindings of a queue are suspended, in the item of the queue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, number, read_string, string
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.domain.bindings import Suspension, read_suspension, write_suspension
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import QUEUE_PARTITION

_PREFIX: Final = "bs_"
"""Begins the name of the attribute of a suspended binding."""


@dataclass(frozen=True, slots=True)
class Suspensions(InTable):
    """Suspends bindings of queues, and resumes them."""

    def of(self, queue: str) -> dict[str, Suspension]:
        """Return the suspended bindings of a queue, strongly consistent.

        Makes one consistent read.
        """
        return read_suspensions(self.get_item(item_key(QUEUE_PARTITION, queue)))

    def suspend(self, queue: str, binding: str, reason: str, now: Instant) -> None:
        """Suspend a binding; one that is suspended keeps its time, and gets the new reason.

        Makes one read and one update.
        """
        before = self.of(queue).get(binding)
        since = now if before is None else before.since
        after = Suspension(reason=reason, since=since, tried_at=now)
        update = Update()
        update.set_if_absent(n.CREATED, n.CREATED, number(now))
        update.set(_PREFIX + binding, string(write_suspension(after)))
        self.update_item(item_key(QUEUE_PARTITION, queue), update)

    def begin_trial(self, queue: str, binding: str, seen: Suspension, now: Instant) -> bool:
        """Note that one job is tried; return False if another process does, or it was resumed.

        Makes one conditional update.
        """
        update = Update()
        update.set(_PREFIX + binding, string(write_suspension(replace(seen, tried_at=now))))
        before = update.value(string(write_suspension(seen)))
        update.when(f"{update.name(_PREFIX + binding)} = {before}")
        return self.try_update(item_key(QUEUE_PARTITION, queue), update)

    def resume(self, queue: str, binding: str) -> None:
        """Resume a binding; nothing changes if it is not suspended.

        Makes one conditional update.
        """
        update = Update()
        update.remove(_PREFIX + binding)
        update.when(f"attribute_exists({update.name(_PREFIX + binding)})")
        self.try_update(item_key(QUEUE_PARTITION, queue), update)


def read_suspensions(item: Item) -> dict[str, Suspension]:
    """Return the suspended bindings that the item of a queue names."""
    return {
        name[len(_PREFIX) :]: read_suspension(read_string(item, name))
        for name in item
        if name.startswith(_PREFIX)
    }
