"""Derives a job's history from the job alone (ojs-admin-api, section 7.2).

The item keeps the instants of its latest attempt and the failures of all; what else happened is in
the event log for as long as that goes back.
"""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain.job import Failure, JobRecord
from ojs_aws.domain.timestamps import Instant


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Describes something that happened to a job.

    :ivar what: ``created``, ``enqueued``, ``activated``, ``started``, ``attempt_failed``,
        ``completed``, ``discarded``, ``dead_lettered``, ``cancelled``, ``replayed``; or, with an
        instant to come, ``scheduled``, ``next_attempt``, ``reservation_ends``, ``expires``.
    :ivar attempt: the attempt that it was of, where it was of one.
    :ivar is_past_life: before the job was retried by an operator.
    """

    at: Instant
    what: str
    attempt: int | None = None
    failure: Failure | None = None
    is_past_life: bool = False


def history_of(job: JobRecord) -> list[HistoryEntry]:
    """Return what happened to a job and what will, in the order of time.

    Within an instant a job becomes available after its attempt failed, and starts before it fails.
    """
    failed = [_failed(each, is_past_life=True) for each in job.past_failures]
    failed += [_failed(each) for each in job.failures]
    latest = None if job.started_at is None else job.attempt
    is_over = job.state.is_terminal
    found = [
        *_entries(
            ("created", job.created_at, None),
            ("scheduled", job.scheduled_at, None),
            ("activated", job.activated_at, None),
        ),
        *(each for each in failed if each.attempt != latest),
        *_entries(
            ("enqueued", job.enqueued_at, None),
            ("started", job.started_at, job.attempt),
        ),
        *(each for each in failed if each.attempt == latest),
        *_entries(
            ("completed", None if job.discarded_at else job.completed_at, job.attempt),
            ("dead_lettered" if job.is_dead_letter else "discarded", job.discarded_at, None),
            ("cancelled", job.cancelled_at, None),
            ("replayed", job.replay.at if job.replay else None, None),
            ("next_attempt", job.next_attempt_at, job.attempt + 1),
            ("reservation_ends", job.reservation.due_at if job.reservation else None, job.attempt),
            ("expires", None if is_over else job.expires_at, None),
        ),
    ]
    return sorted(found, key=lambda entry: entry.at)  # stable: the order above within an instant


def _entries(*rows: tuple[str, Instant | None, int | None]) -> list[HistoryEntry]:
    """Return the entries of what has an instant."""
    return [HistoryEntry(at, what, attempt) for what, at, attempt in rows if at is not None]


def _failed(failure: Failure, *, is_past_life: bool = False) -> HistoryEntry:
    return HistoryEntry(
        failure.occurred_at, "attempt_failed", failure.attempt, failure, is_past_life
    )
