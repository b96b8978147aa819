"""Caches the settings of tenants for PUSH, as those of queues are.

A process reads a tenant's settings with the first of its jobs, and again when they are older than
``age_ms``: one read for each tenant, process and that time. It reads none where no tenant has any:
the settings of queues say so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import OjsError, TenantSuspendedError
from ojs_aws.domain.limits.rules import tenant_key
from ojs_aws.domain.limits.tenants import TenantSettings, settings_in
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.push_settings import MAX_KEPT, ONE_REQUEST_MS

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits

SUSPENDED_S: Final = 60
"""When a producer may ask again whether its tenant is still suspended (seconds)."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TenantSettingsCache:
    """Returns the settings of tenants, briefly cached.

    :ivar age_ms: how old what is remembered may be; 0 for nothing.
    """

    limits: Callable[[], Limits]
    clock: Clock
    age_ms: int
    _kept: dict[str, tuple[TenantSettings, Instant]] = field(default_factory=dict)

    def for_one_request(self) -> TenantSettingsCache:
        """Return a copy that reads each tenant once, for all jobs of a request."""
        return replace(self, age_ms=ONE_REQUEST_MS, _kept={})

    def of(self, tenant: str) -> TenantSettings:
        """Return what was set for a tenant.

        Where it cannot be read, what was read last; without that the error is raised.
        """
        now = self.clock.now()
        kept = self._kept.get(tenant)
        if kept is not None and now < kept[1]:
            return kept[0]
        try:
            settings = settings_in(self.limits().load(tenant_key(tenant)))
        except OjsError:
            if kept is None:
                raise
            _logger.warning("Could not read the settings of tenant %s", tenant, exc_info=True)
            return kept[0]
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[tenant] = settings, Instant(now + self.age_ms)
        return settings

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
