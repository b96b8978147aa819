"""Stores unique jobs: the job, its lock and the job it replaces in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, item_bytes, number, read_string, string
from ojs_aws.adapters.dynamodb.jobs.blobs import ITEM
from ojs_aws.adapters.dynamodb.jobs.codec import from_item, to_item
from ojs_aws.adapters.dynamodb.jobs.inserts import (
    MAX_TRANSACTION_BYTES,
    Ahead,
    check_new,
    took_effect,
)
from ojs_aws.adapters.dynamodb.jobs.reads import job_key
from ojs_aws.adapters.dynamodb.jobs.store import slots_left
from ojs_aws.adapters.dynamodb.limits import releasing
from ojs_aws.adapters.dynamodb.table import (
    Action,
    Reasons,
    condition,
    item_key,
    put_part,
    update_part,
)
from ojs_aws.adapters.dynamodb.update import CONDITION_CODE, CONFLICT_CODE, ConditionFailedError
from ojs_aws.domain.conflicts import NotAdmittedError
from ojs_aws.domain.errors import PayloadTooLargeError, TransactAction
from ojs_aws.domain.job import JobRecord, StoredElsewhere
from ojs_aws.domain.jobs.batches import MAX_ACTIONS, Admission, UniqueLock

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore

_EXPLAINED: Final = frozenset({CONDITION_CODE, CONFLICT_CODE})
"""Why a transaction fails when others had the same key first: it is looked at again."""

_LOCK: Final[c.Columns] = {
    c.TEXT: {n.HOLDER: "job_id", n.TOKEN: "version"},
    c.OPTIONAL_TEXT: {n.APPLIED: "applied_id", n.BATCH: "batch", n.PREVIOUS: "previous"},
}


@dataclass(frozen=True, slots=True)
class _Document:
    """Holds a document with an item of its own."""

    job: JobRecord
    ref: StoredElsewhere
    item: Item


@dataclass(slots=True)
class _Transaction:
    """Collects the parts of a transaction.

    :ivar jobs: positions of the admissions whose job an action puts, by the action's position.
    :ivar locks: the same for locks.
    :ivar documents: puts that may go ahead of the transaction where it has no room for them.
    :ivar ahead: what does.
    :ivar uploads: whether documents may be put into S3 ahead of it.
    :ivar slots: how many slots are given back, by the keys of their buckets.
    """

    actions: list[Action]
    jobs: dict[int, int]
    locks: dict[int, int]
    documents: list[_Document]
    ahead: Ahead
    uploads: bool = True
    slots: Counter[str] = field(default_factory=Counter)

    def releases(self, table: str) -> list[Action]:
        """Return the writes that give the slots of replaced jobs back."""
        return [releasing(table, key, count) for key, count in sorted(self.slots.items())]

    def is_answered(self, reasons: Reasons, token: str) -> bool:
        """Return whether it is known what became of the transaction that was cancelled.

        It is not where its content caused it. Nor where it met a job that is stored and another
        transaction: that one stores these very jobs, maybe, and is not done with it.
        """
        codes = {code for code, _ in reasons} - {"None"}
        if CONDITION_CODE not in codes or not codes <= _EXPLAINED:
            return False
        met_job = any(reasons[at][1] for at in self.jobs)
        is_open = met_job and any(reasons[at][0] == CONFLICT_CODE for at in self.jobs)
        return not is_open or took_effect(reasons, token)

    def explain(self, reasons: Reasons, token: str) -> None:
        """Raise why the transaction was cancelled, unless it had taken effect.

        :raises NotAdmittedError: unless it was this very transaction, whose answer was lost.
        """
        if took_effect(reasons, token):
            return
        met = {at: item for at, (_, item) in enumerate(reasons) if item}
        raise NotAdmittedError(
            {self.jobs[at]: from_item(item) for at, item in met.items() if at in self.jobs},
            {self.locks[at]: _read(item) for at, item in met.items() if at in self.locks},
        )


@dataclass(frozen=True, slots=True)
class UniqueJobs:
    """Stores jobs that are admitted under uniqueness keys."""

    store: JobStore

    def admit(self, admissions: Sequence[Admission], others: Sequence[TransactAction] = ()) -> None:
        """Store new jobs, take their locks and change the jobs they replace, all or none.

        Makes one transaction; documents for S3 are put before it.

        :param others: what is to be written with them.
        :raises NotAdmittedError: something is not as it was seen; nothing was stored.
        """
        token = self.store.writes.token()
        with self.store.ahead() as ahead:
            transaction = _Transaction([], {}, {}, [], ahead)
            for position, admission in enumerate(admissions):
                self._add(transaction, position, admission, token)
            transaction.actions += others
            check_new([action["Put"]["Item"] for action in transaction.actions if "Put" in action])
            self._write(transaction, token)

    def actions(self, admission: Admission) -> list[TransactAction]:
        """Return what :meth:`admit` would write for one job, for a caller's transaction; no call.

        Returns the writes of ``admit`` with their conditions; nothing is uploaded.

        :raises PayloadTooLargeError: its document does not fit into the table.
        """
        ahead = Ahead(self.store.blobs, self.store.writes.token())
        transaction = _Transaction([], {}, {}, [], ahead, uploads=False)
        self._add(transaction, 0, admission, self.store.writes.token())
        documents = [put_part(self.store.table, each.item) for each in transaction.documents]
        check_new([action["Put"]["Item"] for action in transaction.actions if "Put" in action])
        return [*transaction.actions, *documents, *transaction.releases(self.store.table)]

    def reserve(self, lock: UniqueLock, seen: UniqueLock | None) -> UniqueLock:
        """Take a lock for a job that is not stored yet, by one conditional put.

        :param seen: the lock as it was read; None when there must be none.
        :returns: the lock as it is now.
        :raises NotAdmittedError: another request has changed the lock since.
        """
        token = self.store.writes.token()
        item = _item(lock, token)
        try:
            self.store.put_item(item, _lock_condition(seen))
        except ConditionFailedError as failed:
            if not failed.is_own(item):
                raise NotAdmittedError({}, {0: _read(failed.item)}) from None
        return replace(lock, version=token)

    def lock(self, key: str) -> UniqueLock | None:
        """Return the lock of a key, strongly consistent.

        Makes one consistent read.
        """
        return self.store.load_item(_key(key), _read)

    def forget(self, key: str, job_id: str) -> None:
        """Remove the lock of a job that is gone; another job's lock stays.

        Makes one conditional delete.
        """
        self.store.try_delete(_key(key), condition("#j = :j", j=string(job_id)))

    # ------------------------------------------------------------------ the transaction
    def _add(
        self, transaction: _Transaction, position: int, admission: Admission, token: str
    ) -> None:
        if admission.job is not None:
            life = transaction.ahead.life(admission.job)
            job = self._placed(transaction, admission.job, life, (position, admission))
            item = to_item(job, self.store.retention)
            transaction.jobs[len(transaction.actions)] = position
            item[n.TOKEN] = string(token)
            is_new = condition("attribute_not_exists(#pk)")
            transaction.actions.append(put_part(self.store.table, item, is_new))
        if admission.before is not None and admission.after is not None:
            # Each version has a document of its own: the one before is removed later, and must
            # not be the one that a later version has again.
            after = admission.after
            life = f"{transaction.ahead.life(after)}:{after.version}"
            if after.document != admission.before.document:
                after = self._placed(transaction, after, life, (position, admission))
            update = self.store.change(admission.before, after)
            update.set(n.TOKEN, string(token))
            transaction.actions.append(update_part(self.store.table, job_key(after.id), update))
            transaction.slots.update(slots_left(admission.before, after))
        if admission.lock is not None:
            transaction.locks[len(transaction.actions)] = position
            lock, free = _item(admission.lock, token), _lock_condition(admission.seen)
            transaction.actions.append(put_part(self.store.table, lock, free))

    def _placed(
        self, transaction: _Transaction, job: JobRecord, life: str, of: tuple[int, Admission]
    ) -> JobRecord:
        """Return the job with its document in its place."""
        placed, text = self.store.blobs.placed_envelope(
            job.document, life, is_in_table=not transaction.uploads
        )
        if isinstance(placed, StoredElsewhere) and text:
            if placed.storage == ITEM:
                item = self.store.blobs.item(job.id, placed, text)
                transaction.documents.append(_Document(job, placed, item))
            elif not transaction.uploads:
                raise PayloadTooLargeError(
                    f"The job's document of {placed.size_bytes} bytes does not fit into the "
                    "table, and a transaction cannot hold one in S3.",
                    details={"size_bytes": placed.size_bytes},
                    hint="Store the data elsewhere and send a reference to it.",
                )
            else:
                self._require_seen(*of)
                transaction.ahead.keep_all([(job, placed, text)])
        return replace(job, document=placed)

    def _require_seen(self, position: int, admission: Admission) -> None:
        """Check the lock before an upload: nobody would remove a refused document.

        :raises NotAdmittedError: the lock is not as it was seen.
        """
        stored = admission.job and self.store.load(admission.job.id)
        found = admission.lock and self.lock(admission.lock.key)
        if stored is not None:
            raise NotAdmittedError({position: stored}, {})
        if found is not None and found != admission.seen:
            raise NotAdmittedError({}, {position: found})

    def _write(self, transaction: _Transaction, token: str) -> None:
        released = transaction.releases(self.store.table)
        actions = [*transaction.actions, *self._documents(transaction), *released]
        transaction.ahead.is_sent = True
        answers = partial(transaction.is_answered, token=token)
        if reasons := self.store.transact_write_items(actions, answers):
            transaction.explain(reasons, token)

    def _documents(self, transaction: _Transaction) -> list[Action]:
        """Return the puts of documents; those that do not fit the transaction are made now."""
        room = MAX_ACTIONS - len(transaction.actions) - len(transaction.slots)
        left = MAX_TRANSACTION_BYTES - sum(
            item_bytes(action["Put"]["Item"]) for action in transaction.actions if "Put" in action
        )
        puts: list[Action] = []
        for document in transaction.documents:
            left -= item_bytes(document.item)
            if len(puts) < room and left > 0:
                puts.append(put_part(self.store.table, document.item))
                continue
            transaction.ahead.note(document.job, document.ref)
            self.store.put_item(document.item)
        return puts


def _key(key: str) -> Item:
    return item_key(n.lock_pk(key), n.LOCK_SK)


def _lock_condition(seen: UniqueLock | None) -> dict[str, Any]:
    """Return the condition that a lock is as it was seen."""
    if seen is None:
        return condition("attribute_not_exists(#pk)")
    return condition(
        "attribute_not_exists(#pk) OR (#j = :j AND #tk = :tk)",
        j=string(seen.job_id),
        tk=string(seen.version),
    )


def _item(lock: UniqueLock, token: str) -> Item:
    item = {**_key(lock.key), **c.attributes(lock, _LOCK), n.TOKEN: string(token)}
    if lock.until is not None:
        item[n.TTL] = number(lock.until // 1000 + 1)
    return item


def _read(item: Item) -> UniqueLock:
    key = read_string(item, n.PK).removeprefix(n.lock_pk(""))
    return UniqueLock(key=key, **c.read_members(item, _LOCK))
