"""Shows jobs to callers: the client's own members, and the system's; says what PUSH did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ojs_aws.domain.errors import EnqueueRejectedError, InvalidRequestError, JsonValue, OjsError
from ojs_aws.domain.job import Checkpoint, Document, JobRecord, JobState, Replay, size_of
from ojs_aws.domain.jobs.attributes import IN_JOBS, IN_LISTS
from ojs_aws.domain.jobs.failures import render_failure
from ojs_aws.domain.jobs.outcomes import ended_at, expires_at, opened
from ojs_aws.domain.json_text import (
    RawJson,
    assemble,
    assemble_array,
    decode,
    encode,
    stored_texts,
)
from ojs_aws.domain.timestamps import Instant, format_instant, parse_timestamp

if TYPE_CHECKING:
    from ojs_aws.domain.queues.config import Fill
    from ojs_aws.middleware.results import EnqueueResult
    from ojs_aws.services.queues.backpressure import Capacity
    from ojs_aws.services.unique import Admitted


def render_job(job: JobRecord) -> dict[str, RawJson]:
    """Return the job's members in order: identity, the client's document, system attributes.

    Documents kept elsewhere must have been filled in. Attributes that do not apply are absent.
    """
    priority = encode(job.priority)
    members: dict[str, RawJson] = {
        "specversion": RawJson('""'),
        "id": encode(job.id),
        "type": encode(job.type),
        "queue": encode(job.queue),
        "state": encode(str(job.state)),
        "args": RawJson("[]"),
        "meta": RawJson("{}"),
        "priority": priority,
    }
    members |= stored_texts(_text(job.document))
    if members["priority"] != priority and (decode(members["priority"]) or 0) != job.priority:
        members["priority"] = priority  # it was changed since
    if job.retry_document is not None:
        members["retry"] = job.retry_document
    if job.replay is not None:
        members["meta"] = _with_replay(members["meta"], job.replay)
    if job.state is JobState.SCHEDULED:
        _put_off(job, members)
    members |= _system(job)
    return members


def summarise_job(job: JobRecord) -> dict[str, JsonValue]:
    """Return a job as a list shows it, without its documents."""
    summary: dict[str, JsonValue] = {
        "id": job.id,
        "type": job.type,
        "queue": job.queue,
        "state": str(job.state),
        "priority": job.priority,
        "attempt": job.attempt,
        "max_attempts": job.retry.max_attempts,
    }
    for name, field, is_instant in IN_LISTS:
        value = getattr(job, field)
        if value not in {None, ""}:
            summary[name] = format_instant(value) if is_instant else value
    if job.is_dead_letter:
        summary["dead_letter"] = True
    if job.error is not None:
        summary["error"] = {"type": job.error.type, "message": job.error.message}
    if job.workflow_id:
        summary["workflow_id"] = job.workflow_id
    if job.sequence is not None:
        summary["sequence"] = job.sequence.key
        summary["x_aws_sequence_position"] = job.sequence.position
    if job.reservation is not None and job.reservation.worker_id:
        summary["worker_id"] = job.reservation.worker_id
    return summary


def _put_off(job: JobRecord, members: dict[str, RawJson]) -> None:
    """Return until when a limit postponed the job, instead of the client's own time."""
    written = members.get("scheduled_at")
    due = job.scheduled_at
    if due is None or (written is not None and _names(written, due)):
        return
    members["scheduled_at"] = encode(format_instant(due))


def _names(written: RawJson, due: Instant) -> bool:
    try:
        return parse_timestamp(decode(written), "scheduled_at") == due
    except InvalidRequestError:  # earlier versions accepted it: the client's text stays
        return True


def _with_replay(meta: RawJson, replay: Replay) -> RawJson:
    """Return the client's metadata, with ojs-dead-letter's, section 7.2."""
    members = stored_texts(meta)
    members |= {
        "ojs.replay_count": encode(replay.count),
        "ojs.last_replayed_at": encode(format_instant(replay.at)),
        "ojs.replay_rule": encode(replay.rule),
    }
    return assemble(members)


def _text(document: Document) -> RawJson:
    if not isinstance(document, str):
        raise TypeError(f"the document is kept elsewhere ({document.storage}); fill it in first")
    return document


def _system(job: JobRecord) -> dict[str, RawJson]:
    """Return the attributes that only the system sets (core, section 5.3)."""
    system: dict[str, RawJson] = {
        "timeout_ms": encode(job.timeout_ms),
        "attempt": encode(job.attempt),
        "max_attempts": encode(job.retry.max_attempts),
    }
    system |= stored_values(job)
    if job.state is JobState.SCHEDULED:
        system.pop("enqueued_at", None)
    if job.error is not None:
        system["error"] = render_failure(job.error)
    if job.failures:
        system["errors"] = assemble_array(render_failure(failure) for failure in job.failures)
    if job.uncounted_attempts:
        system["x_aws_uncounted_attempts"] = encode(job.uncounted_attempts)
    if job.sequence is not None:
        system["x_aws_sequence_position"] = encode(job.sequence.position)
    if job.past_failures:
        system["x_aws_past_errors"] = assemble_array(map(render_failure, job.past_failures))
    if job.result is not None:
        system["result"] = _text(job.result)
    if job.checkpoint is not None:
        system |= _checkpoint(job.checkpoint)
    return system | render_outcome(job)


def stored_values(job: JobRecord) -> dict[str, RawJson]:
    """Return the attributes that are shown as the record has them."""
    shown: dict[str, RawJson] = {}
    for name, field, is_instant in IN_JOBS:
        value = getattr(job, field)
        if value not in {None, ""}:
            shown[name] = encode(format_instant(value) if is_instant else value)
    return shown


def render_outcome(job: JobRecord) -> dict[str, RawJson]:
    """Return what describes an outcome beside the result (ojs-results, section 6.2)."""
    ended = ended_at(job)
    if ended is None or (job.result is None and not job.failures):
        return {}
    members = {"result_stored_at": encode(format_instant(ended))}
    expiry = expires_at(job)
    if expiry is not None:
        members["result_expires_at"] = encode(format_instant(expiry))
    if job.result is not None:
        members["result_size_bytes"] = encode(size_of(job.result))
    return members


def _checkpoint(saved: Checkpoint) -> dict[str, RawJson]:
    """Return where the next attempt may continue (ojs-durable-execution, 6.1; progress, 6.4)."""
    if not isinstance(saved.state, str):
        return {}
    shown = opened(saved)
    described = {
        **shown,
        "sequence": encode(saved.sequence),
        "created_at": encode(format_instant(saved.created_at)),
    }
    return {"checkpoint": assemble(described), "last_checkpoint": shown["state"]}


@dataclass(frozen=True, slots=True)
class PushResult:
    """Says what happened to one envelope.

    :ivar record: the stored job; None when a middleware dropped it.
    :ivar is_new: False when the very same envelope had been pushed before.
    :ivar dropped_by: name of the middleware that dropped the job.
    :ivar is_duplicate: the record is another job, which has the same uniqueness key.
    :ivar is_update: so it is, and it has this one's arguments and metadata now.
    :ivar fill: how full its queue is, where that is bounded.
    """

    record: JobRecord | None
    is_new: bool = True
    dropped_by: str = ""
    is_duplicate: bool = False
    is_update: bool = False
    fill: Fill | None = None


def push_result_of(admitted: Sequence[Admitted]) -> list[PushResult]:
    """Return the results of jobs that may be unique."""
    return [
        PushResult(
            each.record,
            is_new=each.is_new,
            is_duplicate=each.is_duplicate,
            is_update=each.is_update,
        )
        for each in admitted
    ]


def settled(capacity: Capacity, pushed: Sequence[PushResult]) -> list[PushResult]:
    """Give back the capacity of jobs that were not new; say how full the queues are.

    :param pushed: what became of the capacity's jobs, in their order.
    """
    if not capacity.fills:
        return [*pushed]
    capacity.give_back(
        index
        for index, each in enumerate(pushed)
        if not each.is_new or each.is_duplicate or each.is_update
    )
    return [
        replace(each, fill=capacity.fills.get(record.queue))
        for each, record in zip(pushed, capacity.records, strict=True)
    ]


def not_pushed(result: EnqueueResult) -> PushResult:
    """Return the result of a job that a middleware dropped."""
    return PushResult(None, is_new=False, dropped_by=result.dropped_by)


def raise_swallowed(results: Sequence[EnqueueResult]) -> None:
    """Raise the error that a middleware caught around the insertion: no answer can show it."""
    for result in results:
        if result.error is not None:
            raise result.error


@contextmanager
def rejecting(job_id: str) -> Iterator[None]:
    """Turn an error of a middleware's own into one that an answer can name.

    :raises EnqueueRejectedError: with the ids of the jobs that are stored nevertheless.
    """
    try:
        yield
    except OjsError:
        raise
    except Exception as problem:
        stored: list[JsonValue] = list(getattr(problem, "stored_job_ids", None) or ())
        details: dict[str, JsonValue] = {"stored_job_ids": stored}
        if job_id:
            details["job_id"] = job_id
        raise EnqueueRejectedError(
            f"An enqueue middleware or hook refused the job: {type(problem).__name__}: {problem}",
            details=details,
        ) from problem
