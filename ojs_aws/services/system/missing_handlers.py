"""Finds jobs that were discarded because no worker had a handler for their type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.job import JobState
from ojs_aws.domain.timestamps import format_instant, span_text
from ojs_aws.services.system.finding import MAX_NAMED, Finding, FindingCode, Sees

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.ports import JobStore
    from ojs_aws.services.system.failure_groups import FailureReport

NO_HANDLER: Final = "NoHandlerRegistered"
"""Type of the error with which workers discard a job whose type they do not know."""


@dataclass(frozen=True, slots=True)
class MissingHandlers:
    """Looks at the failures of the last hour for jobs without a handler."""

    store: JobStore

    def __call__(self, report: FailureReport, sees: Sees | None) -> list[Finding]:
        """Return what needs attention: one finding for all such jobs, until they are started again.

        Reads some of the jobs, and only where there are any.
        """
        groups = [each.group for each in report.groups if each.group.type == NO_HANDLER]
        if not groups:
            return []
        ids = list(dict.fromkeys(job_id for each in groups for job_id in each.job_ids))
        there = [
            job
            for job in self.store.load_many(ids[:MAX_NAMED]).values()
            if sees is None or sees(job.queue, job.type)
        ]
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
        return [
            Finding(
                code=FindingCode.HANDLERS_MISSING,
                check="failures",
                message=text,
                hint=hint,
                data=data,
            )
        ]
