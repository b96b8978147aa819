"""Makes the events of tenants: what operators set for them, and the limits that they meet.

ojs-multi-tenancy, section 11.1. Events of refused jobs come once a minute and tenant at most, and
so do those of jobs that have to wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ojs_aws.domain.credentials import by_whom
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits import Bucket, scope_of
from ojs_aws.domain.tenants import (
    CHANGES,
    CONCURRENCY,
    CREATED,
    RESUMED,
    SUSPENDED,
    settings_in,
)
from ojs_aws.services.events.commit import Commit, MadeEvent

if TYPE_CHECKING:
    from ojs_aws.domain.jobs.batches import OperationDone
    from ojs_aws.domain.tenants import TenantRefusals
    from ojs_aws.domain.timestamps import Instant

LIMIT_EXCEEDED: Final = "tenant.limit_exceeded"
_KINDS: Final = {CREATED, SUSPENDED, RESUMED}
_MINUTE_MS: Final = 60_000


def change_events(done: OperationDone) -> list[MadeEvent]:
    """Return the events of an operation that changed what is set for a tenant."""
    target = decode(done.target)
    changes = target.get(CHANGES) if isinstance(target, dict) else None
    if not isinstance(target, dict) or not isinstance(changes, list):
        return []
    tenant, by = str(target.get("tenant", "")), by_whom(done.by)
    return [_made(str(kind), tenant, done.at, by) for kind in changes if kind in _KINDS]


def refusal_events(
    before: TenantRefusals | None, after: TenantRefusals | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``tenant.limit_exceeded`` for jobs that a tenant might not enqueue, with a count."""
    del commit
    if after is None:
        return []
    data: dict[str, JsonValue] = {
        "limit": after.limit,
        "current": after.current,
        "maximum": after.maximum,
        "count": after.count - (before.count if before is not None else 0),
    }
    return [_made(LIMIT_EXCEEDED, after.tenant, after.at, data)]


def waiting_events(before: Bucket | None, after: Bucket) -> list[MadeEvent]:
    """Return ``tenant.limit_exceeded`` if a tenant's jobs have to wait; the first of a minute."""
    scope, at = scope_of(after.key), after.exhausted_at
    if scope is None or not scope.tenant or at is None or settings_in(after).is_suspended:
        return []
    last = before.exhausted_at if before is not None else None
    if last is not None and at // _MINUTE_MS <= last // _MINUTE_MS:
        return []
    said = decode(after.exhausted) if after.exhausted else None
    if not isinstance(said, dict):
        return []
    data: dict[str, JsonValue] = {
        "limit": CONCURRENCY,
        "current": said.get("current", 0),
        "maximum": said.get("limit", 0),
    }
    return [_made(LIMIT_EXCEEDED, scope.tenant, at, data)]


def _made(kind: str, tenant: str, at: Instant, data: dict[str, JsonValue]) -> MadeEvent:
    said: dict[str, JsonValue] = {"tenant_id": tenant, **data}
    return MadeEvent(kind=kind, time=at, subject=tenant, data=encode(said))
