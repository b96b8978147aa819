"""Reads what workers and endpoints report: the values, and which attempt of a job they are about.

Names and forms are translated to the attributes of the models (HTTP binding, section 10), which
check types and bounds. A token of an endpoint says which attempt it is, else the body does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.held_job import AttemptRef, Holder, check_holder
from ojs_aws.domain.json_text import ANY_DEPTH, Member, RawJson, json_type, parse_object

if TYPE_CHECKING:
    from ojs_aws.domain.credentials import AttemptBound
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.services.workers.heartbeat import HeartbeatResult
    from ojs_aws.transport.http.calls import Call
    from ojs_aws.transport.http.workers.models import HeartbeatValues, ReportBody

Values = dict[str, JsonValue]

_MANY_SECONDS = 1_000_000


def _values(members: Mapping[str, Member]) -> Values:
    """Return the body's values without nulls."""
    return {name: m.value for name, m in members.items() if m.value is not None}


def _rename(values: Values, *, old: str, new: str) -> None:
    if old in values:
        values.setdefault(new, values.pop(old))


def _without_empty_worker(values: Values) -> Values:
    """Drop an empty worker id: it is the same as none."""
    if values.get("worker_id") == "":
        del values["worker_id"]
    return values


def fetch_values(members: Mapping[str, Member]) -> Values:
    """Return FETCH's values: ``batch_size`` means ``count``, and ``queue`` a list of one."""
    values = _without_empty_worker(_values(members))
    _rename(values, old="batch_size", new="count")
    if "queue" in values:
        values.setdefault("queues", [values["queue"]])
    return _with_interval(values)


STATES: Final[Mapping[str, str]] = {
    "active": "running",
    "busy": "running",
    "idle": "running",
    "drain": "quiet",
    "draining": "quiet",
    "shutting_down": "quiet",
    "terminated": "terminate",
    "terminating": "terminate",
    "stopping": "terminate",
}
"""What some workers call the states of the worker protocol, section 2.1."""


def _with_interval(values: Values) -> Values:
    """Read ``heartbeat_interval``, which is in seconds (worker protocol, section 3.3)."""
    seconds = values.pop("heartbeat_interval", None)
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        values.setdefault("heartbeat_interval_ms", round(min(seconds, _MANY_SECONDS) * 1000))
    elif seconds is not None:
        values.setdefault("heartbeat_interval_ms", seconds)
    return values


def heartbeat_values(members: Mapping[str, Member]) -> Values:
    """Return BEAT's values: ``active_jobs`` is a list of ids, or their number.

    ``shutdown`` means that the worker drains, as its state ``quiet`` does. Another word for that
    is kept beside its state: its health shows it (ojs-graceful-shutdown, section 8.1).
    """
    values = _without_empty_worker(_values(members))
    active = values.pop("active_jobs", None)
    if isinstance(active, list):
        values.setdefault("active_job_ids", active)
    elif active is not None:
        values["active_count"] = active
    job_id = values.get("job_id")
    if job_id is not None:
        values.setdefault("active_job_ids", [job_id])
    if isinstance(job_id, str):
        for one, many in (("reservation_id", "reservation_ids"), ("attempt", "attempts")):
            if one in values:
                values.setdefault(many, {job_id: values[one]})
    values["drain_word"] = ""
    state = values.get("state")
    if isinstance(state, str):
        word = state.lower()
        values["state"] = STATES.get(word, word)
        if values["state"] == "quiet" != word:
            values["drain_word"] = word
    if values.get("shutdown") is True and values.get("state") in (None, "running"):
        values["state"] = "quiet"
    return _with_interval(values)


def report_values(members: Mapping[str, Member], job_id: str = "") -> Values:
    """Return who reports, and on which job (ACK and FAIL); ``id`` means ``job_id``.

    :param job_id: the job that the path names, which outweighs the body.
    """
    values = _without_empty_worker(_values(members))
    _rename(values, old="id", new="job_id")
    if job_id:
        values["job_id"] = job_id
    return values


def result_of(members: Mapping[str, Member]) -> RawJson | None:
    """Return the result in an ACK. A null that was sent is a result; None stands for none."""
    member = members.get("result")
    return None if member is None else member.raw


def reason_of(members: Mapping[str, Member]) -> Mapping[str, Member] | None:
    """Return the error object of a job that is given back; None for one without a reason.

    :raises InvalidRequestError: it is no object.
    """
    error = members.get("error")
    return None if error is None or error.value is None else error_of(members)


def error_of(members: Mapping[str, Member]) -> Mapping[str, Member]:
    """Return the members of a FAIL's error object, in the form of the core or of the binding.

    :raises InvalidRequestError: there is none, or it is no object.
    """
    error = members.get("error")
    if error is not None and isinstance(error.value, dict):
        return parse_object(error.raw, max_depth=ANY_DEPTH)
    received = "nothing" if error is None else json_type(error.value)
    message = f"The 'error' attribute must be an object; received {received}."
    hint = 'Send {"error": {"type": "...", "message": "..."}}.'
    raise field_error("error", message, hint, expected="object", received=received)


def reporter_of(call: Call, body: ReportBody) -> tuple[str | None, AttemptRef]:
    """Return who reports, and on which attempt.

    A token says all of that, whatever worker the body names.

    :returns: the worker, None where it gave no name, and the attempt.
    :raises PermissionDeniedError: the token is for another job, or another attempt.
    """
    grant = call.request.caller.attempt
    if grant is None:
        return body.worker_id, AttemptRef(reservation_id=body.reservation_id, attempt=body.attempt)
    grant.check_report(body.job_id, body.reservation_id, body.attempt)
    return None, _attempt_of(grant)


def beat_of_attempt(call: Call, grant: AttemptBound, body: HeartbeatValues) -> HeartbeatResult:
    """Extend the reservation of a token's attempt (BEAT); the body may name nothing else.

    No worker is registered: an endpoint is none.

    :raises PermissionDeniedError: the body names another job, or another attempt.
    """
    for job_id in {*body.active_job_ids, *body.reservation_ids, *body.attempts}:
        grant.check_report(job_id, body.reservation_ids.get(job_id), body.attempts.get(job_id))
    answered, _ = call.backend.workers.heartbeat.extend(
        None, grant.job_id, body.visibility_timeout_ms, which=_attempt_of(grant), start=None
    )
    return answered


def check_reader(grant: AttemptBound, job: JobRecord) -> None:
    """Refuse to show a job to whom its token no longer gives it.

    :raises ConflictError: the attempt is over.
    """
    check_holder(job, "read", Holder(None, _attempt_of(grant)))


def _attempt_of(grant: AttemptBound) -> AttemptRef:
    return AttemptRef(reservation_id=grant.reservation_id, attempt=grant.attempt)
