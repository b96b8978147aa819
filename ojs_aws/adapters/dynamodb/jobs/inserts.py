"""Stores new jobs, whose size it checks: one conditional put, or one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, item_bytes, read_string, string
from ojs_aws.adapters.dynamodb.jobs.blobs import Blobs
from ojs_aws.adapters.dynamodb.jobs.codec import Retention, from_item, to_item
from ojs_aws.adapters.dynamodb.jobs.reads import JobReads, JobWrites
from ojs_aws.adapters.dynamodb.table import Reasons, condition, put_part
from ojs_aws.adapters.dynamodb.update import (
    CONDITION_CODE,
    CONFLICT_CODE,
    ConditionFailedError,
    conditional,
)
from ojs_aws.domain.conflicts import AlreadyStoredError
from ojs_aws.domain.errors import BackendUnavailableError, OjsError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, StoredElsewhere

LoadMany = Callable[[Sequence[str]], Mapping[str, JobRecord]]
"""The stored jobs of some ids, strongly consistent."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Ahead:
    """Holds the documents of one write.

    :ivar token: of the attempt; part of the names of its documents.
    :ivar is_sent: whether the write itself was sent: from then on it may have taken effect.
    """

    blobs: Blobs
    token: str
    is_sent: bool = False
    _put: list[tuple[JobRecord, StoredElsewhere]] = field(default_factory=list)

    def life(self, job: JobRecord) -> str:
        """Return a name that separates the documents of this attempt from those of others."""
        return f"{job.created_at}:{self.token}"

    def keep_all(self, documents: Sequence[tuple[JobRecord, StoredElsewhere, str]]) -> None:
        """Store documents in their places, those in the table together."""
        if not documents:
            return
        # First: a call that fails may have taken effect.
        self._put += [(job, ref) for job, ref, _ in documents]
        self.blobs.keep_all([((job.id, ref), text) for job, ref, text in documents])

    def note(self, job: JobRecord, ref: StoredElsewhere) -> None:
        """Remember a document that was stored some other way."""
        self._put.append((job, ref))

    def take_back(self, load_many: LoadMany) -> None:
        """Remove documents that no stored job names. Failures to remove are logged."""
        if not self._put:
            return
        try:
            stored = load_many([job.id for job, _ in self._put])
            for job, ref in self._put:
                kept = stored.get(job.id)
                if kept is None or not _refers_to(kept, ref):
                    self.blobs.discard(job.id, ref, job.created_at)
        except OjsError:
            _logger.warning("Documents of a refused write were left behind", exc_info=True)


def _refers_to(job: JobRecord, ref: StoredElsewhere) -> bool:
    return isinstance(job.document, StoredElsewhere) and job.document.digest == ref.digest


def _says_nothing(problem: Exception) -> bool:
    """Return whether a write that was sent may have taken effect, or do so later."""
    return isinstance(problem, OjsError) and not isinstance(problem, BackendUnavailableError)


MAX_NEW_BYTES: Final = 100_000
"""A new item's size. DynamoDB takes 400 KB; history, result and reservation are still to come."""
MAX_TRANSACTION_BYTES: Final = 3_900_000
"""All items of one transaction; DynamoDB takes 4 MB."""
_IS_NEW: Final = condition("attribute_not_exists(#pk)")


def check_new(items: Sequence[Item]) -> None:
    """Refuse new items that are too large for DynamoDB, or would be after they grow.

    Documents are never the reason, they leave the item; a huge retry object can be.

    :raises PayloadTooLargeError: one is too large, or all together are for one transaction.
    """
    sizes = [item_bytes(item) for item in items]
    largest = max(sizes, default=0)
    if largest > MAX_NEW_BYTES:
        raise _too_large(
            "The job's 'retry' attribute is too large: the job", largest, MAX_NEW_BYTES
        )
    if sum(sizes) > MAX_TRANSACTION_BYTES:
        raise _too_large("The batch", sum(sizes), MAX_TRANSACTION_BYTES)


def _too_large(what: str, size: int, limit: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"{what} takes {size} bytes, large 'args' and 'meta' not counted; at most {limit} fit.",
        details={"size_bytes": size, "max_bytes": limit},
        hint="Shorten the 'retry' attribute, or send fewer jobs at once.",
    )


@dataclass(frozen=True, slots=True)
class JobInserts(JobReads):
    """Stores new jobs, as a part of the job store."""

    retention: Retention
    writes: JobWrites

    def insert(self, job: JobRecord) -> None:
        """Store a new job.

        Makes one put, and one before it if the document is kept elsewhere.

        A transaction of the two would cost twice as much. A document that no job names is read
        by nobody.

        :raises AlreadyStoredError: its id is taken.
        """
        with self.ahead() as ahead:
            [item] = self.new_items([job], ahead)
            ahead.is_sent = True
            item[n.TOKEN] = string(self.writes.token())
            try:
                with conditional("PutItem"):
                    self.client.put_item(TableName=self.table, Item=item, **_IS_NEW)
            except ConditionFailedError as failed:
                if not failed.is_own(item):
                    raise AlreadyStoredError({0: from_item(failed.item)}) from None

    @contextmanager
    def ahead(self) -> Iterator[Ahead]:
        """Yield what a write of new jobs stores first, and remove it if the write is refused."""
        ahead = Ahead(self.blobs, self.writes.token())
        try:
            yield ahead
        except Exception as problem:
            if not (ahead.is_sent and _says_nothing(problem)):
                ahead.take_back(self.load_many)
            raise

    def insert_all(self, jobs: Sequence[JobRecord]) -> None:
        """Store up to 100 new jobs, all or none.

        Makes one transaction; documents that do not fit inline are put before it.

        :raises AlreadyStoredError: ids are taken; nothing was stored.
        """
        with self.ahead() as ahead:
            items = self.new_items(jobs, ahead)
            ahead.is_sent = True
            self._insert_items(items)

    def new_items(self, jobs: Sequence[JobRecord], ahead: Ahead) -> list[Item]:
        """Return the items of new jobs; documents that are kept elsewhere are put now."""
        placed = [self.blobs.placed_envelope(job.document, ahead.life(job)) for job in jobs]
        items = [
            to_item(replace(job, document=document), self.retention)
            for job, (document, _) in zip(jobs, placed, strict=True)
        ]
        check_new(items)
        ahead.keep_all(
            [
                (job, document, text)
                for job, (document, text) in zip(jobs, placed, strict=True)
                if isinstance(document, StoredElsewhere) and text
            ]
        )
        return items

    def _insert_items(self, items: Sequence[Item]) -> None:
        token = self.writes.token()
        for item in items:
            item[n.TOKEN] = string(token)
        puts = [put_part(self.table, item, _IS_NEW) for item in items]

        def is_answered(reasons: Reasons) -> bool:
            taken = any(map(_is_taken, reasons))
            # Another transaction stores these very jobs, maybe, and is not done with it.
            is_open = any(code == CONFLICT_CODE for code, _ in reasons)
            return taken and (not is_open or took_effect(reasons, token))

        reasons = self.transact_write_items(puts, is_answered)
        if reasons and not took_effect(reasons, token):
            taken = [(at, each[1]) for at, each in enumerate(reasons) if _is_taken(each)]
            raise AlreadyStoredError({at: from_item(item) for at, item in taken})

    def check_new(self, jobs: Sequence[JobRecord]) -> None:
        """Refuse new jobs that :meth:`insert` would refuse for their size; no call.

        Checks the size of each item.

        :raises PayloadTooLargeError: as :meth:`insert`.
        """
        for job in jobs:
            placed, _ = self.blobs.placed_envelope(job.document, life_of(job))
            check_new([to_item(replace(job, document=placed), self.retention)])


def took_effect(reasons: Reasons, token: str) -> bool:
    """Return whether a transaction met itself. One item proves it: others may have changed."""
    return any(read_string(item, n.TOKEN) == token for _, item in reasons)


def _is_taken(reason: tuple[str, Item]) -> bool:
    """Return whether a new item met one that exists."""
    code, old = reason
    return code == CONDITION_CODE and bool(old)


def life_of(job: JobRecord) -> str:
    """Return a name for a document's life: the same wherever the document is filled in."""
    return str(job.created_at)
