"""Turns an exception into the structured error object of FAIL (core, 8; ojs-retry, 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.failures import MAX_MESSAGE_CHARACTERS
from ojs_aws.domain.native_json import check_native
from ojs_aws.middleware.builtin.backtraces import backtrace_of
from ojs_aws.middleware.errors import JobTimeoutError
from ojs_aws.worker.registry import NoHandlerError

HANDLER_ERROR: Final = "handler_error"
TIMEOUT: Final = "timeout"
SHUTDOWN: Final = "shutdown"
SHUTDOWN_ERROR: Final = "ShutdownError"


class JobError(Exception):
    """Fails a job with more details than an exception's class; may be subclassed.

    :ivar response_code: ``RETRY``, ``DISCARD``, ``DEAD_LETTER`` or ``FAIL``, or empty.
    """

    response_code: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        type: str | None = None,  # noqa: A002 - the specification's name
        details: Mapping[str, JsonValue] | None = None,
        retryable: bool | None = None,
    ) -> None:
        """Describe the failure.

        :param type: what retry patterns match (``payment.card_declined``); default: the class.
        :param details: further JSON data, for people.
        :param retryable: False ends the job, as the retry policy says for exhausted ones.
        :raises InvalidRequestError: the details are not JSON.
        """
        super().__init__(message)
        check_native(dict(details or {}), "details")
        self.type = type
        self.details = dict(details or {})
        self.retryable = retryable


class RetryError(JobError):
    """Retries by the retry policy, like any other exception."""

    response_code = "RETRY"


class DiscardError(JobError):
    """Discards the job now; it is never kept as a dead letter, whatever its policy says."""

    response_code = "DISCARD"


class DeadLetterError(JobError):
    """Discards the job now and keeps it as a dead letter, whatever its policy says."""

    response_code = "DEAD_LETTER"


class PermanentError(JobError):
    """Discards a job that cannot succeed, and records a permanent failure."""

    response_code = "FAIL"


def failure_of(problem: BaseException, origin: str = "handler") -> dict[str, JsonValue]:
    """Return the error object of an exception.

    :param origin: where it was raised: ``handler``, or ``middleware:<name>``.
    """
    is_timeout = isinstance(problem, JobTimeoutError)
    failure: dict[str, JsonValue] = {
        "type": TIMEOUT if is_timeout else type(problem).__name__,
        "message": _message(problem),
        "code": TIMEOUT if is_timeout else HANDLER_ERROR,
    }
    details: dict[str, JsonValue] = {}
    if isinstance(problem, JobError):
        failure["type"] = problem.type or type(problem).__name__
        failure["code"] = problem.response_code or HANDLER_ERROR
        details |= problem.details
        if problem.retryable is not None:
            failure["retryable"] = problem.retryable
    elif isinstance(problem, NoHandlerError):
        failure["type"] = "NoHandlerRegistered"
        failure["retryable"] = False
    if origin != "handler" and not is_timeout:
        details["origin"] = origin
    if details:
        failure["details"] = details
    frames: list[JsonValue] = list(backtrace_of(problem))
    if frames:
        failure["backtrace"] = frames
    return failure


def shutdown_failure() -> dict[str, JsonValue]:
    """Return the error object of a job that is given back when the grace period ends.

    Its type is that of ojs-graceful-shutdown (GS-005).
    """
    return {
        "type": SHUTDOWN_ERROR,
        "code": SHUTDOWN,
        "message": "The worker shut down before the job had ended.",
    }


def _message(problem: BaseException) -> str:
    try:
        text = str(problem)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the failure
        text = ""
    return (text or type(problem).__name__)[:MAX_MESSAGE_CHARACTERS]
