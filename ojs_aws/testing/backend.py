"""Runs the real services over the store in memory, in one process and by an explicit clock."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, ParamSpec, TypeVar

from ojs_aws.config import Settings
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.changes import Changes
from ojs_aws.testing.memory import FakeClock
from ojs_aws.testing.stores import MemoryStores

P = ParamSpec("P")
R = TypeVar("R")

WORKER_ID: Final = "test"
MAX_QUEUES: Final = 100
ACTIVE: Final = JobState.ACTIVE
ALL: Final = 1_000_000
MAX_FIRED: Final = 10_000
"""Times that cron jobs may fire while the clock is moved once."""


def settings_for_tests(settings: Settings | None = None) -> Settings:
    """Return the settings of a deployment, without what only saves calls of AWS."""
    return replace(settings or Settings(), queue_settings_age_ms=0, fetch_wait_ms=0)


class MemoryBackend:
    """Holds the services and what they keep. Any thread may call it; one at a time is served."""

    def __init__(self, settings: Settings | None = None) -> None:
        """Start empty, at the time of this machine."""
        self.clock = FakeClock(_machine_ms())
        self._ahead_ms = 0
        self._is_frozen = False
        self.drains = 0
        self.changes = Changes(self.clock, lambda: self.services)
        self.order: dict[str, int] = {}
        self._dues: list[tuple[Instant, str]] = []
        self._lock = threading.RLock()
        stores = MemoryStores(self.clock, self._job_changed, self.changes.note)
        self.store = stores.jobs
        self.registry = stores.queues
        self.cron = stores.cron
        self.alarms = stores.alarms
        self.workflows = stores.workflows
        self.event_log = stores.events
        self.unique = stores.unique
        self.batches = stores.batches
        self.services = Backend(settings_for_tests(settings), stores.ports())

    def _job_changed(self, job_id: str, before: JobRecord | None, after: JobRecord | None) -> None:
        if before is None:
            self.order.setdefault(job_id, len(self.order))
        if after is not None and (due := deadlines.next_due(after)) is not None:
            heapq.heappush(self._dues, (due, job_id))
        self.changes.note(job_id, before, after)

    # ------------------------------------------------------------------------------- calls
    def call(self, service: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a service, alone, after all that follows from the calls before it."""
        with self._lock:
            self.follow()
            return service(*args, **kwargs)

    def write(self, service: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a service that only writes: what follows from new jobs may come after it."""
        with self._lock:
            if not self.changes.only_new:
                self.follow()
            return service(*args, **kwargs)

    def report(self, service: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a service that a worker reports to: what follows from the claim may come after."""
        with self._lock:
            return service(*args, **kwargs)

    def follow(self) -> None:
        """Do what follows from all changes: events, steps of workflows, counters, cron jobs."""
        with self._lock:
            if self.changes.has_any:
                self.changes.follow()
                self._ring()

    def _ring(self) -> None:
        """Let cron jobs begin whose earlier run has ended."""
        if not self.alarms.alarms:
            return
        for name in dict.fromkeys(self.alarms.ringing()):
            self.services.cron.scheduler.fire(name)
        self.changes.follow()

    # -------------------------------------------------------------------------------- jobs
    def records(self) -> list[JobRecord]:
        """Return all jobs as of now, in the order in which they were enqueued."""
        with self._lock:
            self._settle()
            self.follow()
            jobs = self.store.jobs
            return [jobs[job_id] for job_id in self.order if job_id in jobs]

    def record(self, job_id: str) -> JobRecord | None:
        """Return one job as of now; None if there is none."""
        with self._lock:
            job = self.store.jobs.get(job_id)
            return None if job is None else self.services.changer.settled(job, self.clock.now())

    def _settle(self) -> None:
        """Make the transitions that are due by time.

        Only the jobs are looked at whose time has come, by what any of their versions said of it.
        """
        now, changer = self.clock.now(), self.services.changer
        while self._dues and self._dues[0][0] <= now:
            job = self.store.jobs.get(heapq.heappop(self._dues)[1])
            if job is not None and deadlines.settle_once(job, now) is not None:
                changer.settled(job, now)

    def claim(self, queue: str = "") -> JobRecord | None:
        """Claim the job that a worker would get first; None if there is none.

        Among queues, the one comes first whose first job is ready for longer.

        :param queue: of the job; empty for any.
        """
        with self._lock:
            self.follow()
            queues = [queue] if queue else self._queues_in_turn()
            for begin in range(0, len(queues), MAX_QUEUES):
                some = tuple(queues[begin : begin + MAX_QUEUES])
                request = FetchRequest(some, worker_id=WORKER_ID)
                for job in self.services.jobs.fetch(request):
                    return job
            return None

    def _queues_in_turn(self) -> list[str]:
        now, changer = self.clock.now(), self.services.changer
        heads = []
        for name in [*self.registry.infos]:
            for row in self.store.due(name, Instant(0), now, ALL).jobs:
                changer.settled(self.store.jobs[row.id], now)
            head = self.store.head(name, 1)
            if head.jobs and not head.is_paused:
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
            names = [queue] if queue else [info.name for info in self.registry.all()]
            dues = [
                # The row of an active job may be earlier than its job is due.
                row.due if row.state is not ACTIVE else deadlines.next_due(self.store.jobs[row.id])
                for name in names
                if name not in self.store.paused
                for row in self.store.due(name, Instant(0), _FAR, ALL).jobs
            ]
            return min((due for due in dues if due is not None and due > now), default=None)

    def clear(self) -> None:
        """Remove all jobs, workflows and events; queues, cron jobs and schemas stay."""
        with self._lock:
            self.store.clear()
            self.workflows.kept.clear()
            self.workflows.plans.clear()
            self.workflows.left.clear()
            self.unique.locks.clear()
            self.event_log.log.clear()
            self.order.clear()
            self._dues.clear()
            self.changes.clear()

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
                if self.store.jobs or self.cron.entries:
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
        if not self.cron.entries:
            return 0
        return self.call(self.services.cron.scheduler.tick).cron_fired

    def _next_cron(self) -> Instant | None:
        """Return when a cron job becomes due next."""
        moments = [
            at
            for entry in self.cron.entries.values()
            for at in (entry.next_run_at, entry.gap_at)
            if at is not None and at > self.clock.at
        ]
        return min(moments, default=None)


_FAR: Final = Instant(2**62)


def _machine_ms() -> int:
    return time.time_ns() // 1_000_000
