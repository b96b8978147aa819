"""Handles workers' operations: FETCH, ACK, FAIL and BEAT (HTTP binding, section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.jobs.held_job import AttemptRef
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.transport.http.authorization import check_fetched, check_job
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.jobs import reports
from ojs_aws.transport.http.jobs.reports import beat_of_attempt, reporter_of
from ojs_aws.transport.http.jobs.serializers import (
    fetch_answer,
    heartbeat_answer,
    outcome_answer,
)

if TYPE_CHECKING:
    from ojs_aws.services.workers.heartbeat import HeartbeatResult
    from ojs_aws.transport.http.jobs import models
    from ojs_aws.transport.http.workers.models import HeartbeatValues

ABOUT: Final = (
    "hostname",
    "pid",
    "queues",
    "concurrency",
    "labels",
    "pool",
    "started_at",
    "version",
    "metadata",
)
"""What the registry keeps of a heartbeat for people to see (worker protocol, section 4.2)."""

MAX_ABOUT_BYTES: Final = 8192
_ORDERED: Final = ("pool", "strategy", "weights")
"""Members by which a FETCH lets the server choose the order of its queues."""


def fetch(call: Call) -> Answer[models.FetchAnswer]:
    """Claim jobs (FETCH); without jobs, return an empty list."""
    from ojs_aws.services.jobs.fetch.request import FetchRequest
    from ojs_aws.transport.http.workers.models import FetchBody

    values, pool = reports.fetch_values(call.members()), None
    if any(values.get(name) is not None for name in _ORDERED):
        from ojs_aws.transport.http.workers.handlers import chosen

        pools = call.backend.workers.pools
        pool = chosen(pools, values)
        values["queues"] = [*pools.order(pool)]
    body = FetchBody.model_validate(values)
    check_fetched(call, body.queues)
    records = call.backend.jobs.fetch(
        FetchRequest(
            queues=tuple(body.queues),
            count=body.count,
            worker_id=body.worker_id or "",
            visibility_timeout_ms=body.visibility_timeout_ms,
            heartbeat_interval_ms=body.heartbeat_interval_ms,
            tenant=call.request.caller.tenant,
        )
    )
    if pool is not None:
        call.backend.workers.pools.learn(pool, body.queues, records)
    call.note({"worker_id": body.worker_id or ""})
    call.note_jobs(records)
    return Answer(fetch_answer(records))


def ack(call: Call) -> Answer[models.OutcomeAnswer]:
    """Complete the job that the body names (ACK)."""
    return _ack(call, "", optional=False)


def ack_job(call: Call) -> Answer[models.OutcomeAnswer]:
    """Complete the job that the path names (ACK); the body may be empty."""
    return _ack(call, call.job_id, optional=True)


def _ack(call: Call, job_id: str, *, optional: bool) -> Answer[models.OutcomeAnswer]:
    from ojs_aws.transport.http.workers.models import ReportBody

    members = call.members(optional=optional)
    body = ReportBody.model_validate(reports.report_values(members, job_id))
    call.note({"job_id": body.job_id, "worker_id": body.worker_id or ""})
    check_job(call, body.job_id)
    worker_id, which = reporter_of(call, body)
    record = call.backend.jobs.ack(
        body.job_id,
        worker_id,
        reports.result_of(members),
        which=which,
        wakes_next=_wakes_next(call),
    )
    call.note_jobs([record])
    return Answer(outcome_answer(record, is_acknowledged=True))


def fail(call: Call) -> Answer[models.OutcomeAnswer]:
    """Fail the job that the body names (FAIL)."""
    return _fail(call, "")


def fail_job(call: Call) -> Answer[models.OutcomeAnswer]:
    """Fail the job that the path names (FAIL)."""
    return _fail(call, call.job_id)


def _fail(call: Call, job_id: str) -> Answer[models.OutcomeAnswer]:
    from ojs_aws.transport.http.workers.models import FailValues

    members = call.members()
    body = FailValues.model_validate(reports.report_values(members, job_id))
    call.note({"job_id": body.job_id, "worker_id": body.worker_id or ""})
    check_job(call, body.job_id)
    worker_id, which = reporter_of(call, body)
    if body.requeue:
        error = reports.reason_of(members)
        record = call.backend.jobs.fail.requeue(
            body.job_id,
            worker_id,
            error,
            which=which,
            delay_ms=body.delay_ms,
            wakes_next=_wakes_next(call),
        )
    else:
        error = reports.error_of(members)
        record = call.backend.jobs.fail(
            body.job_id,
            worker_id,
            error,
            which=which,
            delay_ms=body.delay_ms,
            wakes_next=_wakes_next(call),
        )
    call.note_jobs([record])
    return Answer(outcome_answer(record, is_acknowledged=False))


def _wakes_next(call: Call) -> bool:
    """Return whether nobody polls who would find the jobs that wait for this one's slots."""
    return call.request.caller.attempt is not None


def heartbeat(call: Call) -> Answer[models.HeartbeatAnswer]:
    """Extend the reservations of a worker's jobs, and answer its directive (BEAT)."""
    worker_id, answered = beat(call)
    return Answer(heartbeat_answer(answered, worker_id))


def beat(call: Call) -> tuple[str, HeartbeatResult]:
    """Carry out a heartbeat; return its worker and the answer to it."""
    from ojs_aws.transport.http.workers.models import HeartbeatValues

    grant = call.request.caller.attempt
    members = call.members(optional=grant is not None)
    body = HeartbeatValues.model_validate(reports.heartbeat_values(members))
    if grant is not None:
        return "", beat_of_attempt(call, grant, body)
    count = body.active_count
    report = WorkerReport(
        state=body.state,
        drain_word=body.drain_word,
        active_jobs=len(body.active_job_ids) if count is None else count,
        interval_ms=body.heartbeat_interval_ms,
        about=_about(body),
    )
    call.note({"worker_id": body.worker_id or ""})
    answered = call.backend.workers.heartbeat(
        body.worker_id,
        body.active_job_ids,
        body.visibility_timeout_ms,
        report,
        call.request.caller,
        attempts=_attempts(body),
    )
    return body.worker_id or "", answered


def _attempts(body: HeartbeatValues) -> dict[str, AttemptRef]:
    """Return the attempts that a heartbeat names, by job id."""
    return {
        job_id: AttemptRef(
            reservation_id=body.reservation_ids.get(job_id), attempt=body.attempts.get(job_id)
        )
        for job_id in body.reservation_ids.keys() | body.attempts.keys()
    }


def _about(body: HeartbeatValues) -> str:
    """Return what a worker reports of itself, as JSON; empty for nothing.

    :raises InvalidRequestError: more than the registry keeps.
    """
    known = {name: value for name in ABOUT if (value := getattr(body, name)) is not None}
    text = encode(known) if known else ""
    if len(text.encode()) > MAX_ABOUT_BYTES:
        message = f"What a worker tells of itself has at most {MAX_ABOUT_BYTES} bytes."
        hint = "Shorten 'metadata', 'labels' or 'queues'."
        raise field_error("metadata", message, hint, max_bytes=MAX_ABOUT_BYTES)
    return text
