"""Queues over HTTP, in every form that documents and clients read."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Caller, Scope, permissions_of
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.transport.http.callers import verdict_context
from tests.api import Api
from tests.simulation.world import World


def push(api: Api, queue: str) -> None:
    """Push a job."""
    reply = api.post("/jobs", {"type": "demo.echo", "args": [], "options": {"queue": queue}})
    assert reply.status == 201


@pytest.fixture(autouse=True)
def known(world: World) -> None:
    """SQS reports a queue that is missing, and so it becomes known; the model has them all."""
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
    assert stats["stats"]["queue"] == "email"
    assert api.get("/admin/queues/email").json["stats"]["queue"] == "email"
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


def purge(api: Api, body: object, path: str = "/admin/queues/email/jobs") -> Any:
    """Purge a queue."""
    return api.send("DELETE", f"/ojs/v1{path}", body)


def test_a_purge_deletes_what_has_ended_and_cancels_what_has_not(api: Api) -> None:
    """ojs-admin-api, section 6.5; active jobs are their workers'."""
    for _ in range(4):
        push(api, "email")
    jobs = api.post("/workers/fetch", {"queues": ["email"], "count": 2}).json["jobs"]
    done, running = jobs[0]["id"], jobs[1]["id"]
    api.post("/workers/ack", {"job_id": done})
    reply = purge(api, {"states": ["completed", "available"], "confirm": True})
    assert reply.status == 200
    seen = reply.json
    while seen["has_more"]:
        body = {
            "states": ["completed", "available"],
            "confirm": True,
            "cursor": seen["next_cursor"],
        }
        more = purge(api, body).json
        more["purged_count"] += seen["purged_count"]
        seen = more
    assert seen["purged_count"] == 3
    assert api.get(f"/jobs/{done}").status == 404
    assert api.get(f"/jobs/{running}").json["job"]["state"] == "active"
    counts = api.get("/queues/email/stats").json["stats"]
    assert (counts["available"], counts["completed"], counts["cancelled"]) == (0, 0, 2)


def test_a_purge_spares_what_ended_later(api: Api, world: World) -> None:
    """older_than compares with the instant a job ended; others have none."""
    push(api, "email")
    push(api, "email")
    (job,) = api.post("/workers/fetch", {"queues": ["email"]}).json["jobs"]
    api.post("/workers/ack", {"job_id": job["id"]})
    ended = world.stored.jobs[job["id"]].completed_at
    assert ended is not None
    world.clock.advance(s=10)
    body = {"states": ["completed", "available"], "confirm": True}
    for early in (ended - 20_000, ended):
        at = format_instant(Instant(early))
        assert purge(api, {**body, "older_than": at}).json["purged_count"] == 0
    after = format_instant(Instant(ended + 1))
    assert purge(api, {**body, "older_than": after}).json["deleted"] == 1
    assert api.get("/queues/email/stats").json["stats"]["available"] == 1


def test_a_dry_run_of_a_purge_counts_page_by_page_and_changes_nothing(api: Api) -> None:
    """It needs no confirmation, and goes on by its cursor."""
    for _ in range(103):
        push(api, "email")
    [job] = api.post("/workers/fetch", {"queues": ["email"]}).json["jobs"]
    api.post("/workers/ack", {"job_id": job["id"]})
    body: dict[str, Any] = {"states": ["available", "completed"], "dry_run": True}
    seen = [purge(api, body).json]
    while seen[-1]["has_more"]:
        seen.append(purge(api, {**body, "cursor": seen[-1]["next_cursor"]}).json)
    assert all(each["dry_run"] for each in seen)
    assert sum(each["deleted"] for each in seen) == 1
    assert sum(each["cancelled"] for each in seen) == 102
    counts = api.get("/queues/email/stats").json["stats"]
    assert (counts["available"], counts["completed"], counts["cancelled"]) == (102, 1, 0)


@pytest.mark.parametrize(
    "body",
    [
        {"states": ["completed"]},
        {"states": ["completed"], "dry_run": False},
        {"states": ["completed"], "dry_run": "yes"},
        {"states": ["completed"], "confirm": False},
        {"states": [], "confirm": True},
        {"states": ["active"], "confirm": True},
        {"confirm": True},
        {"states": ["completed"], "confirm": True, "older_than": "yesterday"},
        {"states": ["completed"], "confirm": True, "cursor": "nonsense"},
    ],
)
def test_a_purge_that_is_not_confirmed_or_not_clear_removes_nothing(api: Api, body: object) -> None:
    """The interlock of section 6.5."""
    push(api, "email")
    assert purge(api, body).status == 400
    assert (
        purge(api, {"states": ["completed"], "confirm": True}, "/queues/never/jobs").status == 404
    )


def test_a_purge_goes_on_where_it_ended(api: Api, world: World) -> None:
    """A hundred jobs at a time, whatever the queue holds."""
    for _ in range(230):
        push(api, "email")
    body: dict[str, Any] = {"states": ["available"], "confirm": True}
    counts = []
    while True:
        reply = purge(api, body).json
        counts.append(reply["cancelled"])
        if not reply["has_more"] or len(counts) > 9:
            break
        body["cursor"] = reply["next_cursor"]
    assert sum(counts) == len(world.stored.jobs) == 230
    assert max(counts) <= 100


def test_who_pauses_and_resumes_a_queue_is_kept_with_it() -> None:
    """By name and id of the credentials, for the events and for `why`."""
    world = World(settings=Settings(auth="api-key"))
    caller = Caller(id="key:1", name="alice", permissions=permissions_of([Scope.OPERATOR]))
    api = Api(world.backend)
    api.authorizer = {"lambda": verdict_context(Verdict(caller))}
    assert api.post("/queues/email/pause").status == 200
    assert world.stored.queues["email"].paused_by.endswith(" key:1\talice")
    assert api.post("/queues/email/resume").status == 200
    assert world.stored.queues["email"].resumed_by.endswith(" key:1\talice")
    named = [Caller(id="iam:x", name="x").actor.text, Caller().actor.text]
    assert named == ["iam:x", "anonymous"]
