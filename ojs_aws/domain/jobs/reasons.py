"""Says why a job does not run, by what its record shows.

Each reason has a code for programs, a sentence for people, and the values in that sentence. The
record of an available job does not show why it waits: ``services/jobs/why.py`` finds out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord, JobState, is_blocked
from ojs_aws.domain.jobs.failures import ending_failure, has_expired
from ojs_aws.domain.jobs.lifecycle import SNOOZE
from ojs_aws.domain.timestamps import Instant, format_instant, span_text


class ReasonCode(StrEnum):
    """Names the causes for which a job does not run now."""

    SCHEDULED = "scheduled"
    BACKOFF = "backoff"
    NOT_ACTIVATED = "not_activated"
    IN_SEQUENCE = "in_sequence"
    SEQUENCE_STOPPED = "sequence_stopped"
    RUNNING = "running"
    WORKER_SILENT = "worker_silent"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    EXPIRED = "expired"
    EXPIRES = "expires"
    QUEUE_PAUSED = "queue_paused"
    BINDING_SUSPENDED = "binding_suspended"
    LIMIT = "limit"
    NO_WORKER = "no_worker"
    WORKERS_QUIET = "workers_quiet"
    IN_LINE = "in_line"
    READY = "ready"
    MESSAGE_MISSING = "message_missing"
    SWEEP_LATE = "sweep_late"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reason:
    """Describes one cause.

    :ivar until: when it ends by itself, where that is known.
    :ivar data: the values in the message.
    :ivar hint: a command that shows more or helps; empty for none.
    """

    code: ReasonCode
    message: str
    until: Instant | None = None
    data: Mapping[str, JsonValue] = field(default_factory=dict)
    hint: str = ""


def reasons_of(job: JobRecord, now: Instant, task: str = "") -> list[Reason]:
    """Return why a job does not run, the most important reason first.

    For an available or blocked job, it only says when the job expires.

    :param job: as of now: due transitions are made already.
    :param task: what ECS lists the task by that runs an active job; empty if none does.
    """
    match job.state:
        case JobState.SCHEDULED if job.scheduled_at is not None and job.scheduled_at <= now:
            found = []  # it is due, and waits for others of its sequence
        case JobState.SCHEDULED:
            found = [_scheduled(job, now)]
        case JobState.RETRYABLE:
            found = [_backoff(job, now)]
        case JobState.PENDING if is_blocked(job):
            found = []
        case JobState.PENDING:
            text = "It was enqueued as pending, and waits until somebody activates it."
            found = [Reason(ReasonCode.NOT_ACTIVATED, text)]
        case JobState.ACTIVE:
            found = [_running(job, now, task)]
        case JobState.AVAILABLE:
            found = []
        case _:
            return [_say_end(job)]
    if job.expires_at is not None and job.state is not JobState.ACTIVE:
        text = f"It is discarded unless it begins until {_at(job.expires_at, now)}."
        found.append(Reason(ReasonCode.EXPIRES, text, job.expires_at))
    return found


def _scheduled(job: JobRecord, now: Instant) -> Reason:
    due = job.scheduled_at or now
    return Reason(ReasonCode.SCHEDULED, f"It is scheduled for {_at(due, now)}.", due)


def _backoff(job: JobRecord, now: Instant) -> Reason:
    """Say which attempt failed, or why the job was snoozed, and when the next one is due."""
    due = job.next_attempt_at or now
    counted, most = job.counted_attempts, job.allowed_attempts
    text = f"Attempt {counted} of {most} failed{_by(job)}; the next one is due at {_at(due, now)}."
    if job.error is not None and job.error.code == SNOOZE:
        text = f"{job.error.message.rstrip('.')}. It was snoozed, and is due at {_at(due, now)}."
    return Reason(ReasonCode.BACKOFF, text, due, {"attempt": counted, "max_attempts": most})


def _running(job: JobRecord, now: Instant, task: str) -> Reason:
    """Say which worker has the job, and when it loses the job without another heartbeat."""
    held = job.reservation
    worker = held.worker_id if held is not None else ""
    since = span_text(now - (job.started_at or now))
    text = f"It runs: {_named(worker)} has had attempt {job.attempt} for {since}."
    data: dict[str, JsonValue] = {"attempt": job.attempt}
    if worker:
        data["worker_id"] = worker
    if held is None:
        return Reason(ReasonCode.RUNNING, text, data=data)
    if held.due_at == held.execution_ends_at:
        text += f" The attempt times out at {_at(held.due_at, now)}."
    else:
        text += f" Without a heartbeat, another worker can have it at {_at(held.due_at, now)}."
    data["execution_ends_at"] = format_instant(held.execution_ends_at)
    hint = ""
    if task:
        data["task"] = task
        text += " It runs in an ECS task."
        hint = f"aws ecs list-tasks --cluster CLUSTER --started-by {task}"
    return Reason(ReasonCode.RUNNING, text, held.due_at, data, hint)


def _say_end(job: JobRecord) -> Reason:
    """Say how the job ended."""
    if job.state is JobState.COMPLETED:
        return Reason(ReasonCode.COMPLETED, f"It completed with attempt {job.attempt}.")
    if job.state is JobState.CANCELLED:
        return Reason(ReasonCode.CANCELLED, "It was cancelled.")
    failure = ending_failure(job)
    if failure is None and job.expires_at is not None and has_expired(job):
        text = f"It expired at {format_instant(job.expires_at)}, before it could begin."
        return Reason(ReasonCode.EXPIRED, text)
    if failure is None and job.limit is not None:
        text = f"It was dropped because the limit '{job.limit.key}' was reached."
        return Reason(ReasonCode.LIMIT, text, data={"key": job.limit.key})
    counted, most = job.counted_attempts, job.allowed_attempts
    data: dict[str, JsonValue] = {"attempt": counted, "max_attempts": most}
    if failure is None:
        return Reason(ReasonCode.FAILED, "It was discarded.", data=data)
    if counted >= most:
        text = f"Its last attempt of {most} failed{_by(job)}."
    else:
        text = f"Attempt {counted} of {most} failed{_by(job)}, which is not retried."
    if job.is_dead_letter:
        text += " It is a dead letter; an operator can retry it."
    data |= {"dead_letter": job.is_dead_letter}
    return Reason(ReasonCode.FAILED, text, data=data, hint=f"ojs-aws jobs retry {job.id}")


def _by(job: JobRecord) -> str:
    return "" if job.error is None else f" with {job.error.type}"


def _named(worker: str) -> str:
    return f"worker '{worker}'" if worker else "a worker"


def _at(at: Instant, now: Instant) -> str:
    """Return an instant, and how far from now it is."""
    return f"{format_instant(at)}, in {span_text(at - now)}"
