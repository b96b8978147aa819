"""Settings and bounds of queues over HTTP, as ojs-queue-config and ojs-backpressure name them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api import Api
from tests.simulation.world import World


def push(api: Api, queue: str, **more: Any) -> Any:
    """Push a job."""
    return api.post("/jobs", {"type": "demo.echo", "args": [], "options": {"queue": queue}, **more})


def put(api: Api, path: str, body: Any, method: str = "PUT") -> Any:
    """PUT below /ojs/v1."""
    return api.send(method, f"/ojs/v1{path}", body)


def test_a_queue_is_created_read_changed_and_deleted(api: Api) -> None:
    """ojs-queue-config, section 9."""
    config = {
        "max_size": 100_000,
        "concurrency": 20,
        "visibility_timeout": 300,
        "retention": {"completed": "P3D"},
    }
    made = api.post("/queues", {"name": "payments", "config": config})
    assert (made.status, made.headers["Location"]) == (201, "/ojs/v1/queues/payments")
    assert (made.json["name"], made.json["state"]) == ("payments", "active")
    assert made.json["config"]["retention"] == {
        "completed": "P3D",
        "discarded": "P30D",
        "cancelled": "P7D",
    }
    assert made.json["set"] == config
    assert made.json["created_at"]
    again = api.post("/queues", {"name": "payments"})
    assert (again.status, again.error["code"]) == (409, "conflict")
    shown = api.get("/queues/payments").json
    assert (shown["config"]["concurrency"], shown["stats"]["depth"]) == (20, 0)
    changed = put(api, "/queues/payments/config", {"concurrency": 30}, "PATCH").json
    assert (changed["config"]["concurrency"], changed["config"]["max_size"]) == (30, 100_000)
    gone = api.send("DELETE", "/ojs/v1/queues/payments", {"strategy": "reject"})
    assert (gone.status, gone.json["state"]) == (200, "deleted")
    assert api.get("/queues/payments").status == 404
    assert "payments" not in [each["name"] for each in api.get("/queues").json["queues"]]


@pytest.mark.parametrize("base", ["/queues", "/admin/queues"])
def test_bp_003_a_bound_is_set_over_the_admin_api(api: Api, base: str) -> None:
    """BP-002, BP-003, BP-005 and the warning headers of section 7.3."""
    bound = {"max_depth": 2, "strategy": "reject", "warning_threshold": 0.75}
    assert (
        put(api, f"{base}/small/config", {"backpressure": bound}).json["config"]["backpressure"]
        == bound
    )
    first, second, third = (push(api, "small") for _ in range(3))
    assert "x-ojs-queue-pressure" not in {name.lower() for name in first.headers}
    assert (second.status, second.headers["X-OJS-Queue-Pressure"]) == (201, "1.0")
    assert (second.headers["X-OJS-Queue-Depth"], second.headers["X-OJS-Queue-Bound"]) == ("2", "2")
    assert third.status == 429
    assert third.error["code"] == "QUEUE_FULL"
    assert third.error["retryable"] is True
    assert third.error["depth"] == third.error["bound"] == 2
    assert third.headers["Retry-After"] == "1"
    assert (third.headers["X-OJS-Queue-Depth"], third.headers["X-OJS-Queue-Bound"]) == ("2", "2")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("base", ["/ojs/v1", "/ojs/v1/admin"])
def test_settings_may_be_put_before_the_queue_exists(api: Api, method: str, base: str) -> None:
    """It exists then: it is listed, has settings and statistics."""
    reply = api.send(method, f"{base}/queues/new/config", {"max_size": 2})
    assert (reply.status, reply.json["config"]["max_size"]) == (200, 2)
    assert api.get("/queues/new/config").json["config"]["max_size"] == 2
    assert api.get("/queues/new/stats").json["stats"]["queue"] == "new"
    assert "new" in [each["name"] for each in api.get("/queues").json["queues"]]


def test_a_whole_batch_is_rejected(api: Api) -> None:
    """ojs-backpressure, section 9.3."""
    put(api, "/queues/small/config", {"max_size": 2})
    jobs = [{"type": "demo.echo", "args": [], "options": {"queue": "small"}} for _ in range(3)]
    assert api.post("/jobs/batch", {"jobs": jobs}).status == 429
    assert api.get("/queues/small").json["stats"]["depth"] == 0
    assert api.post("/jobs/batch", {"jobs": jobs[:2]}).headers["X-OJS-Queue-Pressure"] == "1.0"


def test_the_default_policy_is_a_queue_that_nobody_can_use(api: Api) -> None:
    """ojs-queue-config, section 7.1."""
    assert put(api, "/queues/_default/config", {"default_timeout": 11}).status == 200
    shown = api.get("/queues/_default/config").json
    assert (shown["name"], shown["config"]["default_timeout"]) == ("_default", 11)
    assert push(api, "any").json["job"]["timeout_ms"] == 11_000
    assert push(api, "_default").status == 400


def test_a_wrong_setting_is_named_and_nothing_is_changed(api: Api) -> None:
    """400 with the field."""
    wrong = put(api, "/queues/q/config", {"max_size": 5, "visibility_timeout": -1})
    assert (wrong.status, wrong.error["details"]["field"]) == (400, "visibility_timeout")
    assert api.get("/queues/q/config").status == 404
    assert put(api, "/queues/Not%20One/config", {}).status == 400
    unsupported = put(api, "/queues/q/config", {"overflow_policy": "drop_oldest"})
    assert (unsupported.status, unsupported.error["code"]) == (422, "unsupported")


def test_a_draining_queue_says_so(api: Api, world: World) -> None:
    """409 for producers, until it is resumed."""
    world.registry.ensure("q", world.clock.now())
    assert api.post("/queues/q/drain").json["state"] == "draining"
    listed = [each for each in api.get("/queues").json["queues"] if each["name"] == "q"]
    assert listed[0]["status"] == "draining"
    refused = push(api, "q")
    assert (refused.status, refused.error["code"]) == (409, "x_queue_draining")
    api.post("/queues/q/resume")
    world.clock.advance(s=5)
    assert push(api, "q").status == 201


def test_a_deletion_needs_a_strategy(api: Api, world: World) -> None:
    """In the body, or in the query for clients that send no body with DELETE."""
    world.registry.ensure("q", world.clock.now())
    missing = api.send("DELETE", "/ojs/v1/queues/q")
    assert (missing.status, missing.error["details"]["field"]) == (400, "strategy")
    push(api, "q")
    query = {"strategy": "reject"}
    assert api.send("DELETE", "/ojs/v1/queues/q", query=query).status == 409


def test_a_setting_beside_config_is_refused_and_creates_nothing(api: Api) -> None:
    """Rather than ignored: its author would believe in it."""
    reply = api.post("/queues", {"name": "aside", "default_timeout": 5})
    assert (reply.status, reply.error["details"]["field"]) == (400, "default_timeout")
    assert api.get("/queues/aside").status == 404
