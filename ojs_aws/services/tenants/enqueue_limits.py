"""Refuses jobs of suspended tenants, and those beyond a rate or a depth (ojs-multi-tenancy, 8.2).

The settings of tenants are cached for PUSH as those of queues are: one read for each tenant and
process in ``age_ms``, and none where no tenant has any: the settings of queues say so.

A rate is kept exactly: one conditional write for each request takes its jobs from the tenant's
bucket, as the requests of an API client are taken from its own. The depth is what the stream's
consumer has counted (decision 117) and what this process has admitted since it read that, once a
second at most. So many producers together may exceed a depth by what they enqueue while the
counters are behind, which is a second as a rule.

A refusal is published once a minute and tenant at most: only then does it cost a write.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue, OjsError, TenantLimitError, TenantSuspendedError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import Window
from ojs_aws.domain.limits import Bucket, tenant_key
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.tenants import (
    DEPTH,
    RATE,
    SCHEDULED,
    UNLIMITED,
    TenantRefusals,
    TenantSettings,
    settings_in,
)
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.push_settings import MAX_KEPT, SettingsCache

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.access import ClientBuckets
    from ojs_aws.adapters.dynamodb.limits import Limits
    from ojs_aws.adapters.dynamodb.queues.depths import Pressures
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies

SUSPENDED_S: Final = 60
"""When a producer may ask again whether its tenant is still suspended (seconds)."""

COUNTED_EVERY_MS: Final = 1_000
"""For so long a process goes by the depth that it has read, and by what it admitted since."""

RETRY_AFTER_S: Final = 1
"""When a producer may ask again whether its tenant's jobs have become fewer (seconds)."""

REPORT_EVERY_MS: Final = 60_000
"""A process writes down its refusals of a tenant at most this often."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TenantSettingsCache(SettingsCache["Bucket | None", TenantSettings]):
    """Returns the settings that apply to tenants, briefly cached.

    :ivar of_all: the limits of those that have none of their own.
    """

    limits: Callable[[], Limits]
    of_all: TenantSettings = UNLIMITED

    def _read(self, name: str) -> Bucket | None:
        return self.limits().load(tenant_key(name))

    def _made_of(self, _name: str, found: Bucket | None, _now: Instant) -> TenantSettings:
        return settings_in(found).over(self.of_all)

    def admit(self, tenant: str) -> None:
        """Let a tenant enqueue a job.

        :raises TenantSuspendedError: it is suspended.
        """
        if self.of(tenant).is_suspended:
            raise TenantSuspendedError(
                f"The tenant '{tenant}' is suspended: it may enqueue no jobs.",
                details={
                    "tenant_id": tenant,
                    "limit": "suspended",
                    "current": 0,
                    "maximum": 0,
                    "retry_after_seconds": SUSPENDED_S,
                },
            )


@dataclass(slots=True)
class _Refused:
    """Counts jobs that are refused, until they are written for the stream."""

    due_at: Instant
    count: int = 0


@dataclass(slots=True)
class _Depth:
    """Counts the jobs of a tenant that wait, and those of them that are scheduled."""

    waiting: int
    scheduled: int
    until: Instant


@dataclass(frozen=True, slots=True)
class TenantEnqueueLimits:
    """Decides whether a tenant may enqueue jobs.

    :ivar buckets: of the rates.
    :ivar tallies: what the stream's consumer counted of tenants.
    :ivar pressures: where the stream finds what was refused.
    """

    buckets: Callable[[], ClientBuckets]
    tallies: Callable[[], Tallies]
    pressures: Callable[[], Pressures]
    clock: Clock
    _depths: dict[str, _Depth] = field(default_factory=dict)
    _full_at_us: dict[str, int] = field(default_factory=dict)
    _refused: dict[str, _Refused] = field(default_factory=dict)

    def admit(self, tenant: str, settings: TenantSettings, records: Sequence[JobRecord]) -> None:
        """Let a tenant enqueue jobs that came with one request: all or none.

        Makes no call for a tenant without such limits; a write for a rate, and a read in a second
        for a depth. A refusal makes a write in a minute.

        :raises TenantLimitError: they are too many; the rate is not charged for them.
        """
        try:
            self._admit(tenant, settings, records)
        except TenantLimitError as refused:
            self._report(tenant, refused, len(records))
            raise

    def _admit(self, tenant: str, settings: TenantSettings, records: Sequence[JobRecord]) -> None:
        depth = self._depth(tenant) if settings.limits_depth else None
        scheduled = sum(record.state is JobState.SCHEDULED for record in records)
        waiting = scheduled + sum(record.state is JobState.AVAILABLE for record in records)
        if depth is not None:
            for name, maximum, current, more in (
                (DEPTH, settings.max_queue_depth, depth.waiting, waiting),
                (SCHEDULED, settings.max_scheduled, depth.scheduled, scheduled),
            ):
                if maximum is not None and more and current + more > maximum:
                    raise _exceeded(tenant, name, current, maximum, RETRY_AFTER_S)
        if settings.max_enqueue_rate is not None:
            self._charge(tenant, settings.max_enqueue_rate, len(records))
        if depth is not None:
            depth.scheduled += scheduled
            depth.waiting += waiting

    def _report(self, tenant: str, error: TenantLimitError, count: int) -> None:
        """Write down refused jobs for the stream to publish; the answer does not depend on it."""
        now = self.clock.now()
        if len(self._refused) >= MAX_KEPT:
            self._refused.clear()
        refused = self._refused.setdefault(tenant, _Refused(now))
        refused.count += count
        if now < refused.due_at:
            return
        refused.due_at = Instant(now + REPORT_EVERY_MS)
        said = error.details
        refusals = TenantRefusals(
            tenant=tenant,
            at=now,
            limit=str(said["limit"]),
            current=int(str(said["current"])),
            maximum=int(str(said["maximum"])),
            count=refused.count,
        )
        try:
            if self.pressures().refuse(refusals):
                refused.count = 0
        except OjsError:
            _logger.warning("Could not publish refusals of tenant %s", tenant, exc_info=True)

    def _depth(self, tenant: str) -> _Depth:
        now = self.clock.now()
        known = self._depths.get(tenant)
        if known is None or now >= known.until:
            jobs = self.tallies().load(tenant).jobs
            scheduled = max(0, jobs.get(JobState.SCHEDULED, 0))
            waiting = max(0, jobs.get(JobState.AVAILABLE, 0)) + scheduled
            if len(self._depths) >= MAX_KEPT:
                self._depths.clear()
            known = _Depth(waiting, scheduled, Instant(now + COUNTED_EVERY_MS))
            self._depths[tenant] = known
        return known

    def _charge(self, tenant: str, rate: Window, count: int) -> None:
        """Take jobs from the bucket of a rate; a bucket with one left lends the others.

        So a batch may be larger than the limit, and the tenant waits accordingly longer after it.
        """
        now_us = self.clock.now() * 1000
        each_us = max(1, rate.period_ms * 1000 // rate.limit)
        latest_us = now_us + each_us * (rate.limit - 1)
        seen_us = self._full_at_us.get(tenant, now_us)
        standing = self.buckets().charge(
            tenant_key(tenant), each_us * count, latest_us, now_us, seen_us
        )
        if len(self._full_at_us) >= MAX_KEPT:
            self._full_at_us.clear()
        self._full_at_us[tenant] = standing.full_at_us
        if standing.is_refused:
            wait_s = max(1, math.ceil((standing.full_at_us - latest_us) / 1_000_000))
            raise _exceeded(tenant, RATE, rate.limit, rate.limit, wait_s)


def _exceeded(
    tenant: str, name: str, current: int, maximum: int, retry_after_s: int
) -> TenantLimitError:
    details: dict[str, JsonValue] = {
        "tenant_id": tenant,
        "limit": name,
        "current": current,
        "maximum": maximum,
        "retry_after_seconds": retry_after_s,
    }
    return TenantLimitError(
        f"Tenant '{tenant}' has exceeded {name} ({maximum}).",
        details=details,
        hint="Nothing was stored. Send it again after Retry-After.",
    )
