"""Implements BEAT: a worker lives, and its jobs stay reserved (core, 7.5; worker protocol)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import ANYBODY, Caller, PermissionDeniedError
from ojs_aws.domain.attributes import check_job_id, field_error
from ojs_aws.domain.conflicts import ForeignWorkerError, StaleJobError
from ojs_aws.domain.errors import ConflictError, NotFoundError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import held_job
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT, AttemptRef, Holder, check_holder
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo, WorkerReport
from ojs_aws.services.stored_jobs.change import PATIENCE_MS, JobChanger, JobErrors
from ojs_aws.services.stored_jobs.messages import JobMessages, seconds_until
from ojs_aws.services.workers import (
    DrainState,
    KnownLengths,
    VisibilityTimeouts,
    alive_until,
    check_heartbeat_interval,
    unread_extension,
)

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.workers import WorkerRegistry

MAX_JOBS: Final = 100
RUNNING: Final = "running"
MAX_WORKER_ID: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResult:
    """Holds the answer to a heartbeat.

    :ivar state: ``running``, ``quiet`` or ``terminate``.
    :ivar extended: jobs whose reservation was extended.
    :ivar cancelled: jobs to stop executing, because they were cancelled.
    :ivar lost: jobs that are no longer this worker's.
    """

    state: str
    extended: tuple[str, ...]
    cancelled: tuple[str, ...]
    lost: tuple[str, ...]
    server_time: Instant


@dataclass(slots=True)
class _Sorted:
    """Sorts the jobs of one heartbeat by their result.

    :ivar errors: of jobs that could not be read or written, and have no result.
    """

    errors: JobErrors
    extended: list[JobRecord] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def answer(self, state: str, now: Instant) -> HeartbeatResult:
        """Return the answer to the heartbeat.

        :raises Exception: the first error, where no job has a result.
        """
        has_result = self.extended or self.cancelled or self.lost
        if self.errors.first is not None and not has_result:
            raise self.errors.first
        return HeartbeatResult(
            state=state,
            extended=tuple(job.id for job in self.extended),
            cancelled=tuple(self.cancelled),
            lost=tuple(self.lost),
            server_time=now,
        )


NO_ATTEMPTS: Final[Mapping[str, AttemptRef]] = {}


@dataclass(frozen=True, slots=True)
class _Extend:
    """Decides on the extension of one reservation.

    :ivar worker: None for one without a name.
    :ivar takes_over: who beats is at the job in the place of its worker, which need not be heard of
        before the reservation ends.
    """

    default_ms: int
    holder: Holder
    worker: WorkerInfo | None
    requested_ms: int | None
    takes_over: bool = False

    def __call__(self, job: JobRecord, now: Instant) -> JobRecord:
        """Extend the reservation.

        :raises ConflictError: the worker does not hold it.
        """
        check_holder(job, "extend", self.holder)
        wanted = self.requested_ms or held_job.length_of(job, self.default_ms)
        ends = Instant(now + wanted)
        alive = alive_until(self.worker, job, self.requested_ms) if self.worker else None
        if self.takes_over and job.reservation and job.reservation.alive_until:
            alive = ends
        return held_job.extend(job, ends, alive, now=now)

    def changes(self, job: JobRecord | None, now: Instant) -> bool:
        """Return whether the reservation of a job would be written, as far as it is known."""
        try:
            return job is not None and self(job, now) is not job
        except ConflictError:
            return False


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Extends several reservations by one conditional write each, mostly without a read."""

    workers: WorkerRegistry
    changer: JobChanger
    job_messages: JobMessages
    visibility: VisibilityTimeouts
    draining: DrainState
    known_lengths: KnownLengths = field(default_factory=KnownLengths)

    def __call__(
        self,
        worker_id: str | None,
        job_ids: Sequence[str],
        visibility_timeout_ms: int | None = None,
        report: WorkerReport | None = None,
        caller: Caller = ANYBODY,
        *,
        attempts: Mapping[str, AttemptRef] = NO_ATTEMPTS,
    ) -> HeartbeatResult:
        """Update a worker's last-seen time and extend the reservations of its jobs.

        Every heartbeat is answered with the worker's directive, also one that names only jobs
        that the worker does not hold: they are lost (worker protocol, section 4.4). A job that
        cannot be read or written is left out of the answer, and does not hold up the others.

        A reservation is extended by the requested time, else by the job's own visibility timeout,
        else by what it was fetched for (section 5.4); never beyond the execution timeout's effect.
        Its end is never moved earlier, except where it is known how often the worker beats: then
        the worker counts as dead after three missed heartbeats (decision 100).

        :param worker_id: None when the worker gave no name: then the jobs' states alone decide,
            and nothing is registered.
        :param report: what it says of itself; its job ids are ``job_ids``.
        :param caller: who beats; a job outside its bounds is lost, as one that does not exist.
        :param attempts: which attempts it is at, by job id; those of other jobs are not checked.
        :raises InvalidRequestError: no worker id, a malformed job id, too many jobs, or an
            interval that no worker keeps.
        :raises PermissionDeniedError: another principal registered this worker id.
        """
        known = report or WorkerReport(active_jobs=len(job_ids))
        self._check(worker_id, job_ids)
        check_heartbeat_interval(known.interval_ms)
        now = self.changer.clock.now()
        worker: WorkerInfo | None = None
        if worker_id is not None:
            known = replace(known, job_ids=tuple(dict.fromkeys(job_ids)))
            worker = self._register(worker_id, known, now, caller.principal)
        result = self._nothing(now)
        if worker is None or caller.is_bound:  # bounds need what only the job says
            jobs = self._loaded(job_ids)
        else:
            jobs = self._extend_blindly(worker, job_ids, visibility_timeout_ms, attempts, result)
        for job_id, job in jobs.items():
            holder = Holder(worker_id, attempts.get(job_id, ANY_ATTEMPT))
            is_seen = job is not None and caller.view.shows_job(job)
            extend = _Extend(self.visibility.default_ms, holder, worker, visibility_timeout_ms)
            self._extend(job if is_seen else None, job_id, extend, result)
        self._hide(result.extended, now)
        return result.answer(RUNNING if worker is None else worker.directive, now)

    def extend(
        self,
        worker_id: str | None,
        job_id: str,
        visibility_timeout_ms: int | None,
        *,
        which: AttemptRef,
        start: JobRecord | None,
    ) -> tuple[HeartbeatResult, JobRecord | None]:
        """Extend the reservation of a job that a Lambda function executes: two calls.

        The worker is not registered: it lives for one invocation, which no directive reaches.

        :param worker_id: None for an endpoint that took the job over from its worker.
        :param start: the job as last seen, which saves the read where there is something to write.
            A refused write says as much as a read: the job may be cancelled, or somebody else's.
        :returns: the answer, and the job as it is now if its reservation was extended.
        """
        now = self.changer.clock.now()
        result = self._nothing(now)
        default_ms, holder = self.visibility.default_ms, Holder(worker_id, which)
        takes_over = worker_id is None
        extend = _Extend(default_ms, holder, None, visibility_timeout_ms, takes_over=takes_over)
        job = start if extend.changes(start, now) else self.changer.store.load(job_id)
        self._extend(job, job_id, extend, result)
        self._hide(result.extended, now)
        return result.answer(RUNNING, now), next(iter(result.extended), None)

    def _nothing(self, now: Instant) -> _Sorted:
        """Return no results, for a heartbeat that began now."""
        return _Sorted(JobErrors(lambda: self.changer.clock.now() > now + PATIENCE_MS))

    def _register(
        self, worker_id: str, report: WorkerReport, now: Instant, principal: str
    ) -> WorkerInfo:
        try:
            worker = self.workers.beat(worker_id, report, now, principal)
        except ForeignWorkerError:
            raise PermissionDeniedError(
                f"The worker id '{worker_id[:100]}' was registered with other credentials.",
                details={"field": "worker_id"},
                hint="Give each worker an id of its own. An id is free again an hour after its "
                "worker's last heartbeat, or when an operator removes the worker.",
            ) from None
        self.draining.note(worker)
        return worker

    def _extend_blindly(
        self,
        worker: WorkerInfo,
        job_ids: Sequence[str],
        requested_ms: int | None,
        attempts: Mapping[str, AttemptRef],
        result: _Sorted,
    ) -> dict[str, JobRecord | None]:
        """Extend the reservations that can be extended without a read; return the other jobs.

        A refused write says as much as a read, and how long the worker's reservations are.
        """
        default_ms, refused = self.visibility.default_ms, dict[str, JobRecord | None]()
        known_ms = self.known_lengths.of(worker.id)
        asked = unread_extension(worker, requested_ms, default_ms, known_ms)
        for job_id in dict.fromkeys(job_ids):
            which = replace(asked, which=attempts.get(job_id, ANY_ATTEMPT))
            try:
                result.extended.append(self.changer.store.extend(job_id, which))
            except StaleJobError as stale:
                refused[job_id] = stale.current
                self.known_lengths.note(worker, stale.current, requested_ms, default_ms)
            except Exception as problem:  # noqa: BLE001 - one job must not hold up the others
                result.errors.note(job_id, problem)
        return refused

    def _check(self, worker_id: str | None, job_ids: Sequence[str]) -> None:
        is_known = worker_id is not None and 0 < len(worker_id) <= MAX_WORKER_ID
        if not is_known and (worker_id is not None or not job_ids):
            message = f"The 'worker_id' attribute must have from 1 to {MAX_WORKER_ID} characters."
            raise field_error("worker_id", message)
        if len(job_ids) > MAX_JOBS:
            message = f"A heartbeat names at most {MAX_JOBS} jobs; received {len(job_ids)}."
            raise field_error("active_jobs", message, received=len(job_ids))
        for job_id in job_ids:
            check_job_id(job_id)

    def _loaded(self, job_ids: Sequence[str]) -> dict[str, JobRecord | None]:
        """Return each job once, in order: one read for all of them."""
        wanted = list(dict.fromkeys(job_ids))
        if len(wanted) == 1:
            return {wanted[0]: self.changer.store.load(wanted[0])}
        jobs = self.changer.store.load_many(wanted) if wanted else {}
        return {job_id: jobs.get(job_id) for job_id in wanted}

    def _extend(self, job: JobRecord | None, job_id: str, extend: _Extend, result: _Sorted) -> None:
        if job is None:
            result.lost.append(job_id)
            return
        try:
            result.extended.append(self.changer.apply(job_id, extend, start=job).after)
        except ConflictError as problem:
            is_cancelled = problem.details.get("current_state") == JobState.CANCELLED
            (result.cancelled if is_cancelled else result.lost).append(job_id)
        except NotFoundError:
            result.lost.append(job_id)
        except Exception as problem:  # noqa: BLE001 - as above
            result.errors.note(job_id, problem)

    def _hide(self, jobs: Sequence[JobRecord], now: Instant) -> None:
        """Hide the messages for as long as the reservations last, which are written already."""
        by_queue: dict[str, list[tuple[str, int]]] = {}
        for job in jobs:
            held = job.reservation
            if held and held.message_handle:
                handle = (held.message_handle, seconds_until(held.due_at, now))
                by_queue.setdefault(job.queue, []).append(handle)
        for queue, handles in by_queue.items():
            self.job_messages.hide(queue, handles)
