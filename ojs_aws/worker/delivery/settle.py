"""Settles dispatched jobs: reads Lambda's record of each outcome, and makes ACK or FAIL of it.

An outcome counts while its delivery still holds the job. Lambda may send one twice, late or never:
one that is late changes nothing, and where none comes, the reservation's end decides.

A record is what a destination gets: the event, how the invocation ended, and what the function
returned or raised, in the form of its runtime.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ojs_aws.domain.bindings import NO_CONFIG, BindingConfig, wait_ms
from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.domain.errors import (
    BackendError,
    ConflictError,
    JsonValue,
    NotFoundError,
    OjsError,
    ResultTooLargeError,
)
from ojs_aws.domain.jobs.held_job import AttemptRef
from ojs_aws.domain.json_text import ANY_DEPTH, Member, RawJson, parse_object
from ojs_aws.worker.delivery.inputs import NON_RETRYABLE
from ojs_aws.worker.delivery.request import reservation_of
from ojs_aws.worker.directly import members

if TYPE_CHECKING:
    from ojs_aws.services.backend import Backend

TIMED_OUT: Final = "Task timed out"
"""Is part of Lambda's message of a function whose time was over."""
_TIMEOUT_TYPE: Final = "Sandbox.Timedout"
_AGED: Final = "EventAgeExceeded"
_UNDELIVERED: Final = "UndeliveredError"
_TOO_LARGE: Final = (
    "The function returned more than the record of its invocation holds. "
    "Store the result elsewhere, and return a reference to it."
)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Completed:
    """Says that the function returned; the result is None for null."""

    result: RawJson | None


@dataclass(frozen=True, slots=True)
class Raised:
    """Says that the function raised, crashed, or took too long."""

    error: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class NotInvoked:
    """Says that Lambda gave the event up without an end of the function.

    Or that the function raised an ``UndeliveredError``, as it could not read the job's link.
    """

    reason: str


HowItEnded: TypeAlias = Completed | Raised | NotInvoked


class RecordError(ValueError):
    """Reports a record that names no delivery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationRecord:
    """Says how a delivery ended.

    :ivar job: as it was dispatched.
    :ivar which: the attempt, by the reservation that its delivery id names.
    :ivar config: of its binding, when it was dispatched.
    """

    job: Job
    which: AttemptRef
    ended: HowItEnded
    config: BindingConfig = NO_CONFIG


def read_invocation_record(body: str) -> InvocationRecord:
    """Read the body of a message of a destination.

    :raises RecordError: it holds no event of a dispatcher. Lambda leaves the event out of a record
        that would be too large.
    """
    try:
        record = parse_object(body, max_depth=ANY_DEPTH)
        event = _members(record.get("requestPayload"))
        job = _members(event.get("job"))
        reservation_id = reservation_of(_text(event, "delivery_id"))
        attempt = event["attempt"].value
    except (OjsError, KeyError) as problem:
        raise RecordError(f"The record names no delivery: {problem}") from problem
    if not reservation_id or not isinstance(attempt, int) or not _text(job, "id"):
        raise RecordError("The record names no delivery: its event has no delivery id.")
    return InvocationRecord(
        job=Job.from_members({name: member.raw for name, member in job.items()}),
        which=AttemptRef(reservation_id=reservation_id, attempt=attempt),
        ended=_ended(record),
        config=_config(event),
    )


def _config(event: Mapping[str, Member]) -> BindingConfig:
    """Return the config by which a job was dispatched, as far as its event says it."""
    named = event.get(NON_RETRYABLE)
    if named is None or not isinstance(named.value, list):
        return NO_CONFIG
    return BindingConfig(non_retryable_errors=tuple(map(str, named.value)))


def _ended(record: Mapping[str, Member]) -> HowItEnded:
    context, response = _values(record, "requestContext"), _values(record, "responseContext")
    condition, payload = context.get("condition"), record.get("responsePayload")
    if condition == "Success":
        if payload is None:  # Lambda leaves out what makes a record too large
            return Raised({"type": "ResultRefused", "message": _TOO_LARGE, "retryable": False})
        return Completed(None if payload.value is None else payload.raw)
    if condition == _AGED:
        return NotInvoked("it waited for too long in Lambda's queue: the function was busy")
    if not response.get("functionError"):
        status = response.get("statusCode", "no status")
        return NotInvoked(f"Lambda could not invoke it ({condition}, {status})")
    error = error_of(payload.value if payload is not None else None)
    if error["type"] == _UNDELIVERED:
        return NotInvoked(f"the function could not read it ({error['message']})")
    return Raised(error)


def error_of(said: JsonValue) -> dict[str, JsonValue]:
    """Return the error of FAIL for what a runtime says of a function that failed.

    Node says ``errorType``, ``errorMessage`` and ``trace``; Python, Go, Java and Ruby say
    ``stackTrace``: lines in Python and Java, objects with path, line and label in Go. Java may
    add a ``cause`` in the same form.
    """
    if not isinstance(said, dict):
        text = said if isinstance(said, str) else "The function failed, and said no more."
        return {"type": "FunctionError", "code": "handler_error", "message": text}
    message = str(said.get("errorMessage") or "The function failed, and said no more.")
    kind = said.get("errorType")
    named = kind if isinstance(kind, str) and kind else "FunctionError"
    if named == _TIMEOUT_TYPE or (TIMED_OUT in message and kind is None):
        return {"type": "timeout", "code": "timeout", "message": message}
    error: dict[str, JsonValue] = {"type": named, "code": "handler_error", "message": message}
    if frames := _frames(said):
        error["backtrace"] = [*frames]
    return error


def finally_failed(error: dict[str, JsonValue], config: BindingConfig) -> dict[str, JsonValue]:
    """Return an error that is not retried where the binding's config names it."""
    is_final = config.forbids(str(error["type"]), str(error.get("code")))
    return {**error, "retryable": False} if is_final else error


def _frames(said: Mapping[str, JsonValue]) -> list[str]:
    """Return the lines of a stack, those of its causes behind it."""
    stack = said.get("trace") or said.get("stackTrace") or []
    frames = [_frame(each) for each in stack] if isinstance(stack, list) else [str(stack)]
    cause = said.get("cause")
    if isinstance(cause, dict):
        frames.append(f"Caused by: {cause.get('errorType')}: {cause.get('errorMessage')}")
        frames += _frames(cause)
    return frames


def _frame(frame: JsonValue) -> str:
    if isinstance(frame, dict):
        return f"{frame.get('label')} ({frame.get('path')}:{frame.get('line')})"
    return str(frame)


def _members(member: Member | None) -> dict[str, Member]:
    if member is None or not isinstance(member.value, dict):
        return {}
    return parse_object(member.raw, max_depth=ANY_DEPTH)


def _values(record: Mapping[str, Member], name: str) -> Mapping[str, JsonValue]:
    member = record.get(name)
    return member.value if member is not None and isinstance(member.value, dict) else {}


def _text(members: Mapping[str, Member], name: str) -> str:
    member = members.get(name)
    return member.value if member is not None and isinstance(member.value, str) else ""


def settled_each(
    backend: Backend, event: Mapping[str, Any], must_come_back: Callable[[Mapping[str, Any]], bool]
) -> dict[str, list[dict[str, str]]]:
    """Settle each record of an event; return the partial batch response.

    :param must_come_back: settles a record; returns whether that must be repeated.
    :raises ValueError: no event of an SQS event source mapping.
    """
    records = event.get("Records")
    if not isinstance(records, list):
        raise ValueError("no SQS event: connect the function to the queue of outcomes")
    stays = backend.stores.parallel.each(must_come_back, records)
    kept = [str(raw.get("messageId", "")) for raw, stay in zip(records, stays, strict=True) if stay]
    return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in kept]}


def is_settled(what: str, job_id: str, settle: Callable[[], None]) -> bool:
    """Settle a job; return False if that must be repeated.

    :param what: is reported of the job, for log lines.
    """
    try:
        settle()
    except (ConflictError, NotFoundError) as refusal:
        _logger.warning("The %s of job %s no longer counts: %s", what, job_id, refusal)
    except BackendError as problem:
        _logger.warning("The %s of job %s comes back: %s", what, job_id, problem)
        return False
    except Exception:  # a bug must not lose the other records of the batch
        _logger.exception("The %s of job %s comes back", what, job_id)
        return False
    return True


@dataclass(frozen=True, slots=True)
class Settler:
    """Reports the outcomes of dispatched jobs."""

    backend: Backend

    def __call__(
        self, event: Mapping[str, Any], _context: object = None
    ) -> dict[str, list[dict[str, str]]]:
        """Settle the jobs that the records of an event are about.

        :returns: the partial batch response: records that must come back, as the backend could not
            be reached.
        :raises ValueError: no event of an SQS event source mapping.
        """
        return settled_each(self.backend, event, self._must_come_back)

    def _must_come_back(self, raw: Mapping[str, Any]) -> bool:
        try:
            record = read_invocation_record(str(raw.get("body", "")))
        except RecordError as problem:  # no delivery comes to be in it by reading it again
            _logger.error("Outcome %s is dropped: %s", raw.get("messageId"), problem)
            return False
        return not is_settled("outcome", record.job.id, lambda: self._settle(record))

    def _settle(self, record: InvocationRecord) -> None:
        match record.ended:
            case Completed():
                self._complete(record, record.ended)
            case Raised():
                self._fail(record, finally_failed(record.ended.error, record.config))
            case NotInvoked():
                self._give_back(record, record.ended.reason)

    def _complete(self, record: InvocationRecord, ended: Completed) -> None:
        try:
            self.backend.jobs.ack(
                record.job.id, None, ended.result, which=record.which, wakes_next=True
            )
        except ResultTooLargeError as problem:
            text = f"The result was refused: {problem.message}"
            self._fail(record, {"type": "ResultRefused", "message": text, "retryable": False})

    def _fail(self, record: InvocationRecord, error: dict[str, JsonValue]) -> None:
        self.backend.jobs.fail(
            record.job.id, None, members(error), which=record.which, wakes_next=True
        )

    def _give_back(self, record: InvocationRecord, reason: str) -> None:
        """Give back a job that its function never ran; the attempt does not count (7.2)."""
        text = f"The job was not delivered: {reason}."
        error: dict[str, JsonValue] = {"type": _UNDELIVERED, "code": "SNOOZE", "message": text}
        self.backend.jobs.fail.requeue(
            record.job.id,
            None,
            members(error),
            which=record.which,
            delay_ms=wait_ms(uncounted_attempts(record.job)),
            wakes_next=True,
        )
