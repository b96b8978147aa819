"""Decides how long results and checkpoints are kept, and what a completion leaves to do.

The official Python and JavaScript SDKs save the log of side effects that they replay in
``metadata``, and the number of the step in ``step_index``. Both are kept word for word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import Checkpoint, JobRecord, JobState
from ojs_aws.domain.json_text import Member, RawJson, assemble, stored_texts
from ojs_aws.domain.timestamps import Instant

PERMANENT: Final = -1
"""The ``result_ttl`` of an outcome that is never pruned (ojs-results, section 7.1)."""
PERMANENT_S: Final = 10_000_000_000
"""What stands for "never" where a number of seconds is needed: some three hundred years."""
NOTES: Final = ("step_index", "metadata")
"""Members of a checkpoint that a worker may give beside its state."""
MAX_STEP: Final = 2**53 - 1


def keeps_result(job: JobRecord) -> bool:
    """Return whether a result is stored; a workflow needs those of its steps (section 9.1)."""
    return job.result_ttl_s != 0 or bool(job.workflow_id)


def ended_at(job: JobRecord) -> Instant | None:
    """Return when a job entered its terminal state."""
    return (
        job.completed_at or job.cancelled_at or job.discarded_at if job.state.is_terminal else None
    )


def expires_at(job: JobRecord) -> Instant | None:
    """Return when the outcome is pruned; None while the job is not over, and for never.

    Without a ``result_ttl`` of its own a job's outcome lives as long as the job.
    """
    ended = ended_at(job)
    if ended is None or job.result_ttl_s == PERMANENT:
        return None
    if job.result_ttl_s is None:
        return job.kept_until
    return Instant(ended + job.result_ttl_s * 1000)


def is_pruned(job: JobRecord, now: Instant) -> bool:
    """Return whether a job's outcome is past its retention."""
    if job.result_ttl_s is None:
        return False
    expiry = expires_at(job)
    return expiry is not None and expiry <= now


def as_of(job: JobRecord, now: Instant) -> JobRecord:
    """Return the job as callers may see it: without a result past its retention."""
    is_hidden = job.state is JobState.COMPLETED and job.result is not None and is_pruned(job, now)
    return replace(job, result=None) if is_hidden else job


def kept_s(job: JobRecord, retention_s: int) -> int:
    """Return how many seconds an ended job is kept for its outcome; 0 means for ever.

    :param retention_s: how long a job in this state is kept anyway; 0 means for ever.
    """
    if job.result_ttl_s is None or not retention_s:
        return retention_s
    return max(retention_s, PERMANENT_S if job.result_ttl_s == PERMANENT else job.result_ttl_s)


def read_notes(members: Mapping[str, Member]) -> dict[str, RawJson]:
    """Return the notes in a body; null counts as not given.

    :raises InvalidRequestError: ``step_index`` is no whole number, or ``metadata`` no object.
    """
    given = {
        name: members[name] for name in NOTES if name in members and members[name].value is not None
    }
    step = given["step_index"].value if "step_index" in given else 0
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= MAX_STEP:
        raise invalid("step_index", f"a whole number from 0 to {MAX_STEP}", step)
    metadata: JsonValue = given["metadata"].value if "metadata" in given else {}
    if not isinstance(metadata, dict):
        raise invalid("metadata", "an object", metadata)
    return {name: member.raw for name, member in given.items()}


def with_notes(state: RawJson, notes: Mapping[str, RawJson]) -> RawJson:
    """Return the document to store: the state alone, or an object of the state and its notes."""
    return assemble({"state": state, **notes}) if notes else state


def opened(saved: Checkpoint) -> dict[str, RawJson]:
    """Return the state of a checkpoint and its notes; nothing if the document was not read."""
    if not isinstance(saved.state, str):
        return {}
    return stored_texts(saved.state) if saved.has_notes else {"state": saved.state}


@dataclass(frozen=True, slots=True)
class LeftToStream:
    """Says what ACK leaves to whoever reads the table's stream.

    :ivar message: to delete the job's message.
    :ivar listing: to list the completed job.
    """

    message: bool = False
    listing: bool = False


NOTHING_LEFT: Final = LeftToStream()
