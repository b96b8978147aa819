"""Read and set the limits on how jobs begin (ojs-rate-limiting, section 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ojs_aws.client.areas.area import Area
from ojs_aws.client.transports.requests import Values, entry_of, next_cursor, objects_in
from ojs_aws.domain.errors import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitEntry:
    """Describes a limit, and what it counts.

    :ivar key: named by jobs; or ``queue:<name>``, ``type:<type>``, ``queue:<name>:type:<type>``.
    :ivar waiting_count: ready jobs that have to pass it.
    :ivar concurrency: ``limit``, ``active`` and ``available``; empty for none.
    :ivar rate: ``limit``, ``period`` and ``current_count``; empty for none.
    :ivar throttle: ``limit`` and ``period``; empty for none.
    :ivar described: everything that the backend says of it, an operator's ``override`` among it.
    """

    key: str
    waiting_count: int
    concurrency: Mapping[str, JsonValue] = field(default_factory=dict)
    rate: Mapping[str, JsonValue] = field(default_factory=dict)
    throttle: Mapping[str, JsonValue] = field(default_factory=dict)
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class LimitList:
    """Holds a page of limits; ``cursor`` is empty on the last one."""

    limits: Sequence[LimitEntry]
    cursor: str


class RateLimits(Area):
    """Looks after limits; every method raises the errors of ``ojs_aws.domain.errors``."""

    async def list(self, *, limit: int = 50, cursor: str = "") -> LimitList:
        """List a page of limits by key.

        :param cursor: from the page before.
        """
        query = {"limit": str(limit), "cursor": cursor}
        values = (await self._ask("list_rate_limits", query=query)).values
        return LimitList(
            [_entry(each) for each in objects_in(values, "items")], next_cursor(values)
        )

    async def get(self, key: str) -> LimitEntry:
        """Read a limit.

        :raises NotFoundError: no job has named it, and nobody has set it.
        """
        return _entry((await self._ask("get_rate_limit", key=key)).values)

    async def set(self, key: str, policy: Mapping[str, JsonValue]) -> LimitEntry:
        """Set the limit of a key, whatever jobs name.

        :param policy: such as ``{"concurrency": 5, "rate": {"limit": 100, "period": "PT1M"}}``.
        :raises InvalidRequestError: an invalid policy.
        """
        return _entry((await self._ask("override_rate_limit", key=key, body=policy)).values)

    async def remove(self, key: str) -> None:
        """Remove what was set for a key: the limits that jobs name apply again.

        :raises NotFoundError: nobody has set it.
        """
        await self._ask("lift_rate_limit", key=key)


def _entry(values: Values) -> LimitEntry:
    return entry_of(LimitEntry, values)
