"""Implements PROGRESS and checkpoints: how far an execution has come, and where to continue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import check_job_id, not_found, too_large, wrong_state
from ojs_aws.domain.job import Checkpoint, Document, JobRecord, JobState, Reservation
from ojs_aws.domain.jobs import held_job
from ojs_aws.domain.jobs.held_job import (
    ANY_ATTEMPT,
    ASSUMED_SILENCE_MS,
    AttemptRef,
    Holder,
    check_holder,
)
from ojs_aws.domain.jobs.outcomes import with_notes
from ojs_aws.domain.jobs.progress import ProgressReport, with_report
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.services.stored_jobs.messages import JobMessages, seconds_until
from ojs_aws.services.workers import VisibilityTimeouts

MAX_BYTES: Final = 1_048_576
"""Of a checkpoint as JSON (section 9.1)."""

_NO_DOCUMENT: Final = RawJson("{}")


@dataclass(frozen=True, slots=True)
class Saved:
    """Holds a job's checkpoint, read."""

    job: JobRecord
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Saves checkpoints: a small one by one conditional write, a large one stored before it.

    One that is replaced, or whose job is over, is removed by whoever reads the table's stream.
    """

    changer: JobChanger

    def save(
        self,
        job_id: str,
        worker_id: str | None,
        state: RawJson,
        *,
        which: AttemptRef = ANY_ATTEMPT,
        notes: Mapping[str, RawJson] | None = None,
        only_active: bool = True,
        start: JobRecord | None = None,
    ) -> Saved:
        """Save from where the next attempt may continue; replaces the last checkpoint.

        :param worker_id: the worker that says so; None when it gave no name.
        :param which: the attempt that saves it.
        :param notes: what the worker gave beside the state, as ``read_notes`` returns it.
        :param only_active: False lets a job that waits have one, too.
        :param start: the job as claimed, to save the read.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not active, not this worker's, or at another attempt; nothing
            changes.
        :raises PayloadTooLargeError: the state has more than a megabyte.
        """
        check_job_id(job_id)
        document = with_notes(state, notes or {})
        _check_size(document)
        holder = Holder(worker_id, which)
        if start is None:
            start = self.changer.load(job_id, self.changer.clock.now())
        _check_may_save(start, holder, only_active=only_active)
        kept = self.keep(job_id, document)

        def decide(job: JobRecord, now: Instant) -> JobRecord:
            _check_may_save(job, holder, only_active=only_active)
            return held_job.save_checkpoint(job, kept, now, has_notes=bool(notes))

        after = self.changer.apply(job_id, decide, start=start).after
        if after.checkpoint is None:  # pragma: no cover - decide has just set it
            raise holder.refusal(after, "save a checkpoint of")
        return Saved(after, after.checkpoint)

    def keep(self, job_id: str, state: RawJson) -> Document:
        """Store a state in its place, before the write that names it.

        :raises PayloadTooLargeError: it has more than a megabyte.
        """
        _check_size(state)
        return self.changer.store.keep_checkpoint(job_id, state)

    def get(self, job_id: str) -> Saved:
        """Return the latest checkpoint of a job.

        :raises NotFoundError: there is no such job, or it has none.
        """
        saved = self.find(job_id)
        if saved is None:
            raise not_found("checkpoint", job_id, f"Job '{job_id}' has no checkpoint.")
        return saved

    def find(self, job_id: str) -> Saved | None:
        """Return the latest checkpoint of a job, or None if it has none.

        :raises NotFoundError: there is no such job.
        """
        job = self.changer.load(check_job_id(job_id), self.changer.clock.now())
        if job.checkpoint is None:
            return None
        whole = self.changer.store.fill(replace(job, document=_NO_DOCUMENT, result=None))
        return Saved(job, whole.checkpoint or job.checkpoint)

    def delete(self, job_id: str) -> bool:
        """Clear the checkpoint of a job.

        :returns: whether there was one.
        :raises NotFoundError: there is no such job.
        """
        check_job_id(job_id)
        change = self.changer.apply(job_id, lambda job, _: held_job.clear_checkpoint(job))
        return change.before.checkpoint is not None


def _check_size(state: RawJson) -> None:
    size = len(state.encode())
    if size > MAX_BYTES:
        message = f"The checkpoint has {size} bytes; at most {MAX_BYTES} are accepted."
        hint = "Keep the data elsewhere and save a reference to it."
        raise too_large("state", size, MAX_BYTES, message, hint)


def _check_may_save(job: JobRecord, holder: Holder, *, only_active: bool) -> None:
    """Refuse a worker that may not save a checkpoint (section 4.2).

    :raises ConflictError: the job is over, not active, or it is another worker's.
    """
    if job.state is JobState.ACTIVE or only_active:
        check_holder(job, "save a checkpoint of", holder)
    elif job.state.is_terminal:
        message = f"Cannot save a checkpoint of a job that is over. Current state: '{job.state}'."
        raise wrong_state("job", job.id, job.state, message)


EXTENDS_EVERY_MS: Final = 1000
"""Reports that come sooner after the last extension do not extend again: that would cost an index
write and a call to SQS each. Reservations below ten seconds are extended ten times as long."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Records progress: one read and one conditional write, which is a heartbeat as well."""

    changer: JobChanger
    job_messages: JobMessages
    visibility: VisibilityTimeouts
    checkpoints: Checkpoints

    def __call__(
        self,
        job_id: str,
        worker_id: str | None,
        report: ProgressReport,
        checkpoint: RawJson | None = None,
        *,
        which: AttemptRef = ANY_ATTEMPT,
        start: JobRecord | None = None,
        has_message: bool = True,
    ) -> tuple[JobRecord, bool]:
        """Record how far a job has come, and that its worker lives.

        :param worker_id: the worker that says so; None when it gave no name.
        :param checkpoint: what the next attempt may go on from, in the same write.
        :param which: the attempt that reports.
        :param start: the job as claimed, to save the read.
        :param has_message: False when whoever invoked the worker keeps the message itself.
        :returns: the job, and whether the report was noted. That of a job which is not active,
            not this worker's any more, or at another attempt, is ignored: it came too late
            (PRG-007).
        :raises NotFoundError: there is no such job.
        :raises PayloadTooLargeError: the checkpoint is too large.
        """
        check_job_id(job_id)
        holder = Holder(worker_id, which)
        if start is None:
            start = self.changer.load(job_id, self.changer.clock.now())
        if not holder.holds(start):
            return start, False
        kept = None if checkpoint is None else self.checkpoints.keep(job_id, checkpoint)

        def decide(job: JobRecord, now: Instant) -> JobRecord:
            return self._noted(job, holder, report, kept, now)

        change = self.changer.apply(job_id, decide, start=start)
        if change.after is change.before:
            return change.after, False
        self._extend_message(change.before.reservation, change.after, has_message=has_message)
        return change.after, True

    def _noted(
        self,
        job: JobRecord,
        holder: Holder,
        report: ProgressReport,
        kept: Document | None,
        now: Instant,
    ) -> JobRecord:
        if not holder.holds(job):
            return job
        progress = with_report(job.progress, report, job.attempt, now)
        length = held_job.length_of(job, self.visibility.default_ms)
        ends = Instant(now + length)
        held = job.reservation
        if held is not None and ends - held.expires_at < min(EXTENDS_EVERY_MS, length // 10):
            ends = held.expires_at
        alive = Instant(now + ASSUMED_SILENCE_MS)
        if held is not None and held.alive_until and alive - held.alive_until < EXTENDS_EVERY_MS:
            alive = held.alive_until
        after = held_job.report_progress(job, progress, ends, alive, now=now)
        if kept is None:
            return after
        saved = held_job.save_checkpoint(after, kept, now)
        return replace(saved, version=after.version)  # one write, one version

    def _extend_message(
        self, before: Reservation | None, job: JobRecord, *, has_message: bool
    ) -> None:
        """Hide the message for as long as the reservation lasts, which is written already."""
        held = job.reservation
        if held is None or not has_message or not held.message_handle:
            return
        if before is None or held.due_at != before.due_at:
            seconds = seconds_until(held.due_at, self.changer.clock.now())
            self.job_messages.hide(job.queue, [(held.message_handle, seconds)])

    def read(self, job_id: str) -> JobRecord:
        """Return a job with its progress, in one read.

        :raises NotFoundError: there is no such job.
        """
        return self.changer.load(check_job_id(job_id), self.changer.clock.now())
