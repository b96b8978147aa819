"""Reads what an endpoint answers, and stops deliveries to one that fails (ojs-serverless, 2.3)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.jobs.failures import MAX_BACKTRACE_CHARACTERS
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.retry import read_retry_policy
from ojs_aws.topology import DELIVERY_START_S
from ojs_aws.worker.failure import JobError, SnoozeError

MAX_ANSWER_BYTES: Final = 1024 * 1024
DELIVERY_ERROR: Final = "delivery_error"
TIMED_OUT: Final = "timeout"

_MISCONFIGURED: Final = {
    401: "does not accept the request's authentication",
    403: "refuses the request",
    404: "is not there",
}
"""What an answer says of the endpoint, and nothing of the job."""
OPENS_AFTER: Final = 5
"""Failed deliveries in a row after which none is tried for a while (7.2)."""
COOLDOWN_S: Final = 60.0


class DeliveryError(JobError):
    """Fails a job whose delivery failed, in a way that may pass: it is retried by its policy."""

    def __init__(self, message: str, kind: str, error_type: str = "unknown") -> None:
        """Say what happened; the details name it as ojs-serverless 7.2 does.

        :param error_type: ``timeout``, ``network_error``, ``invalid_response``, or a status.
        """
        details: dict[str, JsonValue] = {"error_class": DELIVERY_ERROR, "error_type": error_type}
        super().__init__(message, type=kind, details=details)

    def describe(self, job: Job, delivery_id: str, circuit: Circuit, *, is_cold: bool) -> None:
        """Say which delivery it was, and what that means for the next one (7.2).

        An endpoint that may still be starting gets some seconds before the next delivery, where the
        job's policy would retry sooner (3.4): it may yet complete the job of this one.

        :param is_cold: no answer had come for so long that the endpoint may have had to start.
        """
        is_suspected = is_cold and self.details["error_type"] == TIMED_OUT
        self.details |= {
            "delivery_id": delivery_id,
            "cold_start_suspected": is_suspected,
            "circuit_breaker_state": "open" if circuit.reason else "closed",
        }
        if is_suspected:
            retry = max(1, job.attempt - uncounted_attempts(job))
            own_ms = read_retry_policy(job.retry).delay_ms(retry, f"{job.id}:{job.attempt}")
            self.delay_ms = max(own_ms, DELIVERY_START_S * 1000)


class UndeliveredError(SnoozeError):
    """Gives a job back that the endpoint did not take; the attempt does not count."""


class WrongEndpointError(UndeliveredError):
    """Gives a job back as its endpoint is wrong, whatever the job is.

    :ivar reason: ends a sentence about the endpoint.
    """

    reason: str = ""


class EndpointError(JobError):
    """Fails a job as its endpoint said."""


def what_is_wrong(status: int) -> str:
    """Return what an answer says of the endpoint; empty if it says something of the job."""
    if status // 100 == HTTPStatus.MULTIPLE_CHOICES // 100:
        return f"answers with a redirect, which is not followed ({status})"
    wrong = _MISCONFIGURED.get(status)
    return f"{wrong} ({status})" if wrong else ""


def result_of(url: str, status: int, answer: bytes) -> object:
    """Return the result that an answer holds.

    :raises EndpointError: it says that the job failed.
    :raises DeliveryError: it says neither.
    """
    if status >= HTTPStatus.BAD_REQUEST:
        raise _refusal(url, status, answer)
    said = _object(answer)
    if said.get("status") == "completed":
        return said.get("result")
    error = said.get("error")
    if said.get("status") == "failed" and isinstance(error, dict):
        raise _failure(error, retryable=error.get("retryable") is not False)
    wrong = (
        f"more than {MAX_ANSWER_BYTES:,} bytes. Keep a large result elsewhere, and answer where."
        if len(answer) > MAX_ANSWER_BYTES
        else "neither status: completed nor status: failed and an error. It must answer a JSON "
        'object: {"status": "completed", "result": ...}.'
    )
    raise DeliveryError(
        f"{url} answered {status} with {wrong}", "InvalidAnswer", "invalid_response"
    )


def _refusal(url: str, status: int, answer: bytes) -> EndpointError:
    """Return the error of a job that an endpoint refuses by a 4xx."""
    error = _object(answer).get("error")
    if isinstance(error, dict):
        return _failure(error, retryable=False)
    return EndpointError(f"{url} answered {status}.", type="EndpointError", retryable=False)


def _failure(error: Mapping[str, JsonValue], *, retryable: bool) -> EndpointError:
    """Return the error that an endpoint describes."""
    named = error.get("type") or error.get("code")
    details = error.get("details")
    found = dict(details) if isinstance(details, dict) else {}
    stack = error.get("stack") or error.get("backtrace")
    if isinstance(stack, list):
        stack = "\n".join(map(str, stack))
    if isinstance(stack, str):
        found["stack"] = stack[:MAX_BACKTRACE_CHARACTERS]
    return EndpointError(
        str(error.get("message") or "The endpoint says no more."),
        type=named if isinstance(named, str) else "EndpointError",
        details=found,
        retryable=None if retryable else False,
    )


def _object(answer: bytes) -> dict[str, JsonValue]:
    """Return the JSON object that an answer is; an empty one for anything else."""
    if len(answer) > MAX_ANSWER_BYTES:
        return {}
    try:
        value = decode(answer.decode())
    except (OjsError, UnicodeDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def seconds_of(retry_after: str) -> int | None:
    """Return the seconds of a ``Retry-After``; None where it says none."""
    return int(retry_after) if retry_after.isascii() and retry_after.isdigit() else None


@dataclass(slots=True)
class Circuit:
    """Stops deliveries to an endpoint that failed several times in a row. Threads may share it.

    After :data:`COOLDOWN_S` one delivery is tried; the others wait for its end.
    """

    monotonic: Callable[[], float]
    failures: int = 0
    reason: str = ""
    _tried_at: float = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refuses(self) -> str:
        """Return why nothing is delivered now; empty if this delivery is to be tried."""
        with self._lock:
            now = self.monotonic()
            if now >= self._tried_at + COOLDOWN_S:
                self._tried_at = now
                return ""
            return self.reason

    def close(self) -> None:
        """Note an answer that came from the handler."""
        with self._lock:
            self.failures, self.reason = 0, ""

    def note_failure(self, reason: str, *, is_certain: bool = False) -> None:
        """Note a failed delivery.

        :param is_certain: the next one would fail, too.
        """
        with self._lock:
            self.failures += 1
            if is_certain or self.failures >= OPENS_AFTER:
                self.reason, self._tried_at = reason, self.monotonic()
