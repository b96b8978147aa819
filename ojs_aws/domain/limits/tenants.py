"""Reads and writes the settings of a tenant (ojs-multi-tenancy, section 8).

They are kept with the override of the tenant's bucket. So a claim that asks the bucket finds them
with the read that every limit costs, and a suspended tenant is one whose bucket lets no job begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import InvalidPolicyError, JsonValue
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits.policies import LARGEST, TENANT
from ojs_aws.domain.limits.rules import Bucket

_CONCURRENCY: Final = "max_concurrency"
_EXPECTED: Final = f"a whole number from 0 to {LARGEST}, or null"


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSettings:
    """Holds what an operator set for a tenant.

    :ivar max_concurrency: most jobs that run at the same time, in all queues; None for any number.
    :ivar is_suspended: it enqueues no jobs, and none of its jobs begins.
    """

    max_concurrency: int | None = None
    is_suspended: bool = False

    @property
    def limits_starts(self) -> bool:
        """Return True if a job of the tenant may have to wait before it begins."""
        return self.is_suspended or self.max_concurrency is not None

    def limits(self) -> dict[str, JsonValue]:
        """Return the limits as the specification writes them."""
        return {} if self.max_concurrency is None else {_CONCURRENCY: self.max_concurrency}

    def text(self) -> str:
        """Return the override of the tenant's bucket; empty where nothing is set."""
        if self == UNLIMITED:
            return ""
        most = 0 if self.is_suspended else self.max_concurrency
        own: JsonValue = {"limits": self.limits(), "suspended": self.is_suspended}
        return encode({"concurrency": most, TENANT: own})

    def with_limits(self, value: JsonValue) -> TenantSettings:
        """Return the settings with the limits that an operator names; null lifts one.

        :raises InvalidRequestError: they are no object, or one of them is malformed.
        :raises InvalidPolicyError: one cannot be followed, or there is no limit of this name.
        """
        if not isinstance(value, dict):
            raise field_error("limits", "The 'limits' attribute must be an object.")
        unknown = sorted(value.keys() - {_CONCURRENCY})
        if unknown:
            raise _impossible(unknown[0], f"left out: a tenant has the limit {_CONCURRENCY}")
        if _CONCURRENCY not in value:
            return self
        return replace(self, max_concurrency=_count(_CONCURRENCY, value[_CONCURRENCY]))


UNLIMITED: Final = TenantSettings()
"""The settings of a tenant for which nothing was set."""


def settings_in(bucket: Bucket | None) -> TenantSettings:
    """Return the settings that a tenant's bucket keeps."""
    stored = decode(bucket.override) if bucket is not None and bucket.override else {}
    own = stored.get(TENANT) if isinstance(stored, dict) else None
    if not isinstance(own, Mapping):
        return UNLIMITED
    return replace(UNLIMITED.with_limits(own["limits"]), is_suspended=own["suspended"] is True)


def _count(name: str, value: JsonValue) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise field_error(name, f"The limit '{name}' must be {_EXPECTED}.", expected=_EXPECTED)
    if not 0 <= value <= LARGEST:
        raise _impossible(name, _EXPECTED)
    return value


def _impossible(field: str, expected: str) -> InvalidPolicyError:
    return InvalidPolicyError(
        f"The limit '{field}' must be {expected}.", details={"field": field, "expected": expected}
    )
