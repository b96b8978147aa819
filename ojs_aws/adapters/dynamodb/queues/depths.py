"""Counts the jobs of bounded queues, and keeps what events report of them and of tenants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    number,
    read_count,
    read_number,
    read_string,
    string,
)
from ojs_aws.adapters.dynamodb.table import InTable, in_index, item_key
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.conflicts import QueueIsFullError
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.limits import scope_of, tenant_key
from ojs_aws.domain.queues import Depth, Pressure
from ojs_aws.domain.tenants import TenantRefusals
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import PRESSURE_PARTITION

JOBS: Final = "dn"
WHOLE: Final = "wh"
REJECTED: Final = "rj"
WARNED: Final = "wn"
BOUND: Final = "bd"
LIMIT: Final = "ln"
CURRENT: Final = "lc"
MAXIMUM: Final = "lm"
REFUSED: Final = "rf"

REFUSALS_EVERY_MS: Final = 60_000
"""The refusals of a tenant are published this often at most, by all processes together."""
REFUSALS_KEPT_S: Final = 86_400

_IN_LINES: Final = (JobList.READY, JobList.WAITING)
_JOBS_ONLY: Final = "0"
"""Rows that say something of the queue itself come before this in the ready list."""


@dataclass(frozen=True, slots=True)
class Depths(InTable):
    """Counts the jobs of bounded queues. Queues without a bound are not counted.

    The writes are plain additions, which DynamoDB lines up: an item takes about 1,000 of them a
    second. One whose answer was lost may be made twice by botocore; the tick corrects that.

    :ivar lines: how many lines each wide queue may have jobs in.
    """

    lines: Mapping[str, int] = field(default_factory=dict)

    def take(self, queue: str, count: int, bound: int) -> int:
        """Count jobs that are about to be stored, in one conditional write.

        Makes one conditional update.

        :returns: the depth with them.
        :raises QueueIsFullError: there would be more than ``bound``; nothing is counted.
        """
        update = _adding(count)
        jobs = update.name(JOBS)
        room = update.value(number(bound - count))
        update.when(f"(attribute_not_exists({jobs}) OR {jobs} <= {room})")
        if count > bound:
            found = self.load(queue)
            raise QueueIsFullError(found.jobs if found else 0)
        try:
            return read_count(self.update_item(_key(queue), update, "UPDATED_NEW"), JOBS)
        except ConditionFailedError as failed:
            raise QueueIsFullError(max(0, read_count(failed.item, JOBS))) from None

    def add(self, queue: str, amount: int) -> int | None:
        """Count jobs that were added or are gone; one write.

        Makes one conditional update.

        :returns: the depth after it; None, and nothing is counted, for a queue without a bound.
        """
        update = _adding(amount)
        update.when(f"attribute_exists({update.name(JOBS)})")
        try:
            return read_number(self.update_item(_key(queue), update, "UPDATED_NEW"), JOBS)
        except ConditionFailedError:
            return None

    def load(self, queue: str) -> Depth | None:
        """Return the depth, strongly consistent; None for a queue without a bound.

        Makes one consistent read.
        """
        item = self.get_item(_key(queue))
        jobs = read_number(item, JOBS)
        if jobs is None:
            return None
        return Depth(jobs, read_count(item, n.VERSION), is_whole=WHOLE in item)

    def counted(self) -> Iterator[str]:
        """Yield the names of the queues that have a counter.

        Runs one query, more only beyond a megabyte.
        """
        for item in self.items("#pk = :pk", {"pk": string(n.DEPTHS)}, ProjectionExpression="#sk"):
            yield read_string(item, n.SK)

    def begin(self, queue: str, missing: int) -> bool:
        """Count the jobs that were there before the counter, once.

        Makes one conditional update.
        """
        update = _adding(missing)
        update.set(WHOLE, {"BOOL": True})
        update.when(f"attribute_not_exists({update.name(WHOLE)})")
        return self.try_update(_key(queue), update)

    def correct(self, queue: str, jobs: int, seen: Depth) -> bool:
        """Set the depth to a count by reading, if nothing has changed since ``seen``.

        Makes one conditional update.
        """
        update = Update()
        update.set(JOBS, number(jobs))
        update.add(n.VERSION, 1)
        update.when(f"{update.name(n.VERSION)} = {update.value(number(seen.version))}")
        return self.try_update(_key(queue), update)

    def forget(self, queue: str) -> None:
        """Stop counting a queue.

        Makes one delete.
        """
        self.delete_item(_key(queue))

    def count(self, queue: str, most: int) -> int:
        """Count by reading the lists, up to about ``most`` jobs; one query reads thousands.

        Runs a query for each megabyte of the three lists, three at least; a wide queue has two
        lists for each line.
        """
        counted = 0
        lines = range(self.lines.get(queue, 1))
        for name, shard in [(JobList.PENDING, 0), *product(_IN_LINES, lines)]:
            if counted >= most:
                break
            values = {"gpk": string(n.list_key(queue, name, shard)), "low": string(_JOBS_ONLY)}
            key = "#gpk = :gpk AND #gsk >= :low"
            for answer in self.pages(key, values, **in_index(Select="COUNT")):
                counted += answer["Count"]
                if counted >= most:
                    break
        return min(counted, most)


@dataclass(frozen=True, slots=True)
class Pressures(InTable):
    """Stores what producers' processes leave for the stream to publish."""

    def warn(self, pressure: Pressure) -> None:
        """Note that a queue went above its threshold, or below it; one write.

        Makes one update.
        """
        update = _pressure_update(pressure)
        update.set(WARNED, {"BOOL": pressure.is_warned})
        self.update_item(item_key(PRESSURE_PARTITION, pressure.queue), update)

    def reject(self, pressure: Pressure) -> None:
        """Count ``rejected`` jobs that found no place; one write.

        Makes one update.
        """
        update = _pressure_update(pressure)
        update.set(n.TYPE, string(pressure.job_type))
        update.add(REJECTED, pressure.rejected)
        self.update_item(item_key(PRESSURE_PARTITION, pressure.queue), update)

    def refuse(self, refusals: TenantRefusals) -> bool:
        """Count jobs more that a tenant may not enqueue.

        Makes one conditional update.

        :returns: False, and nothing is counted, if some were counted in the last minute.
        """
        update = Update()
        update.set(n.CREATED, number(refusals.at))
        update.set(LIMIT, string(refusals.limit))
        update.set(CURRENT, number(refusals.current))
        update.set(MAXIMUM, number(refusals.maximum))
        update.set(n.TTL, number(refusals.at // 1000 + REFUSALS_KEPT_S))
        update.add(REFUSED, refusals.count)
        at, past = update.name(n.CREATED), number(refusals.at - REFUSALS_EVERY_MS)
        update.when(f"(attribute_not_exists({at}) OR {at} <= {update.value(past)})")
        key = item_key(PRESSURE_PARTITION, tenant_key(refusals.tenant))
        return self.try_update(key, update)


def read_reported(item: Item) -> Pressure | TenantRefusals:
    """Return the pressure of a queue, or the refusals of a tenant, that an item describes."""
    scope = scope_of(read_string(item, n.SK))
    if scope is not None and scope.tenant:
        return TenantRefusals(
            tenant=scope.tenant,
            at=Instant(read_count(item, n.CREATED)),
            limit=read_string(item, LIMIT),
            current=read_count(item, CURRENT),
            maximum=read_count(item, MAXIMUM),
            count=read_count(item, REFUSED),
        )
    return read_pressure(item)


def read_pressure(item: Item) -> Pressure:
    """Return the pressure of a queue that an item describes."""
    return Pressure(
        queue=read_string(item, n.SK),
        at=Instant(read_count(item, n.CREATED)),
        is_warned=bool(item.get(WARNED, {}).get("BOOL")),
        rejected=read_count(item, REJECTED),
        job_type=read_string(item, n.TYPE),
        depth=read_count(item, JOBS),
        bound=read_count(item, BOUND),
    )


def _pressure_update(pressure: Pressure) -> Update:
    update = Update()
    update.set(n.CREATED, number(pressure.at))
    update.set(JOBS, number(pressure.depth))
    update.set(BOUND, number(pressure.bound))
    return update


def _adding(amount: int) -> Update:
    update = Update()
    update.add(JOBS, amount)
    update.add(n.VERSION, 1)
    return update


def _key(queue: str) -> Item:
    return item_key(n.DEPTHS, queue)
