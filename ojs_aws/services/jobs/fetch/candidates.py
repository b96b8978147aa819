"""Lists jobs that may be claimed, each with its sort key in the ready list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.lists import Head, ListedJob, Page
from ojs_aws.domain.jobs.ready_keys import is_fair, limit_of, rank_of, ready_since, tenant_in
from ojs_aws.domain.queues import Message
from ojs_aws.domain.timestamps import Instant

INDEX_LAG_MS: Final = 1_000
"""How late the index is taken to be at most; mostly it is some milliseconds."""


HEAD_SPARE: Final = 5
"""Rows looked at beyond the jobs wanted: some may just have been claimed by others."""

PAGE: Final = 25
"""Rows of the head and of due jobs that are looked at, at least: what one block of 4 KB holds."""

MARKS: Final = 3
"""Rows of a page that may say something of the queue itself, and stand for no job."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Holds a job that may be claimable, with its sort key.

    :ivar type: its type where it is known; it always is where types have limits.
    :ivar is_listed: the index showed it just now; else a message named it.
    :ivar is_likely_gone: only a message named it, and the head of the queue no longer shows it.
    :ivar waits: it is due, and nobody has made it available yet: to be done before the claim.
    :ivar shard: the line of its queue that it stands in.
    """

    id: str
    sort_key: str
    timeout_ms: int | None
    visibility_timeout_ms: int | None
    type: str = ""
    is_listed: bool = False
    is_likely_gone: bool = False
    waits: bool = False
    shard: int = 0

    @property
    def rank(self) -> str:
        """Return its priority as a sort key: higher ones first."""
        return rank_of(self.sort_key)

    @property
    def limit_key(self) -> str:
        """Return the bucket that its sort key names, or empty."""
        return limit_of(self.sort_key)

    @property
    def tenant(self) -> str:
        """Return the tenant that its sort key names, or empty."""
        return tenant_in(self.sort_key)


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """Holds the first ready jobs of a queue at an instant.

    :ivar due: jobs that time made due, and that nobody has made available yet.
    :ivar is_partial: there are more ready jobs behind the head.
    :ivar hidden_rank: the highest priority that they may have, where that of the last job of the
        head does not say it.
    """

    head: Head
    due: Page
    is_partial: bool = False
    hidden_rank: str = ""

    def shown(self) -> list[Candidate]:
        """Return the jobs whose sort key is known."""
        due = [_due(row, row.priority) for row in self.due.jobs if row.priority is not None]
        return [*due, *map(shown, self.head.jobs)]

    def has_passed(self, candidate: Candidate, now: Instant) -> bool:
        """Return whether the head would show a job if it were still ready at its sort key.

        The index may be a moment late. So a job of higher priority than the whole head counts as
        gone only if it has been ready for a while; one of equal priority always does, unless the
        queue is fair: there a new job may be the first.
        """
        rows = [row for row in self.head.jobs if row.shard == candidate.shard]
        if not rows or candidate.sort_key >= rows[-1].sort_key:
            return False
        is_urgent = candidate.rank < shown(rows[0]).rank
        may_be_new = is_urgent or is_fair(candidate.sort_key)
        return not may_be_new or now - ready_since(candidate.sort_key) > INDEX_LAG_MS

    def may_hide(self, candidate: Candidate | None) -> bool:
        """Return whether a job of higher priority may be ready behind the head; None: any job."""
        if not self.is_partial:
            return False
        return candidate is None or candidate.rank > (
            self.hidden_rank or shown(self.head.jobs[-1]).rank
        )


def shown(row: ListedJob) -> Candidate:
    """Return the candidate of a row of the ready list."""
    return Candidate(
        row.id,
        row.sort_key,
        row.timeout_ms,
        row.visibility_timeout_ms,
        row.type,
        is_listed=True,
        shard=row.shard,
    )


def _due(row: ListedJob, priority: int) -> Candidate:
    """Return the candidate of a due row of the waiting list."""
    key = deadlines.sort_key_when_due(priority, row.due)
    return Candidate(
        row.id,
        key,
        row.timeout_ms,
        row.visibility_timeout_ms,
        row.type,
        waits=True,
        shard=row.shard,
    )


def named_by(message: Message) -> Candidate:
    """Return the candidate of a message that names its sort key."""
    return Candidate(
        message.job_id,
        message.sort_key,
        message.timeout_ms,
        message.visibility_timeout_ms,
        shard=message.shard,
    )


def ready_job(job: JobRecord) -> Candidate:
    """Return the candidate of an available job that was read."""
    return Candidate(
        job.id,
        job.ready_key,
        job.timeout_ms,
        job.visibility_timeout_ms,
        job.type,
        shard=job.shard,
    )
