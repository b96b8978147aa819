"""Say what became of a job that was to be enqueued, and what went wrong with its chain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import EnqueueRejectedError

_LATER: Final = frozenset({"get", "result", "value", "wait"})
"""What other libraries have on what enqueuing returns."""

STORED: Final = "stored_job_ids"
"""The attribute of an error that names the jobs that are stored all the same."""


class EnqueueStatus(StrEnum):
    """Says what became of a job that was to be enqueued."""

    ENQUEUED = "enqueued"
    DROPPED = "dropped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueResult:
    """Holds the outcome of enqueuing one job. It is true if the job is enqueued.

    :ivar job: the job as stored; one that was dropped or failed, as the middleware last saw it.
    :ivar is_new: False when the very same job had been enqueued before.
    :ivar dropped_by: name of the middleware that dropped the job.
    :ivar asked_id: id of the job that was to be enqueued, where ``job`` is another one that was
        found under the same uniqueness key; else empty.
    :ivar error: what was raised; only in the results of a batch, a single enqueue raises it.
    """

    status: EnqueueStatus
    job: Job
    is_new: bool = True
    dropped_by: str = ""
    asked_id: str = ""
    error: BaseException | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Explain what is not known yet: this is the outcome of enqueuing alone."""
            hint = f": ask for it with client.wait({self.id!r})" if name in _LATER else ""
            shown = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(shown + hint, name=name, obj=self)

    @property
    def id(self) -> str:
        """Return the id of the job, enqueued or not."""
        return self.job.id

    @property
    def is_duplicate(self) -> bool:
        """Return True if the system had a job with the same uniqueness key already."""
        return bool(self.asked_id)

    @property
    def state(self) -> str | None:
        """Return the state of the job; None if it was not enqueued."""
        return self.job.state

    @property
    def is_enqueued(self) -> bool:
        """Return True if the system has the job."""
        return self.status is EnqueueStatus.ENQUEUED

    @property
    def is_dropped(self) -> bool:
        """Return True if a middleware dropped the job, without an error."""
        return self.status is EnqueueStatus.DROPPED

    def __bool__(self) -> bool:
        """Return True if the system has the job."""
        return self.is_enqueued


@dataclass(frozen=True, slots=True)
class Stored:
    """Says what was done with one job that passed the middleware.

    :ivar job: the stored job; None when a middleware further on, in the backend, dropped it.
    :ivar is_new: False when the very same envelope had been stored before.
    :ivar dropped_by: name of the middleware of the backend that dropped the job.
    """

    job: Job | None
    is_new: bool = True
    dropped_by: str = ""


def failed(job: Job, error: BaseException, *, is_new: bool = True) -> EnqueueResult:
    """Return the outcome of a job whose enqueueing failed."""
    return EnqueueResult(status=EnqueueStatus.FAILED, job=job, is_new=is_new, error=error)


def dropped(job: Job, by: str) -> EnqueueResult:
    """Return the outcome of a job that a middleware dropped."""
    return EnqueueResult(status=EnqueueStatus.DROPPED, job=job, is_new=False, dropped_by=by)


def result_of(job: Job, stored: Job | None, dropped_by: str) -> EnqueueResult:
    """Return the outcome of a job's run through the chain: stored, or dropped."""
    if stored is None:
        return dropped(job, dropped_by)
    return EnqueueResult(status=EnqueueStatus.ENQUEUED, job=stored)


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
        set_stored(problem, tuple(job_ids))


def set_stored(problem: BaseException, job_ids: tuple[str, ...] | None) -> None:
    """Set which jobs are stored, as an attribute of an error; None for no job."""
    with suppress(AttributeError, TypeError):  # a class with __slots__ has no room for it
        setattr(problem, STORED, job_ids)


def outcome_of(problem: BaseException) -> str:
    """Return how an error ended its execution: failed, timeout, given up or snoozed.

    ``given up`` means that the worker stopped the job, ``snoozed`` that the handler put it off;
    neither is a failure.
    """
    if isinstance(problem, JobTimeoutError):
        return TIMEOUT
    if getattr(problem, "response_code", "") == SNOOZE:
        return SNOOZED
    if isinstance(problem, Exception):
        return FAILED
    from asyncio import CancelledError, current_task  # PUSH does without asyncio

    if not isinstance(problem, CancelledError):  # some libraries raise a BaseException of their own
        return GIVEN_UP if isinstance(problem, (KeyboardInterrupt, GeneratorExit)) else FAILED
    task = current_task()
    return GIVEN_UP if task is not None and task.cancelling() else FAILED


def message_of(problem: BaseException) -> str:
    """Return what an error says, else the name of its class; also where its ``__str__`` fails."""
    text = ""
    with suppress(Exception):  # it must not hide the error
        text = str(problem)
    return text or type(problem).__name__


def described(problem: BaseException) -> str:
    """Return the class of an error and what it says, at most 10,000 characters of that."""
    from ojs_aws.domain.jobs.failures import MAX_MESSAGE_CHARACTERS  # PUSH does without it

    return f"{type(problem).__name__}: {message_of(problem)[:MAX_MESSAGE_CHARACTERS]}"


def missing_extra(who: str, extra: str) -> ImportError:
    """Return the error of a class whose packages, an extra of this one, are not installed."""
    return ImportError(
        f"{who} needs packages that are not installed: pip install 'ojs-aws[{extra}]'."
    )


def check_id(job: Job, job_id: str, who: str, stored: Sequence[str] = ()) -> None:
    """Refuse an id that the job did not come with, and give the job its own id back.

    :param who: what changed the job, as the message names it.
    :param stored: ids of the jobs that are stored nevertheless.
    :raises IdChangedError: the job has another id; ``stored_job_ids`` names what is stored.
    """
    if job.id != job_id:
        raise _change(job, job_id, who, stored)


def check_ids(jobs: Iterable[tuple[Job, str]], who: str) -> None:
    """Check many jobs, each with the id that it came with; all of them get theirs back.

    :raises IdChangedError: of the first job that has another id.
    """
    changes = [_change(job, job_id, who, ()) for job, job_id in jobs if job.id != job_id]
    if changes:
        raise changes[0]


def _change(job: Job, job_id: str, who: str, stored: Sequence[str]) -> IdChangedError:
    whose = "the stored job's" if stored else "the job's"
    problem = IdChangedError(
        f"{who} changed {whose} id from {job_id!r} to {job.id!r}; the id must stay."
    )
    job.id = job_id
    note_stored(problem, stored)
    return problem
