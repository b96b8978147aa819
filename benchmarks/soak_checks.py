"""What must be true after a soak, checked from the jobs, the event log and the workers' diary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks.soak_worker import Diary

Json = Mapping[str, Any]

END: Final = "end"
NEXT: Final[Mapping[tuple[str, str], str]] = {
    ("", "job.scheduled"): "scheduled",
    ("", "job.enqueued"): "available",
    ("scheduled", "job.enqueued"): "available",
    ("available", "job.started"): "active",
    ("active", "job.completed"): END,
    ("active", "job.failed"): "failed",
    ("failed", "job.retrying"): "retryable",
    ("failed", "job.enqueued"): "available",
    ("failed", "job.discarded"): END,
    ("retryable", "job.enqueued"): "available",
    **{
        (state, kind): END
        for state in ("scheduled", "available", "retryable")
        for kind in ("job.expired", "job.cancelled")
    },
    ("active", "job.cancelled"): END,
}
"""Which event may follow where a job is, by the events before it."""

ENDS: Final = {
    "job.completed": "completed",
    "job.discarded": "discarded",
    "job.expired": "discarded",
    "job.cancelled": "cancelled",
}
OK: Final = 200


def problems(
    jobs: Sequence[Json], events: Iterable[Json], diary: Diary, max_attempts: Mapping[str, int]
) -> Iterator[str]:
    """Everything that is not as it must be.

    :param jobs: the jobs as INFO shows them.
    :param events: the event log in its order, repeats included.
    :param max_attempts: what each job's policy allows, by job id.
    """
    by_job: dict[str, dict[str, Json]] = defaultdict(dict)
    for event in events:
        if event["type"].startswith("job.") and event["type"] != "job.heartbeat":
            by_job[event["subject"]].setdefault(event["id"], event)
    for job in jobs:
        job_id, history = job["id"], list(by_job.get(job["id"], {}).values())
        for problem in _of_job(job, history, max_attempts[job_id]):
            kinds = [event["type"].removeprefix("job.") for event in history]
            yield f"{job_id}: {problem} (events: {', '.join(kinds)})"
    yield from _of_reservations(diary, {job["id"]: job for job in jobs})
    yield from diary.unexpected


def _of_job(job: Json, history: Sequence[Json], allowed: int) -> Iterator[str]:
    if job["attempt"] > allowed:
        yield f"{job['attempt']} attempts where {allowed} are allowed"
    state, last, started = "", "", []
    for event in history:
        kind = event["type"]
        if (state, kind) not in NEXT:
            yield f"{kind} while {state or 'unknown'}"
            return
        if event["time"] < last:
            yield f"{kind} at {event['time']}, before {last}"
        state, last = NEXT[state, kind], event["time"]
        if kind == "job.started":
            started.append(event["data"]["attempt"])
    if state != END:
        yield f"ended as {state or 'unknown'} in the events, {job['state']} in the table"
    elif ENDS[history[-1]["type"]] != job["state"]:
        yield f"{history[-1]['type']}, but the table says {job['state']}"
    if started != list(range(1, job["attempt"] + 1)):
        yield f"attempts started: {started}, in the table: {job['attempt']}"


def _of_reservations(diary: Diary, jobs: Mapping[str, Json]) -> Iterator[str]:
    """No two workers were given one attempt; only the last holder's word counted."""
    given = Counter((held.job_id, held.attempt) for held in diary.held)
    yield from (
        f"{key[0]}: attempt {key[1]} was given out twice" for key, n in given.items() if n > 1
    )
    for report in diary.reports:
        held, job = report.held, jobs[report.held.job_id]
        if report.status != OK or report.kind != "ack":
            continue
        if job["state"] != "completed" or job["attempt"] != held.attempt:
            yield (
                f"{held.job_id}: the ACK of attempt {held.attempt} was accepted, and the job is "
                f"{job['state']} after {job['attempt']}"
            )
    accepted = Counter(
        (report.held.job_id, report.held.attempt) for report in diary.reports if report.status == OK
    )
    yield from (
        f"{key[0]}: two reports on attempt {key[1]} counted" for key, n in accepted.items() if n > 1
    )
