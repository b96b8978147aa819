"""Waits for the jobs of a real server, by asking again and again."""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ojs_aws.client import SyncClient
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.middleware.results import EnqueueResult
from ojs_aws.testing.drain import timeout_of
from ojs_aws.testing.jobs import EnqueuedJob
from ojs_aws.testing.mistakes import checked_state
from ojs_aws.testing.server.processes import WorkerThread
from ojs_aws.typed_jobs.handles import Handle, SyncHandle

if TYPE_CHECKING:
    from ojs_aws.client.areas.entries import JobEntry

AnyJob: TypeAlias = Job | EnqueueResult | Handle[Any] | SyncHandle[Any] | str
"""A job, what enqueueing it returned, or its id."""

Timeout: TypeAlias = "str | timedelta | None"
"""How long to wait: ``"10s"`` or a timedelta; None for as long as it takes."""

FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 0.2
READY: Final = ("available", "active")
LATER: Final = ("scheduled", "retryable")
FAILED: Final = ("retryable", "discarded")
PAGE: Final = 100

T = TypeVar("T")


class Waits(ABC):
    """Waits until jobs are in a state, or all of them are done."""

    _workers: list[WorkerThread]
    _lambda_workers: tuple[str, ...]

    @property
    @abstractmethod
    def sync_client(self) -> SyncClient:
        """Return a client for code that is not asynchronous."""

    @abstractmethod
    def _job(self, job_id: str) -> EnqueuedJob[Any]:
        """Read a job."""

    async def wait(self, job: AnyJob, *states: str, timeout: Timeout = "10s") -> EnqueuedJob[Any]:
        """Wait until a job is in a state; see :meth:`wait_sync`."""
        return await asyncio.to_thread(self.wait_sync, job, *states, timeout=timeout)

    def wait_sync(self, job: AnyJob, *states: str, timeout: Timeout = "10s") -> EnqueuedJob[Any]:
        """Wait until a job is in one of these states, and return it.

        :param states: default: ``completed``.
        :raises AssertionError: it has ended in another state, or is in none of them in time; the
            message shows the job's last error.
        """
        wanted = [checked_state(state) for state in states or ("completed",)]
        job_id = job if isinstance(job, str) else job.id

        def look() -> EnqueuedJob[Any] | None:
            found = self._job(job_id)
            if found.state in wanted:
                return found
            if JobState(str(found.state)).is_terminal:
                raise AssertionError(f"{_shown(found)} and never {_any_of(wanted)}.")
            return None

        found = self._look_until(look, timeout)
        if found is not None:
            return found
        last = _shown(self.sync_client.get(job_id))
        raise AssertionError(
            f"{last} and was not {_any_of(wanted)} within {timeout}. {self._served()}"
        )

    async def drain(
        self,
        queue: str = "",
        *,
        timeout: Timeout = "30s",
        with_scheduled: bool = False,
        raise_errors: bool = True,
    ) -> None:
        """Wait until workers have done all jobs; see :meth:`drain_sync`."""
        await asyncio.to_thread(
            self.drain_sync,
            queue,
            timeout=timeout,
            with_scheduled=with_scheduled,
            raise_errors=raise_errors,
        )

    def drain_sync(
        self,
        queue: str = "",
        *,
        timeout: Timeout = "30s",
        with_scheduled: bool = False,
        raise_errors: bool = True,
    ) -> None:
        """Wait until workers have done all jobs, and the workflows that they belong to.

        :param queue: the only one to wait for; default: all queues.
        :param with_scheduled: wait for scheduled jobs and retries as well, at their own times.
        :param raise_errors: raise an error if jobs have failed, and are not done since.
        :raises AssertionError: jobs are left in the end, or have failed; the message names them.
        """
        __tracebackhide__ = True
        states = READY + LATER if with_scheduled else READY

        def look() -> list[Job] | None:
            if not self._is_drained(queue, with_scheduled=with_scheduled):
                return None
            failed = self._in_states(FAILED, queue) if raise_errors else []
            # Meanwhile a retry may have become due, and be in none of the lists.
            return failed if self._is_drained(queue, with_scheduled=with_scheduled) else None

        failed = self._look_until(look, timeout)
        if failed is None:
            left = [f"\n  {_shown(each)}" for each in self._in_states(states, queue)]
            raise AssertionError(f"Jobs are left after {timeout}. {self._served()}{''.join(left)}")
        if failed:
            shown = "\n\n".join(f"{_shown(job)}\n{_backtrace(job)}".strip() for job in failed)
            raise AssertionError(f"Jobs failed:\n\n{shown}")

    def _in_states(self, states: Sequence[str], queue: str) -> list[Job]:
        entries = self._entries(states=states, **_of(queue))
        jobs = [self.sync_client.get(entry.id) for entry in entries]
        return [job for job in jobs if states is not FAILED or job.attempt]

    def _served(self) -> str:
        """Return a sentence about the workers that run."""
        queues = dict.fromkeys(queue for each in self._workers for queue in each.worker.queues)
        if not queues and not self._lambda_workers:
            return "No worker runs: with server.work(jobs): ..."
        lambdas = [f"what {path} serves" for path in self._lambda_workers]
        return f"Workers run for: {', '.join([*queues, *lambdas])}."

    def _is_drained(self, queue: str, *, with_scheduled: bool) -> bool:
        states = READY + LATER if with_scheduled else READY
        if self.sync_client.jobs.list(states=states, limit=1, **_of(queue)).jobs:
            return False
        if not self.sync_client.workflows.list(state="running").workflows:
            return True
        # The next step of a workflow follows its last one after a moment.
        return bool(self.sync_client.jobs.list(states=LATER, limit=1).jobs) and not with_scheduled

    def _look_until(self, look: Callable[[], T | None], timeout: Timeout) -> T | None:
        """Look again and again, until something is found or it is too late."""
        seconds = timeout_of(timeout)
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        pause_s = FIRST_PAUSE_S
        while True:
            for worker in self._workers:
                worker.check()
            found = look()
            if found is not None or time.monotonic() >= deadline:
                return found
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)

    def _entries(self, **chosen: Any) -> Iterator[JobEntry]:
        cursor = ""
        while True:
            page = self.sync_client.jobs.list(limit=PAGE, cursor=cursor, **chosen)
            yield from page.jobs
            cursor = page.cursor
            if not cursor:
                return


for _method in (Waits.wait, Waits.drain):  # Python's warning of a missing await names the method
    _method.__qualname__ = f"OjsServer.{_method.__name__}"


def _of(queue: str) -> Any:
    return {"queue": queue} if queue else {}


def _any_of(states: Sequence[JobState]) -> str:
    return " or ".join(states)


def _shown(job: Job) -> str:
    """Return a sentence about a job's state, without its end, and its last error."""
    error = job.get("error")
    said = f"{error.get('type')}: {error.get('message')}; " if isinstance(error, dict) else ""
    return f"{job.type} {job.id} is {job.state} ({said}attempt {job.attempt})"


def _backtrace(job: Job) -> str:
    """Return the traceback of a job's last error; empty if nobody sent one."""
    error = job.get("error")
    lines = error.get("backtrace") if isinstance(error, dict) else None
    return "\n".join(f"  {line}" for line in lines) if isinstance(lines, list) else ""
