"""Stores unique jobs: the job, its lock and the job it replaces in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import CONDITION_CODE, ConditionFailedError, conditional
from ojs_aws.adapters.dynamodb.jobs.blobs import ITEM
from ojs_aws.adapters.dynamodb.jobs.codec import from_item, to_item
from ojs_aws.adapters.dynamodb.jobs.item_sizes import MAX_TRANSACTION_BYTES, check_new
from ojs_aws.adapters.dynamodb.jobs.staged_documents import Ahead
from ojs_aws.adapters.dynamodb.jobs.store import places_left
from ojs_aws.adapters.dynamodb.limits import releasing
from ojs_aws.adapters.dynamodb.values import Item, item_bytes, number, read_string, string
from ojs_aws.adapters.errors import error_code, translated
from ojs_aws.domain.errors import PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, StoredElsewhere
from ojs_aws.ports import MAX_ACTIONS, Admission, NotAdmittedError, TransactAction, UniqueLock

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import DynamoJobStore

_CANCELLED: Final = "TransactionCanceledException"
_MET: Final = "TransactionConflict"
_EXPLAINED: Final = frozenset({CONDITION_CODE, _MET})
"""Why a transaction fails when others had the same key first: it is looked at again."""


@dataclass(frozen=True, slots=True)
class _Document:
    """Holds a document with an item of its own."""

    job: JobRecord
    place: StoredElsewhere
    item: Item


@dataclass(slots=True)
class _Transaction:
    """Collects the parts of a transaction.

    :ivar jobs: positions of the admissions whose job an action puts, by the action's position.
    :ivar locks: the same for locks.
    :ivar documents: puts that may go ahead of the transaction where it has no room for them.
    :ivar ahead: what does.
    :ivar uploads: whether documents may be put into S3 ahead of it.
    :ivar places: how many places are given back, by the keys of their buckets.
    """

    actions: list[dict[str, Any]]
    jobs: dict[int, int]
    locks: dict[int, int]
    documents: list[_Document]
    ahead: Ahead
    uploads: bool = True
    places: Counter[str] = field(default_factory=Counter)

    def releases(self, table: str) -> list[dict[str, Any]]:
        """Return the writes that give the places of replaced jobs back."""
        return [releasing(table, key, count) for key, count in sorted(self.places.items())]


@dataclass(frozen=True, slots=True)
class DynamoUniqueJobs:
    """Implements the port UniqueJobs over the table of a job store."""

    store: DynamoJobStore

    def admit(self, admissions: Sequence[Admission]) -> None:
        """Make one transaction; documents for S3 are put before it."""
        token = self.store.writes.token()
        with self.store.ahead() as ahead:
            transaction = _Transaction([], {}, {}, [], ahead)
            for position, admission in enumerate(admissions):
                self._add(transaction, position, admission, token)
            check_new([action["Put"]["Item"] for action in transaction.actions if "Put" in action])
            self._write(transaction, token)

    def actions(self, admission: Admission) -> list[TransactAction]:
        """Return the writes of ``admit`` with their conditions; nothing is uploaded."""
        ahead = Ahead(self.store.blobs, self.store.writes.token())
        transaction = _Transaction([], {}, {}, [], ahead, uploads=False)
        self._add(transaction, 0, admission, self.store.writes.token())
        documents = [
            {"Put": {"TableName": self.store.table, "Item": document.item}}
            for document in transaction.documents
        ]
        check_new([action["Put"]["Item"] for action in transaction.actions if "Put" in action])
        return [*transaction.actions, *documents, *transaction.releases(self.store.table)]

    def reserve(self, lock: UniqueLock, seen: UniqueLock | None) -> UniqueLock:
        """Make one conditional put."""
        token = self.store.writes.token()
        put = self._lock_put(lock, seen, token)["Put"]
        try:
            with conditional("PutItem"):
                self.store.client.put_item(**put)
        except ConditionFailedError as failed:
            if not failed.is_own(put["Item"]):
                raise NotAdmittedError({}, {0: _read(failed.item)}) from None
        return replace(lock, version=token)

    def lock(self, key: str) -> UniqueLock | None:
        """Make one consistent read."""
        with translated("GetItem"):
            answer = self.store.client.get_item(
                TableName=self.store.table, Key=_key(key), ConsistentRead=True
            )
        return _read(answer["Item"]) if "Item" in answer else None

    def forget(self, key: str, job_id: str) -> None:
        """Make one conditional delete."""
        try:
            with conditional("DeleteItem"):
                self.store.client.delete_item(
                    TableName=self.store.table,
                    Key=_key(key),
                    ConditionExpression="#j = :j",
                    ExpressionAttributeNames={"#j": n.HOLDER},
                    ExpressionAttributeValues={":j": string(job_id)},
                )
        except ConditionFailedError:
            pass  # it is gone, or another job's

    # ------------------------------------------------------------------ the transaction
    def _add(
        self, transaction: _Transaction, position: int, admission: Admission, token: str
    ) -> None:
        if admission.job is not None:
            life = transaction.ahead.life(admission.job)
            job = self._placed(transaction, admission.job, life, (position, admission))
            item = to_item(job, self.store.retention)
            transaction.jobs[len(transaction.actions)] = position
            transaction.actions.append(self._put(item, token, "attribute_not_exists(#pk)"))
        if admission.before is not None and admission.after is not None:
            # Each version has a document of its own: the one before is removed later, and must
            # not be the one that a later version has again.
            after = admission.after
            life = f"{transaction.ahead.life(after)}:{after.version}"
            if after.document != admission.before.document:
                after = self._placed(transaction, after, life, (position, admission))
            update = self.store.change(admission.before, after)
            update.set(n.TOKEN, string(token))
            key = {n.PK: string(n.job_pk(after.id)), n.SK: string(n.JOB_SK)}
            change = {
                "TableName": self.store.table,
                "Key": key,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                **update.arguments(),
            }
            transaction.actions.append({"Update": change})
            transaction.places.update(places_left(admission.before, after))
        if admission.lock is not None:
            transaction.locks[len(transaction.actions)] = position
            transaction.actions.append(self._lock_put(admission.lock, admission.seen, token))

    def _placed(
        self, transaction: _Transaction, job: JobRecord, life: str, of: tuple[int, Admission]
    ) -> JobRecord:
        """Return the job with its document in its place."""
        placed, text = self.store.blobs.placed(job.document, life)
        if isinstance(placed, StoredElsewhere) and text:
            if placed.place == ITEM:
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
                transaction.ahead.keep(job, placed, text)
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

    def _put(self, item: Item, token: str, condition: str, **values: object) -> dict[str, Any]:
        item[n.TOKEN] = string(token)
        put: dict[str, Any] = {
            "TableName": self.store.table,
            "Item": item,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {"#pk": n.PK},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return {"Put": put | values}

    def _lock_put(self, lock: UniqueLock, seen: UniqueLock | None, token: str) -> dict[str, Any]:
        item = _item(lock)
        if seen is None:
            return self._put(item, token, "attribute_not_exists(#pk)")
        return self._put(
            item,
            token,
            "attribute_not_exists(#pk) OR (#j = :j AND #tk = :tk)",
            ExpressionAttributeNames={"#pk": n.PK, "#j": n.HOLDER, "#tk": n.TOKEN},
            ExpressionAttributeValues={":j": string(seen.job_id), ":tk": string(seen.version)},
        )

    def _write(self, transaction: _Transaction, token: str) -> None:
        released = transaction.releases(self.store.table)
        actions = [*transaction.actions, *self._documents(transaction), *released]
        sent: Any = actions
        transaction.ahead.is_sent = True
        with translated("TransactWriteItems"):
            try:
                self.store.client.transact_write_items(TransactItems=sent)
            except ClientError as problem:
                reasons = _reasons(problem)
                if reasons is None:
                    raise
                self._explain(transaction, reasons, token, problem)

    def _documents(self, transaction: _Transaction) -> list[dict[str, Any]]:
        """Return the puts of documents; those that do not fit the transaction are made now."""
        room = MAX_ACTIONS - len(transaction.actions) - len(transaction.places)
        left = MAX_TRANSACTION_BYTES - sum(
            item_bytes(action["Put"]["Item"]) for action in transaction.actions if "Put" in action
        )
        puts: list[dict[str, Any]] = []
        for document in transaction.documents:
            left -= item_bytes(document.item)
            if len(puts) < room and left > 0:
                puts.append({"Put": {"TableName": self.store.table, "Item": document.item}})
                continue
            transaction.ahead.note(document.job, document.place)
            with translated("PutItem"):
                self.store.client.put_item(TableName=self.store.table, Item=document.item)
        return puts

    def _explain(
        self,
        transaction: _Transaction,
        reasons: Sequence[dict[str, Any]],
        token: str,
        problem: ClientError,
    ) -> None:
        """Raise why a transaction was cancelled, unless it had taken effect.

        :raises NotAdmittedError: unless it was this very transaction, whose answer was lost. One
            item proves it: others may have been changed since.
        :raises ClientError: some jobs are stored, and others are in a transaction.
        """
        met = {at: reason["Item"] for at, reason in enumerate(reasons) if reason.get("Item")}
        if any(read_string(item, n.TOKEN) == token for item in met.values()):
            return
        jobs, locks = transaction.jobs, transaction.locks
        if any(at in jobs for at in met) and any(reasons[at].get("Code") == _MET for at in jobs):
            raise problem  # one that stores these very jobs, maybe, and is not done with it
        raise NotAdmittedError(
            {jobs[at]: from_item(item) for at, item in met.items() if at in jobs},
            {locks[at]: _read(item) for at, item in met.items() if at in locks},
        )


def _reasons(problem: ClientError) -> Sequence[dict[str, Any]] | None:
    """Return why a transaction was cancelled, if other writes and not its content caused it."""
    if error_code(problem) != _CANCELLED:
        return None
    response: Any = problem.response
    reasons: Sequence[dict[str, Any]] = response.get("CancellationReasons", ())
    codes = {str(reason.get("Code")) for reason in reasons} - {"None"}
    return reasons if CONDITION_CODE in codes and codes <= _EXPLAINED else None


def _key(key: str) -> Item:
    return {n.PK: string(n.lock_pk(key)), n.SK: string(n.LOCK_SK)}


def _item(lock: UniqueLock) -> Item:
    item = {**_key(lock.key), n.HOLDER: string(lock.job_id)}
    for name, value in (
        (n.APPLIED, lock.applied_id),
        (n.BATCH, lock.batch),
        (n.PREVIOUS, lock.previous),
    ):
        if value:
            item[name] = string(value)
    if lock.until is not None:
        item[n.TTL] = number(lock.until // 1000 + 1)
    return item


def _read(item: Item) -> UniqueLock:
    return UniqueLock(
        key=read_string(item, n.PK).removeprefix(n.lock_pk("")),
        job_id=read_string(item, n.HOLDER),
        version=read_string(item, n.TOKEN),
        applied_id=read_string(item, n.APPLIED),
        batch=read_string(item, n.BATCH),
        previous=read_string(item, n.PREVIOUS),
    )
