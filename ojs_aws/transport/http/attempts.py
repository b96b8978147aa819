"""Says which attempt of a job a report is about: by its body, or by the token of an endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.domain.jobs.held_job import AttemptRef, Holder, check_holder

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant
    from ojs_aws.services.workers.heartbeat import HeartbeatResult
    from ojs_aws.transport.http.calls import Call
    from ojs_aws.transport.http.workers.models import HeartbeatValues, ReportBody


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


def beat_of_attempt(call: Call, grant: AttemptGrant, body: HeartbeatValues) -> HeartbeatResult:
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


def check_reader(grant: AttemptGrant, job: JobRecord) -> None:
    """Refuse to show a job to whom its token no longer gives it.

    :raises ConflictError: the attempt is over.
    """
    check_holder(job, "read", Holder(None, _attempt_of(grant)))


def _attempt_of(grant: AttemptGrant) -> AttemptRef:
    return AttemptRef(reservation_id=grant.reservation_id, attempt=grant.attempt)
