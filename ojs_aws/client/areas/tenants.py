"""Read what tenants have and did, and set their limits (ojs-multi-tenancy, section 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ojs_aws.client.areas.area import Area
from ojs_aws.client.transports.requests import Values, entry_of, next_cursor, objects_in
from ojs_aws.domain.errors import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantEntry:
    """Describes a tenant.

    :ivar total_jobs: its jobs in all states.
    :ivar jobs: how many there are in each state; ``stats`` adds ``completed_24h`` and
        ``failed_24h``.
    :ivar throughput: ``enqueued_per_minute`` and ``processed_per_minute``.
    :ivar state: ``active`` or ``suspended``.
    :ivar limits: what was set; ``stats`` has the limit and what was counted of each.
    :ivar described: everything that the backend says of it.
    """

    tenant_id: str
    total_jobs: int = 0
    jobs: Mapping[str, JsonValue] = field(default_factory=dict)
    throughput: Mapping[str, JsonValue] = field(default_factory=dict)
    state: str = ""
    limits: Mapping[str, JsonValue] = field(default_factory=dict)
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class TenantList:
    """Holds a page of tenants by id; ``cursor`` is empty on the last one."""

    tenants: Sequence[TenantEntry]
    cursor: str


class Tenants(Area):
    """Reads what was counted of tenants, and sets their limits: ``client.tenants``."""

    async def list(self, *, limit: int = 50, cursor: str = "") -> TenantList:
        """List a page of the tenants that jobs name, or for which something is set.

        :param cursor: from the page before.
        """
        query = {"limit": str(limit), "cursor": cursor}
        values = (await self._ask("list_tenants", query=query)).values
        return TenantList(
            [_entry(each) for each in objects_in(values, "items")], next_cursor(values)
        )

    async def get(self, tenant: str) -> TenantEntry:
        """Read a tenant; one whose jobs were never counted has none.

        :raises InvalidRequestError: no tenant can have this id.
        """
        return _entry((await self._ask("get_tenant", tenant=tenant)).values)

    async def stats(self, tenant: str) -> TenantEntry:
        """Count what a tenant has, and what it did in the last 24 hours.

        :raises InvalidRequestError: no tenant can have this id.
        """
        return _entry((await self._ask("get_tenant_stats", tenant=tenant)).values)

    async def set(self, tenant: str, limits: Mapping[str, JsonValue]) -> TenantEntry:
        """Set limits of a tenant; those that are not named stay, and None lifts one.

        :param limits: ``max_concurrency``, ``max_queue_depth``, ``max_scheduled`` and
            ``fairness_weight``, and ``max_enqueue_rate``: ``{"limit": 1000, "period": "PT1M"}``.
        :returns: its state and limits, without the counts of its jobs.
        :raises InvalidRequestError: an invalid limit.
        """
        body: dict[str, JsonValue] = {"limits": {**limits}}
        return _entry((await self._ask("change_tenant", tenant=tenant, body=body)).values)

    async def reset(self, tenant: str) -> None:
        """Remove all limits of a tenant, and end its suspension.

        :raises InvalidRequestError: no tenant can have this id.
        """
        await self._ask("reset_tenant", tenant=tenant)

    async def suspend(self, tenant: str) -> TenantEntry:
        """Refuse a tenant's new jobs, and let none of its jobs begin, within five seconds.

        Jobs that run go on.

        :returns: its state and limits, without the counts of its jobs.
        :raises InvalidRequestError: no tenant can have this id.
        """
        return _entry((await self._ask("suspend_tenant", tenant=tenant)).values)

    async def resume(self, tenant: str) -> TenantEntry:
        """Let a suspended tenant go on, with the limits that it had.

        :returns: its state and limits, without the counts of its jobs.
        :raises InvalidRequestError: no tenant can have this id.
        """
        return _entry((await self._ask("resume_tenant", tenant=tenant)).values)


def _entry(values: Values) -> TenantEntry:
    return entry_of(TenantEntry, values)
