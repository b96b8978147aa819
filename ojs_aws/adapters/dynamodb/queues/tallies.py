"""Counts what queues and tenants did: an item for each and minute, the newest with the totals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, number, read_string, string
from ojs_aws.adapters.dynamodb.queues import totals as t
from ojs_aws.adapters.dynamodb.table import InTable, any_failed, update_part
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.queues.tallies import QueueTotals, StreamLag, Tally
from ojs_aws.domain.timestamps import Instant

KEPT_S: Final = 31 * 24 * 3600
"""How long minutes are kept (ojs-admin-api, section 10.2, asks for 30 days)."""

TRIES: Final = 5
"""How often one consumer begins a minute while others do."""

_LATE: Final = "lt"
"""On a minute that something was added to after its end."""


@dataclass(frozen=True, slots=True)
class Tallies(InTable):
    """Counts by queue and minute, kept for a month, and in totals of each queue.

    :ivar of: whose counters they are; those of tenants are apart, and work alike.
    """

    of: t.Counted = t.QUEUES

    def add(
        self, queue: str, minute: Instant, tally: Tally, token: str, lag: StreamLag | None = None
    ) -> bool:
        """Add to the totals of a queue and to the counters of a minute.

        One write, and three when the minute is newer than the one before.

        Makes one conditional update of the totals, which hold the newest minute, too.

        With the first change of a minute, the one before gets an item of its own first. A process
        that dies in between leaves that minute in both places; what the totals say counts.

        :param minute: when it begins.
        :param token: names what is added.
        :param lag: how late it is, if the totals are to say so.
        :returns: False, and nothing is added, if that was what was added last to that minute.
        """
        for _ in range(TRIES):
            try:
                adding = self._expire(_adding(minute, tally, token, lag), minute)
                self.update_item(self.of.key(queue), adding)
            except ConditionFailedError as failed:
                old = t.read_totals(failed.item)
            else:
                return True
            if old.minute == minute:
                return False
            if old.minute is not None and old.minute > minute:
                return self._add_late(queue, minute, tally, token, lag)
            self._keep_minute(queue, old)
            beginning = self._expire(_beginning(old, minute, tally, token, lag), minute)
            if self.try_update(self.of.key(queue), beginning):
                return True
        raise BackendUnavailableError("Others count the same queue.", hint="Repeat the request.")

    def _keep_minute(self, queue: str, old: QueueTotals) -> None:
        """Give a past minute an item of its own, unless somebody added to it since."""
        if old.minute is None or not old.tally:
            return
        update = Update()
        for name, amount in t.tally_numbers(old.tally).items():
            update.set(name, number(amount))
        _mark(update, old.minute, old.version)
        update.when(f"attribute_not_exists({update.name(_LATE)})")
        self.try_update(self.of.minute_key(queue, old.minute), update)

    def _add_late(
        self, queue: str, minute: Instant, tally: Tally, token: str, lag: StreamLag | None
    ) -> bool:
        """Add to a past minute and to the queue's totals: both or neither."""
        late, totals = Update(), Update()
        for name, amount in t.tally_numbers(tally).items():
            late.add(name, amount)
        late.set(_LATE, number(1))
        _mark(late, minute, token)
        last = late.name(n.TOKEN)
        late.when(f"(attribute_not_exists({last}) OR {last} <> {late.value(string(token))})")
        t.add_held(totals, tally.held)
        t.set_lag(totals, lag)
        parts = [(self.of.minute_key(queue, minute), late)]
        if any(tally.held.values()):
            parts.append((self.of.key(queue), totals))
        actions = [update_part(self.table, key, update) for key, update in parts]
        return not self.transact_write_items(actions, any_failed)

    def correct(
        self,
        queue: str,
        seen: QueueTotals,
        changes: Mapping[str, int],
        at: Instant,
        at_least: Collection[str],
    ) -> bool:
        """Correct the number of a queue's jobs after they were counted by reading.

        Makes one conditional update.

        :param seen: the totals before the jobs were counted.
        :param changes: how many more there are, by the names of ``jobs``.
        :param at: when they were counted; zero when changes came meanwhile.
        :param at_least: see :class:`QueueTotals`.
        :returns: False, and nothing is changed, if somebody else corrected them meanwhile, or if
            changes came to totals that had been counted before.
        """
        update = Update()
        t.add_held(update, changes)
        update.set(t.COUNTED_AT, number(at))
        update.set(t.AT_LEAST, string(" ".join(sorted(at_least))))
        counted_at = update.name(t.COUNTED_AT)
        if seen.counted_at is None:
            update.when(f"attribute_not_exists({counted_at})")
        else:
            update.when(f"{counted_at} = {update.value(number(seen.counted_at))}")
            update.when(_is_at(update, seen))
        return self.try_update(self.of.key(queue), update)

    def read(self, queue: str, since: Instant, until: Instant) -> list[tuple[Instant, Tally]]:
        """Return the minutes that begin in a time range, both ends included, in their order.

        Minutes in which nothing happened are left out. Costs one read, and one query for some
        4,000 minutes.

        Runs a query for each megabyte, and read the totals, which have the newest minute.
        """
        newest = self.load(queue)
        found = {
            Instant(int(read_string(item, n.SK))): t.read_tally(item)
            for item in self._between(
                f"{self.of.minutes}#{queue}", n.instant_key(since), n.instant_key(until)
            )
        }
        if newest.minute is not None and since <= newest.minute <= until:
            found[newest.minute] = newest.tally
        return [(minute, tally) for minute, tally in sorted(found.items()) if tally]

    def totals(self) -> dict[str, QueueTotals]:
        """Return the totals of every queue that has any; one query reads some thousand queues.

        Runs a query for each megabyte of each of four partitions.
        """
        return {
            self.of.name_in(item): t.read_totals(item)
            for part in range(t.PARTITIONS)
            for item in self._between(self.of.partition(part))
        }

    def held(self, most: int) -> Iterator[tuple[str, Mapping[str, int]]]:
        """Yield what each queue or tenant holds by state, of so many in each of four partitions.

        Runs a query for each megabyte of each of them, but no more than these take.
        """
        shown = ", ".join(f"#{name}" for name in (n.SK, *t.HELD.values()))
        for part in range(t.PARTITIONS):
            values = {"pk": string(self.of.partition(part))}
            items = self.items("#pk = :pk", values, ProjectionExpression=shown)
            for item in islice(items, most):
                yield self.of.name_in(item), t.read_held(item)

    def page(self, after: str, limit: int) -> list[tuple[str, QueueTotals]]:
        """Return so many totals by name, from behind a name on.

        Runs a query of each of four partitions.

        :param after: the last name of the page before; empty for the first page.
        """
        found = [
            item
            for part in range(t.PARTITIONS)
            for item in self.after(
                self.of.partition(part), after and f"{self.of.sort}{after}", Limit=limit
            )["Items"]
        ]
        named = sorted((self.of.name_in(item), t.read_totals(item)) for item in found)
        return named[:limit]

    def load(self, queue: str) -> QueueTotals:
        """Return the totals of one queue, strongly consistent.

        Makes one consistent read.
        """
        return t.read_totals(self.get_item(self.of.key(queue)))

    def _between(self, partition: str, first: str = " ", last: str = "~") -> Iterator[Item]:
        values = {"pk": string(partition), "first": string(first), "last": string(last)}
        return self.items("#pk = :pk AND #sk BETWEEN :first AND :last", values)

    def _expire(self, update: Update, minute: Instant) -> Update:
        """Let DynamoDB remove totals that do not change any more, where they are not for ever."""
        if self.of.kept_s is not None:
            update.set(n.TTL, number(minute // 1000 + self.of.kept_s))
        return update


def _adding(minute: Instant, tally: Tally, token: str, lag: StreamLag | None) -> Update:
    """Add to the newest minute, unless a later one has begun or this was added already."""
    update = Update()
    for name, amount in t.tally_numbers(tally).items():
        update.add(name, amount)
    t.add_held(update, tally.held)
    t.set_lag(update, lag)
    update.set(n.TOKEN, string(token))
    update.when(f"{update.name(t.MINUTE)} = {update.value(number(minute))}")
    update.when(f"{update.name(n.TOKEN)} <> {update.value(string(token))}")
    return update


def _beginning(
    old: QueueTotals, minute: Instant, tally: Tally, token: str, lag: StreamLag | None
) -> Update:
    """Begin a minute, if nobody added to the one before it meanwhile."""
    update = Update()
    new = {name: number(amount) for name, amount in t.tally_numbers(tally).items()}
    for name, value in {**t.passed(old, minute), **new, n.TOKEN: string(token)}.items():
        update.set(name, value)
    update.remove(*(name for name in t.tally_numbers(old.tally) if name not in new))
    t.add_held(update, tally.held)
    t.set_lag(update, lag)
    update.when(_is_at(update, old))
    return update


def _is_at(update: Update, old: QueueTotals) -> str:
    """Return the condition that nothing was added to the totals since they were read."""
    minute = update.name(t.MINUTE)
    if old.minute is None:
        return f"attribute_not_exists({minute})"
    is_same = f"{minute} = {update.value(number(old.minute))}"
    return f"{is_same} AND {update.name(n.TOKEN)} = {update.value(string(old.version))}"


def _mark(update: Update, minute: Instant, token: str) -> None:
    update.set(n.TOKEN, string(token))
    update.set(n.TTL, number(minute // 1000 + KEPT_S))
