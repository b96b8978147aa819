"""Runs one queue's round of a FETCH for one tenant: from the rows of its jobs to claimed jobs.

A queue is shared by tenants, and its messages are permits of any of them. So a worker of one tenant
takes no message: it looks through the ready list, whose sort keys name the tenants, and claims as
every round does. It looks at a bounded number of rows; a tenant whose jobs stand behind so many of
others gets none until these have begun.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.lists import JobList, Page
from ojs_aws.domain.jobs.ready_keys import tenant_in
from ojs_aws.domain.limits import tenant_key
from ojs_aws.services.jobs.fetch.candidates import Candidate, QueueSnapshot, ready_job, shown
from ojs_aws.services.jobs.fetch.job_claims import JobClaims
from ojs_aws.services.jobs.fetch.queue_line import QueueLine

MAX_ROWS: Final = 1_000
"""Rows of the ready list that one round looks at."""
PAGE: Final = 250
"""Rows of each page behind the first; about 40 KB of the index."""


@dataclass(frozen=True, slots=True)
class TenantRound:
    """Runs one round; it lives for one request and one queue."""

    claims: JobClaims
    tenant: str

    def run(self, look: QueueSnapshot, need: int) -> list[JobRecord]:
        """Claim up to ``need`` jobs of the tenant in fetch order: ready ones, and due ones.

        :raises Exception: the first error, where no job was claimed.
        """
        claims = self.claims
        claims.tries_left += 2 * need
        claims.limiting.is_whole = bool(look.head.limit)
        due = self._due(look.due)
        if look.head.is_fair:  # they need their places first
            due = sorted(QueueLine(claims).settled([each.id for each in due]), key=_sort_key)
        line = heapq.merge(due, self._ready(look), key=_sort_key)
        own = tenant_key(self.tenant)
        for candidate in line:
            refused = claims.limiting.refused
            if claims.is_done(need) or claims.limiting.refuses_all or own in refused:
                break
            for each in self._settled(candidate):
                claims.claim(each)
            for returned in claims.come_back().values():
                claims.claim(returned)
        if not claims.claimed and claims.errors.first is not None:
            raise claims.errors.first
        return claims.claimed

    def _settled(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield a candidate once it is available: one that became due is settled first."""
        if candidate.waits:
            yield from QueueLine(self.claims).settled([candidate.id])
        else:
            yield candidate

    def _due(self, page: Page) -> list[Candidate]:
        """Return the tenant's jobs among those that became due; one read if there are any.

        Their rows do not say whose they are. Those of others are left to their workers and to the
        sweep.
        """
        rows = {row.id: row for row in page.jobs}
        jobs = self.claims.changer.store.load_many([*rows]) if rows else {}
        own = [
            replace(
                ready_job(job),
                sort_key=deadlines.sort_key_when_due(job.priority, rows[job.id].due),
                waits=True,
            )
            for job in jobs.values()
            if job.tenant == self.tenant
        ]
        return sorted(own, key=_sort_key)

    def _ready(self, look: QueueSnapshot) -> Iterator[Candidate]:
        """Yield the tenant's jobs of the ready list in their order, page by page, to a bound."""
        store, queue = self.claims.changer.store, self.claims.options.queue
        rows, looked = look.head.jobs, len(look.head.jobs)
        cursor = store.place_of(rows[-1], JobList.READY) if look.is_partial else ""
        while True:
            yield from (shown(row) for row in rows if tenant_in(row.sort_key) == self.tenant)
            wanted = min(PAGE, MAX_ROWS - looked)
            if not cursor or wanted <= 0:
                return
            page = store.listed(queue, JobList.READY, wanted, cursor=cursor, newest_first=False)
            rows, cursor = page.jobs, page.cursor
            looked += len(rows)


def _sort_key(candidate: Candidate) -> str:
    return candidate.sort_key
