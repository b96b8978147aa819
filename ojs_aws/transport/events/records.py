"""Reads records of the table's stream: a committed change, and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.events import Event
from ojs_aws.domain.job import JobRecord, StoredElsewhere
from ojs_aws.domain.queues import LastTick
from ojs_aws.domain.queues.tallies import names_of
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.cron import ended_run
from ojs_aws.services.events import Commit, events_of
from ojs_aws.services.queues.counters import Changed
from ojs_aws.services.workflows.stream_stage import WorkflowStage, following

if TYPE_CHECKING:
    from ojs_aws.services.sequences.advance import SequenceStage

Image = Mapping[str, Any]
ReadImage = Callable[[Image], object | None]
"""Reads what an item of the table stands for; None for one whose changes are no events."""

Jobs = tuple[JobRecord | None, JobRecord | None]
"""A job before and after a change."""

UNKNOWN: Final = "unknown"
"""Stands for the number of a record that has none."""

_TTL: Final = "dynamodb.amazonaws.com"
"""Who removes items whose time to live has ended."""


@dataclass(frozen=True, slots=True)
class Change:
    """Holds a record that was read.

    :ivar number: its sequence number.
    :ivar subject: the key of its item: order is kept within it.
    :ivar expired: a job whose documents nobody removed: it is gone, or has others now.
    :ivar replaced: a job's id, and a checkpoint that it names no more.
    :ivar removed: a unique job that is gone, and whose lock may be there still.
    :ivar unsent: a job that an application's own transaction stored, and whose message is missing.
    :ivar waking: the cron job of which a run ended that others wait for; empty for none.
    :ivar following: what it means for a workflow.
    :ivar in_sequence: what it means for a sequence.
    :ivar jobs: the job before and after it.
    :ivar changed: a job that came, went, or changed its state.
    :ivar holding: an active job that was completed, and left its message to be deleted.
    :ivar unlisted: a job that was completed, and that nobody lists yet.
    :ivar ticked: when a tick ended.
    """

    number: str
    subject: str
    events: tuple[Event, ...]
    record: Mapping[str, Any]
    expired: JobRecord | None = None
    replaced: tuple[str, StoredElsewhere] | None = None
    removed: JobRecord | None = None
    unsent: JobRecord | None = None
    job_messages: str = ""
    following: WorkflowStage | None = None
    in_sequence: SequenceStage | None = None
    jobs: Jobs | None = None
    changed: Changed | None = None
    holding: JobRecord | None = None
    unlisted: JobRecord | None = None
    ticked: Instant | None = None

    @property
    def tenant(self) -> str:
        """Return whose job changed; empty for one without a tenant, and for what is no job."""
        job = self.changed and (self.changed.after or self.changed.before)
        return job.tenant if job else ""


def change_of(record: Mapping[str, Any], read: ReadImage) -> Change:
    """Return the change that a record describes.

    :raises Exception: whatever is wrong with the record, or with what reads it.
    """
    change = record["dynamodb"]
    before, after = (_item(change, name, read) for name in ("OldImage", "NewImage"))
    old, new = (each if isinstance(each, JobRecord) else None for each in (before, after))
    commit = commit_of(record)
    events = tuple(events_of(before, after, commit))
    return Change(
        number=commit.number,
        subject=json.dumps(change.get("Keys") or [each.subject for each in events[:1]]),
        events=events,
        record=record,
        expired=left_over(before, after, is_expiry=commit.is_expiry),
        replaced=replaced_checkpoint(before, after),
        removed=old if after is None and old and old.unique_key else None,
        unsent=new if before is None and new and new.is_by_stream else None,
        job_messages=ended_run(before, after),
        following=following(before, after),
        in_sequence=_in_sequence(old, new),
        jobs=None if _life(old) == _life(new) else (old, new),
        changed=_changed(old, new, commit),
        holding=old if new and new.is_message_left and old and old.reservation else None,
        unlisted=new if new and new.is_listing_left and not (old and old.is_listing_left) else None,
        ticked=after.at if isinstance(after, LastTick) else None,
    )


def _in_sequence(old: JobRecord | None, new: JobRecord | None) -> SequenceStage | None:
    """Return what a change means for a sequence; few jobs are part of one."""
    job = new or old
    if job is None or job.sequence is None:
        return None
    from ojs_aws.services.sequences.advance import sequence_stage

    return sequence_stage(old, new)


def _item(change: Mapping[str, Any], name: str, read: ReadImage) -> object | None:
    image = change.get(name)
    return read(image) if image else None


def left_over(before: object, after: object, *, is_expiry: bool) -> JobRecord | None:
    """Return the job whose documents nobody names any more, if there is one.

    Who deletes a job removes its documents, unless it dies in between: then it is done here.
    """
    if not isinstance(before, JobRecord):
        return None
    if is_expiry:
        return before
    if after is None:
        return None if before.is_whole else before
    is_replaced = isinstance(after, JobRecord) and before.document != after.document
    is_elsewhere = isinstance(before.document, StoredElsewhere)
    only_document = replace(before, result=None, checkpoint=None)
    return only_document if is_replaced and is_elsewhere else None


def replaced_checkpoint(before: object, after: object) -> tuple[str, StoredElsewhere] | None:
    """Return a separately stored checkpoint that its existing job no longer names."""
    if not isinstance(before, JobRecord) or not isinstance(after, JobRecord):
        return None
    if before.checkpoint is None or before.checkpoint == after.checkpoint:
        return None
    state = before.checkpoint.state
    return (before.id, state) if isinstance(state, StoredElsewhere) else None


def _changed(old: JobRecord | None, new: JobRecord | None, commit: Commit) -> Changed | None:
    """Return the change of a job that came or went, or that now counts as something else."""
    is_other = _place(old) != _place(new)
    return Changed(commit.number, commit.at, old, new) if is_other else None


def _place(job: JobRecord | None) -> tuple[str, ...]:
    return () if job is None else (job.queue, *names_of(job))


def _life(job: JobRecord | None) -> str:
    """Return the queue in which a job has not ended; empty for none."""
    return "" if job is None or job.state.is_terminal else job.queue


def number_of(record: Mapping[str, Any]) -> str:
    """Return the sequence number of a record."""
    return str((record.get("dynamodb") or {}).get("SequenceNumber") or UNKNOWN)


def commit_of(record: Mapping[str, Any]) -> Commit:
    """Return what a record says about its write."""
    who = (record.get("userIdentity") or {}).get("principalId")
    return Commit(_created(record["dynamodb"]), number_of(record), who == _TTL)


def _created(change: Mapping[str, Any]) -> Instant:
    """Return when a record was made: seconds in Lambda's events, a datetime in botocore's."""
    created = change.get("ApproximateCreationDateTime", 0)
    if isinstance(created, str):
        created = datetime.fromisoformat(created)
    seconds = created.timestamp() if isinstance(created, datetime) else float(created)
    return Instant(round(seconds * 1000))


def about(change: Change) -> dict[str, object]:
    """Return what log lines say of a change: the job, or another kind of item."""
    subject = change.events[0].subject if change.events else ""
    return {"record": change.number, "job_id": subject, "item": change.subject}


def item_of(record: Mapping[str, Any]) -> str:
    """Return the key of the item that a record is about; empty if it is unreadable."""
    change = record.get("dynamodb")
    return json.dumps(change.get("Keys") or "") if isinstance(change, dict) else ""
