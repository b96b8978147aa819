"""Queues over HTTP, in every form that documents and clients read."""

from __future__ import annotations

import pytest

from tests.api import Api
from tests.simulation.world import World


def push(api: Api, queue: str) -> None:
    """Push a job."""
    reply = api.post("/jobs", {"type": "demo.echo", "args": [], "options": {"queue": queue}})
    assert reply.status == 201


@pytest.fixture(autouse=True)
def known(world: World) -> None:
    """SQS tells of a queue that is missing, and so it becomes known; the model has them all."""
    for name in ("email", "a", "b", "c"):
        world.registry.ensure(name, world.clock.now())


@pytest.mark.parametrize("base", ["/queues", "/admin/queues"])
def test_pause_and_resume_answer_wrapped_and_flat(api: Api, base: str) -> None:
    """Without a body or a content type, as clients send them; twice is the same as once."""
    for _ in range(2):
        paused = api.post(f"{base}/email/pause").json
        assert (paused["name"], paused["status"], paused["paused"]) == ("email", "paused", True)
        assert paused["queue"]["name"] == "email"
        assert paused["queue"]["paused"] is True
        assert paused["paused_at"] == paused["queue"]["paused_at"]
    push(api, "email")
    fetch = {"queues": ["email"], "worker_id": "w"}
    assert api.post("/workers/fetch", fetch).json["jobs"] == []
    (listed,) = [each for each in api.get("/queues").json["queues"] if each["name"] == "email"]
    assert (listed["status"], listed["paused"]) == ("paused", True)
    for _ in range(2):
        resumed = api.post(f"{base}/email/resume").json
        assert (resumed["status"], resumed["paused"]) == ("active", False)
        assert resumed["queue"]["paused"] is False
        assert resumed["resumed_at"]
    assert len(api.post("/workers/fetch", fetch).json["jobs"]) == 1


def test_statistics_stand_in_every_place_that_is_read(api: Api) -> None:
    """``queue`` by the cases, ``stats`` by the binding, flat by the CLI."""
    push(api, "email")
    push(api, "email")
    api.post("/workers/fetch", {"queues": ["email"]})
    stats = api.get("/queues/email/stats").json
    for place in (stats, stats["queue"], stats["stats"]):
        assert (place["available"], place["active"], place["depth"]) == (1, 1, 2)
        assert (place["dead"], place["dead_letter"], place["estimated"]) == (0, 0, [])
    assert stats["queue"]["name"] == stats["name"] == "email"
    assert stats["queue"]["paused"] is False
    assert stats["computed_at"]


def test_the_admin_api_lists_and_reads_queues_with_counts(api: Api) -> None:
    """ojs-admin-api, sections 6.1 and 6.2."""
    for name in ("a", "b", "c"):
        push(api, name)
    first = api.get("/admin/queues", query={"per_page": "2"}).json
    assert [item["name"] for item in first["items"]] == ["a", "b"]
    assert first["items"][0]["counts"]["available"] == 1
    assert first["items"][0]["state"] == "active"
    assert (first["pagination"]["total"], first["pagination"]["per_page"]) == (5, 2)
    cursor = first["pagination"]["next_cursor"]
    rest = api.get("/admin/queues", query={"per_page": "2", "cursor": cursor}).json
    assert [item["name"] for item in rest["items"]] == ["c", "default"]
    one = api.get("/admin/queues/a").json
    assert (one["name"], one["counts"]["available"], one["paused"]) == ("a", 1, False)
    assert one["latency_ms"] == {"p50": None, "p95": None, "p99": None}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/queues/never/stats", 404),
        ("GET", "/admin/queues/never", 404),
        ("POST", "/queues/never/resume", 404),
        ("POST", "/queues/Bad%20Name/pause", 400),
        ("GET", "/queues/Bad%20Name/stats", 400),
    ],
)
def test_a_queue_that_is_none_is_an_error(api: Api, method: str, path: str, status: int) -> None:
    """It is not made by being asked for."""
    assert api.send(method, f"/ojs/v1{path}").status == status
    assert "never" not in [queue["name"] for queue in api.get("/queues").json["queues"]]
