"""Turns an exception into the error of FAIL, and gives jobs of unknown types back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar, Final

from ojs_aws.client.retry_rules import short
from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.failures import MAX_MESSAGE_CHARACTERS
from ojs_aws.domain.json_members import check_native
from ojs_aws.domain.timestamps import duration_ms
from ojs_aws.middleware.builtin.error_reports import backtrace_of
from ojs_aws.middleware.results import SNOOZE, JobTimeoutError, message_of
from ojs_aws.worker.registry import NoHandlerError

HANDLER: Final = "handler"
"""Where an error was raised that no middleware raised."""
HANDLER_ERROR: Final = "handler_error"
TIMEOUT: Final = "timeout"
NO_HANDLER: Final = "NoHandlerRegistered"
SHUTDOWN: Final = "shutdown"
SHUTDOWN_ERROR: Final = "ShutdownError"
WAIT_S: Final = 3600.0
"""For how long a job waits for a worker with its handler."""
FIRST_DELAY_S: Final = 15
LONGEST_DELAY_S: Final = 300
"""Each time the delay doubles, up to this: sixteen times in an hour."""


class JobError(Exception):
    """Fails a job with more details than an exception's class; may be subclassed.

    :ivar response_code: ``RETRY``, ``DISCARD``, ``DEAD_LETTER``, ``FAIL`` or ``SNOOZE``, or empty.
    :ivar delay_ms: how long the next attempt waits, in milliseconds; None for as long as the retry
        policy says.
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
        self.delay_ms: int | None = None


class RetryError(JobError):
    """Retries by the retry policy, like any other exception; it may say when."""

    response_code = "RETRY"

    def __init__(
        self,
        message: str = "",
        *,
        delay: str | timedelta | float | None = None,
        type: str | None = None,  # noqa: A002 - the specification's name
        details: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Describe the failure, and how long the retry waits.

        The attempt counts, so after the last one the job ends, whatever the delay.

        :param delay: ``"30s"``, ``"10m"``, a timedelta, or seconds; default: what the retry policy
            says.
        :param type: as for :class:`JobError`.
        :param details: as for :class:`JobError`.
        :raises InvalidRequestError: the delay is none, or the details are not JSON.
        """
        super().__init__(message, type=type, details=details)
        self.delay_ms = None if delay is None else _delay_ms(delay)


class SnoozeError(JobError):
    """Ends the attempt and repeats it later; nothing has failed, and the attempt does not count.

    Raise it when the time has not come yet: a file is not there, a shop is closed. The job is
    ``retryable`` until the delay is over. It may be snoozed any number of times, until it expires
    (``expires_at``) or is cancelled.
    """

    response_code = SNOOZE

    def __init__(self, delay: str | timedelta | float, message: str = "") -> None:
        """Say how long the job waits, and why.

        :param delay: ``"30s"``, ``"10m"``, a timedelta, or seconds.
        :param message: for people who ask why the job waits.
        :raises InvalidRequestError: the delay is none.
        """
        snoozed_ms = _delay_ms(delay)
        super().__init__(message or f"Snoozed for {short(snoozed_ms)}.")
        self.delay_ms: int = snoozed_ms

    def __reduce__(self) -> tuple[type[SnoozeError], tuple[timedelta, str]]:
        """Return how to make it again: an exception's own way only knows the message."""
        return type(self), (timedelta(milliseconds=self.delay_ms), str(self))


class DiscardError(JobError):
    """Discards the job now; it is never kept as a dead letter, whatever its policy says."""

    response_code = "DISCARD"


class DeadLetterError(JobError):
    """Discards the job now and keeps it as a dead letter, whatever its policy says."""

    response_code = "DEAD_LETTER"


class PermanentError(JobError):
    """Discards a job that cannot succeed, and records a permanent failure."""

    response_code = "FAIL"


def _delay_ms(delay: str | timedelta | float) -> int:
    """Return a delay in milliseconds; a number means seconds, as in Python's own functions."""
    if isinstance(delay, (int, float)) and not isinstance(delay, bool) and delay >= 0:
        delay = f"{delay:f}s"
    return duration_ms(delay, "delay")


def failure_of(problem: BaseException, origin: str = HANDLER) -> dict[str, JsonValue]:
    """Return the error object of an exception.

    :param origin: where it was raised: ``handler``, or ``middleware:<name>``.
    """
    is_timeout = isinstance(problem, JobTimeoutError)
    failure: dict[str, JsonValue] = {
        "type": TIMEOUT if is_timeout else type(problem).__name__,
        "message": message_of(problem)[:MAX_MESSAGE_CHARACTERS],
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
        failure["type"] = NO_HANDLER
        failure["retryable"] = False
    if origin != HANDLER and not is_timeout:
        details["origin"] = origin
    if details:
        failure["details"] = details
    is_snooze = isinstance(problem, SnoozeError)  # nothing to find out, and it may come often
    frames: list[JsonValue] = [] if is_snooze else list(backtrace_of(problem))
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


class HandlerMissingError(SnoozeError):
    """Snoozes a job of a type that this worker does not know: another worker may."""

    def __init__(self, missing: NoHandlerError, delay_s: int, wait_s: float) -> None:
        """Wait for another worker; the backend learns of a snooze like any other."""
        limit = short(round(wait_s * 1000))
        super().__init__(
            delay_s, f"{missing} The job waits up to {limit} for a worker that has its handler."
        )
        self.type = NO_HANDLER


def given_back(missing: NoHandlerError, job: Job, wait_s: float) -> HandlerMissingError | None:
    """Return the snooze of a job without a handler; None if it has waited for long enough.

    What the job has waited is known by how often it was snoozed, whatever for.

    :param wait_s: for how long jobs wait; 0 for not at all.
    """
    waited_s, delay_s = 0, FIRST_DELAY_S
    for _ in range(uncounted_attempts(job)):
        if waited_s >= wait_s:
            return None
        waited_s, delay_s = waited_s + delay_s, min(2 * delay_s, LONGEST_DELAY_S)
    return None if waited_s >= wait_s else HandlerMissingError(missing, delay_s, wait_s)
