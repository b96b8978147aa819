"""Finds failures that need attention: of queues, dying workers, and jobs without a handler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.deadlines import WORKER_DEATH
from ojs_aws.domain.queues.tallies import TallyKind
from ojs_aws.domain.timestamps import Instant, format_instant, span_text
from ojs_aws.services.system.queue_findings import MAX_NAMED, Finding, FindingCode, Sees
from ojs_aws.services.system.statistics import RECENT_MS

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.jobs.failure_groups import FailureGroup
    from ojs_aws.services.system.failure_groups import FailureReport, QueuesGroup
    from ojs_aws.services.system.statistics import Totals

FAILING: Final = 0.5
MIN_FAILED: Final = 10
"""A queue is failing if so many executions failed of late, and they are this share of all."""

NONE_FAILING: Final = (
    f"No queue fails at present: that would be at least {MIN_FAILED} failures in "
    f"{RECENT_MS // 60_000} minutes, and {FAILING:.0%} of its executions."
)
"""What is normal about failures."""

DEATHS_MS: Final = 1_800_000
"""Deaths count as long as the last one is not longer ago."""

MIN_DEATHS: Final = 3
"""Fewer are a deployment that was too quick, or bad luck."""

NO_HANDLER: Final = "NoHandlerRegistered"
"""Type of the error with which workers discard a job whose type they do not know."""

_Failing = tuple[int, int, str]
"""How many executions of a queue failed and ended, and its name."""


def failing_queues(totals: Totals, groups: Sequence[QueuesGroup]) -> list[Finding]:
    """Say in which queues most executions of the last minutes failed, the most failures first.

    Queues that share their most frequent error are one finding: a service that their jobs call
    fails all of them.

    :param groups: the failures of the last hours, the largest group first; none if the caller may
        not read errors.
    """
    causes: dict[tuple[str, str], FailureGroup] = {}
    together: defaultdict[tuple[str, str], list[_Failing]] = defaultdict(list)
    for each in sorted(_failing(totals), key=lambda each: (-each[0], each[2])):
        queue = each[2]
        cause = next((one.group for one in groups if queue in one.queues), None)
        name = ("", queue) if cause is None else cause.name
        together[name].append(each)
        if cause is not None:
            causes[name] = cause
    found = [_finding(queues, causes.get(name)) for name, queues in together.items()]
    return found[:MAX_NAMED]


def _failing(totals: Totals) -> list[_Failing]:
    found = []
    for name, (_, did) in totals.by_queue.items():
        failed = did.counts[TallyKind.FAILED] + did.counts[TallyKind.RETRIED]
        ended = failed + did.counts[TallyKind.COMPLETED]
        if failed >= MIN_FAILED and failed >= FAILING * ended:
            found.append((failed, ended, name))
    return found


def _finding(queues: Sequence[_Failing], cause: FailureGroup | None) -> Finding:
    failed = sum(failed for failed, _, _ in queues)
    ended = sum(ended for _, ended, _ in queues)
    names = [each[2] for each in queues[:MAX_NAMED]]
    where = " and ".join(f"'{each}'" for each in names)
    text = (
        f"In queue{'s' if len(names) > 1 else ''} {where} {failed} of {ended} executions failed "
        f"in the last {RECENT_MS // 60_000} minutes."
    )
    data: dict[str, JsonValue] = {"queue": names[0], "failed": failed, "ended": ended}
    if len(names) > 1:
        data["queues"] = [*names]
    if cause is not None:
        example = (cause.example or cause.message).rstrip(".")
        text += f" The most frequent error: {cause.type}: {example}".rstrip(" :") + "."
        data |= {"error_type": cause.type, "error": cause.message}
    only = f" -q {names[0]}" if len(names) == 1 else ""
    return Finding(
        code=FindingCode.JOBS_FAIL,
        check="failures",
        message=text,
        hint="If a new version causes it, go back to the old one; if a service is down, pause its "
        f"queues until it is back: ojs-aws errors{only}",
        data=data,
    )


def worker_deaths(
    store: JobStore,
    report: FailureReport,
    sees: Sees | None,
    checks: dict[str, str],
    normal: str,
) -> list[Finding]:
    """Say how many attempts ended with their worker, and add a sentence on all failures to checks.

    :param report: the failures that the caller may see.
    :param normal: says why so many failures are no finding; empty if they are one.
    """
    died = [each for each in report.groups if each.group.type == WORKER_DEATH]
    checks["failures"] = _checked(report, sum(each.group.count for each in died), normal)
    oldest = report.until - DEATHS_MS
    groups = [each.group for each in died if each.group.last_seen >= oldest]
    count = sum(each.count for each in groups)
    if count < MIN_DEATHS:
        return []
    jobs = _some_jobs(store, groups, sees)
    met = {job.id: _deaths(job, report.since) for job in jobs}
    if jobs and sum(met.values()) >= count and all(job.state.is_terminal for job in jobs):
        return []  # whatever killed the workers has ended
    jobs.sort(key=lambda job: (-met[job.id], job.id))
    return [_deaths_finding(report, groups, count, jobs)]


def _some_jobs(
    store: JobStore, groups: Sequence[FailureGroup], sees: Sees | None
) -> list[JobRecord]:
    """Return some jobs of groups, as far as the caller may see them."""
    ids = dict.fromkeys(job_id for each in groups for job_id in each.job_ids)
    jobs = store.load_many([*ids][:MAX_NAMED]).values()
    return [job for job in jobs if sees is None or sees(job.queue, job.type)]


def _deaths_finding(
    report: FailureReport, groups: Sequence[FailureGroup], count: int, jobs: Sequence[JobRecord]
) -> Finding:
    """Say how often workers died, and which job was there most often."""
    last = max(each.last_seen for each in groups)
    text = (
        f"{count} attempts ended because their worker died or hung in the last "
        f"{span_text(report.until - report.since)}, the last one "
        f"{span_text(report.until - last)} ago."
    )
    data: dict[str, JsonValue] = {"count": count, "last_at": format_instant(last)}
    hint = "ojs-aws errors"
    if jobs:
        first = jobs[0]
        often = _deaths(first, report.since)
        data |= {"queue": first.queue, "job_id": first.id, "deaths_of_job": often}
        hint = f"ojs-aws jobs show {first.id}"
        if often > 1:
            share = "All" if often >= count else str(often)
            text += f" {share} of them were attempts of one job, '{first.type}'"
            text += f", in queue '{first.queue}'."
    return Finding(
        code=FindingCode.WORKERS_DIE, check="failures", message=text, hint=hint, data=data
    )


def _deaths(job: JobRecord, since: Instant) -> int:
    """Return how many of a job's attempts ended with their worker."""
    return sum(
        each.type == WORKER_DEATH and each.occurred_at >= since
        for each in (*job.failures, *job.past_failures)
    )


def _checked(report: FailureReport, died: int, normal: str) -> str:
    """Return a sentence about the failures that were looked at."""
    failed = sum(each.group.count for each in report.groups) + report.ungrouped
    during = f"in the last {span_text(report.until - report.since)}"
    if not failed:
        return f"No attempt failed {during}."
    deaths = f"{died or 'none'} of them because a worker died or hung"
    text = f"{failed} failed attempt{'s' if failed > 1 else ''} {during}, {deaths}."
    return f"{text} {normal}".rstrip()


def missing_handlers(store: JobStore, report: FailureReport, sees: Sees | None) -> list[Finding]:
    """Say how many jobs were discarded for want of a handler, until they are started again.

    Reads some of the jobs, and only where there are any.
    """
    groups = [each.group for each in report.groups if each.group.type == NO_HANDLER]
    if not groups:
        return []
    there = _some_jobs(store, groups, sees)
    jobs = [job for job in there if job.state is JobState.DISCARDED]
    if there and not jobs:
        return []  # they were started again
    count = sum(each.count for each in groups)
    last = max(each.last_seen for each in groups)
    text = (
        f"{count} job{'s were' if count > 1 else ' was'} discarded in the last "
        f"{span_text(report.until - report.since)} because no worker that got them has a "
        f"handler for their type, the last one {span_text(report.until - last)} ago."
    )
    data: dict[str, JsonValue] = {"count": count, "last_at": format_instant(last)}
    hint = "ojs-aws errors"
    if jobs:
        types = sorted({job.type for job in jobs})
        data |= {"types": [*types], "queue": jobs[0].queue, "job_id": jobs[0].id}
        text += f" Among them: {', '.join(types)}."
        hint = f"Deploy a worker with the handler, then: ojs-aws jobs retry {jobs[0].id}"
    code, check = FindingCode.HANDLERS_MISSING, "failures"
    return [Finding(code=code, check=check, message=text, hint=hint, data=data)]
