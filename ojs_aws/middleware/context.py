"""What a handler and execution middleware know of the execution they are part of (section 4.4)."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue

Beat = Callable[[], Awaitable[None]]

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}


class JobContext:
    """One execution of one job.

    :ivar job: the whole envelope.
    :ivar metadata: a store that middleware and handler share; empty at each execution.
    """

    def __init__(
        self,
        job: Job,
        *,
        heartbeat: Beat | None = None,
        logger: logging.Logger | None = None,
        deadline: float | None = None,
    ) -> None:
        """A context for one execution.

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
        self._cancelled = ""
        self._handled: list[BaseException] = []
        self._origin: tuple[BaseException, str] | None = None

    @property
    def attempt(self) -> int:
        """Number of the attempt, 1 for the first."""
        return max(self.job.attempt, 1)

    @property
    def queue(self) -> str:
        """Queue the job was fetched from."""
        return self.job.queue

    @property
    def workflow_id(self) -> str:
        """The workflow that the job is a part of; empty for none (ojs-workflows, section 7.1)."""
        value = self.job.get("workflow_id")
        return value if isinstance(value, str) else ""

    @property
    def parent_results(self) -> Mapping[str, JsonValue]:
        """What the steps before left, by their index or id (ojs-workflows, section 7)."""
        value = self.job.get("parent_results")
        return value if isinstance(value, dict) else {}

    def log(self, level: str, message: str, **fields: object) -> None:
        """Write a log record that carries the job's id, type, queue and attempt.

        :param level: ``debug``, ``info``, ``warning``, ``error`` or ``critical``.
        """
        bound = {
            "job_id": self.job.id,
            "job_type": self.job.type,
            "queue": self.queue,
            "attempt": self.attempt,
        }
        self.logger.log(LEVELS[level.lower()], message, extra=bound | fields)

    async def heartbeat(self) -> None:
        """Extend the job's reservation by its visibility timeout."""
        if self._heartbeat is not None:
            await self._heartbeat()

    def set_result(self, value: JsonValue) -> None:
        """Set the job's result; what the handler returns outweighs it, unless that is None."""
        self._result = value

    @property
    def result(self) -> JsonValue:
        """What :meth:`set_result` set last."""
        return self._result

    @property
    def is_cancelled(self) -> bool:
        """Whether the job is no longer to be executed: cancelled, or reserved by another worker."""
        return bool(self._cancelled)

    @property
    def cancelled_because(self) -> str:
        """Why the job is no longer to be executed; empty while it is."""
        return self._cancelled

    def cancel(self, because: str) -> None:
        """Note that the job is no longer to be executed; workers call this."""
        self._cancelled = self._cancelled or because

    def remaining_s(self) -> float | None:
        """Seconds until the environment ends the execution; None when nothing does."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def mark_handled(self, error: BaseException) -> None:
        """Record that an error of the handler was dealt with, and the job is a success."""
        self._handled.append(error)

    def is_handled(self, error: BaseException) -> bool:
        """Whether :meth:`mark_handled` was called with this very error."""
        return any(handled is error for handled in self._handled)

    def note_origin(self, error: BaseException, origin: str) -> None:
        """Remember where an error was raised first; the chain calls this."""
        if self._origin is None or self._origin[0] is not error:
            self._origin = (error, origin)

    def failure_origin(self, error: BaseException) -> str:
        """Where an error was raised: ``handler``, or ``middleware:`` and a name."""
        if self._origin is not None and self._origin[0] is error:
            return self._origin[1]
        return "handler"
