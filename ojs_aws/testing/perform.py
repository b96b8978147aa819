"""Runs one handler in the execution chain, without a store, and keeps all that it did."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_members import check_native
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.middleware.context import CURRENT_JOB, JobContext
from ojs_aws.worker.executor import Executor, Failed, Snoozed, Succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ojs_aws.testing.jobs import EnqueuedJob
    from ojs_aws.typed_jobs.declarations import JobDeclaration

R = TypeVar("R")

_LOGGER = "ojs_aws.job"


@dataclass(frozen=True, slots=True)
class Reported:
    """Holds one report of progress.

    :ivar fraction: from 0.0 to 1.0; None where no number was reported.
    """

    fraction: float | None = None
    data: Mapping[str, JsonValue] | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class Performed(Generic[R]):
    """Holds what one execution of a handler did.

    :ivar job: the job as the handler got it.
    :ivar outcome: ``completed``, ``failed`` or ``snoozed``.
    :ivar error: what the handler, or a middleware, raised; None unless it failed.
    :ivar failure: the error object that a backend would get.
    :ivar delay: how long the job waits that was snoozed, or that names its own delay.
    :ivar progress: every report of progress, in order.
    :ivar checkpoints: every checkpoint that it saved, in order.
    :ivar logs: what it logged by its context, and by other loggers as far as their level lets it.
    :ivar enqueued: the jobs that it enqueued.
    :ivar beats: how often it extended its reservation.
    """

    job: Job
    outcome: str
    error: BaseException | None = None
    failure: Mapping[str, JsonValue] = field(default_factory=dict)
    delay: timedelta | None = None
    progress: Sequence[Reported] = ()
    checkpoints: Sequence[JsonValue] = ()
    logs: Sequence[logging.LogRecord] = ()
    enqueued: Sequence[EnqueuedJob[Any]] = ()
    beats: int = 0
    _result: JsonValue = None
    _declaration: JobDeclaration | None = None

    @property
    def result(self) -> R:
        """Return what the handler returned, as whoever waits for it would get it.

        :raises AssertionError: it did not complete; the error of the handler is the cause.
        """
        if self.outcome != "completed":
            shown = f": {type(self.error).__name__}: {self.error}" if self.error else ""
            raise AssertionError(
                f"{self.job.type} has no result, it {_WORDS[self.outcome]}{shown}."
            ) from self.error
        if self._declaration is None:
            return cast("R", self._result)
        return cast("R", self._declaration.decode_result(self._result))

    @property
    def messages(self) -> list[str]:
        """Return the text of each log line."""
        return [record.getMessage() for record in self.logs]


_WORDS = {"failed": "failed", "snoozed": "was snoozed"}


class RecordingContext(JobContext):
    """Keeps what a handler reports, instead of sending it."""

    def __init__(self, job: Job) -> None:
        """Make a context for one execution."""
        self.logs: list[logging.LogRecord] = []
        super().__init__(job, logger=_RecordingLogger(self.logs))
        self.reports: list[Reported] = []
        self.checkpoints: list[JsonValue] = []
        self.beats = 0

    _internal = JobContext._internal | {"beats", "checkpoints", "logs", "reports"}  # noqa: SLF001

    async def heartbeat(self) -> None:
        """Count a heartbeat."""
        self.beats += 1

    async def checkpoint(self, state: JsonValue) -> None:
        """Keep a checkpoint, as it would come back.

        :raises InvalidPayloadError: what JSON cannot say.
        """
        check_native(state, "checkpoint")
        self.checkpoints.append(decode(encode(state)))
        self.keep_checkpoint(decode(encode(state)))

    def _report(self, report: Mapping[str, JsonValue]) -> None:
        self.reports.append(Reported(*map(cast("Any", report).get, _REPORTED)))


_REPORTED = ("progress", "data", "message")


class _RecordingLogger(logging.Logger):
    """Keeps every record of any level, and passes it on."""

    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(_LOGGER, logging.DEBUG)
        self._records = records

    def handle(self, record: logging.LogRecord) -> None:
        self._records.append(record)
        real = logging.getLogger(_LOGGER)
        if real.isEnabledFor(record.levelno):
            real.handle(record)


class _JobRecords(logging.Handler):
    """Keeps the records that are logged within one job, by loggers of the application."""

    def __init__(self, ctx: RecordingContext) -> None:
        super().__init__()
        self._ctx = ctx

    def emit(self, record: logging.LogRecord) -> None:
        is_own = record.name == "ojs_aws" or record.name.startswith("ojs_aws.")
        if CURRENT_JOB.get(None) is self._ctx and not is_own:
            self._ctx.logs.append(record)


@contextmanager
def _recorded(ctx: RecordingContext) -> Iterator[None]:
    handler = _JobRecords(ctx)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


async def perform(
    job: Job, executor: Executor, declaration: JobDeclaration | None, timeout_s: float | None
) -> Performed[Any]:
    """Run the handler of a job in the chain of an executor.

    :raises AssertionError: it takes too long.
    """
    ctx = RecordingContext(job)
    kept = Job.from_members(job.members())
    async with AsyncExitStack() as around:
        around.enter_context(_recorded(ctx))
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                outcome = await executor.execute(ctx)
        except TimeoutError:
            if not limit.expired():
                raise
            raise AssertionError(f"{job.type} was not done after {timeout_s:g} s.") from None
    await asyncio.sleep(0)
    shared: dict[str, Any] = {
        "job": kept,
        "progress": ctx.reports,
        "checkpoints": ctx.checkpoints,
        "logs": ctx.logs,
        "beats": ctx.beats,
    }
    if isinstance(outcome, Succeeded):
        result = None if outcome.result is None else decode(outcome.result)
        return Performed(outcome="completed", _result=result, _declaration=declaration, **shared)
    delay = None if outcome.delay_ms is None else timedelta(milliseconds=outcome.delay_ms)
    shared |= {"failure": outcome.error, "delay": delay}
    if isinstance(outcome, Snoozed):
        return Performed(outcome="snoozed", **shared)
    assert isinstance(outcome, Failed)  # noqa: S101 - there is no other
    return Performed(outcome="failed", error=outcome.problem, **shared)
