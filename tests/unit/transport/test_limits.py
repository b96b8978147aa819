"""Limits over HTTP (ojs-rate-limiting, section 10)."""

from __future__ import annotations

import pytest

from tests.api import Api


def push(api: Api, limit: object) -> dict[str, str]:
    """Push a job; the answer's headers."""
    options = {"queue": "email", "rate_limit": limit}
    reply = api.post("/jobs", {"type": "demo.echo", "args": [], "options": options})
    assert reply.status == 201
    assert reply.json["job"]["rate_limit"] == limit
    return {name.lower(): value for name, value in reply.headers.items()}


def test_a_limit_is_inspected_and_listed(api: Api) -> None:
    """RL-005, with what it counts."""
    limit = {
        "key": "tenant:acme",
        "concurrency": 5,
        "rate": {"limit": 100, "period": "PT1M"},
        "throttle": {"limit": 10, "period": "PT1S"},
    }
    assert push(api, limit)["x-ratelimit-limit"] == "100"
    assert len(api.post("/workers/fetch", {"queues": ["email"]}).json["jobs"]) == 1
    shown = api.get("/rate-limits/tenant:acme").json
    assert shown["key"] == "tenant:acme"
    assert shown["concurrency"] == {"limit": 5, "active": 1, "available": 4}
    assert (shown["rate"]["current_count"], shown["rate"]["period"]) == (1, "PT1M")
    assert shown["throttle"]["next_allowed_at"]
    push(api, {"key": "zz", "concurrency": 1})
    first = api.get("/rate-limits", query={"limit": "1"}).json
    assert [item["key"] for item in first["items"]] == ["tenant:acme"]
    cursor = first["pagination"]["next_cursor"]
    rest = api.get("/rate-limits", query={"cursor": cursor}).json
    assert [item["key"] for item in rest["items"]] == ["zz"]
    assert api.get("/rate-limits/never").status == 404


@pytest.mark.parametrize("base", ["/queues", "/admin/queues"])
def test_a_queue_is_limited_and_no_more(api: Api, base: str) -> None:
    """Section 7.2; what cannot be followed changes nothing."""
    for bad, status in (({}, 422), ({"concurrency": -1}, 422), ({"rate": "x"}, 400)):
        assert api.send("PUT", f"/ojs/v1{base}/email/rate-limit", bad).status == status
    assert api.get("/rate-limits/queue:email").status == 404
    set_ = api.send("PUT", f"/ojs/v1{base}/email/rate-limit", {"concurrency": 1})
    assert (set_.status, set_.json["concurrency"]["limit"]) == (200, 1)
    for _ in range(2):
        api.post("/jobs", {"type": "demo.echo", "args": [], "options": {"queue": "email"}})
    fetch = {"queues": ["email"], "count": 2}
    assert len(api.post("/workers/fetch", fetch).json["jobs"]) == 1
    assert api.delete(f"{base}/email/rate-limit").json["deleted"] is True
    assert len(api.post("/workers/fetch", fetch).json["jobs"]) == 1
