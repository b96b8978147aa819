"""Define what can go wrong with a chain, and say what an error means for the execution."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import EnqueueRejectedError

if TYPE_CHECKING:
    from ojs_aws.middleware.results import EnqueueResult

COMPLETED: Final = "completed"
FAILED: Final = "failed"
TIMEOUT: Final = "timeout"
GIVEN_UP: Final = "given up"
SNOOZED: Final = "snoozed"
NO_FAILURES: Final = frozenset({GIVEN_UP, SNOOZED})
"""The outcomes of executions that raised something, and did not fail."""

SNOOZE: Final = "SNOOZE"
"""The response code of an error that only puts the job off."""


class RegistrationError(ValueError):
    """Raised when a job or a handler cannot be registered; the message says which and why."""


class MiddlewareError(Exception):
    """Base class of the errors that a chain raises about its middleware."""


class UnknownMiddlewareError(MiddlewareError, LookupError):
    """Raised when a reference names no middleware of the chain."""


class AmbiguousMiddlewareError(MiddlewareError, LookupError):
    """Raised when a reference names more than one middleware of the chain."""


class ChainFrozenError(MiddlewareError, RuntimeError):
    """Raised when a chain that has begun to process jobs is to be changed."""


class InvalidMiddlewareError(MiddlewareError, TypeError):
    """Raised when what is added to a chain cannot be called as its middleware."""


class NextCalledTwiceError(MiddlewareError, RuntimeError):
    """Raised when a middleware calls ``call_next`` twice for one job, or after it has returned."""


class NextNotAwaitedError(MiddlewareError, RuntimeError):
    """Raised when a middleware calls ``call_next`` and returns before that has ended."""


class IdChangedError(MiddlewareError, ValueError):
    """Raised when a middleware or hook changes the job's id, which identifies it everywhere."""


class BatchRejectedError(EnqueueRejectedError):
    """Raised when an atomic batch is not enqueued, because not every job passed the middleware.

    :ivar results: the outcome of each job, in order; none was enqueued.
    """

    def __init__(self, message: str, results: Sequence[EnqueueResult] = ()) -> None:
        """Keep the outcomes."""
        super().__init__(message, hint="Use atomic=False to enqueue the jobs that pass.")
        self.results = list(results)


class JobTimeoutError(Exception):
    """Raised when the handler runs longer than the job's execution timeout."""


class NextNotCalledError(MiddlewareError, RuntimeError):
    """Raised when an ``enqueue_many`` returns without ``call_next``: nothing is enqueued."""


class MiddlewareWarning(RuntimeWarning):
    """Warns of a method that looks like one of middleware or hooks, and is never called."""


class SuppressedErrorWarning(RuntimeWarning):
    """Warns of a middleware that caught a handler's error and neither raised nor recorded it.

    Say so with ``ctx.mark_handled(error)`` where it is meant: otherwise the job counts as a
    success that nobody decided on (middleware specification, section 7.5).
    """


class InvalidSchemaError(MiddlewareError, ValueError):
    """Raised for a schema of job arguments that is not valid, or refers to what is not here."""


def note_stored(problem: BaseException, job_ids: Sequence[str]) -> None:
    """Name the stored jobs in an error that comes after their storing: somebody may cancel them."""
    if job_ids:
        with suppress(AttributeError, TypeError):  # a class with __slots__ has no room for it
            problem.stored_job_ids = tuple(job_ids)  # type: ignore[attr-defined]


def outcome_of(problem: BaseException) -> str:
    """Return how an error ended its execution: failed, timeout, given up or snoozed.

    ``given up`` means that the worker stopped the job, ``snoozed`` that the handler put it off;
    neither is a failure.
    """
    if isinstance(problem, JobTimeoutError):
        return TIMEOUT
    if getattr(problem, "response_code", "") == SNOOZE:
        return SNOOZED
    if isinstance(problem, (Exception, SystemExit)):
        return FAILED
    from asyncio import CancelledError, current_task  # PUSH does without asyncio

    if not isinstance(problem, CancelledError):
        return GIVEN_UP  # the process ends
    task = current_task()
    return GIVEN_UP if task is not None and task.cancelling() else FAILED


def missing_extra(who: str, extra: str) -> ImportError:
    """Return the error of a class whose packages, an extra of this one, are not installed."""
    return ImportError(
        f"{who} needs packages that are not installed: pip install 'ojs-aws[{extra}]'."
    )
