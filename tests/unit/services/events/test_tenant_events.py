"""Events of tenants: what was set for them, and the limits that they meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.events import REQUIRED_DATA, Event
from ojs_aws.domain.jobs.batches import OperationDone
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits import Bucket, tenant_key
from ojs_aws.domain.tenants import (
    UNLIMITED,
    TenantRefusals,
    TenantSettings,
    changes_of,
)
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.events import Commit, events_of

NOW = Instant(1_760_000_040_000)
COMMIT = Commit(NOW, "7")
SUSPENDED = TenantSettings(is_suspended=True)
FIVE = TenantSettings(max_concurrency=5)


def shown(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    """The types and the data of events; each has what its type requires."""
    found = []
    for event in events:
        data = decode(event.data)
        assert isinstance(data, dict)
        assert data.keys() >= {*REQUIRED_DATA[event.type]}
        found.append((event.type, {**data}))
    return found


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (UNLIMITED, UNLIMITED, []),
        (UNLIMITED, FIVE, ["tenant.created"]),
        (UNLIMITED, SUSPENDED, ["tenant.created", "tenant.suspended"]),
        (FIVE, replace(FIVE, is_suspended=True), ["tenant.suspended"]),
        (SUSPENDED, FIVE, ["tenant.resumed"]),
        (SUSPENDED, UNLIMITED, ["tenant.resumed"]),
        (FIVE, UNLIMITED, []),
        (FIVE, TenantSettings(max_concurrency=6), []),
    ],
)
def test_what_a_change_is(
    before: TenantSettings, after: TenantSettings, changes: list[str]
) -> None:
    assert changes_of(before, after) == changes


def test_the_record_of_an_operation_makes_the_events_of_what_it_did() -> None:
    """After its own; a record of anything else makes none."""
    target = encode({"tenant": "acme", "changes": ["tenant.created", "tenant.suspended", "x.y"]})
    done = OperationDone(id="1", operation="suspend_tenant", target=target, at=NOW, by="")
    events = events_of(None, done, COMMIT)
    assert [each.subject for each in events] == ["1", "acme", "acme"]
    assert shown(events)[1:] == [
        ("tenant.created", {"tenant_id": "acme"}),
        ("tenant.suspended", {"tenant_id": "acme"}),
    ]
    assert len({each.id for each in events}) == 3
    other = replace(done, target=encode({"queue": "q"}))
    assert [each.type for each in events_of(None, other, COMMIT)] == ["operation.completed"]
    assert events_of(done, None, COMMIT) == []


def test_refusals_are_one_event_with_the_number_since_the_last_one() -> None:
    first = TenantRefusals(
        tenant="acme", at=NOW, limit="max_queue_depth", current=9, maximum=10, count=3
    )
    later = replace(first, at=Instant(NOW + 60_000), count=8)
    said = {"tenant_id": "acme", "limit": "max_queue_depth", "current": 9, "maximum": 10}
    for before, after, count in ((None, first, 3), (first, later, 5)):
        found = shown(events_of(before, after, COMMIT))
        assert found == [("tenant.limit_exceeded", {**said, "count": count})]
    assert events_of(later, None, COMMIT) == [], "it has expired"


def waiting(at: int, settings: TenantSettings = FIVE) -> Bucket:
    """The bucket of a tenant whose jobs have to wait since an instant."""
    said: dict[str, JsonValue] = {"strategy": "concurrency", "limit": 5, "current": 5, "at": at}
    return Bucket(
        key=tenant_key("acme"),
        override=settings.text(),
        exhausted=encode(said),
        exhausted_at=Instant(at),
    )


def exceeded(before: Bucket | None, after: Bucket) -> list[dict[str, Any]]:
    """The data of what says that the tenant met its limit."""
    found = shown(events_of(before, after, COMMIT))
    return [data for kind, data in found if kind == "tenant.limit_exceeded"]


def test_jobs_that_wait_are_reported_once_a_minute() -> None:
    """The first of each minute of the clock; a job that begins in between changes nothing."""
    said = {"tenant_id": "acme", "limit": "max_concurrency", "current": 5, "maximum": 5}
    minute = NOW - NOW % 60_000
    assert exceeded(None, waiting(minute)) == [said]
    released = replace(waiting(minute), exhausted="", released="j")
    assert exceeded(waiting(minute), released) == []
    assert exceeded(released, waiting(minute + 59_999)) == []
    assert exceeded(released, waiting(minute + 60_000)) == [said]


def test_a_suspended_tenant_has_met_no_limit() -> None:
    """Nor has a key that is no tenant's."""
    assert exceeded(None, waiting(NOW, SUSPENDED)) == []
    assert exceeded(None, replace(waiting(NOW), key="acme")) == []
    assert exceeded(None, replace(waiting(NOW), key="queue:acme")) == []
