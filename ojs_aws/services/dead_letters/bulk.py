"""Retries and deletes many dead letters, with an outcome for each (section 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import check_job_id, field_error
from ojs_aws.domain.credentials import Actor
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk.by_filter import MAX_DRY
from ojs_aws.services.bulk.engine import (
    MAX_BULK,
    BulkAction,
    BulkEngine,
    BulkOutcome,
    BulkReport,
    BulkStatus,
    check_limit,
)
from ojs_aws.services.dead_letters.search import DeadLetterFilter, DeadLetterSearch

_DISCARDED: Final = frozenset({JobState.DISCARDED})


@dataclass(frozen=True, slots=True)
class DeadLetterBulk:
    """Retries or deletes the dead letters of a filter, or the named ones."""

    engine: BulkEngine
    rows: DeadLetterSearch

    def __call__(
        self,
        action: BulkAction,
        chosen: DeadLetterFilter | Sequence[str],
        limit: int = MAX_BULK,
        cursor: str = "",
        *,
        view: View = UNBOUND,
        as_of: Instant | None = None,
        by: Actor | None = None,
    ) -> BulkReport:
        """Change the dead letters of a filter, or the named ones.

        :param view: what the caller may see; a named job beyond it is not found.
        :param as_of: only jobs that were discarded by then, as a dry run counted them.
        :param by: who does it.
        :raises InvalidRequestError: too many ids, a bad id, limit or cursor.
        """
        check_limit(limit)
        if isinstance(chosen, DeadLetterFilter):
            page = self.rows.find(replace(chosen, as_of=as_of), limit, cursor)
            jobs = {job.id: job for job in page.jobs}
            outcomes = self.engine.change(action, _DISCARDED, jobs, as_of=as_of, by=by)
            return BulkReport(outcomes, page.cursor)
        ids, named = self._named(chosen, view)
        return _named_report(self.engine.change(action, _DISCARDED, named, ids, as_of=as_of, by=by))

    def preview(
        self,
        action: BulkAction,
        chosen: DeadLetterFilter | Sequence[str],
        limit: int,
        cursor: str,
        *,
        view: View,
        as_of: Instant,
    ) -> BulkReport:
        """Say what would be changed, and change nothing; parameters as of a change.

        :param limit: up to a thousand dead letters of a filter.
        :raises InvalidRequestError: too many ids, a bad id, limit or cursor.
        """
        check_limit(limit, MAX_DRY)
        if isinstance(chosen, DeadLetterFilter):
            page = self.rows.find(replace(chosen, as_of=as_of), limit, cursor)
            found = tuple(BulkOutcome(job.id, BulkStatus.DONE) for job in page.jobs)
            return BulkReport(found, page.cursor)
        ids, named = self._named(chosen, view)
        return _named_report(self.engine.preview(action, _DISCARDED, named, ids, as_of))

    def _named(self, chosen: Sequence[str], view: View) -> tuple[list[str], dict[str, JobRecord]]:
        """Return the ids, checked, and those of their jobs that the caller may see."""
        ids = _checked(chosen)
        loaded = self.engine.changer.store.load_many(ids) if ids else {}
        return ids, {each: job for each, job in loaded.items() if view.shows(job.queue, job.type)}


def _named_report(outcomes: Sequence[BulkOutcome]) -> BulkReport:
    """Return the report about named jobs; one that the caller may not see does not exist."""
    return BulkReport(
        tuple(
            replace(each, reason="There is no such job.")
            if each.status is BulkStatus.NOT_FOUND
            else each
            for each in outcomes
        )
    )


def _checked(job_ids: Sequence[str]) -> list[str]:
    ids = list(dict.fromkeys(check_job_id(job_id) for job_id in job_ids))
    if len(ids) > MAX_BULK:
        message = f"The 'ids' attribute names at most {MAX_BULK} jobs; received {len(ids)}."
        raise field_error("ids", message, received=len(ids), max_items=MAX_BULK)
    return ids
