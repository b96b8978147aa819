"""Processes the jobs of a test until none is left that can run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.timestamps import duration_ms, span_text

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.testing.backend import MemoryBackend
    from ojs_aws.testing.executions import Execution

MAX_EXECUTIONS: Final = 10_000
"""Executions of one drain without ``max_jobs``: more have no end."""

MAX_REPEATS: Final = 100
"""Executions of one job in one drain: more have no end."""

MAX_GENERATIONS: Final = 1000
"""Jobs of one drain that each enqueued the next: a longer line has no end."""

MANY_GENERATIONS: Final = 50
"""Jobs that each enqueued the next, from which on a drain that takes too long names them."""

DEFAULT_TIMEOUT: Final = "30s"

Run = Callable[["JobRecord", AsyncExitStack], Awaitable["Execution"]]


class DrainError(AssertionError):
    """Raised when jobs fail while a test drains its queues, or when that has no end.

    :ivar report: what was executed.
    """

    def __init__(self, message: str, report: DrainReport) -> None:
        """Keep the report."""
        super().__init__(message)
        self.report = report


@dataclass(slots=True)
class DrainReport:
    """Says what a drain executed.

    :ivar executions: in their order; a job that was retried has several.
    """

    executions: list[Execution] = field(default_factory=list)

    @property
    def failures(self) -> list[Execution]:
        """Return the last executions of jobs that failed in the end, and not on purpose."""
        last = {execution.job.id: execution for execution in self.executions}
        return [execution for execution in last.values() if execution.is_failure]

    def count(self, outcome: str) -> int:
        """Return how many executions ended so: ``completed``, ``failed`` or ``snoozed``."""
        return sum(each.outcome == outcome for each in self.executions)

    def __len__(self) -> int:
        """Return the number of executions."""
        return len(self.executions)

    def raise_errors(self) -> None:
        """Raise an error if a job failed in the end.

        :raises DrainError: naming each job, with the traceback of its handler.
        """
        failures = self.failures
        if not failures:
            return
        count = "1 job" if len(failures) == 1 else f"{len(failures)} jobs"
        text = "\n\n".join(str(each) for each in failures)
        raise DrainError(f"{count} failed:\n\n{text}", self)


@dataclass(slots=True)
class Lineage:
    """Counts for each job of a drain how many jobs came before it that each enqueued the next."""

    _generations: dict[str, int] = field(default_factory=dict)
    _seen: int = 0

    def skip(self, order: dict[str, int]) -> None:
        """Begin: the jobs that are there come from nobody."""
        self._seen = len(order)

    def note(self, order: dict[str, int], report: DrainReport) -> None:
        """Note that the new jobs come from the last execution."""
        new = len(order) - self._seen
        self._seen = len(order)
        if new > 0 and report.executions:
            generation = self.of(report.executions[-1].job.id) + 1
            for job_id in islice(reversed(order), new):
                self._generations[job_id] = generation

    def of(self, job_id: str) -> int:
        """Return how many jobs came before a job."""
        return self._generations.get(job_id, 0)


@dataclass(slots=True, kw_only=True)
class Drain:
    """Runs one drain.

    :ivar run: executes a claimed job; resources that it opens are closed at the end.
    :ivar queue: the only one to process; empty for all.
    :ivar max_jobs: executions after which it ends; None for as many as there are.
    :ivar with_scheduled: move the clock to the next job that is due, when none is.
    """

    backend: MemoryBackend
    run: Run
    queue: str = ""
    max_jobs: int | None = None
    timeout_s: float | None = None
    with_scheduled: bool = False
    report: DrainReport = field(default_factory=DrainReport)
    _running: JobRecord | None = None
    _lineage: Lineage = field(default_factory=Lineage)

    async def __call__(self) -> DrainReport:
        """Process jobs until none can run.

        :raises DrainError: it took too long, or has no end.
        """
        limit = asyncio.timeout(self.timeout_s)
        try:
            async with limit, AsyncExitStack() as opened:
                await self._process(opened)
        except TimeoutError:
            if not limit.expired():
                raise
            raise DrainError(self._too_long(), self.report) from None
        return self.report

    async def _process(self, opened: AsyncExitStack) -> None:
        repeats: Counter[str] = Counter()
        self._lineage.skip(self.backend.order)
        while self.max_jobs is None or len(self.report) < self.max_jobs:
            record = self._next()
            if record is None:
                return
            self._lineage.note(self.backend.order, self.report)
            repeats[record.id] += 1
            if self.max_jobs is None and (
                repeats[record.id] > MAX_REPEATS
                or self._lineage.of(record.id) >= MAX_GENERATIONS
                or len(self.report) >= MAX_EXECUTIONS
            ):
                raise DrainError(self._endless(record, repeats), self.report)
            self._running = record
            self.report.executions.append(await self.run(record, opened))
            self._running = None

    def _next(self) -> JobRecord | None:
        """Return the next job to execute, claimed."""
        while True:
            record = self.backend.claim(self.queue)
            if record is not None or not self.with_scheduled:
                return record
            due = self.backend.next_due(self.queue)
            if due is None:
                return None
            self.backend.move_to(due)

    def _endless(self, record: JobRecord, repeats: Counter[str]) -> str:
        if repeats[record.id] > MAX_REPEATS:
            last = next(e for e in reversed(self.report.executions) if e.job.id == record.id)
            why = "it is snoozed each time" if last.outcome == "snoozed" else "it never ends"
            return (
                f"Job {record.type} {record.id} was executed {MAX_REPEATS} times in one drain: "
                f"{why}. Drain with max_jobs=..., or without with_scheduled."
            )
        if self._lineage.of(record.id) >= MAX_GENERATIONS:
            return (
                f"{self._most_executed()}: it enqueues itself, or jobs enqueue each other, for "
                "ever. Drain with max_jobs=..."
            )
        return (
            f"One drain executed {len(self.report)} jobs, and there are more. "
            f"{self._most_executed()}: does it enqueue itself? Drain with max_jobs=..."
        )

    def _most_executed(self) -> str:
        types = Counter(each.job.type for each in self.report.executions)
        most, count = types.most_common(1)[0]
        return f"{most!r} was executed {count:,} times"

    def _too_long(self) -> str:
        span = span_text(round((self.timeout_s or 0) * 1000))
        done = f"{len(self.report)} executions had ended"
        if self._running is None:
            return f"The drain was not done after {span}; {done}."
        job = self._running
        if self._lineage.of(job.id) >= MANY_GENERATIONS:
            return (
                f"The drain was not done after {span}. {self._most_executed()}: does it enqueue "
                "itself? Drain with max_jobs=..."
            )
        return (
            f"The drain was not done after {span}: job {job.type} {job.id}, attempt {job.attempt}, "
            f"was still running; {done}."
        )


def timeout_of(timeout: str | timedelta | None) -> float | None:
    """Return a timeout in seconds.

    :raises InvalidRequestError: it is no duration; a number has no unit.
    """
    return None if timeout is None else duration_ms(timeout, "timeout") / 1000
