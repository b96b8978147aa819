"""Shows what tenants have and did (ojs-multi-tenancy, sections 10.1 and 10.2).

The stream's consumer counts, as it does for queues. Nobody creates a tenant: there is one as soon
as a job names it, and one that no job named is as one without jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.queues.tallies import (
    DAY_MS,
    MINUTE_MS,
    RECENT_MINUTES,
    QueueTotals,
    Tally,
    minute_of,
    total,
)
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies

RATE_MINUTES: Final = RECENT_MINUTES
"""The minutes before this one of which rates are the averages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantCounts:
    """Holds what was counted of a tenant.

    :ivar totals: its jobs by state, and its newest minutes.
    :ivar recent: what it did in the last five minutes that are over.
    :ivar day: what it did in the last 24 hours; empty where nobody asked.
    """

    tenant: str
    totals: QueueTotals
    recent: Tally
    day: Tally
    computed_at: Instant


@dataclass(frozen=True, slots=True)
class TenantStatistics:
    """Reads the counters of tenants."""

    tallies: Callable[[], Tallies]
    clock: Clock

    def get(self, tenant: str) -> TenantCounts:
        """Return the counts of one tenant: one read."""
        return self._counts(tenant, self.tallies().load(tenant), Tally())

    def with_day(self, tenant: str) -> TenantCounts:
        """Return the counts of one tenant, with those of the last 24 hours: two reads, a query."""
        now = self.clock.now()
        since = Instant(max(0, minute_of(now) - DAY_MS + MINUTE_MS))
        day = total(tally for _, tally in self.tallies().read(tenant, since, now))
        return self._counts(tenant, self.tallies().load(tenant), day)

    def page(self, after: str, limit: int) -> tuple[Sequence[TenantCounts], str]:
        """Return tenants by id, and behind which the next page begins; empty on the last.

        Runs four queries.
        """
        found = self.tallies().page(after, limit + 1)
        shown = [self._counts(tenant, totals, Tally()) for tenant, totals in found[:limit]]
        return shown, shown[-1].tenant if len(found) > limit else ""

    def _counts(self, tenant: str, totals: QueueTotals, day: Tally) -> TenantCounts:
        now = self.clock.now()
        this = minute_of(now)
        recent = totals.since(Instant(this - RATE_MINUTES * MINUTE_MS), this)
        return TenantCounts(tenant=tenant, totals=totals, recent=recent, day=day, computed_at=now)
