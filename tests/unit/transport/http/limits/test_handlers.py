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


def test_a_queue_exists_once_a_limit_was_put_for_it(api: Api) -> None:
    """As with its other settings; one that is refused makes no queue."""
    assert api.send("PUT", "/ojs/v1/queues/new/rate-limit", {"rate": 5}).status >= 400
    assert api.get("/queues/new/config").status == 404
    assert api.send("PUT", "/ojs/v1/queues/new/rate-limit", {"concurrency": 2}).status == 200
    assert api.get("/queues/new/config").status == 200
    assert api.get("/queues/new/stats").json["stats"]["queue"] == "new"
    assert "new" in [each["name"] for each in api.get("/queues").json["queues"]]


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


def test_rl_r004_a_key_is_overridden_for_a_while_over_http(api: Api) -> None:
    """Section 10.2: seen with its end; undone by DELETE; a mistake leaves nothing."""
    push(api, {"key": "stripe-api", "concurrency": 5})
    for bad, status in (({}, 422), ({"concurrency": "x"}, 400), ({"expires_at": "x"}, 400)):
        assert api.send("PUT", "/ojs/v1/rate-limits/stripe-api", bad).status == status
    past = {"concurrency": 0, "expires_at": "2020-01-01T00:00:00Z"}
    assert api.send("PUT", "/ojs/v1/rate-limits/stripe-api", past).status == 422
    assert "override" not in api.get("/rate-limits/stripe-api").json
    written = {"concurrency": 0, "expires_at": "2099-01-01T00:00:00.000Z"}
    shown = api.send("PUT", "/ojs/v1/rate-limits/stripe-api", written)
    assert (shown.status, shown.json["override"]) == (200, {**written, "limit": 0})
    assert shown.json["concurrency"] == {"limit": 0, "active": 0, "available": 0}
    assert shown.json["waiting_count"] == 1
    fetch = {"queues": ["email"]}
    assert api.post("/workers/fetch", fetch).json["jobs"] == []
    assert api.delete("/rate-limits/stripe-api").json == {"key": "stripe-api", "deleted": True}
    assert api.delete("/rate-limits/stripe-api").status == 404
    assert len(api.post("/workers/fetch", fetch).json["jobs"]) == 1


def test_a_type_is_limited_before_any_job_of_it_came(api: Api) -> None:
    """Its key says what it concerns; a name that cannot be one is refused."""
    for key, status in (("type:demo.echo", 200), ("type:Bad", 400), ("queue:e!:type:a", 400)):
        assert api.send("PUT", f"/ojs/v1/rate-limits/{key}", {"concurrency": 0}).status == status
    api.post("/jobs", {"type": "demo.echo", "args": []})
    assert api.post("/workers/fetch", {"queues": ["default"]}).json["jobs"] == []


def test_a_job_is_rescheduled_and_says_until_when(api: Api) -> None:
    """Section 6.2, as INFO and the limit itself show it."""
    limit = {"key": "r", "rate": {"limit": 1, "period": "PT1H"}, "on_limit": "reschedule"}
    push(api, limit)
    options = {"queue": "email", "rate_limit": limit}
    second = api.post("/jobs", {"type": "demo.echo", "args": [], "options": options}).json["job"]
    assert len(api.post("/workers/fetch", {"queues": ["email"], "count": 2}).json["jobs"]) == 1
    shown = api.get(f"/jobs/{second['id']}").json["job"]
    assert shown["state"] == "scheduled"
    resets = api.get("/rate-limits/r").json["rate"]["window_resets_at"]
    assert shown["scheduled_at"] == resets
    assert "enqueued_at" not in shown


def test_rl_r003_a_handler_reports_that_it_was_limited(api: Api) -> None:
    """Section 9.1."""
    push(api, {"key": "stripe-api", "concurrency": 5})
    push(api, {"key": "stripe-api", "concurrency": 5})
    (job,) = api.post("/workers/fetch", {"queues": ["email"]}).json["jobs"]
    error = {"type": "RateLimitExceeded", "message": "429"}
    until = "2099-01-01T00:00:00Z"
    body = {"job_id": job["id"], "error": {**error, "rate_limit_until": until}}
    assert api.post("/workers/nack", body).status == 200
    assert api.post("/workers/fetch", {"queues": ["email"]}).json["jobs"] == []
    assert api.get("/rate-limits/stripe-api").json["blocked_until"]
