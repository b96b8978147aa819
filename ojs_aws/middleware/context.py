"""Give a handler and execution middleware what they need to know and do (section 4.4)."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_members import check_native

SendHeartbeat = Callable[[], Awaitable[None]]

LEVELS = {
    name: logging.getLevelNamesMapping()[name.upper()]
    for name in ("debug", "info", "warning", "error", "critical")
}


CURRENT_JOB: Final[ContextVar[JobContext]] = ContextVar("ojs_aws_job")
"""The execution that the running code belongs to; workers set it."""


def current_job() -> JobContext:
    """Return the context of the job that the caller executes, at any depth.

    :raises LookupError: the caller executes no job.
    """
    try:
        return CURRENT_JOB.get()
    except LookupError:
        raise LookupError("current_job() was called outside of a job.") from None


class JobContext:
    """Represents one execution of one job.

    :ivar job: the whole envelope.
    :ivar metadata: a store that middleware and handler share; empty at each execution.
    """

    def __init__(
        self,
        job: Job,
        *,
        heartbeat: SendHeartbeat | None = None,
        logger: logging.Logger | None = None,
        deadline: float | None = None,
    ) -> None:
        """Make the context of one execution.

        :param heartbeat: extends the reservation.
        :param logger: where :meth:`log` writes to.
        :param deadline: when the environment ends the execution (``time.monotonic()`` seconds).
        """
        self.job = job
        self.metadata: dict[str, Any] = {}
        self.logger = logger or logging.getLogger("ojs_aws.job")
        self._heartbeat = heartbeat
        self._deadline = deadline
        self._result: JsonValue = None
        self._saved: JsonValue = None
        self._has_saved = False
        self._cancelled = ""
        self._is_handed_over = False
        self._handled: list[BaseException] = []
        self._origins: list[tuple[BaseException, str]] = []

    _internal: ClassVar = frozenset(
        {
            "cancel",
            "failure_origin",
            "finish",
            "hand_over",
            "is_handed_over",
            "is_handled",
            "keep_checkpoint",
            "log_fields",
            "note_origin",
            "reservation_id",
            "stop",
        }
    )
    """What only chains and workers call; handlers are not shown it."""

    def __dir__(self) -> list[str]:
        """List what handlers and middleware use."""
        return sorted({*super().__dir__()} - self._internal)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Explain where the attributes of the job are."""
            hint = (
                f": it is ctx.job.{name}" if isinstance(getattr(Job, name, None), property) else ""
            )
            shown = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(shown + hint, name=name, obj=self)

    @property
    def attempt(self) -> int:
        """Return the number of the attempt, 1 for the first."""
        return max(self.job.attempt, 1)

    @property
    def queue(self) -> str:
        """Return the queue that the job was fetched from."""
        return self.job.queue

    @property
    def workflow_id(self) -> str:
        """Return the workflow that the job belongs to; empty for none (ojs-workflows, 7.1)."""
        value = self.job.get("workflow_id")
        return value if isinstance(value, str) else ""

    @property
    def parent_results(self) -> Mapping[str, JsonValue]:
        """Return the results of the steps before, by their index or id (ojs-workflows, 7)."""
        value = self.job.get("parent_results")
        return value if isinstance(value, dict) else {}

    @property
    def log_fields(self) -> dict[str, object]:
        """Return what each log record says of the job: its id, type, queue and attempt."""
        return {
            "job_id": self.job.id,
            "job_type": self.job.type,
            "queue": self.queue,
            "attempt": self.attempt,
        }

    def log(self, level: str, message: str, **fields: object) -> None:
        """Write a log record that carries the job's id, type, queue and attempt.

        :param level: ``debug``, ``info``, ``warning``, ``error`` or ``critical``.
        :raises ValueError: it is none of these.
        """
        number = LEVELS.get(str(level).lower())
        if number is None:
            raise ValueError(f"ctx.log takes a level of {', '.join(LEVELS)}, not {level!r}.")
        self.logger.log(number, message, extra=self.log_fields | fields)

    async def heartbeat(self) -> None:
        """Extend the job's reservation by its visibility timeout."""
        if self._heartbeat is not None:
            await self._heartbeat()

    def progress(
        self,
        fraction: float | None = None,
        *,
        data: Mapping[str, JsonValue] | None = None,
        message: str | None = None,
    ) -> None:
        """Report how far the execution is; never waits, and never fails without a backend.

        May be called as often as you like: workers send the latest once a second at most.

        :param fraction: from 0.0 to 1.0; beyond, it is clamped. It never falls.
        :param data: what else to show; 4 KB of JSON at most.
        :param message: for people.
        :raises TypeError: there is nothing to report.
        :raises InvalidPayloadError: a value that JSON does not have.
        """
        report: dict[str, JsonValue] = {}
        if fraction is not None:
            report["progress"] = min(max(float(fraction), 0.0), 1.0)
        if data is not None:
            report["data"] = dict(data)
        if message is not None:
            report["message"] = message
        if not report:
            raise TypeError("progress() needs a fraction, data or a message")
        check_native(report, "progress")
        self._report(report)

    def _report(self, report: Mapping[str, JsonValue]) -> None:
        """Send a report of progress; outside of a worker there is nowhere to send it."""

    async def finish(self) -> None:
        """Send the last report; workers call this when the handler has ended."""

    def stop(self) -> None:
        """Stop reporting; workers call this when the execution was given up."""

    @property
    def has_checkpoint(self) -> bool:
        """Return True if an earlier attempt, or this one, saved a checkpoint."""
        return self._has_saved or "checkpoint" in self.job or "last_checkpoint" in self.job

    @property
    def last_checkpoint(self) -> JsonValue:
        """Return what was saved last (ojs-durable-execution, section 6.1); None if nothing was."""
        if self._has_saved:
            return self._saved
        described = self.job.get("checkpoint")
        if isinstance(described, dict) and "state" in described:
            return described["state"]
        return self.job.get("last_checkpoint")

    async def checkpoint(self, state: JsonValue) -> None:
        """Save the state that the next attempt continues from, in place of the one before.

        :param state: a JSON value.
        :raises OjsError: it was not saved.
        """
        self.keep_checkpoint(state)

    def keep_checkpoint(self, state: JsonValue) -> None:
        """Remember a checkpoint as the last one; workers call this."""
        self._saved, self._has_saved = state, True

    def set_result(self, value: JsonValue) -> None:
        """Set the job's result; what the handler returns replaces it, unless that is None."""
        self._result = value

    @property
    def result(self) -> JsonValue:
        """Return what :meth:`set_result` set last."""
        return self._result

    @property
    def is_cancelled(self) -> bool:
        """Return True if the job was cancelled, or another worker has reserved it."""
        return bool(self._cancelled)

    @property
    def cancelled_because(self) -> str:
        """Return why the job must no longer be executed; empty while it may be."""
        return self._cancelled

    def cancel(self, because: str) -> None:
        """Note that the job must no longer be executed; workers call this."""
        self._cancelled = self._cancelled or because

    @property
    def reservation_id(self) -> str:
        """Return what the backend calls the claim of the job; empty where it is not known."""
        return ""

    @property
    def is_handed_over(self) -> bool:
        """Return True if somebody else has the job now, and reports how it ends."""
        return self._is_handed_over

    def hand_over(self) -> None:
        """Note that somebody else reports how the job ends: the worker says no more of it."""
        self._is_handed_over = True

    def remaining_s(self) -> float | None:
        """Return the seconds until the environment ends the execution; None when nothing does."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def mark_handled(self, error: BaseException) -> None:
        """Record that an error of the handler was handled, and the job is a success."""
        self._handled.append(error)

    def is_handled(self, error: BaseException) -> bool:
        """Return True if :meth:`mark_handled` was called with this very error."""
        return any(handled is error for handled in self._handled)

    def note_origin(self, error: BaseException, origin: str) -> None:
        """Remember where an error was raised first; the chain calls this.

        Another one may come before it has left the chain: out of a task that was left behind.
        """
        if not any(noted is error for noted, _ in self._origins):
            self._origins.append((error, origin))

    def failure_origin(self, error: BaseException) -> str:
        """Return where an error was raised: ``handler``, or ``middleware:`` and a name."""
        for noted, origin in self._origins:
            if noted is error:
                return origin
        return "handler"
