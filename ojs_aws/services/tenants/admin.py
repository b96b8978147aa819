"""Sets limits of tenants, suspends and resumes them (ojs-multi-tenancy, sections 8 to 10.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.limits.rules import Bucket, LimitScope, tenant_key
from ojs_aws.domain.limits.tenants import UNLIMITED, TenantSettings, settings_in
from ojs_aws.domain.runtime import Clock

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
    from ojs_aws.services.limits.admin import LimitAdmin

TRIES: Final = 5
"""Changes that others may make to the same tenant between a read and a write."""

Change: TypeAlias = Callable[[TenantSettings], TenantSettings]
"""Returns what is to be set, from what is set."""


@dataclass(frozen=True, slots=True)
class TenantState:
    """Holds what was set for a tenant.

    :ivar active: its jobs that run, as far as its bucket counts them: from its first limit on.
    """

    tenant: str
    settings: TenantSettings
    active: int


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

    def get(self, tenant: str) -> TenantState:
        """Return what was set for a tenant: one read."""
        return _state(tenant, self.limits.load(tenant_key(tenant)))

    def change(self, tenant: str, change: Change) -> TenantState:
        """Change what is set for a tenant. PUSH and FETCH follow it within five seconds.

        PUSH is told first that tenants may have settings: whoever dies in between has cost it a
        read, no more.

        :raises InvalidPolicyError: too many tenants and job types have limits.
        :raises BackendUnavailableError: others changed the same tenant each time.
        """
        scope = LimitScope(tenant=tenant)
        for _ in range(TRIES):
            bucket = self.limits.load(tenant_key(tenant)) or Bucket(key=tenant_key(tenant))
            before = settings_in(bucket)
            after, now = change(before), self.clock.now()
            if after == before:
                return _state(tenant, bucket)
            if after.limits_starts:
                self.limit_admin.check_room(scope, now)
            if after != UNLIMITED:
                self.queue_settings.note_tenants()
            if self.limits.set_tenant(
                tenant, bucket.override, after.text(), now, limits_starts=after.limits_starts
            ):
                self.limit_admin.wake(bucket, scope)
                return TenantState(tenant, after, bucket.active)
        raise BackendUnavailableError(
            f"The tenant '{tenant}' is being changed by too many requests at once."
        )


def _state(tenant: str, bucket: Bucket | None) -> TenantState:
    return TenantState(tenant, settings_in(bucket), bucket.active if bucket is not None else 0)
