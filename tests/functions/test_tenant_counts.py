"""What is counted of tenants: by the stream's consumer, apart from each other, and for a price."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from ojs_aws.adapters.dynamodb.queues.totals import TENANTS
from ojs_aws.domain.access import Caller, Scope, permissions_of
from tests.aws import EmbeddedAws
from tests.functions.test_queue_totals import Deployed
from tests.unit.transport.http.test_authorization import as_caller

ACME: Final[dict[str, Any]] = {"X-OJS-Tenant": "acme"}
NONE: Final = dict.fromkeys(
    (
        *("available", "scheduled", "retryable", "active", "pending"),
        *("completed", "cancelled", "discarded"),
    ),
    0,
)


@pytest.fixture
def deployed(aws: EmbeddedAws) -> Deployed:
    """A deployment without jobs."""
    return Deployed(aws)


def push(deployed: Deployed, tenant: str, count: int = 1, **more: Any) -> None:
    """Enqueue jobs of a tenant; of none for an empty name."""
    if tenant:
        more["meta"] = {"tenant_id": tenant}
    for _ in range(count):
        deployed.api.push(**more)


def stats(deployed: Deployed, tenant: str, **headers: str) -> Any:
    """What the API says of a tenant."""
    reply = deployed.api.get(f"/admin/tenants/{tenant}/stats", headers=headers)
    assert reply.status == 200, reply.text
    return reply.json


def test_a_tenants_jobs_are_counted_by_state(deployed: Deployed) -> None:
    """EXT-MT-003: and what it did in a day; those of others are not."""
    push(deployed, "acme", 4)
    push(deployed, "acme", scheduled_at="+PT1H")
    push(deployed, "beta")
    push(deployed, "")
    deployed.flow()
    held = deployed.api.fetch(count=2)
    deployed.worker("ack", held[0]["id"])
    deployed.clock.advance(s=60)
    deployed.flow()
    found = stats(deployed, "acme")
    now = {"available": 2, "active": 1, "scheduled": 1, "completed": 1}
    assert found["jobs"] == {**NONE, **now, "completed_24h": 1, "failed_24h": 0}
    assert (found["tenant_id"], found["total_jobs"]) == ("acme", 5)
    assert found["throughput"] == {"processed_per_minute": 0, "enqueued_per_minute": 1.0}
    deployed.clock.advance(s=60)
    assert stats(deployed, "acme")["throughput"]["processed_per_minute"] == 0.2
    assert stats(deployed, "beta")["jobs"]["available"] == 1


def test_what_ended_a_day_ago_is_no_longer_of_the_day(deployed: Deployed) -> None:
    push(deployed, "acme")
    deployed.worker("ack", deployed.api.fetch()[0]["id"])
    deployed.flow()
    deployed.clock.advance(s=24 * 3600 - 60)
    assert stats(deployed, "acme")["jobs"]["completed_24h"] == 1
    deployed.clock.advance(s=60)
    found = stats(deployed, "acme")["jobs"]
    assert (found["completed"], found["completed_24h"]) == (1, 0)


def test_a_tenant_that_no_job_named_is_as_one_without_jobs(deployed: Deployed) -> None:
    """Nobody learns from it whether there is one; it is in no list."""
    assert stats(deployed, "nobody")["total_jobs"] == 0
    assert deployed.api.get("/admin/tenants/nobody").json["tenant"]["jobs"] == NONE
    assert deployed.api.get("/admin/tenants").json["tenants"] == []
    refused = deployed.api.get("/admin/tenants/-x/stats")
    assert (refused.status, refused.error["details"]["field"]) == (400, "tenant")


def test_tenants_are_listed_by_id_page_by_page(deployed: Deployed) -> None:
    """However they are spread over the partitions."""
    names = [f"t{number}" for number in range(10, 19)]
    for name in reversed(names):
        push(deployed, name)
    deployed.flow()
    found: list[str] = []
    page: Any = {}
    cursor = ""
    for _ in range(5):
        query = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = deployed.api.get("/admin/tenants", query=query).json
        found += [each["tenant_id"] for each in page["items"]]
        cursor = page["pagination"].get("next_cursor", "")
    assert (found, cursor) == (names, "")
    assert page["items"][0]["jobs"]["available"] == 1
    assert (page["items"][0]["state"], page["items"][0]["limits"]) == ("active", {})
    assert page["pagination"] == {"limit": 2, "has_more": False}
    whole = deployed.api.get("/admin/tenants", query={"limit": "9"}).json
    assert whole["pagination"] == {"limit": 9, "has_more": False}
    wrong = deployed.api.get("/admin/tenants", query={"cursor": "x"})
    assert (wrong.status, wrong.error["details"]["field"]) == (400, "cursor")


def test_the_list_says_who_is_limited_or_suspended(deployed: Deployed) -> None:
    """One batch read more for the whole page, whoever has settings."""
    for name in ("acme", "beta", "gamma"):
        push(deployed, name)
    deployed.flow()
    path = "/ojs/v1/admin/tenants"
    deployed.api.send("PATCH", f"{path}/beta", {"limits": {"max_concurrency": 3}})
    deployed.api.send("POST", f"{path}/gamma/suspend")
    listed = deployed.api.get("/admin/tenants").json["items"]
    assert [(each["tenant_id"], each["state"], each["limits"]) for each in listed] == [
        ("acme", "active", {}),
        ("beta", "active", {"max_concurrency": 3}),
        ("gamma", "suspended", {}),
    ]


def test_a_tenant_with_settings_is_listed_without_a_job(deployed: Deployed) -> None:
    """In its place by id on each page; one whose settings were removed is not."""
    page: Any = {}
    for name in ("b", "d"):
        push(deployed, name)
    deployed.flow()
    path = "/ojs/v1/admin/tenants"
    for name in ("a", "bb", "bc", "c", "e"):
        deployed.api.send("PATCH", f"{path}/{name}", {"limits": {"max_queue_depth": 9}})
    for name in ("bb", "bc"):
        deployed.api.send("DELETE", f"{path}/{name}")
    deployed.api.send("POST", f"{path}/f/suspend")
    for limit in range(1, 8):
        found: list[str] = []
        cursor, pages = "", 0
        while cursor or not pages:
            query = {"limit": str(limit), **({"cursor": cursor} if cursor else {})}
            page = deployed.api.get("/admin/tenants", query=query).json
            found += [each["tenant_id"] for each in page["items"]]
            cursor, pages = page["pagination"].get("next_cursor", ""), pages + 1
        assert found == ["a", "b", "c", "d", "e", "f"]
    assert page["items"][0]["jobs"] == NONE
    assert page["items"][-1]["state"] == "suspended"


def test_a_request_with_a_tenant_sees_its_own_counts_alone(deployed: Deployed) -> None:
    """It is refused every other name alike, whether a job named it or not."""
    push(deployed, "acme")
    push(deployed, "beta", 3)
    deployed.flow()
    assert stats(deployed, "acme", **ACME)["total_jobs"] == 1
    listed = deployed.api.get("/admin/tenants", headers=ACME).json
    assert [each["tenant_id"] for each in listed["tenants"]] == ["acme"]
    assert listed["pagination"] == {"limit": 50, "has_more": False}
    for path in ("", "/stats", "/jobs"):
        texts = {
            (reply := deployed.api.get(f"/admin/tenants/{name}{path}", headers=ACME)).text.replace(
                reply.error.get("request_id", "-"), ""
            )
            for name in ("beta", "nobody")
        }
        assert reply.status == 403
        assert len(texts) == 1


def test_the_jobs_of_a_tenant_are_listed(deployed: Deployed) -> None:
    """By state, page by page, and as the tenant itself sees them."""
    push(deployed, "acme", 3)
    push(deployed, "beta")
    push(deployed, "")
    path = "/admin/tenants/acme/jobs"
    first = deployed.api.get(path, query={"limit": "2"}).json
    cursor = first["pagination"]["next_cursor"]
    rest = deployed.api.get(path, query={"limit": "2", "cursor": cursor}, headers=ACME).json
    found = [*first["jobs"], *rest["jobs"]]
    assert len({each["id"] for each in found}) == 3
    assert deployed.api.get(path, query={"state": "active"}).json["jobs"] == []


def test_a_key_that_is_bound_to_queues_sees_no_tenants(aws: EmbeddedAws) -> None:
    """The counts are of all queues."""
    deployed = Deployed(replace(aws, settings=replace(aws.settings, auth="api-key")))
    granted = permissions_of([Scope.OPERATOR])
    caller = Caller(id="key:1", name="test", permissions=granted, queues=("email",))
    deployed.api.authorizer = as_caller(caller)
    for path in ("", "/acme", "/acme/stats", "/acme/jobs"):
        assert deployed.api.get(f"/admin/tenants{path}").status == 403


def test_jobs_without_a_tenant_cost_the_stream_nothing_more(deployed: Deployed) -> None:
    """One update for each tenant and batch, as for each queue; three when a minute begins."""
    for name in ("", "acme", "beta"):
        push(deployed, name)
    deployed.flow()
    costs = []
    for names in ([""], ["acme"], ["acme", "acme", "beta"]):
        for name in names:
            push(deployed, name)
        with deployed.aws.calls.counted() as calls:
            deployed.flow()
        costs.append(calls["UpdateItem"])
    assert costs == [1, 2, 3]


def test_tenants_are_forgotten_long_after_their_last_change(deployed: Deployed) -> None:
    """And queues are not."""
    push(deployed, "acme")
    deployed.flow()
    table = deployed.aws.settings.table
    client = deployed.aws.clients.dynamodb
    item = client.get_item(TableName=table, Key=TENANTS.key("acme"))["Item"]
    kept_s = int(item["ttl"]["N"]) - deployed.clock.at // 1000
    assert 99 * 86_400 < kept_s <= 100 * 86_400


def gauges(deployed: Deployed) -> list[str]:
    """The gauges of tenants, for Prometheus."""
    lines = deployed.api.get("/admin/metrics").text.splitlines()
    return [line for line in lines if line.startswith("ojs_tenant_jobs{") and line[-2:] != " 0"]


def test_few_tenants_have_gauges_and_all_others_one(deployed: Deployed) -> None:
    """Only where they are asked for: else no call is made for them."""
    for tenant, count in {"": 1, "acme": 1, "beta": 3, "gamma": 1, "delta": 2}.items():
        push(deployed, tenant, count)
    deployed.flow()
    deployed.api.fetch()
    with deployed.aws.calls.counted() as without:
        assert gauges(deployed) == []
    settings = deployed.backend.settings
    deployed.backend.settings = replace(settings, metrics_by_tenant=True, tenant_gauges=2)
    with deployed.aws.calls.counted() as calls:
        found = gauges(deployed)
    assert calls - without == {"Query": 4}
    assert found == [
        'ojs_tenant_jobs{tenant_id="beta",state="available"} 3',
        'ojs_tenant_jobs{tenant_id="delta",state="available"} 2',
        'ojs_tenant_jobs{tenant_id="_other",state="available"} 2',
    ]
    deployed.backend.settings = replace(settings, metrics_by_tenant=True, tenant_gauges=0)
    with deployed.aws.calls.counted() as calls:
        assert gauges(deployed) == []
    assert calls == without


def test_who_is_bound_to_a_queue_sees_no_gauges_of_tenants(deployed: Deployed) -> None:
    """They are about all queues."""
    push(deployed, "acme")
    deployed.flow()
    settings = replace(deployed.backend.settings, metrics_by_tenant=True, auth="api-key")
    deployed.backend.settings = settings
    granted = permissions_of([Scope.READ_ONLY])
    for queues in ((), ("default",)):
        caller = Caller(id="key:1", name="test", permissions=granted, queues=queues)
        deployed.api.authorizer = as_caller(caller)
        assert "ojs_queue_depth" in deployed.api.get("/admin/metrics").text
        assert len(gauges(deployed)) == (not queues)
