"""Implements PROGRESS: how far an execution has come (ojs-progress, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import check_job_id
from ojs_aws.domain.job import Document, JobRecord, Reservation
from ojs_aws.domain.jobs import held_job
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT, ASSUMED_SILENCE_MS, AttemptRef, Holder
from ojs_aws.domain.jobs.progress import ProgressReport, with_report
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.change import JobChanger
from ojs_aws.services.jobs.messages import JobMessages, seconds_until
from ojs_aws.services.outcomes.checkpoints import Checkpoints
from ojs_aws.services.workers.liveness import VisibilityTimeouts

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
