"""BEAT: a worker lives, and its jobs stay reserved (core, section 7.5; worker protocol)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, JsonValue, NotFoundError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.validation import check_job_id
from ojs_aws.ports import JobStore, WorkerRegistry
from ojs_aws.services.ack import check_holder
from ojs_aws.services.changing import Changing
from ojs_aws.services.waking import Waking, seconds_until

MAX_JOBS: Final = 100
RUNNING: Final = "running"
MAX_WORKER_ID: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What the worker is told.

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
    """The jobs of one heartbeat by what became of them."""

    extended: list[JobRecord] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Extends several reservations: one read for all, one conditional write each."""

    store: JobStore
    workers: WorkerRegistry
    changing: Changing
    waking: Waking
    default_visibility_timeout_ms: int

    def __call__(
        self,
        worker_id: str | None,
        job_ids: Sequence[str],
        visibility_timeout_ms: int | None = None,
        active_count: int | None = None,
    ) -> Beat:
        """Renew a worker's last-seen time and the reservations of its jobs.

        A reservation is extended by the requested time, else by the job's own visibility timeout,
        else by the default; never beyond the execution timeout's effect, and never shortened.

        :param worker_id: None when the worker gave no name: then the jobs' states alone decide,
            and nothing is registered.

        :raises InvalidRequestError: no worker id, a malformed job id, or too many jobs.
        :raises ConflictError: not one of the jobs is this worker's.
        """
        self._check(worker_id, job_ids)
        now = self.changing.clock.now()
        directive = RUNNING
        if worker_id is not None:
            count = len(job_ids) if active_count is None else active_count
            directive = self.workers.beat(worker_id, count, now).directive
        jobs = self.store.load_many(job_ids) if job_ids else {}
        result = _Sorted()
        for job_id in dict.fromkeys(job_ids):
            self._extend(jobs.get(job_id), job_id, worker_id, visibility_timeout_ms, result)
        self._hide(result.extended, now)
        if result.lost and not result.extended and not result.cancelled:
            raise _not_held(worker_id, result.lost)
        return Beat(
            state=directive,
            extended=tuple(job.id for job in result.extended),
            cancelled=tuple(result.cancelled),
            lost=tuple(result.lost),
            server_time=now,
        )

    def _check(self, worker_id: str | None, job_ids: Sequence[str]) -> None:
        is_known = worker_id is not None and 0 < len(worker_id) <= MAX_WORKER_ID
        if not is_known and (worker_id is not None or not job_ids):
            raise InvalidRequestError(
                f"The 'worker_id' attribute must have from 1 to {MAX_WORKER_ID} characters.",
                details={"field": "worker_id"},
            )
        if len(job_ids) > MAX_JOBS:
            raise InvalidRequestError(
                f"A heartbeat names at most {MAX_JOBS} jobs; received {len(job_ids)}.",
                details={"field": "active_jobs", "received": len(job_ids)},
            )
        for job_id in job_ids:
            check_job_id(job_id)

    def _extend(
        self,
        job: JobRecord | None,
        job_id: str,
        worker_id: str | None,
        requested_ms: int | None,
        result: _Sorted,
    ) -> None:
        def decide(held: JobRecord, now: Instant) -> JobRecord:
            check_holder(held, "extend", worker_id)
            length = requested_ms or held.visibility_timeout_ms
            return lifecycle.extend(
                held, Instant(now + (length or self.default_visibility_timeout_ms))
            )

        if job is None:
            result.lost.append(job_id)
            return
        try:
            result.extended.append(self.changing.apply(job_id, decide, start=job).after)
        except ConflictError as problem:
            is_cancelled = problem.details.get("current_state") == JobState.CANCELLED
            (result.cancelled if is_cancelled else result.lost).append(job_id)
        except NotFoundError:
            result.lost.append(job_id)

    def _hide(self, jobs: Sequence[JobRecord], now: Instant) -> None:
        """The messages follow the reservations; the items are already written."""
        by_queue: dict[str, list[tuple[str, int]]] = {}
        for job in jobs:
            held = job.reservation
            if held and held.message_handle:
                handle = (held.message_handle, seconds_until(held.due_at, now))
                by_queue.setdefault(job.queue, []).append(handle)
        for queue, handles in by_queue.items():
            self.waking.hide(queue, handles)


def _not_held(worker_id: str | None, lost: Sequence[str]) -> ConflictError:
    ids: list[JsonValue] = list(lost)
    return ConflictError(
        f"Worker '{worker_id or 'without a name'}' holds none of the jobs its heartbeat names.",
        details={"worker_id": worker_id, "lost": ids},
        hint="Their reservations expired or were never this worker's: drop the jobs.",
    )
