"""Caches the settings of tenants for PUSH, as those of queues are.

A process reads a tenant's settings with the first of its jobs, and again when they are older than
``age_ms``: one read for each tenant, process and that time. It reads none where no tenant has any:
the settings of queues say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import TenantSuspendedError
from ojs_aws.domain.limits.rules import Bucket, tenant_key
from ojs_aws.domain.tenants import UNLIMITED, TenantSettings, settings_in
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.push_settings import SettingsCache

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits

SUSPENDED_S: Final = 60
"""When a producer may ask again whether its tenant is still suspended (seconds)."""


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
