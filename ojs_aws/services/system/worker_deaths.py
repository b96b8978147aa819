"""Finds queues whose jobs end because their worker dies, and the job that each death meets.

A job that kills its worker comes back with the next attempt, and kills the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.jobs.deadlines import WORKER_DEATH
from ojs_aws.domain.timestamps import Instant, format_instant, span_text
from ojs_aws.services.system.finding import MAX_NAMED, Finding, FindingCode, Sees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.jobs.failure_groups import FailureGroup
    from ojs_aws.ports import JobStore
    from ojs_aws.services.system.failure_groups import FailureReport

RECENT_MS: Final = 1_800_000
"""Deaths count as long as the last one is not longer ago."""

MIN_DEATHS: Final = 3
"""Fewer are a deployment that was too quick, or bad luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDeaths:
    """Looks at the failures of the last hour for attempts that ended with their worker."""

    store: JobStore

    def __call__(
        self, report: FailureReport, sees: Sees | None, checks: dict[str, str], normal: str
    ) -> list[Finding]:
        """Return what needs attention, and add a sentence about all failures to the checks.

        :param report: the failures that the caller may see.
        :param normal: says why so many failures are no finding; empty if they are one.
        """
        died = [each for each in report.groups if each.group.type == WORKER_DEATH]
        checks["failures"] = _checked(report, sum(each.group.count for each in died), normal)
        oldest = report.until - RECENT_MS
        groups = [each.group for each in died if each.group.last_seen >= oldest]
        count = sum(each.count for each in groups)
        if count < MIN_DEATHS:
            return []
        ids = list(dict.fromkeys(job_id for each in groups for job_id in each.job_ids))
        jobs = [
            job
            for job in self.store.load_many(ids[:MAX_NAMED]).values()
            if sees is None or sees(job.queue, job.type)
        ]
        met = {job.id: _deaths(job, report.since) for job in jobs}
        if jobs and sum(met.values()) >= count and all(job.state.is_terminal for job in jobs):
            return []  # whatever killed the workers has ended
        jobs.sort(key=lambda job: (-met[job.id], job.id))
        return [self._finding(report, groups, count, jobs)]

    def _finding(
        self,
        report: FailureReport,
        groups: Sequence[FailureGroup],
        count: int,
        jobs: Sequence[JobRecord],
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
