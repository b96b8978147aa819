"""Hold the results of the client's operations, and raise error answers as OJS errors."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain import access, errors
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendError,
    BackendUnavailableError,
    InvalidRequestError,
    JsonValue,
    OjsError,
    TransactAction,
)
from ojs_aws.middleware.results import BatchRejectedError, EnqueueResult, EnqueueStatus, Stored

if TYPE_CHECKING:
    from ojs_aws.domain.json_text import Member


__all__ = [
    "BatchRejectedError",
    "DeadLetters",
    "EnqueueResult",
    "EnqueueStatus",
    "JobCancelledError",
    "JobExpiredError",
    "JobFailedError",
    "PreparedJob",
    "Stored",
    "TransactItems",
    "WaitTimeoutError",
    "error_in",
    "error_of",
]


@dataclass(frozen=True, slots=True)
class TransactItems:
    """A job for a transaction of the caller's own. Nothing is stored yet.

    :ivar job: the job as it will be; the existing one, where nothing is to be stored because of it.
    :ivar items: entries for ``TransactItems`` of TransactWriteItems, all of them or none. Empty
        where there is nothing to store: a middleware dropped the job, or the system has it.
    :ivar dropped_by: name of the middleware that dropped the job, or empty.
    """

    job: Job
    items: list[TransactAction]
    dropped_by: str = ""

    @property
    def id(self) -> str:
        """Return the id of the job."""
        return self.job.id


@dataclass(frozen=True, slots=True)
class PreparedJob:
    """A job that came through the enqueue middleware, and was not sent.

    :ivar job: the job as it is to be sent, past the middleware.
    :ivar dropped_by: name of the middleware that dropped the job, or empty.
    """

    job: Job
    dropped_by: str = ""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Holds a page of dead letters.

    :ivar cursor: where the next page starts; empty on the last one.
    :ivar total: how many the server says there are.
    :ivar is_exact: whether there are exactly so many.
    :ivar total_is: ``exact``, an ``estimate``, or ``at_least``: a lower bound.
    """

    jobs: Sequence[Job]
    cursor: str = ""
    total: int = 0
    is_exact: bool = True
    total_is: str = "exact"


NEEDS_URL: Final = (
    "a client needs the URL of a server or a transport, and not both: "
    'Client("http://127.0.0.1:8080"), or Client.from_env() for the one in OJS_URL'
)
"""What a client says that was made without either, or with both."""

_OK: Final = range(200, 300)
_CLIENT_ERROR: Final = 400
_SERVER_ERROR: Final = 500
_UNAVAILABLE: Final = 503
_CATALOGUED: Final = frozenset({errors.__name__, access.__name__})


class JobFailedError(Exception):
    """Raised when the job that was waited for ended without a result.

    :ivar job: the job in its final state.
    :ivar error: its structured error object; empty for a job that was cancelled or expired.
    """

    def __init__(self, job: Job) -> None:
        """Describe how the job ended."""
        self.job = job
        self.error: dict[str, JsonValue] = job.error or {}
        parts = [str(self.error[part]) for part in ("type", "message") if part in self.error]
        super().__init__(": ".join([f"Job {job.id} ({job.type}) was {job.state}", *parts]))


class JobCancelledError(JobFailedError):
    """Raised when the job that was waited for was cancelled."""


class JobExpiredError(JobFailedError):
    """Raised when the job that was waited for expired before any worker executed it."""

    def __init__(self, job: Job) -> None:
        """Describe how the job ended."""
        super().__init__(job)
        self.args = (f"Job {job.id} ({job.type}) expired before any worker executed it.",)


class WaitTimeoutError(TimeoutError):
    """Raised when the job had not ended in time; it may still do so.

    :ivar job: the job as last seen.
    """

    def __init__(self, job: Job, timeout_s: float) -> None:
        """Describe the job as last seen."""
        self.job = job
        super().__init__(
            f"Job {job.id} is still {job.state} after {timeout_s:g} s of waiting. "
            f"To see why: ojs-aws why {job.id}"
        )


def error_in(status: int, members: Mapping[str, Member]) -> OjsError | None:
    """Return the error that an answer is; None for a success.

    :param members: of the answer; a gateway says what is wrong in ``message``.
    """
    if status in _OK:
        return None
    if status < _CLIENT_ERROR:
        moved = f"The server answered with a redirect, which is not followed ({status})."
        return BackendError(moved, hint="Name the URL that it leads to.")
    stated, said = members.get("error"), members.get("message")
    described = stated.value if stated and isinstance(stated.value, dict) else {}
    return error_of(status, described, str(said.value) if said else "")


def error_of(status: int, error: Mapping[str, JsonValue], reason: str = "") -> OjsError:
    """Return the error that an answer describes: by its code, else by the status.

    :param error: the ``error`` object of the answer; empty when the answer was none of OJS's.
    :param reason: what to say when the answer has no message.
    """
    code, message = error.get("code"), error.get("message")
    details, hint = error.get("details"), error.get("hint")
    raised = _class_of(code if isinstance(code, str) else "", status)(
        str(message or reason or f"The server answered with HTTP status {status}."),
        details=details if isinstance(details, dict) else None,
        hint=hint if isinstance(hint, str) else "",
    )
    request_id = error.get("request_id")
    raised.add_note(
        f"HTTP {status}, code {code!r}" + (f", request id {request_id}" if request_id else "")
    )
    return raised


def _class_of(code: str, status: int) -> type[OjsError]:
    known = _catalogue()
    return (
        known.get((code, status))
        or known.get((f"x_{code}", status))  # of an earlier server
        or next((kind for (name, _), kind in known.items() if name == code), None)
        or next((kind for (_, number), kind in known.items() if number == status), None)
        or _family(status)
    )


def _family(status: int) -> type[OjsError]:
    if status < _SERVER_ERROR:
        return InvalidRequestError
    return BackendUnavailableError if status == _UNAVAILABLE else BackendError


@functools.cache
def _catalogue() -> dict[tuple[str, int], type[OjsError]]:
    """Return the classes of errors by code and status, the most general one of each."""
    catalogue: dict[tuple[str, int], type[OjsError]] = {}
    for kind in _below(OjsError):
        if kind.__module__ in _CATALOGUED:
            catalogue.setdefault((kind.code, kind.status), kind)
    return catalogue


def _below(kind: type[OjsError]) -> Iterator[type[OjsError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)
