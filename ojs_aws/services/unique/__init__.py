"""Admits unique jobs: what becomes of each on its way past its uniqueness key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import at_index
from ojs_aws.domain.conflicts import id_taken
from ojs_aws.domain.errors import BackendUnavailableError, DuplicateError, InvalidPolicyError
from ojs_aws.domain.job import Document, JobRecord
from ojs_aws.domain.jobs.batches import Admission, UniqueLock
from ojs_aws.domain.json_text import ANY_DEPTH, assemble, decode, stored_texts
from ojs_aws.domain.limits.policies import read_limit
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.unique.keys import OnConflict, UniquePolicy

_BROUGHT: Final = ("args", "meta")
"""What a job brings into one that keeps its schedule (section 5.3)."""

_LIMITED: Final = frozenset({"rate_limit", *_BROUGHT})


@dataclass(frozen=True, slots=True)
class WantedJob:
    """Holds a job to store; ``policy`` is None for one without a unique policy."""

    record: JobRecord
    policy: UniquePolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Says what happened to a job.

    :ivar record: the job that there is now.
    :ivar is_new: whether it is the wanted one, stored now.
    :ivar is_duplicate: whether another one was found under the key, and left as it was.
    :ivar is_update: whether another one was found there, and has the wanted one's arguments now.
    :ivar replaced: the job that was cancelled for it, as it was before.
    """

    record: JobRecord
    is_new: bool = False
    is_duplicate: bool = False
    is_update: bool = False
    replaced: JobRecord | None = None


@dataclass(slots=True)
class UniqueEntry:
    """Tracks one job on its way.

    :ivar admission: how it would get in; None when nothing is to be written for it.
    :ivar let: what becomes of it then.
    :ivar follows: an earlier job of the batch, whose duplicate it is.
    :ivar holder_id: the job that has its key now, whether that keeps it out or not.
    :ivar replaces: in a large batch: that job is changed when the batch is committed.
    """

    wanted: WantedJob
    admission: Admission | None
    let: Admitted
    follows: int | None = None
    holder_id: str = ""
    replaces: bool = False


Same = Callable[[JobRecord, JobRecord], JobRecord]
"""The stored job with the id of a wanted one, if it came from the same envelope; raises if not."""


def entries_of(wanted: Sequence[WantedJob]) -> list[UniqueEntry]:
    """Return each job as admitted; of two with one key, the second is the duplicate.

    :raises DuplicateError: two jobs of the batch have the same key, and the second is not one that
        is to be ignored.
    """
    entries: list[UniqueEntry] = []
    first: dict[str, int] = {}
    for at, each in enumerate(wanted):
        entry = UniqueEntry(each, None, Admitted(record=each.record))
        entries.append(entry)
        holder = first.setdefault(each.record.unique_key, at) if each.policy else at
        if holder == at:
            fresh(entry, None)
            continue
        if each.policy and each.policy.on_conflict is not OnConflict.IGNORE:
            first_of = wanted[holder].record
            raise DuplicateError(
                f"Jobs at index {holder} and {at} have the same uniqueness key.",
                details={"index": at, "existing_job_id": first_of.id},
                hint="Enqueue them one after the other, or let duplicates be ignored.",
                existing=(first_of.queue, first_of.type, first_of.tenant),
            )
        entry.follows = holder
    return entries


def fresh(
    entry: UniqueEntry,
    seen: UniqueLock | None,
    before: JobRecord | None = None,
    after: JobRecord | None = None,
) -> Admission:
    """Mark the job to be stored as a new one, and return what to write."""
    record = entry.wanted.record
    lock = None
    if entry.wanted.policy is not None:
        until = until_of(record, entry.wanted.policy)
        lock = UniqueLock(key=record.unique_key, job_id=record.id, until=until)
    entry.admission = Admission(job=record, lock=lock, seen=seen, before=before, after=after)
    entry.let = Admitted(record=record, is_new=True, replaced=before)
    return entry.admission


def until_of(holder: JobRecord, policy: UniquePolicy | None) -> Instant | None:
    """Return when a lock expires: the period counts from the job's creation."""
    if policy is None or policy.period_ms is None:
        return None
    return Instant(holder.created_at + policy.period_ms)


def brought(holder: JobRecord, text: Document, wanted: JobRecord) -> JobRecord:
    """Return the next version of a scheduled job, with another one's arguments and metadata.

    The key of its limit and its share of a fair queue follow these; all else stays (section 5.3).

    :param holder: as it is stored: a pointer that is made again is another one.
    :param text: its document, filled in.
    """
    if not isinstance(text, str) or not isinstance(wanted.document, str):
        raise TypeError("a document is kept elsewhere; fill it in first")
    members, others = stored_texts(text), stored_texts(wanted.document)
    limit, fairness = holder.limit, holder.fairness
    if holder.queue == wanted.queue and members.get("fairness") == others.get("fairness"):
        fairness = wanted.fairness and replace(wanted.fairness, start=0)
    for name in _BROUGHT:
        members.pop(name, None)
        if name in others:
            members[name] = others[name]
    if limit is not None:
        values = {
            name: decode(members[name], max_depth=ANY_DEPTH) for name in members.keys() & _LIMITED
        }
        with suppress(InvalidPolicyError):  # they lack what its key is made of
            limit = read_limit(values.pop("rate_limit"), holder.queue, values)
    document = assemble(members)
    return holder.next_version(document=document, limit=limit, fairness=fairness)


def check_whole(entries: Sequence[UniqueEntry]) -> None:
    """Refuse a batch of which only some jobs are stored."""
    stored = [
        at
        for at, entry in enumerate(entries)
        if entry.admission is None
        and entry.let.record.id == entry.wanted.record.id
        and entry.follows is None
    ]
    if stored and any(entry.admission is not None for entry in entries):
        with naming(entries, stored[0]):
            raise id_taken(entries[stored[0]].let.record)


def outcomes(entries: Sequence[UniqueEntry]) -> list[Admitted]:
    """Return what happened to each job of a batch, in order."""
    lets: list[Admitted] = []
    for entry in entries:
        if entry.follows is None:
            lets.append(entry.let)
        else:
            lets.append(Admitted(record=lets[entry.follows].record, is_duplicate=True))
    return lets


def naming(entries: Sequence[UniqueEntry], at: int) -> AbstractContextManager[None]:
    """Name in an error which job of a batch it is about."""
    return at_index(at) if len(entries) > 1 else nullcontext()


def contended() -> BackendUnavailableError:
    """Return the error of a request that always lost to others: it stored nothing."""
    return BackendUnavailableError(
        "Too many requests want the same uniqueness key or sequence at once.",
        hint="Repeat the request.",
    )


def rejected(record: JobRecord, existing: JobRecord) -> DuplicateError:
    """Return the error of a job that another one with its key keeps out."""
    return DuplicateError(
        f"Job '{existing.id}' has the same uniqueness key and is {existing.state}.",
        details={
            "existing_job_id": existing.id,
            "existing_job_state": str(existing.state),
            "unique_key": record.unique_key,
            "uniqueness_key": record.unique_key,
        },
        hint="Wait until that job has left the policy's states, or choose another 'on_conflict'.",
        existing=(existing.queue, existing.type, existing.tenant),
    )
