"""Finds workers that need attention: silent ones, those that hold jobs up, and jobs that hang."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.timestamps import Instant, span_text
from ojs_aws.services.system.queue_findings import MAX_NAMED, Finding, FindingCode
from ojs_aws.services.workers.service import STALE, queues_of, slots_of, state_of

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.workers import WorkerRegistry
    from ojs_aws.domain.workers import WorkerInfo
    from ojs_aws.services.system.statistics import Totals


MAX_WORKERS: Final = 500

MAX_JOBS: Final = 20
"""Jobs of workers that are looked at, those of queues in which jobs wait first."""

HELD: Final = 0.5
"""Jobs that run long are found if they hold this share of the workers' slots."""

MOST: Final = 0.95
LONG_MS: Final = 60_000
LONG_TIMES: Final = 5
"""A job runs long after a minute, and after so many times what most jobs of its queue take."""

Kind = tuple[str, str]
"""A queue and a job type."""

HANG_MS: Final = 60_000
SECOND_MS: Final = 1_000
HANG_TIMES: Final = 5
"""A job hangs after a minute, and after so many times the longest of the last runs of its type."""
LAST: Final = 50
"""Jobs that completed last in its queue, among which those of its type are looked for."""
MIN_RUNS: Final = 3
"""Fewer runs say nothing of a type."""
MAX_TYPES: Final = 3
"""Queues and types that are compared, those of the longest jobs."""


def worker_findings(
    registry: WorkerRegistry, store: JobStore, totals: Totals, checks: dict[str, str]
) -> list[Finding]:
    """Return what needs attention, and add a sentence about all workers to the checks.

    Workers in Lambda send no heartbeats, and are none of these.
    """
    now = totals.computed_at
    known = registry.page("", MAX_WORKERS, now)
    silent = [each for each in known if state_of(each, now) == STALE]
    alive = [each for each in known if each not in silent]
    more = "At least " if len(known) == MAX_WORKERS else ""
    quiet = sum(each.is_draining for each in alive)
    one = len(alive) == 1
    checks["workers"] = (
        f"{more}{len(alive)} worker{' sends' if one else 's send'} heartbeats, "
        f"{quiet or 'none'} of them quiet; {len(silent) or 'none'} stopped sending them. "
        "Workers in Lambda send none."
    )
    found = _silent(silent, alive, totals, more)
    served: dict[str, list[WorkerInfo]] = {}
    if len(known) < MAX_WORKERS:  # else some that take jobs may be unknown
        served = dict(_waited_for(alive, totals))
        found += _quiet(served, totals)
    slots = dict(_slots(served))
    first = {job_id for held, _ in slots.values() for job_id in held}
    others = {job_id for each in alive for job_id in each.job_ids} - first
    ids = [*sorted(first), *sorted(others)][:MAX_JOBS]
    jobs = store.load_many(ids) if ids else {}
    long = _running_long(slots, jobs, totals)
    named = {str(job_id) for each in long for job_id in cast("list[str]", each.data["job_ids"])}
    return [*found, *long, *_hung_jobs(store, jobs.values(), named, now)]


def _slots(
    served: Mapping[str, Sequence[WorkerInfo]],
) -> Iterator[tuple[str, tuple[set[str], int]]]:
    """Yield queues with the jobs that their workers hold, and how many they can hold."""
    for queue, workers in served.items():
        serving = [each for each in workers if not each.is_draining]
        if serving and all(slots_of(each) > 0 for each in serving):
            held = {job_id for each in serving for job_id in each.job_ids}
            yield queue, (held, sum(map(slots_of, serving)))


def _running_long(
    slots: Mapping[str, tuple[set[str], int]], jobs: Mapping[str, JobRecord], totals: Totals
) -> list[Finding]:
    """Say in which queues jobs wait while jobs that run too long hold half of the slots."""
    found = []
    for queue, (job_ids, count) in slots.items():
        running = [jobs[each] for each in sorted(job_ids) if each in jobs]
        long = [each for each in running if _runs_long(each, totals)]
        if long and len(long) >= HELD * count:
            found.append(_held_up(queue, long, count, totals))
    return found


def _silent(
    silent: Sequence[WorkerInfo], alive: Sequence[WorkerInfo], totals: Totals, more: str
) -> list[Finding]:
    """Say which workers died or hang: they promised heartbeats and send none.

    And where they leave jobs behind that no other worker takes.
    """
    if not silent:
        return []
    last = max(silent, key=lambda each: each.last_seen)
    ago = span_text(totals.computed_at - last.last_seen)
    what = (
        f"{more}{len(silent)} workers have stopped sending heartbeats, the last one {ago} ago"
        if len(silent) > 1
        else f"Worker '{last.id}' sent its last heartbeat {ago} ago"
    )
    names: list[JsonValue] = [each.id for each in silent[:MAX_NAMED]]
    served = {queue for each in alive for queue in queues_of(each)}
    left = [
        (queue, count)
        for queue in sorted({queue for each in silent for queue in queues_of(each)} - served)
        if (count := _available(queue, totals)) > 0
    ]
    if left:
        where = " and ".join(f"'{queue}'" for queue, _ in left[:MAX_NAMED])
        count = sum(count for _, count in left)
        jobs = "1 job waits" if count == 1 else f"{count} jobs wait"
        what += f", and nobody else serves {where}, where {jobs}"
    return [
        Finding(
            code=FindingCode.WORKERS_SILENT,
            check="workers",
            message=f"{what}.",
            hint=f"{'They died or hang' if len(silent) > 1 else 'It died or hangs'}; start "
            "workers again: ojs-aws workers list",
            data={
                "count": len(silent),
                "worker_ids": names,
                "queues": [queue for queue, _ in left[:MAX_NAMED]],
            },
        )
    ]


def _waited_for(
    alive: Sequence[WorkerInfo], totals: Totals
) -> Iterator[tuple[str, list[WorkerInfo]]]:
    """Yield the queues in which jobs wait for these workers, with those that serve each."""
    for queue, (counts, _) in totals.by_queue.items():
        if counts.counts["available"] > 0 and queue not in totals.paused:
            serving = [each for each in alive if queue in queues_of(each)]
            if serving:
                yield queue, serving


def _quiet(served: Mapping[str, Sequence[WorkerInfo]], totals: Totals) -> list[Finding]:
    """Say in which queues jobs wait and no worker takes new ones."""
    found = []
    for queue, workers in served.items():
        if not all(each.is_draining for each in workers):
            continue
        names: list[JsonValue] = [each.id for each in workers[:MAX_NAMED]]
        whose = (
            f"none of its {len(workers)} workers takes" if len(workers) > 1 else "no worker takes"
        )
        found.append(
            Finding(
                code=FindingCode.WORKERS_QUIET,
                check="workers",
                message=f"{_waiting_text(queue, totals)} and {whose} new jobs: they are quiet or "
                f"terminate ({', '.join(map(str, names))}).",
                hint=f"ojs-aws workers resume --queue {queue}",
                data={"queue": queue, "worker_ids": names},
            )
        )
    return found


def _runs_long(job: JobRecord, totals: Totals) -> bool:
    """Return whether a job runs much longer than most of its queue; False if that is unknown."""
    usual = totals.times.get(job.queue)
    usual_ms = None if usual is None else usual.runs.percentile_ms(MOST)
    if job.state is not JobState.ACTIVE or job.started_at is None or usual_ms is None:
        return False
    return totals.computed_at - job.started_at > max(LONG_MS, LONG_TIMES * usual_ms)


def _held_up(queue: str, long: Sequence[JobRecord], slots: int, totals: Totals) -> Finding:
    """Say which jobs hold so many slots of a queue's workers, the longest first."""
    now = totals.computed_at
    longest = sorted(long, key=lambda job: (job.started_at or now, job.id))
    first = longest[0]
    usual_ms = totals.times[first.queue].runs.percentile_ms(MOST) or 0
    since = now - (first.started_at or now)
    others = f" and {len(longest) - 1} more" if len(longest) > 1 else ""
    names: list[JsonValue] = [job.id for job in longest[:MAX_NAMED]]
    queues: list[JsonValue] = [*dict.fromkeys(job.queue for job in longest)]
    return Finding(
        code=FindingCode.JOBS_RUN_LONG,
        check="workers",
        message=f"{_waiting_text(queue, totals)} and jobs that run unusually long hold {len(long)} "
        f"of the {slots} slots of its workers: '{first.type}' for {span_text(since)}{others}, "
        f"where {MOST:.0%} end within {span_text(usual_ms)}.",
        hint="See what they wait for; cancel those that hang, or start more workers: "
        f"ojs-aws jobs cancel {' '.join(map(str, names))}",
        data={"queue": queue, "queues": queues, "job_id": first.id, "job_ids": names},
    )


def _available(queue: str, totals: Totals) -> int:
    known = totals.by_queue.get(queue)
    return 0 if known is None else known[0].counts["available"]


def _waiting_text(queue: str, totals: Totals) -> str:
    """Return the beginning of a sentence about a queue in which jobs wait."""
    count = totals.by_queue[queue][0].counts["available"]
    return f"In queue '{queue}' {count} job{' waits' if count == 1 else 's wait'},"


def _hung_jobs(
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
        if is_active and _runs_ms(job, now) > HANG_MS:
            long.setdefault((job.queue, job.type), []).append(job)
    kinds = [*long][:MAX_TYPES]
    usual = {queue: _longest_runs(store, queue) for queue in dict.fromkeys(q for q, _ in kinds)}
    found = []
    for queue, kind in kinds:
        longest_ms = usual[queue].get(kind)
        if longest_ms is None:
            continue
        hung = [each for each in long[queue, kind] if _runs_ms(each, now) > HANG_TIMES * longest_ms]
        if hung:
            found.append(_hung_finding(hung, longest_ms, now))
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


def _hung_finding(hung: list[JobRecord], longest_ms: int, now: Instant) -> Finding:
    """Say how long the first job has run, and how long others of its type do."""
    first = hung[0]
    what = (
        f"{len(hung)} jobs '{first.type}' of queue '{first.queue}' seem to hang: the longest has "
        if len(hung) > 1
        else f"A job '{first.type}' of queue '{first.queue}' seems to hang: it has "
    )
    longest = span_text(longest_ms) if longest_ms >= SECOND_MS else "a second"
    names: list[JsonValue] = [each.id for each in hung[:MAX_NAMED]]
    return Finding(
        code=FindingCode.JOBS_HANG,
        check="workers",
        message=f"{what}run for {span_text(_runs_ms(first, now))}, and the last ones of its type "
        f"took {longest} at most. Heartbeats still come, so it goes on until its timeout.",
        hint=f"See what the job waits for, and cancel what hangs: ojs-aws jobs cancel "
        f"{' '.join(map(str, names))}",
        data={
            "queue": first.queue,
            "type": first.type,
            "job_id": first.id,
            "job_ids": names,
            "runs_ms": _runs_ms(first, now),
            "longest_ms": longest_ms,
        },
    )
