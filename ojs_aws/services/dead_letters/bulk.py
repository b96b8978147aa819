"""Retrying and deleting many dead letters: bounded, with an outcome for each (section 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import (
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    OjsError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.validation import check_job_id
from ojs_aws.ports import JobStore, StaleJobError
from ojs_aws.services.dead_letters.search import DeadLetterFilter, DeadLetterSearch
from ojs_aws.services.jobs.change import JobChanger
from ojs_aws.services.jobs.messages import JobMessages

MAX_BULK: Final = 100
"""Dead letters that one request changes."""


class BulkStatus(StrEnum):
    """What became of one job of a bulk operation."""

    DONE = "done"
    SKIPPED = "skipped"
    """It was no longer discarded."""
    NOT_FOUND = "not_found"
    FAILED = "failed"
    """The backend failed; whether it took effect may be unknown. Repeat the request."""


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """One job of a bulk operation."""

    job_id: str
    status: BulkStatus
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BulkReport:
    """What a bulk operation did.

    :ivar cursor: where to go on; empty when no more dead letters match.
    """

    outcomes: tuple[BulkOutcome, ...]
    cursor: str = ""

    @property
    def done(self) -> int:
        """How many jobs were changed."""
        return sum(outcome.status is BulkStatus.DONE for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class DeadLetterBulk:
    """Retries or deletes the dead letters that a filter finds, or those that are named."""

    store: JobStore
    rows: DeadLetterSearch
    changer: JobChanger
    job_messages: JobMessages

    def retry(
        self, chosen: DeadLetterFilter | Sequence[str], limit: int = MAX_BULK, cursor: str = ""
    ) -> BulkReport:
        """Make dead letters available again, one conditional write each; their messages together.

        :raises InvalidRequestError: too many ids, a bad id, limit or cursor.
        """
        clock = self.changer.clock
        retried: list[JobRecord] = []

        def again(job: JobRecord) -> None:
            change = self.changer.apply(
                job.id,
                lambda found, now: lifecycle.retry_discarded(found, now, clock.order()),
                start=job,
            )
            retried.append(change.after)

        report = self._each(chosen, limit, cursor, again)
        self.job_messages.send_for(retried, clock.now())
        return report

    def delete(
        self, chosen: DeadLetterFilter | Sequence[str], limit: int = MAX_BULK, cursor: str = ""
    ) -> BulkReport:
        """Remove dead letters for good, one conditional delete each.

        :raises InvalidRequestError: too many ids, a bad id, limit or cursor.
        """

        def remove(job: JobRecord) -> None:
            lifecycle.require(job, "delete", JobState.DISCARDED)
            self.store.delete(job)

        return self._each(chosen, limit, cursor, remove)

    def _each(
        self,
        chosen: DeadLetterFilter | Sequence[str],
        limit: int,
        cursor: str,
        change: Callable[[JobRecord], None],
    ) -> BulkReport:
        if not 0 < limit <= MAX_BULK:
            raise InvalidRequestError(
                f"The 'limit' attribute must be from 1 to {MAX_BULK}; received {limit}.",
                details={"field": "limit", "received": limit},
            )
        if isinstance(chosen, DeadLetterFilter):
            found = self.rows.find(chosen, limit, cursor)
            outcomes = [self._one(job.id, job, change) for job in found.jobs]
            return BulkReport(tuple(outcomes), found.cursor)
        ids = self._checked(chosen)
        now = self.changer.clock.now()
        jobs = self.store.load_many(ids) if ids else {}
        return BulkReport(tuple(self._one(job_id, jobs.get(job_id), change, now) for job_id in ids))

    def _checked(self, job_ids: Sequence[str]) -> list[str]:
        ids = list(dict.fromkeys(check_job_id(job_id) for job_id in job_ids))
        if len(ids) > MAX_BULK:
            raise InvalidRequestError(
                f"The 'ids' attribute names at most {MAX_BULK} jobs; received {len(ids)}.",
                details={"field": "ids", "received": len(ids), "max_items": MAX_BULK},
            )
        return ids

    def _one(
        self,
        job_id: str,
        job: JobRecord | None,
        change: Callable[[JobRecord], None],
        now: Instant | None = None,
    ) -> BulkOutcome:
        """Change one job as of now."""

        def changed() -> None:
            if job is None:
                raise NotFoundError("There is no such job.")
            change(job if now is None else self.changer.settled(job, now))

        return tried(job_id, changed)


def tried(job_id: str, change: Callable[[], None]) -> BulkOutcome:
    """Change one of many jobs. Whatever goes wrong with it, the others go on."""
    try:
        change()
    except (ConflictError, StaleJobError) as problem:
        return BulkOutcome(job_id, BulkStatus.SKIPPED, str(problem))
    except NotFoundError as problem:
        return BulkOutcome(job_id, BulkStatus.NOT_FOUND, problem.message)
    except OjsError as problem:
        return BulkOutcome(job_id, BulkStatus.FAILED, problem.message)
    return BulkOutcome(job_id, BulkStatus.DONE)
