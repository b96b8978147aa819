"""Runs the services over an AWS in memory, in one process and by an explicit clock."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Final, ParamSpec, TypeVar

from ojs_aws.config import Settings
from ojs_aws.domain.events import Event, EventQuery
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.domain.workflows.graph import WorkflowPlan
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.services.jobs.fetch.candidates import MARKS
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import Changes, FakeClock, deploy

P = ParamSpec("P")
R = TypeVar("R")

WORKER_ID: Final = "test"
MAX_QUEUES: Final = 100
ALL: Final = 1_000_000
FIRST_EVENT: Final = "000000000000000-000000"
"""A cursor before all events."""

KEPT: Final = ("queues", "settings", "cron", "schema", "workers", "limits", "apikeys")
"""Begins the partitions of what stays when a test forgets all jobs."""

MAX_FIRED: Final = 10_000
"""Times that cron jobs may fire while the clock is moved once."""


@cache
def settings_for_tests(settings: Settings | None = None) -> Settings:
    """Return the settings of a deployment, without what only saves calls of AWS."""
    return replace(settings or Settings(), queue_settings_age_ms=0, fetch_wait_ms=0)


class MemoryBackend:
    """Holds a deployment in memory. Any thread may call it; one at a time is served."""

    def __init__(self, settings: Settings | None = None) -> None:
        """Start empty, at the time of this machine."""
        self.clock = FakeClock(_machine_ms())
        self._ahead_ms = 0
        self._is_frozen = False
        self.drains = 0
        self.order: dict[str, int] = {}
        self._dues: list[tuple[Instant, str]] = []
        self._lock = threading.RLock()
        self.deployment = deploy(settings_for_tests(settings), self.clock)
        self.services = self.deployment.services
        self._changes = Changes(self.deployment, self._job_written)

    def _job_written(self, job_id: str, job: JobRecord | None) -> None:
        self.order.setdefault(job_id, len(self.order))
        if job is not None and (due := deadlines.next_due(job)) is not None:
            heapq.heappush(self._dues, (due, job_id))

    @property
    def jobs(self) -> Mapping[str, JobRecord]:
        """Return the jobs as they are in the table, by id."""
        self._changes.read()
        return self._changes.jobs

    # ------------------------------------------------------------------------------- calls
    def call(self, service: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a service, alone, after all that follows from the calls before it."""
        with self._lock:
            self.follow()
            return service(*args, **kwargs)

    def write(self, service: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a service that only writes: what follows from new jobs may come after it."""
        with self._lock:
            self._changes.read()
            if not self._changes.only_new:
                self.follow()
            return service(*args, **kwargs)

    def report(self, service: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a service that a worker reports to: what follows from the claim may come after."""
        with self._lock:
            return service(*args, **kwargs)

    def follow(self) -> None:
        """Do what follows from all changes: events, steps of workflows, counters, cron jobs."""
        with self._lock:
            self._changes.follow()
            self._ring()

    def _make_jobs(self) -> None:
        """Do what follows from changes that make jobs, or let them begin."""
        self._changes.read()
        if self._changes.makes_jobs:
            self.follow()

    def _ring(self) -> None:
        """Let cron jobs begin whose earlier run has ended."""
        if not self._changes.cron:
            return
        for name in dict.fromkeys(self.deployment.ringing()):
            self.services.cron.scheduler.fire(name)
        self._changes.follow()

    # -------------------------------------------------------------------------------- jobs
    def records(self) -> list[JobRecord]:
        """Return all jobs as of now, in the order in which they were enqueued."""
        with self._lock:
            self._settle()
            self._make_jobs()
            jobs = self.jobs
            return [jobs[job_id] for job_id in self.order if job_id in jobs]

    def record(self, job_id: str) -> JobRecord | None:
        """Return one job as of now; None if there is none."""
        with self._lock:
            job = self.jobs.get(job_id)
            return None if job is None else self.services.changer.settled(job, self.clock.now())

    def _settle(self) -> None:
        """Make the transitions that are due by time.

        Only the jobs are looked at whose time has come, by what any of their versions said of it.
        """
        now, changer = self.clock.now(), self.services.changer
        self._changes.read()
        while self._dues and self._dues[0][0] <= now:
            job = self.jobs.get(heapq.heappop(self._dues)[1])
            if job is not None and deadlines.settle_once(job, now) is not None:
                changer.settled(job, now)

    def claim(self, queue: str = "") -> JobRecord | None:
        """Claim the job that a worker would get first; None if there is none.

        Among queues, the one comes first whose first job is ready for longer.

        :param queue: of the job; empty for any.
        """
        with self._lock:
            self._make_jobs()
            queues = [queue] if queue else self._queues_in_turn()
            for begin in range(0, len(queues), MAX_QUEUES):
                some = tuple(queues[begin : begin + MAX_QUEUES])
                request = FetchRequest(some, worker_id=WORKER_ID)
                for job in self.services.jobs.fetch(request):
                    return job
            return None

    def _queues_in_turn(self) -> list[str]:
        self._settle()
        names = sorted(name for name, count in self._changes.undone.items() if count)
        if len(names) == 1:
            return names
        heads = []
        for name in names:
            head = self.services.stores.store.head(name, 1 + MARKS)
            if head.jobs:
                heads.append((head.jobs[0].sort_key.partition("#")[2], name))
        return [name for _, name in sorted(heads)]

    @contextmanager
    def draining(self) -> Iterator[None]:
        """Say that jobs are run: who waits for one may wait for longer."""
        self.drains += 1
        try:
            yield
        finally:
            self.drains -= 1

    def next_due(self, queue: str = "") -> Instant | None:
        """Return when the next job that waits for its time becomes due; None if there is none."""
        with self._lock:
            now = self.clock.now()
            queues = self.services.stores.queues.all()
            paused = {info.name for info in queues if info.paused_at is not None}
            dues = [
                deadlines.next_due(job)
                for job in self.jobs.values()
                if job.queue not in paused and queue in {"", job.queue}
            ]
            return min((due for due in dues if due is not None and due > now), default=None)

    def queues(self) -> set[str]:
        """Return the queues that there are, and those that jobs were in."""
        with self._lock:
            known = {info.name for info in self.services.stores.queues.all()}
            return known | {job.queue for job in self.jobs.values()}

    def events(self) -> list[Event]:
        """Return the events so far, in their order."""
        with self._lock:
            self._settle()
            self.follow()
            found, cursor = list[Event](), FIRST_EVENT
            while cursor:
                page = self.services.stores.events().read(EventQuery(cursor=cursor, limit=ALL))
                found += page.events
                cursor = page.cursor if page.has_more else ""
            return found

    def workflows(self) -> list[tuple[Workflow, WorkflowPlan]]:
        """Return the workflows as of now with their plans, in the order of their start."""
        with self._lock:
            self.records()  # what is due happens first
            store, known = self.services.stores.workflows(), self._changes.workflows.values()
            return [(each, plan) for each in known if (plan := store.plan(each.id)) is not None]

    def clear(self) -> None:
        """Remove all jobs, workflows and events; queues, cron jobs and schemas stay."""
        with self._lock:
            table = self.deployment.table
            for key in [*table.items.rows]:
                if not key[0].startswith(KEPT):
                    table.write(key, None)
            self._changes.forget()
            self.order.clear()
            self._dues.clear()

    # -------------------------------------------------------------------------------- time
    def move_to(self, moment: Instant) -> None:
        """Move the clock, and do what time brings: jobs become due, and cron jobs fire.

        :raises RuntimeError: cron jobs fire too often on the way.
        """
        with self._lock:
            fired = self._tick()
            while (due := self._next_cron()) is not None and due <= moment:
                self.clock.at = due
                self._settle()
                fired += self._tick()
                if fired > MAX_FIRED:
                    raise RuntimeError(
                        f"Cron jobs fired {fired} times on the way to another time: move the "
                        "clock in shorter steps, or pause them."
                    )
            self.clock.at = max(self.clock.at, moment)
            self._settle()
            self.follow()

    def set_time(self, moment: Instant) -> None:
        """Stop the clock at a moment.

        :raises ValueError: it lies before the time of the clock, and there are jobs already.
        """
        with self._lock:
            if moment < self.clock.at:
                if self.jobs or self._changes.cron:
                    raise ValueError(
                        f"The clock cannot go back from {format_instant(self.clock.now())} to "
                        f"{format_instant(moment)}, as jobs were enqueued meanwhile: freeze the "
                        "time before that."
                    )
                self.clock.set_back(moment)
            self._is_frozen = True
            self.move_to(moment)

    def advance(self, milliseconds: int) -> None:
        """Move the clock forward."""
        with self._lock:
            self._ahead_ms += milliseconds
            self.move_to(Instant(self.clock.at + milliseconds))

    def catch_up(self) -> None:
        """Let the clock be no later than code that asks this machine for the time.

        A job that is enqueued for "in ten minutes, by my clock" must be due when the clock of the
        test has been moved by ten minutes.
        """
        with self._lock:
            machine = Instant(_machine_ms() + self._ahead_ms)
            if not self._is_frozen and machine > self.clock.at:
                self.move_to(machine)

    def _tick(self) -> int:
        """Fire the cron jobs that are due; return how often."""
        if not self._changes.cron:
            return 0
        return self.call(self.services.cron.scheduler.tick).cron_fired

    def _next_cron(self) -> Instant | None:
        """Return when a cron job becomes due next."""
        self._changes.read()
        entries = self._changes.cron.values()
        moments = (
            at for each in entries for at in (each.next_run_at, each.gap_at) if at is not None
        )
        return min((at for at in moments if at > self.clock.at), default=None)


def _machine_ms() -> int:
    return time.time_ns() // 1_000_000
