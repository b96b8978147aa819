"""Handles producers' operations: PUSH, INFO, CANCEL and ACTIVATE (HTTP binding, section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from ojs_aws.domain.attributes import check_priority, field_error, invalid
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import check_count
from ojs_aws.domain.json_text import encode
from ojs_aws.services.jobs.build import check_envelope_size
from ojs_aws.services.jobs.render import PushResult, render_job
from ojs_aws.services.stored_jobs.change import JobChange
from ojs_aws.transport.http.authorization import bind_jobs
from ojs_aws.transport.http.calls import CREATED, OK, Answer, Call
from ojs_aws.transport.http.jobs.envelope import read_job, read_jobs
from ojs_aws.transport.http.jobs.serializers import (
    batch_answer,
    changed_job,
    job_answer,
    push_answer,
)
from ojs_aws.transport.http.routes import BASE

if TYPE_CHECKING:
    from ojs_aws.middleware.members import Members
    from ojs_aws.transport.http.jobs import models


def push(call: Call) -> Answer[models.JobAnswer]:
    """Push one job. Answer 201, or 200 if exactly the same envelope was pushed before."""
    settings = call.backend.settings
    check_envelope_size(len(call.request.body), settings.max_envelope_bytes)
    members = call.members()
    job = read_job(members, settings.max_depth)
    call.note({"job_id": job.id, "job_type": job.type, "queue": job.queue})
    bind_jobs(call, [("", job)])
    pushed = call.backend.jobs.push(job)
    body = push_answer(pushed, job.id)
    if pushed.record is None:
        return Answer(body)
    call.note_jobs([pushed.record])
    location = f"{BASE}/jobs/{quote(pushed.record.id)}"
    headers = {
        "Location": location,
        **_limit_headers(pushed.record),
        **fill_headers([pushed]),
    }
    return Answer(body, CREATED if pushed.is_new else OK, headers)


def _limit_headers(job: JobRecord) -> dict[str, str]:
    """Return the header that says how many starts, or active jobs, the job's own limit allows."""
    if job.limit is None:
        return {}
    window = job.limit.rate or job.limit.throttle
    most = job.limit.concurrency if window is None else window.limit
    return {"X-RateLimit-Limit": str(most)}


def fill_headers(results: Sequence[PushResult]) -> dict[str, str]:
    """Return headers that say how full the fullest queue is (ojs-backpressure, section 7.3).

    Returns none while all queues are below their warning thresholds.
    """
    fills = [pushed.fill for pushed in results if pushed.fill is not None and pushed.fill.is_high]
    if not fills:
        return {}
    fullest = max(fills, key=lambda fill: fill.pressure)
    return {
        "X-OJS-Queue-Depth": str(fullest.depth),
        "X-OJS-Queue-Bound": str(fullest.bound),
        "X-OJS-Queue-Pressure": str(fullest.pressure),
    }


def push_batch(call: Call) -> Answer[models.BatchAnswer]:
    """Push several jobs, all or none."""
    settings = call.backend.settings
    members = call.members()
    listed = members.get("jobs")
    if listed is not None and isinstance(listed.value, list):
        check_count(len(listed.value), settings.max_batch_jobs)
    jobs = read_jobs(members, settings.max_depth, settings.max_envelope_bytes)
    bind_jobs(call, ((f"jobs[{at}].", job) for at, job in enumerate(jobs)))
    results = call.backend.jobs.push.all(jobs)
    call.note_jobs([pushed.record for pushed in results if pushed.record is not None])
    body = batch_answer([(job.id, pushed) for job, pushed in zip(jobs, results, strict=True)])
    is_new = any(pushed.is_new for pushed in results)
    return Answer(body, CREATED if is_new else OK, fill_headers(results))


def show_middleware(call: Call) -> Answer[models.MiddlewareAnswer]:
    """Return the middleware around PUSH in this backend."""
    enqueuing = call.backend.jobs.push.enqueuing
    return Answer({"enqueue": _described(enqueuing.chain), "hooks": _described(enqueuing.hooks)})


def _described(members: Members) -> list[models.MiddlewareMember]:
    return [
        {"name": each.name, "kind": each.kind, "implements": [*each.implements]}
        for each in members.described()
    ]


def info(call: Call) -> Answer[models.JobAnswer]:
    """Return the whole job (INFO).

    A caller with the token of an attempt gets it only while this attempt holds the job.
    """
    grant = call.request.caller.attempt
    if grant is not None:
        grant.check_report(call.job_id)
    job = call.backend.jobs.info(call.job_id)
    call.note_jobs([job])
    if grant is not None:
        from ojs_aws.transport.http.jobs.reports import check_reader  # few callers have a token

        check_reader(grant, job)
    return Answer(job_answer(render_job(job)))


def cancel(call: Call) -> Answer[models.JobAnswer]:
    """Cancel a job in any non-terminal state (CANCEL)."""
    return _changed(call, call.backend.jobs.changes.cancel(call.job_id, call.actor))


def activate(call: Call) -> Answer[models.JobAnswer]:
    """Activate a pending job (ACTIVATE)."""
    return _changed(call, call.backend.jobs.changes.activate(call.job_id))


def change_job(call: Call) -> Answer[models.JobAnswer]:
    """Change a job's priority (ojs-priority, section 10.2), the only attribute that can change."""
    members = call.values()
    others = sorted(members.keys() - {"priority"})
    if others:
        message = f"Only the priority of a job can be changed; received '{others[0][:40]}'."
        raise field_error(others[0][:40], message, allowed=["priority"])
    if members.get("priority") is None:
        raise invalid("priority", "an integer from -100 to 100", members.get("priority"))
    change = call.backend.jobs.changes.reprioritise(
        call.job_id, check_priority(members["priority"]), call.actor
    )
    previous = {"previous_priority": encode(change.before.priority)}
    return Answer(job_answer(changed_job(change.after), previous))


def _changed(call: Call, change: JobChange) -> Answer[models.JobAnswer]:
    call.note_jobs([change.after])
    previous = {"previous_state": encode(str(change.before.state))}
    return Answer(job_answer(changed_job(change.after), previous))
