"""Reads a job as of now, changes it by one conditional write, and collects errors of many.

Every operation but PUSH, the claim of FETCH and ACK goes through here. If the job has changed since
it was read, the write is refused, and the operation decides again on the new version. So nothing is
ever decided on a stale read.

A pass over many jobs skips a job that cannot be read or written, so that the others of its queue
are not kept waiting. If too many jobs fail, the table itself is the problem, and the pass ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import not_found
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.errors import BackendUnavailableError, NotFoundError, OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs import deadlines, held_job
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.services.fairness import FairPlaces

MAX_CONFLICTS: Final = 16

_logger = logging.getLogger(__name__)
MOST: Final = 25
"""How many jobs one pass skips; if one more fails, the fault is not in the jobs."""

PATIENCE_MS: Final = 5_000
"""How long after its beginning a request still passes over a job that cannot be written. After a
call that timed out it is over: the next calls would time out, too."""


@dataclass(frozen=True, slots=True)
class JobChange:
    """Holds a job before and after one transition."""

    before: JobRecord
    after: JobRecord


@dataclass(frozen=True, slots=True)
class JobChanger:
    """Settles and changes jobs of one store.

    :ivar missing: stores and returns jobs of committed batches that are not in the table yet. By
        default no job is in a batch, and a missing job does not exist.
    :ivar resume: saves a discarded job of a sequence that is enqueued again; None where there are
        no sequences.
    :ivar places: gives jobs of fair queues their places; None where there are none.
    :ivar fair_queues: queues that this process knows to be fair, by what FETCH saw.
    """

    store: JobStore
    clock: Clock
    missing: Callable[[Sequence[str]], dict[str, JobRecord]] = lambda _: {}
    resume: Callable[[JobRecord, JobRecord], JobRecord] | None = None
    places: Callable[[], FairPlaces] | None = None
    fair_queues: set[str] = field(default_factory=set)

    def find(self, job_id: str) -> JobRecord | None:
        """Read a job, strongly consistent, without documents stored elsewhere."""
        return self.store.load(job_id) or self.missing([job_id]).get(job_id)

    def find_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return several jobs by id: one read, and two more calls if any are missing."""
        jobs = self.store.load_many(job_ids)
        absent = [job_id for job_id in job_ids if job_id not in jobs]
        return jobs | self.missing(absent) if absent else jobs

    def settled(self, job: JobRecord, now: Instant) -> JobRecord:
        """Write the transitions that are due by time; one conditional write each.

        :raises NotFoundError: the job was removed meanwhile.
        """
        while (after := deadlines.settle_once(job, now)) is not None:
            try:
                job = self.store.save(job, self.placed(job, after))
            except StaleJobError as stale:
                job = found(stale.current, job.id)
        return job

    def placed(self, before: JobRecord, after: JobRecord) -> JobRecord:
        """Return the next version of a job, with its place if it enters a fair queue's list."""
        if self.places is None or (after.fairness is None and after.queue not in self.fair_queues):
            return after
        from ojs_aws.domain.fairness import enters_list  # few queues are fair

        return self.places().place(after) if enters_list(before, after) else after

    def placed_again(self, after: JobRecord) -> JobRecord:
        """Return a job that waited for others, with the place in a fair queue that it had."""
        if self.places is None or after.fairness is None:
            return after
        return self.places().place_again(after)

    def settle_each(
        self,
        job_ids: Sequence[str],
        now: Instant,
        on_failure: Callable[[str, Exception], None],
    ) -> Iterator[tuple[str, JobRecord | None]]:
        """Yield each job as of now by its id, with None for a missing one.

        :param on_failure: gets the id of a job that cannot be read or written, and the error. The
            job is not yielded.
        :raises OjsError: the jobs cannot be read at all.
        """
        for job_id, job in self._read_each(job_ids, on_failure):
            settled = None
            try:
                if job is not None:
                    settled = self._list_when_due(self.settled(job, now), now)
            except NotFoundError:
                pass
            except Exception as problem:  # noqa: BLE001 - one job must not stop the others
                on_failure(job_id, problem)
                continue
            yield job_id, settled

    def _list_when_due(self, job: JobRecord, now: Instant) -> JobRecord:
        """Move the row of a job that the waiting list shows as due before it is.

        Heartbeats leave the row where it was; if the worker then falls silent, the row would stand
        before jobs that are due, until the job's own time comes.
        """
        held = job.reservation
        if held is None or now < held.row_at:
            return job
        try:
            return self.store.save(job, held_job.list_when_due(job))
        except StaleJobError as stale:
            return found(stale.current, job.id)

    def _read_each(
        self, job_ids: Sequence[str], on_failure: Callable[[str, Exception], None]
    ) -> Iterator[tuple[str, JobRecord | None]]:
        """Yield the jobs by their ids, read in one call; one by one if an item is unreadable."""
        if len(job_ids) > 1:
            try:
                jobs = self.store.load_many(job_ids)
            except OjsError:
                raise
            except Exception:
                _logger.exception("An item of %d jobs cannot be read", len(job_ids))
            else:
                yield from ((job_id, jobs.get(job_id)) for job_id in job_ids)
                return
        for job_id in job_ids:
            try:
                job = self.store.load(job_id)
            except Exception as problem:  # noqa: BLE001 - as above
                on_failure(job_id, problem)
            else:
                yield job_id, job

    def load(self, job_id: str, now: Instant) -> JobRecord:
        """Return the job as of now.

        :raises NotFoundError: there is no such job.
        """
        return self.settled(found(self.find(job_id), job_id), now)

    def apply(
        self,
        job_id: str,
        decide: Callable[[JobRecord, Instant], JobRecord],
        *,
        start: JobRecord | None = None,
    ) -> JobChange:
        """Read, settle, let ``decide`` make the next version, and write it if nothing changed.

        ``decide`` may run several times. If it returns the job itself, nothing is written. It gets
        an instant that is not before the job's last change, which may come from a function whose
        clock is ahead, or from the time while this one waited for an answer.

        :param start: the job as last seen, to save the first read.
        :raises NotFoundError: there is no such job.
        :raises BackendUnavailableError: too many others changed the job at the same time.
        """
        now = self.clock.now()
        job = start if start is not None else found(self.find(job_id), job_id)
        for _ in range(MAX_CONFLICTS):
            job = self.settled(job, now)
            after = decide(job, max(now, deadlines.last_change(job)))
            if after is job:
                return JobChange(job, job)
            after = self.placed(job, after)
            try:
                save = self.store.save if after.sequence is None else self._save_in_sequence
                return JobChange(job, save(job, after))
            except StaleJobError as stale:
                job = found(stale.current, job_id)
        raise BackendUnavailableError(
            f"Job '{job_id}' is being changed by too many requests at once.",
            hint="Repeat the request.",
        )

    def _save_in_sequence(self, before: JobRecord, after: JobRecord) -> JobRecord:
        """Store the next version of a job; one that goes on needs its turn in its sequence."""
        if self.resume is None:
            return self.store.save(before, after)
        goes_on = before.state.is_terminal and not after.state.is_terminal
        return (self.resume if goes_on else self.store.save)(before, after)


def found(job: JobRecord | None, job_id: str) -> JobRecord:
    """Return the job, or the error that says there is none."""
    if job is None:
        raise not_found("job", job_id, f"Job '{job_id}' not found.")
    return job


@dataclass(slots=True)
class JobErrors:
    """Collects the errors of one pass over many jobs.

    :ivar is_late: whether no time is left to go on after an error.
    :ivar most: jobs that may be passed over.
    :ivar ids: the jobs that were passed over.
    :ivar first: the first error; None for none.
    """

    is_late: Callable[[], bool]
    most: int = MOST
    ids: set[str] = field(default_factory=set)
    first: Exception | None = None

    def note(self, job_id: str, problem: Exception) -> None:
        """Report a job that is skipped.

        :raises Exception: this error, where there are too many, or no time is left.
        """
        _logger.error("Job %s is passed over: %s", job_id, problem, exc_info=problem)
        self.ids.add(job_id)
        self.first = self.first or problem
        if len(self.ids) > self.most or self.is_late():
            raise problem
