"""Shapes answers: every field that a document or an official client reads, side by side.

Jobs stand in a ``job`` wrapper and, with the same fields, flat at the top level; never ``timeout``
but where it was sent, always ``timeout_ms``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.job import StoredElsewhere
from ojs_aws.domain.jobs.failures import render_failure
from ojs_aws.domain.json_text import RawJson, assemble, assemble_array, encode, members_text
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.jobs.render import render_job, stored_values
from ojs_aws.transport.http.calls import JsonOf

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.services.jobs.render import PushResult
    from ojs_aws.services.workers.heartbeat import HeartbeatResult
    from ojs_aws.transport.http.answers import DirectiveName
    from ojs_aws.transport.http.jobs import models


Rendered = dict[str, RawJson]

BATCH_LIMIT: Final = 1_500_000
"""Characters of a batch's jobs above which they are answered without the client's own documents;
each is four bytes at most, and 6 MB is what a Lambda function can answer."""

FLAT_LIMIT: Final = 1_000_000
"""Bytes of a job above which it is answered in the wrapper only: a Lambda function cannot
answer more than 6 MB."""


def job_answer(rendered: Rendered, more: Rendered | None = None) -> JsonOf[models.JobAnswer]:
    """Return one job, wrapped and flat.

    :param more: further members, in both places.
    """
    job = rendered | more if more else rendered
    inside = members_text(job)
    wrapped = RawJson(f"{{{inside}}}")
    if len(wrapped.encode()) > FLAT_LIMIT:
        return JsonOf(assemble({"job": wrapped, "id": job["id"], "state": job["state"]}))
    if "job" in job:
        inside = members_text({name: raw for name, raw in job.items() if name != "job"})
    return JsonOf(f'{{"job":{wrapped},{inside}}}')


def changed_job(record: JobRecord) -> Rendered:
    """Return a job after a transition, without a large document that was not read."""
    is_whole = not any(isinstance(d, StoredElsewhere) for d in (record.document, record.result))
    return render_job(record) if is_whole else outcome(record)


def outcome(record: JobRecord) -> Rendered:
    """Return what the system says of a job, without the client's document."""
    members = {
        "id": encode(record.id),
        "type": encode(record.type),
        "queue": encode(record.queue),
        "state": encode(str(record.state)),
        "priority": encode(record.priority),
        "attempt": encode(record.attempt),
        "max_attempts": encode(record.retry.max_attempts),
        "timeout_ms": encode(record.timeout_ms),
        **stored_values(record),
    }
    if record.error is not None:
        members["error"] = render_failure(record.error)
    return members


def outcome_answer(record: JobRecord, *, is_acknowledged: bool) -> JsonOf[models.OutcomeAnswer]:
    """Return the answer to ACK and FAIL: the outcome flat, the whole job in a ``job`` wrapper.

    A document that is kept apart was not read for it: then the wrapper has the outcome only.
    """
    members = outcome(record)
    job = changed_job(_without_large_result(record))
    if record.state.is_terminal:  # the delay of the retry before
        members.pop("retry_delay_ms", None)
        job.pop("retry_delay_ms", None)
    head: Rendered = {"acknowledged": RawJson("true")} if is_acknowledged else {}
    named = {"job_id": encode(record.id)}
    return JsonOf(assemble(head | named | members | {"job": assemble(job)}))


def _without_large_result(record: JobRecord) -> JobRecord:
    """Return a job without the result that its worker just sent, if stored elsewhere."""
    return replace(record, result=None) if isinstance(record.result, StoredElsewhere) else record


def push_answer(pushed: PushResult, job_id: str) -> models.JobAnswer | JsonOf[models.JobAnswer]:
    """Return the answer to PUSH: the job, or who dropped it."""
    if pushed.record is None:
        dropped = _dropped(pushed, job_id)
        return {"id": job_id, "dropped": True, "dropped_by": dropped["dropped_by"], "job": None}
    return job_answer(render_job(pushed.record), _another(pushed, job_id))


def _another(pushed: PushResult, job_id: str) -> Rendered:
    """Mark that a job is not the pushed one: it has the same uniqueness key."""
    if pushed.is_duplicate:
        return {"deduplicated": RawJson("true"), "requested_id": encode(job_id)}
    if pushed.is_update:
        return {"updated": RawJson("true"), "requested_id": encode(job_id)}
    return {}


def _dropped(pushed: PushResult, job_id: str) -> models.DroppedJob:
    return {"id": job_id, "dropped": True, "dropped_by": pushed.dropped_by}


def batch_answer(results: Sequence[tuple[str, PushResult]]) -> models.BatchAnswer:
    """Return the answer to a batch: the jobs in order, their number, and dropped ones.

    :param results: each job's id and what became of it.
    """
    jobs = _batch_jobs(results, render_job)
    if sum(map(len, jobs)) > BATCH_LIMIT:
        jobs = _batch_jobs(results, outcome)
    answer: models.BatchAnswer = {
        "jobs": JsonOf(assemble_array(jobs)),
        "count": len(jobs),
        "enqueued": len(jobs),
        "failed": 0,
    }
    if dropped := [_dropped(each, job_id) for job_id, each in results if each.record is None]:
        answer["dropped"] = dropped
    return answer


def _batch_jobs(
    results: Sequence[tuple[str, PushResult]], render: Callable[[JobRecord], Rendered]
) -> list[RawJson]:
    return [
        assemble(render(pushed.record) | _another(pushed, job_id))
        for job_id, pushed in results
        if pushed.record is not None
    ]


def fetch_answer(records: Sequence[JobRecord]) -> models.FetchAnswer:
    """Return the claimed jobs. ``timeout`` is left out: a client reads it as milliseconds.

    Each job has the id of its reservation, which reports on it may carry (an extension).
    """
    jobs = []
    for record in records:
        members = render_job(record)
        members.pop("timeout", None)
        if record.reservation is not None and record.reservation.id:
            members["reservation_id"] = encode(record.reservation.id)
        jobs.append(assemble(members))
    return {"jobs": JsonOf(assemble_array(jobs)), "count": len(jobs)}


def heartbeat_answer(result: HeartbeatResult, worker_id: str) -> models.HeartbeatAnswer:
    """Return the answer to BEAT: the directive, and the result for each job."""
    state = cast("DirectiveName", result.state)
    return {
        "acknowledged": True,
        "state": state,
        "directive": "" if state == "running" else state,
        "worker_id": worker_id,
        "jobs_extended": [*result.extended],
        "jobs_cancelled": [*result.cancelled],
        "jobs_lost": [*result.lost],
        "server_time": format_instant(result.server_time),
    }
