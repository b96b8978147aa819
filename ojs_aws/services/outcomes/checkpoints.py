"""Saves and reads checkpoints of executions (ojs-durable-execution)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import check_job_id, not_found, too_large, wrong_state
from ojs_aws.domain.job import Checkpoint, Document, JobRecord, JobState
from ojs_aws.domain.jobs import held_job
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT, AttemptRef, Holder, check_holder
from ojs_aws.domain.jobs.outcomes import with_notes
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.change import JobChanger

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
