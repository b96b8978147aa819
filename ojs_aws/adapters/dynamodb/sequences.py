"""Stores sequences: one item for each live one, and a row for each of its blocked jobs.

Both are in the partition of the sequence, and read strongly consistently. The item sorts before the
rows, so that one query returns it and the first of them. An idle sequence has neither.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, number, read_string, string
from ojs_aws.adapters.dynamodb.stopped_sequences import StoppedSequences, put_on_list, take_off_list
from ojs_aws.adapters.dynamodb.table import condition, delete_part, item_key, put_part, update_part
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.conflicts import BucketTakenError, StaleJobError
from ojs_aws.domain.errors import TransactAction
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.sequences import BlockedJob, Enqueued, Sequence, place_of, turn_is_over
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore

ITEM: Final = "sequence"
ROW: Final = "waits#"
"""Begins the sort keys of the rows; sorts behind the item."""

_NAME: Final = "sn"
_NEXT: Final = "nx"
_HEAD: Final = "hd"
_CHECKED: Final = "ck"
_STOPPED: Final = "sp"
_BATCHES: Final = "bs"
_NAMED: Final = "na"
IDLE_KEPT_S: Final = 7 * 86_400
"""How long a sequence without a head stays: as long as a batch that may come to it (seconds)."""
_COLUMNS: Final[c.Columns] = {
    c.TEXT: {_NAME: "key", n.HOLDER: "job_id"},
    c.OPTIONAL_TEXT: {n.TENANT: "tenant"},
    c.NUMBER: {_NEXT: "next", _HEAD: "head", n.VERSION: "version", _CHECKED: "checked_at"},
    c.OPTIONAL_NUMBER: {_STOPPED: "stopped_at", _NAMED: "named_at"},
    c.STRINGS: {_BATCHES: "batches"},
}


Change: TypeAlias = tuple[JobRecord, JobRecord]
"""A job before and after a write."""


@dataclass(frozen=True, slots=True)
class Sequences:
    """Stores sequences. Each write is one conditional write or transaction, safe to repeat."""

    store: JobStore

    def load(self, tenant: str, key: str) -> Sequence | None:
        """Read a sequence by one consistent read; None for one that is idle."""
        return self.store.load_item(sequence_key(tenant, key), _read)

    def load_all(self, keys: Many[tuple[str, str]]) -> dict[tuple[str, str], Sequence]:
        """Read sequences by their tenants and keys, consistently; without those that are idle.

        Makes one read, or a batch read for each hundred.
        """
        if len(keys) == 1:
            found = self.load(*keys[0])
            return {} if found is None else {keys[0]: found}
        items = self.store.get_items([sequence_key(*each) for each in keys])
        return {(each.tenant, each.key): each for each in map(_read, items)}

    def look(self, tenant: str, key: str, most: int) -> tuple[Sequence | None, list[BlockedJob]]:
        """Read a sequence and the first of its blocked jobs, by one consistent query.

        Another one where DynamoDB answers with a page that is short.

        :param most: blocked jobs to read.
        """
        values = {"pk": string(n.sequence_pk(tenant, key))}
        options: dict[str, Any] = {"ConsistentRead": True, "Limit": most + 1}
        found = [*islice(self.store.items("#pk = :pk", values, **options), most + 1)]
        rows = [_read_row(item) for item in found if read_string(item, n.SK) != ITEM]
        items = [item for item in found if read_string(item, n.SK) == ITEM]
        return (_read(items[0]) if items else None), rows[:most]

    @property
    def stopped(self) -> StoppedSequences:
        """Return the list of those that are stopped."""
        return StoppedSequences(self.store, _read)

    def enqueuing(self, what: Enqueued) -> list[TransactAction]:
        """Return what a transaction that stores new jobs has to write in their sequence; no call.

        Its conditions: the sequence has given no position since it was read, or is idle still.
        """
        before, after = what.before, what.after
        key, table = sequence_key(after.tenant, after.key), self.store.table
        is_new = condition("attribute_not_exists(#pk)")
        if before is None:
            changed = put_part(table, {**key, **c.attributes(after, _COLUMNS)}, is_new)
        else:
            update = Update()
            update.set(_NEXT, number(after.next))
            update.set(_CHECKED, number(after.checked_at))
            update.when(f"{update.name(_NEXT)} = {update.value(number(before.next))}")
            if after.version != before.version:
                _replace(update, before, after)
            changed = update_part(table, key, update)
        rows = (
            {**_row_key(after.tenant, after.key, each.position), n.HOLDER: string(each.job_id)}
            for each in what.blocked
        )
        return [changed, *(put_part(table, row, is_new) for row in rows)]

    def name_batches(self, before: Sequence | None, after: Sequence) -> bool:
        """Store which large batches a sequence names; return False if it has changed since.

        Makes one write. One that was not there expires with the batch.
        """
        key = sequence_key(after.tenant, after.key)
        if before is not None:
            update = Update()
            _replace(update, before, after)
            return self.store.try_update(key, update)
        ttl = number(after.checked_at // 1000 + IDLE_KEPT_S)
        item = {**key, **c.attributes(after, _COLUMNS), n.TTL: ttl}
        try:
            self.store.put_item(item, condition("attribute_not_exists(#pk)"))
        except ConditionFailedError:
            return False
        return True

    def leave_idle(self, seen: Sequence, now: Instant) -> bool:
        """Take the head from a sequence that names batches; return False if it has changed.

        No position is lost to it but one: a job that was enqueued meanwhile is enqueued again.
        """
        update = _as_seen(seen)
        update.when(f"{update.name(_NEXT)} = {update.value(number(seen.next))}")
        update.set(_NEXT, number(seen.next + 1))
        update.set(n.HOLDER, string(""))
        update.set(n.TTL, number(now // 1000 + IDLE_KEPT_S))
        _go_on(update, now)
        return self.store.try_update(sequence_key(seen.tenant, seen.key), update)

    def resume(self, before: JobRecord, after: JobRecord) -> JobRecord:
        """Store that a discarded job is enqueued again, if it can have its turn.

        Makes one transaction. The job must be the head of its sequence still, or the sequence idle.

        :returns: the job, with the token of this write.
        :raises StaleJobError: the stored job is no longer ``before``.
        :raises ConflictError: another job of the sequence has its turn.
        """
        place, token = place_of(after), self.store.writes.token()
        update = Update()
        update.set(_NAME, string(place.key))
        if after.tenant:
            update.set(n.TENANT, string(after.tenant))
        update.set(n.HOLDER, string(after.id))
        update.set(_HEAD, number(place.position))
        update.set_if_absent(_NEXT, _NEXT, number(place.position + 1))
        _go_on(update, after.enqueued_at or after.created_at)
        update.remove(n.TTL)
        holder, own = update.name(n.HOLDER), update.value(string(after.id))
        nobody = update.value(string(""))
        absent = f"attribute_not_exists({update.name(n.PK)})"
        update.when(f"({absent} OR {holder} = {own} OR {holder} = {nobody})")
        part = update_part(self.store.table, sequence_key(after.tenant, place.key), update)
        try:
            change = self.store.change(before, after)
            self.store.writes.send_with(before.id, change, [part], token)
        except BucketTakenError:
            raise turn_is_over(before) from None
        return replace(after, token=token)

    def hand_over(
        self, seen: Sequence, ended: Many[BlockedJob], row: BlockedJob, change: Change, now: Instant
    ) -> bool:
        """Give the next blocked job its turn, in one transaction.

        :param ended: rows before it, whose jobs have ended.
        :param change: the job before and after.
        :returns: False if something has changed since it was read; nothing was written.
        """
        update = _as_seen(seen)
        update.set(_HEAD, number(row.position))
        update.set(n.HOLDER, string(row.job_id))
        _go_on(update, now)
        return self._change_job(seen, [*ended, row], change, update)

    def cancel(self, seen: Sequence, row: BlockedJob, change: Change, now: Instant) -> bool:
        """Store that a blocked job was cancelled with its sequence; the head stays.

        :returns: False if something has changed since it was read; nothing was written.
        """
        update = _as_seen(seen)
        _go_on(update, now)
        return self._change_job(seen, [row], change, update)

    def _change_job(
        self, seen: Sequence, rows: Many[BlockedJob], change: Change, update: Update
    ) -> bool:
        (before, after), table = change, self.store.table
        parts = [delete_part(table, *_row_of(seen.tenant, seen.key, each)) for each in rows]
        parts.append(update_part(table, sequence_key(seen.tenant, seen.key), update))
        try:
            self.store.writes.send_with(before.id, self.store.change(before, after), parts)
        except (BucketTakenError, StaleJobError):
            return False
        return True

    def stop(self, seen: Sequence, now: Instant) -> bool:
        """Stop a sequence on its head, and list it as stopped; return False if it has changed."""
        update = _as_seen(seen)
        update.add(n.VERSION, 1)
        update.set(_STOPPED, number(now))
        put_on_list(update, now, self.store.writes.token())
        return self.store.try_update(sequence_key(seen.tenant, seen.key), update)

    def end(self, seen: Sequence) -> bool:
        """Remove a sequence that has no blocked jobs; return False if it has some by now."""
        when = condition(
            f"#{n.HOLDER} = :j AND #{n.VERSION} = :v AND #{_NEXT} = :next",
            j=string(seen.job_id),
            v=number(seen.version),
            next=number(seen.next),
        )
        return self.store.try_delete(sequence_key(seen.tenant, seen.key), when)

    def forget(self, tenant: str, key: str, row: BlockedJob) -> None:
        """Remove the row of a blocked job that has ended; another job's row stays."""
        self.store.try_delete(*_row_of(tenant, key, row))


def sequence_key(tenant: str, key: str) -> Item:
    """Return the key of a sequence's item."""
    return item_key(n.sequence_pk(tenant, key), ITEM)


def _go_on(update: Update, now: Instant) -> None:
    """Let a change of the sequence count, and end its stop."""
    update.add(n.VERSION, 1)
    update.set(_CHECKED, number(now))
    update.remove(_STOPPED)
    take_off_list(update)


def _replace(update: Update, before: Sequence, after: Sequence) -> None:
    """Store another head, or other batches, unless one of them has changed."""
    update.when(f"{update.name(n.VERSION)} = {update.value(number(before.version))}")
    update.set(n.VERSION, number(after.version))
    if after.job_id != before.job_id:
        update.set(_HEAD, number(after.head))
        update.set(n.HOLDER, string(after.job_id))
        update.remove(n.TTL)
    if after.batches:
        update.set(_BATCHES, {"SS": [*after.batches]})
    else:
        update.remove(_BATCHES)
    if after.named_at is None:
        update.remove(_NAMED)
    else:
        update.set(_NAMED, number(after.named_at))


def _as_seen(seen: Sequence) -> Update:
    """Return an update that fails unless the head is as it was read."""
    update = Update()
    update.when(f"{update.name(n.HOLDER)} = {update.value(string(seen.job_id))}")
    update.when(f"{update.name(n.VERSION)} = {update.value(number(seen.version))}")
    return update


def _row_key(tenant: str, key: str, position: int) -> Item:
    return item_key(n.sequence_pk(tenant, key), f"{ROW}{position:015d}")


def _row_of(tenant: str, key: str, row: BlockedJob) -> tuple[Item, dict[str, Any]]:
    """Return the key of a job's row, and the condition that it is this job's."""
    own = condition(f"#{n.HOLDER} = :j", j=string(row.job_id))
    return _row_key(tenant, key, row.position), own


def _read(item: Item) -> Sequence:
    return Sequence(**c.read_members(item, _COLUMNS))


def _read_row(item: Item) -> BlockedJob:
    position = int(read_string(item, n.SK).removeprefix(ROW))
    return BlockedJob(position, read_string(item, n.HOLDER))
