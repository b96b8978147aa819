"""Looks after the tasks that run jobs, once a minute.

While a task runs, its job stays reserved. A task whose attempt is over is stopped, and one that has
stopped is settled if its event was lost. Nothing is stored: each task names its attempt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ojs_aws.domain.bindings.tasks import Task, read_task
from ojs_aws.domain.errors import ConflictError, NotFoundError, OjsError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import TASK_LEASE_S

if TYPE_CHECKING:
    from ojs_aws.adapters.tasks import Tasks
    from ojs_aws.services.backend import Backend
    from ojs_aws.worker.delivery.task_settle import TaskSettler

GRACE_MS: Final = 120_000
"""How long a container may run on after its report, before its task is stopped."""
PART_MS: Final = 10_000
"""What looking after a hundred tasks may take, in milliseconds."""
_T = TypeVar("_T")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskSweep:
    """Sweeps the tasks of a deployment's bindings."""

    backend: Backend
    tasks: Tasks
    settler: TaskSettler

    def __call__(self, has_time: Callable[[], bool] = lambda: True) -> int:
        """Look after all tasks; return how many could not be. The next sweep repeats it.

        Each minute begins with another family, so that none starves behind one that takes long.

        :param has_time: whether there is time for another hundred tasks; a family that is not
            reached or not finished counts as one that could not be looked after.
        """
        failed, suspensions = 0, self.settler.suspensions
        minute = self.backend.clock.now() // 60_000
        families = suspensions.families
        for cluster, family in _turned(families, minute):
            seen: list[Task] = []
            try:
                parts = self._found(cluster, family, minute // len(families))
                while has_time():
                    if (some := next(parts, None)) is None:
                        break
                    failed += self._look_after(some)
                    seen += some
                else:
                    _logger.warning("There was no time for all tasks of %s", family)
                    failed += 1
                suspensions.resume(seen)
            except OjsError as problem:
                _logger.warning("Tasks of %s were not swept: %s", family, problem)
                failed += 1
        return failed

    def _found(self, cluster: str, family: str, first: int) -> Iterator[list[Task]]:
        """Return the deployment's own tasks that run, or have just stopped.

        :param first: the part of them to begin with, up to a hundred each.
        """
        since_s = self.backend.clock.now() / 1000 - TASK_LEASE_S
        for are_over in (False, True):
            parts = [*self.tasks.listed(cluster, family, are_over=are_over)]
            for arns in _turned(parts, first):
                described = self.tasks.described(cluster, arns)
                yield [*self._own(each for each in described if _stopped_s(each) >= since_s)]

    def _own(self, described: Iterable[Mapping[str, Any]]) -> Iterator[Task]:
        for each in described:
            task = read_task(each)
            if task is not None and task.group == self.settler.group:
                yield task

    def _look_after(self, tasks: Sequence[Task]) -> int:
        """Look after some tasks, whose jobs take one read; return how many could not be."""
        if not tasks:
            return 0
        jobs = self.backend.changer.find_many([*{task.attempt.job_id for task in tasks}])
        done = self.backend.stores.parallel.each(
            lambda task: self._safely(task, jobs.get(task.attempt.job_id)), tasks
        )
        return sum(not each for each in done)

    def _safely(self, task: Task, job: JobRecord | None) -> bool:
        try:
            if task.end is not None:
                is_held = job is not None and task.attempt.which.is_running(job)
                return not is_held or self.settler.settle(task)
            self._keep_or_stop(task, job)
        except Exception:  # the other tasks must have their turn
            _logger.exception("Task %s was not swept", task.arn)
            return False
        return True

    def _keep_or_stop(self, task: Task, job: JobRecord | None) -> None:
        """Extend the reservation of a running task's job, or stop a task whose attempt is over."""
        now = self.backend.clock.now()
        if job is not None and task.attempt.which.is_running(job):
            if task.is_overdue(now):
                job = self._timed_out(task, job)
            elif self._is_kept(task, job, now):
                return
            else:
                job = self.backend.changer.find(job.id)
        if _is_in_vain(job, now):
            reason = f"The attempt of job {task.attempt.job_id} is over"
            self.tasks.stop(task.cluster, task.arn, reason)

    def _is_kept(self, task: Task, job: JobRecord, now: Instant) -> bool:
        """Return whether a job stays reserved; its reservation is extended where it ends soon."""
        held = job.reservation
        if held is not None and held.due_at - now > TASK_LEASE_S * 1000 // 2:
            return True
        _, kept = self.backend.workers.heartbeat.extend(
            None, job.id, TASK_LEASE_S * 1000, which=task.attempt.which, start=job
        )
        return kept is not None

    def _timed_out(self, task: Task, job: JobRecord) -> JobRecord | None:
        """Fail the attempt of an overdue task; return None, or the job that has just reported."""
        try:
            self.settler.time_out(job, task)
        except (ConflictError, NotFoundError):
            return self.backend.changer.find(job.id)
        return None


def _turned(these: Sequence[_T], by: int) -> list[_T]:
    """Return all of them, beginning with another one for each number."""
    at = by % max(1, len(these))
    return [*these[at:], *these[:at]]


def _is_in_vain(job: JobRecord | None, now: Instant) -> bool:
    """Return whether a task is to stop now whose attempt is over; the job may be gone.

    One that has just reported may end by itself.
    """
    if job is None:
        return True
    if job.state in {JobState.CANCELLED, JobState.ACTIVE}:
        return True
    return now >= deadlines.last_change(job) + GRACE_MS


def _stopped_s(described: Mapping[str, Any]) -> float:
    """Return when a task stopped, in seconds since 1970; for one that has not, the end of time."""
    stopped = described.get("stoppedAt")
    return float(stopped.timestamp()) if stopped is not None else float("inf")


@dataclass(frozen=True, slots=True)
class TaskFunction:
    """Settles the tasks of ECS's events, and sweeps when a timer says so."""

    settler: TaskSettler
    sweep: TaskSweep

    def __call__(self, event: Mapping[str, Any], context: object = None) -> dict[str, Any]:
        """Settle the events of a batch, or sweep.

        :raises RuntimeError: tasks could not be swept, which shows as an error of the function.
        """
        if "Records" in event:
            return dict(self.settler(event, context))
        left_ms = getattr(context, "get_remaining_time_in_millis", None)
        if failed := self.sweep(lambda: left_ms is None or left_ms() > PART_MS):
            raise RuntimeError(f"{failed} tasks or families could not be swept.")
        return {}
