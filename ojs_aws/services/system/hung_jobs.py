"""Finds jobs that run much longer than others of their type, though their workers beat."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant, span_text
from ojs_aws.ports import JobList
from ojs_aws.services.system.finding import MAX_NAMED, Finding, FindingCode

if TYPE_CHECKING:
    from ojs_aws.ports import JobStore

LONG_MS: Final = 60_000
LONG_TIMES: Final = 5
"""A job hangs after a minute, and after so many times the longest of the last runs of its type."""

LAST: Final = 50
"""Jobs that completed last in its queue, among which those of its type are looked for."""

MIN_RUNS: Final = 3
"""Fewer runs say nothing of a type."""

MAX_TYPES: Final = 3
"""Queues and types that are compared, those of the longest jobs."""

Kind = tuple[str, str]
"""A queue and a job type."""


def hung_jobs(
    store: JobStore, running: Iterable[JobRecord], known: Collection[str], now: Instant
) -> list[Finding]:
    """Say which jobs run much longer than their type does, by type, the longest first.

    Nothing is read unless a job has run for a minute; then a page of completed jobs for each queue.

    :param running: jobs of workers that send heartbeats.
    :param known: ids of those that another finding names.
    """
    long: dict[Kind, list[JobRecord]] = {}
    for job in sorted(running, key=lambda job: (job.started_at or now, job.id)):
        is_active = job.state is JobState.ACTIVE and job.id not in known
        if is_active and _runs_ms(job, now) > LONG_MS:
            long.setdefault((job.queue, job.type), []).append(job)
    kinds = [*long][:MAX_TYPES]
    usual = {queue: _longest_runs(store, queue) for queue in dict.fromkeys(q for q, _ in kinds)}
    found = []
    for queue, kind in kinds:
        longest_ms = usual[queue].get(kind)
        if longest_ms is None:
            continue
        hung = [each for each in long[queue, kind] if _runs_ms(each, now) > LONG_TIMES * longest_ms]
        if hung:
            found.append(_finding(hung, longest_ms, now))
    return found


def _runs_ms(job: JobRecord, now: Instant) -> int:
    return now - (job.started_at or now)


def _longest_runs(store: JobStore, queue: str) -> dict[str, int]:
    """Return how long the longest of the last runs of each type took, where there are enough."""
    page = store.listed(queue, JobList.COMPLETED, LAST, newest_first=True)
    runs: dict[str, list[int]] = {}
    for job in store.load_many([row.id for row in page.jobs]).values() if page.jobs else ():
        if job.started_at is not None and job.completed_at is not None:
            runs.setdefault(job.type, []).append(job.completed_at - job.started_at)
    return {kind: max(times) for kind, times in runs.items() if len(times) >= MIN_RUNS}


def _finding(hung: list[JobRecord], longest_ms: int, now: Instant) -> Finding:
    """Say how long the first job has run, and how long others of its type do."""
    first = hung[0]
    more = f", and {len(hung) - 1} more of them" if len(hung) > 1 else ""
    names: list[JsonValue] = [each.id for each in hung[:MAX_NAMED]]
    return Finding(
        code=FindingCode.JOBS_HANG,
        check="workers",
        message=f"A job '{first.type}' of queue '{first.queue}' has run for "
        f"{span_text(_runs_ms(first, now))}{more}, where the last ones took "
        f"{span_text(longest_ms)} at most. Its worker sends heartbeats, so nothing ends it before "
        "its timeout.",
        hint=f"ojs-aws jobs cancel {' '.join(map(str, names))}",
        data={
            "queue": first.queue,
            "type": first.type,
            "job_id": first.id,
            "job_ids": names,
            "runs_ms": _runs_ms(first, now),
            "longest_ms": longest_ms,
        },
    )
