"""Shows what tenants have and did, sets their limits, and suspends them (ojs-multi-tenancy, 8, 10).

The stream's consumer counts, as it does for queues. Nobody creates a tenant: there is one as soon
as a job names it, and one that no job named is as one without jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.limits import Bucket, LimitScope, tenant_key
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
from ojs_aws.domain.tenants import OTHER_TENANTS, UNLIMITED, TenantSettings, settings_in
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
    from ojs_aws.services.limits.admin import LimitAdmin


TRIES: Final = 5
"""Changes that others may make to the same tenant between a read and a write."""

Change: TypeAlias = Callable[[TenantSettings], TenantSettings]
"""Returns what is to be set, from what is set."""
RATE_MINUTES: Final = RECENT_MINUTES
"""The minutes before this one of which rates are the averages."""

OPEN_STATES: Final = ("available", "scheduled", "retryable", "active", "pending")
"""States of jobs that have not ended."""

MAX_READ: Final = 25_000
"""Tenants of each of four partitions whose totals are read for gauges."""


@dataclass(frozen=True, slots=True)
class TenantState:
    """Holds what was set for a tenant.

    :ivar active: its jobs that run, as far as its bucket counts them: from its first limit on.
    :ivar before: what was set before a change.
    :ivar of_all: the limits of tenants that have none of their own.
    """

    tenant: str
    settings: TenantSettings
    active: int
    before: TenantSettings = UNLIMITED
    of_all: TenantSettings = UNLIMITED

    @property
    def applied(self) -> TenantSettings:
        """Return what applies to the tenant."""
        return self.settings.over(self.of_all)


@dataclass(frozen=True, slots=True)
class TenantAdmin:
    """Reads and changes what is set for tenants.

    :ivar queue_settings: where PUSH learns that tenants may have settings.
    :ivar limit_admin: knows how many limits there may be, and who waits for them.
    """

    limits: Limits
    queue_settings: QueueSettingsStore
    limit_admin: LimitAdmin
    clock: Clock
    of_all: TenantSettings = UNLIMITED

    def get(self, tenant: str) -> TenantState:
        """Return what was set for a tenant: one read."""
        return self._state(tenant, self.limits.load(tenant_key(tenant)))

    def get_many(self, tenants: Sequence[str]) -> list[TenantState]:
        """Return what was set for tenants, in their order: one batch read for a hundred."""
        buckets = self.limits.load_many([*map(tenant_key, tenants)])
        return [self._state(tenant, buckets.get(tenant_key(tenant))) for tenant in tenants]

    def with_settings(self, after: str, limit: int) -> tuple[Sequence[str], str]:
        """Return the tenants for which something is set, by id, from behind one: one query.

        :returns: and the id up to which these are all; empty where nobody comes behind them.
        """
        mark = tenant_key("")
        read = self.limits.page(f"{mark}{after}", limit)
        buckets = {b.key.removeprefix(mark): b for b in read if b.key.startswith(mark)}
        found = [each for each, bucket in buckets.items() if settings_in(bucket) != UNLIMITED]
        return found, [*buckets][-1] if len(buckets) == limit else ""

    def change(self, tenant: str, change: Change) -> TenantState:
        """Change what is set for a tenant. PUSH and FETCH follow it within five seconds.

        PUSH learns first that tenants may have settings: whoever dies in between has cost it a
        read, no more. A change to what is set already is written, too: so an earlier one that timed
        out cannot take effect after it.

        :raises InvalidPolicyError: too many tenants and job types have limits.
        :raises BackendUnavailableError: others changed the same tenant each time.
        """
        scope = LimitScope(tenant=tenant)
        for _ in range(TRIES):
            bucket = self.limits.load(tenant_key(tenant)) or Bucket(key=tenant_key(tenant))
            before = settings_in(bucket)
            after, now = change(before), self.clock.now()
            if after.limits_starts:
                self.limit_admin.check_room(scope, now)
            if after != UNLIMITED:
                self.queue_settings.note_tenants()
            if self.limits.set_tenant(
                tenant, bucket.revision, after.text(), now, limits_starts=after.limits_starts
            ):
                if after != before:
                    self.limit_admin.wake(bucket, scope)
                return TenantState(tenant, after, bucket.active, before, self.of_all)
        raise BackendUnavailableError(
            f"The tenant '{tenant}' is being changed by too many requests at once."
        )

    def _state(self, tenant: str, bucket: Bucket | None) -> TenantState:
        active = bucket.active if bucket is not None else 0
        return TenantState(tenant, settings_in(bucket), active, of_all=self.of_all)


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


def by_load(held: Iterable[tuple[str, Mapping[str, int]]], most: int) -> dict[str, dict[str, int]]:
    """Return the jobs by state of the tenants that have most, and of all others together.

    Only jobs that have not ended count, and tenants without any are in no row. A tenant with as
    many as another comes behind it by its id.
    """
    loads: dict[str, dict[str, int]] = {}
    for tenant, jobs in held:
        amounts = {state: max(0, jobs.get(state, 0)) for state in OPEN_STATES}
        if any(amounts.values()):
            loads[tenant] = amounts
    order = sorted(loads, key=lambda tenant: (-sum(loads[tenant].values()), tenant))
    found = {tenant: loads[tenant] for tenant in order[:most]}
    if others := order[most:]:
        found[OTHER_TENANTS] = {
            state: sum(loads[tenant][state] for tenant in others) for state in OPEN_STATES
        }
    return found


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

    def page(
        self, after: str, limit: int, with_settings: Callable[[str, int], tuple[Sequence[str], str]]
    ) -> tuple[Sequence[TenantCounts], str]:
        """Return tenants by id, and behind which the next page begins; empty on the last.

        Runs four queries.

        :param with_settings: as in :class:`TenantAdmin`; these are listed without a job, too.
        """
        found = dict(self.tallies().page(after, limit + 1))
        others, end = with_settings(after, limit + 1)
        names = [each for each in sorted({*found, *others}) if not end or each <= end]
        shown = [
            self._counts(each, found.get(each) or QueueTotals(), Tally()) for each in names[:limit]
        ]
        return shown, names[limit - 1] if len(names) > limit else end

    def gauges(self, most: int) -> Mapping[str, Mapping[str, int]]:
        """Return what the tenants with most jobs that have not ended hold by state.

        All others together are :data:`OTHER_TENANTS`. Reads the totals of :data:`MAX_READ` tenants
        in each of four partitions at most: four queries, and one more for each further megabyte.

        :param most: how many have a name of their own.
        """
        return by_load(self.tallies().held(MAX_READ), most)

    def _counts(self, tenant: str, totals: QueueTotals, day: Tally) -> TenantCounts:
        now = self.clock.now()
        this = minute_of(now)
        recent = totals.since(Instant(this - RATE_MINUTES * MINUTE_MS), this)
        return TenantCounts(tenant=tenant, totals=totals, recent=recent, day=day, computed_at=now)
