"""Give a synchronous handler the context of its job, without anything to await."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.context import JobContext


class SyncJobContext:
    """Represents one execution of one job to a handler that is not asynchronous.

    It has what :class:`~ojs_aws.JobContext` has. :meth:`heartbeat` and :meth:`checkpoint` return
    when they are done.
    """

    def __init__(self, context: JobContext) -> None:
        """Wrap the context of an execution."""
        self._context = context

    @property
    def job(self) -> Job:
        """Return the whole envelope."""
        return self._context.job

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the store that middleware and handler share."""
        return self._context.metadata

    @property
    def attempt(self) -> int:
        """Return the number of the attempt, 1 for the first."""
        return self._context.attempt

    @property
    def queue(self) -> str:
        """Return the queue that the job was fetched from."""
        return self._context.queue

    @property
    def workflow_id(self) -> str:
        """Return the workflow that the job belongs to; empty for none."""
        return self._context.workflow_id

    @property
    def parent_results(self) -> Mapping[str, JsonValue]:
        """Return the results of the steps before, by their index or id."""
        return self._context.parent_results

    def log(self, level: str, message: str, **fields: object) -> None:
        """Write a log record; see :meth:`JobContext.log`."""
        self._context.log(level, message, **fields)

    def progress(
        self,
        fraction: float | None = None,
        *,
        data: Mapping[str, JsonValue] | None = None,
        message: str | None = None,
    ) -> None:
        """Report how far the execution is; see :meth:`JobContext.progress`."""
        self._context.progress(fraction, data=data, message=message)

    def heartbeat(self) -> None:
        """Extend the job's reservation by its visibility timeout.

        :raises OjsError: the backend could not be asked.
        """
        _finish(self._context.heartbeat())

    def checkpoint(self, state: JsonValue) -> None:
        """Save the state that the next attempt continues from, in place of the one before.

        :raises OjsError: it was not saved.
        """
        _finish(self._context.checkpoint(state))

    @property
    def has_checkpoint(self) -> bool:
        """Return True if an earlier attempt, or this one, saved a checkpoint."""
        return self._context.has_checkpoint

    @property
    def last_checkpoint(self) -> JsonValue:
        """Return what was saved last; None if nothing was."""
        return self._context.last_checkpoint

    @property
    def is_cancelled(self) -> bool:
        """Return True if the job was cancelled, or another worker has reserved it."""
        return self._context.is_cancelled

    @property
    def cancelled_because(self) -> str:
        """Return why the job must no longer be executed; empty while it may be."""
        return self._context.cancelled_because

    def remaining_s(self) -> float | None:
        """Return the seconds until the environment ends the execution; None when nothing does."""
        return self._context.remaining_s()


def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Take the end of what the context has done already: in a thread it blocks until then.

    :raises RuntimeError: it has not: this is the thread of the worker's event loop.
    """
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("A SyncJobContext was used in the event loop of its worker.")
