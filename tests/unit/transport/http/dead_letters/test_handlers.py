"""The dead letters over HTTP: the binding's paths and the admin API's (ojs-dead-letter, 10)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api import Api
from tests.simulation.world import World

BOTH = pytest.mark.parametrize("base", ["/dead-letter", "/admin/dead-letter"])


@pytest.fixture
def world() -> World:
    """A fresh backend over the model, with queues that are known to it."""
    world = World()
    for queue in ("billing", "two"):
        world.registry.ensure(queue, world.clock.now())
    return world


def die(api: Api, error_type: str = "Broken", **more: Any) -> str:
    """Push a job and fail it for good."""
    policy = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    body = {"type": "demo.echo", "args": [1], "retry": policy} | more
    job_id = str(api.post("/jobs", body).json["id"])
    queue = more.get("queue", "default")
    assert api.post("/workers/fetch", {"queues": [queue]}).json["jobs"][0]["id"] == job_id
    error = {"type": error_type, "message": "m"}
    assert api.post("/workers/nack", {"job_id": job_id, "error": error}).status == 200
    return job_id


def test_dead_letters_are_listed_in_both_forms(api: Api) -> None:
    """`jobs` by the binding; `items` and page numbers by the admin API."""
    ids = {die(api) for _ in range(3)}
    plain = api.get("/dead-letter", query={"limit": "2"}).json
    assert len(plain["jobs"]) == 2
    assert plain["pagination"]["total"] == plain["total"] == 3
    assert plain["pagination"]["total_is_exact"] is True
    assert plain["pagination"]["has_more"] is True
    admin = api.get("/admin/dead-letter", query={"per_page": "2", "page": "2"}).json
    assert len(admin["items"]) == 1
    assert (admin["pagination"]["page"], admin["pagination"]["total"]) == (2, 3)
    assert {job["id"] for job in api.get("/admin/dead-letter").json["items"]} == ids


def test_dlq_r005_dead_letters_are_filtered(api: Api, world: World) -> None:
    """Queue, type, error type and time range."""
    first = die(api, "DbError", queue="billing")
    world.clock.advance(s=10)
    second = die(api, "Other", type="mail.send")

    def found(**query: str) -> list[str]:
        return [job["id"] for job in api.get("/dead-letter", query=query).json["jobs"]]

    at = api.get(f"/jobs/{second}").json["discarded_at"]
    assert found(queue="billing") == found(error_type="DbError") == [first]
    assert found(type="mail.send") == found(since=at) == [second]
    assert found(queue="billing", since=at) == []


@BOTH
def test_a_dead_letter_is_read_retried_and_removed(api: Api, base: str) -> None:
    """One at a time; the admin API answers a removal with 204."""
    job_id = die(api)
    assert api.get(f"{base}/{job_id}").json["job"]["errors"][0]["type"] == "Broken"
    again = api.post(f"{base}/{job_id}/retry", {"override": {"queue": "two"}})
    assert (again.json["job"]["state"], again.json["job"]["queue"]) == ("available", "two")
    assert api.get(f"{base}/{job_id}").status == 404
    assert api.post(f"{base}/{job_id}/retry").status == 409
    gone = die(api)
    removed = api.delete(f"{base}/{gone}")
    assert (removed.status, removed.text) == (204, "") if "admin" in base else (200, removed.text)
    assert api.delete(f"{base}/{gone}").status == 404


@BOTH
def test_many_dead_letters_are_retried_at_once(api: Api, base: str) -> None:
    """By a filter; each has its outcome."""
    chosen = {die(api, "DbError") for _ in range(2)}
    die(api, "Other")
    body = {"filter": {"error_type": "DbError"}, "confirm": True}
    answer = api.post(f"{base}/retry", body).json
    assert (answer["retried"], answer["failed"], answer["has_more"]) == (2, 0, False)
    assert {item["id"] for item in answer["results"]} == chosen
    assert {item["status"] for item in answer["results"]} == {"retried"}


@BOTH
@pytest.mark.parametrize("how", ["body", "query", "post"])
def test_many_dead_letters_are_removed_at_once(api: Api, world: World, base: str, how: str) -> None:
    """As the documents have it, and for clients that cannot send a body with DELETE."""
    old = die(api)
    world.clock.advance(s=60)
    at = "2025-10-09T08:53:30Z"  # half a minute after the model's clock starts
    young = die(api)
    wanted = {"older_than": at, "confirm": True}
    if how == "body":
        answer = api.delete(base, body=wanted)
    elif how == "query":
        answer = api.delete(base, query={"older_than": at, "confirm": "true", "limit": "9"})
    else:
        answer = api.post(f"{base}/delete", wanted)
    assert answer.status == 200, answer.text
    assert [item["id"] for item in answer.json["results"]] == [old]
    assert set(world.stored.jobs) == {young}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "confirm"),
        ({"confirm": False}, "confirm"),
        ({"confirm": "true"}, "confirm"),
        ({"confirm": True, "filter": []}, "filter"),
        ({"confirm": True, "filter": {"args": 1}}, "filter.args"),
        ({"confirm": True, "filter": {"queue": 5}}, "queue"),
        ({"confirm": True, "filter": {"since": "yesterday"}}, "since"),
        ({"confirm": True, "filter": {"since": 5}}, "since"),
        ({"confirm": True, "ids": []}, "ids"),
        ({"confirm": True, "ids": "all"}, "ids"),
        ({"confirm": True, "ids": ["x"]}, "id"),
        ({"confirm": True, "limit": 0}, "limit"),
        ({"confirm": True, "limit": True}, "limit"),
        ({"confirm": True, "cursor": "x"}, "cursor"),
        ({"confirm": True, "cursor": 5}, "cursor"),
    ],
)
@pytest.mark.parametrize("operation", ["retry", "delete"])
def test_a_bulk_operation_that_is_not_clear_does_nothing(
    api: Api, world: World, body: dict[str, Any], field: str, operation: str
) -> None:
    """400 with the field; every dead letter stays."""
    die(api)
    before = dict(world.stored.jobs)
    reply = api.post(f"/dead-letter/{operation}", body)
    assert (reply.status, reply.error["details"]["field"]) == (400, field)
    assert world.stored.jobs == before


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"since": "soon"}, "since"),
        ({"queue": "NO"}, "queue"),
        ({"type": "NO"}, "type"),
        ({"error_type": "x" * 257}, "error_type"),
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "until"),
    ],
)
def test_a_filter_that_cannot_match_is_refused(api: Api, query: dict[str, str], field: str) -> None:
    """400 with the parameter."""
    reply = api.get("/dead-letter", query=query)
    assert (reply.status, reply.error["details"]["field"]) == (400, field)


@BOTH
def test_the_statistics(api: Api, base: str) -> None:
    """Section 10.1."""
    die(api, "DbError", queue="billing")
    stats = api.get(f"{base}/stats").json
    assert (stats["total"], stats["by_queue"]) == (1, {"billing": 1})
    assert stats["by_error_type"] == {"DbError": 1}
    assert stats["oldest_at"] == stats["newest_at"]
    assert stats["retention"] == {"max_age": "PT4320H", "max_count": 10_000}


def test_a_limit_in_the_query_is_a_number_or_refused(api: Api) -> None:
    """Also where its characters count as digits, like a superscript."""
    reply = api.delete("/dead-letter", query={"confirm": "true", "limit": "\u00b2"})
    assert (reply.status, reply.error["details"]["field"]) == (400, "limit")


@BOTH
@pytest.mark.parametrize(("action", "count"), [("retry", "retried"), ("delete", "deleted")])
def test_a_dry_run_counts_and_changes_nothing(api: Api, base: str, action: str, count: str) -> None:
    """It needs no confirmation, and says which instant it counted at."""
    ids = {die(api) for _ in range(2)}
    dry = api.post(f"{base}/{action}", {"dry_run": True, "confirm": True}).json
    assert (dry["dry_run"], dry["matched"], dry[count], dry["failed"]) == (True, 2, 0, 0)
    assert {(each["id"], each["status"]) for each in dry["results"]} == {
        (each, "matched") for each in ids
    }
    assert dry["as_of"].endswith("Z")
    assert api.get("/dead-letter").json["total"] == 2


@pytest.mark.parametrize(("action", "count"), [("retry", "retried"), ("delete", "deleted")])
def test_a_change_meets_only_the_dead_letters_of_its_dry_run(
    api: Api, world: World, action: str, count: str
) -> None:
    """Not one that died since, even one that was a dead letter before."""
    again, counted = die(api), die(api)
    as_of = api.post(f"/dead-letter/{action}", {"dry_run": True}).json["as_of"]
    world.clock.advance(s=1)
    api.post(f"/dead-letter/{again}/retry", {})
    api.post("/workers/fetch", {"queues": ["default"]})
    api.post("/workers/nack", {"job_id": again, "error": {"type": "Broken", "message": "m"}})
    later = die(api)
    done = api.post(f"/dead-letter/{action}", {"confirm": True, "as_of": as_of}).json
    assert (done[count], done["failed"], done["as_of"]) == (1, 0, as_of)
    assert [each["id"] for each in done["results"]] == [counted]
    left = {job["id"] for job in api.get("/dead-letter").json["jobs"]}
    assert left == {again, later}
    named = api.post(f"/dead-letter/{action}", {"confirm": True, "as_of": as_of, "ids": [later]})
    (skipped,) = named.json["results"]
    assert (skipped["status"], "after" in skipped["reason"]) == ("skipped", True)


def test_a_dry_run_of_named_jobs_says_what_would_become_of_each(api: Api) -> None:
    """As the change itself would."""
    dead, alive = die(api), api.post("/jobs", {"type": "a.b", "args": []}).json["id"]
    unknown = "01990000-0000-7000-8000-ffffffffffff"
    dry = api.post("/dead-letter/retry", {"dry_run": True, "ids": [dead, alive, unknown]}).json
    assert [each["status"] for each in dry["results"]] == ["matched", "skipped", "not_found"]
    assert (dry["matched"], dry["failed"], dry["retried"]) == (1, 2, 0)
    assert api.get(f"/dead-letter/{dead}").status == 200


def test_a_dry_run_may_be_asked_for_in_the_query(api: Api) -> None:
    """For clients whose DELETE has no body."""
    die(api)
    dry = api.delete("/dead-letter", query={"dry_run": "true"})
    assert (dry.status, dry.json["matched"]) == (200, 1)
    assert api.get("/dead-letter").json["total"] == 1


@pytest.mark.parametrize(
    ("path", "member"), [("/dead-letter/retry", {}), ("/admin/jobs/bulk/retry", {"queue": "two"})]
)
def test_an_as_of_before_since_is_refused(api: Api, path: str, member: dict[str, str]) -> None:
    """The range would end before it begins, which the table refuses."""
    early, late = "2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"
    body = {"confirm": True, "as_of": early, "filter": {"since": late, **member}}
    refused = api.post(path, body)
    assert (refused.status, refused.error["details"]["field"]) == (400, "as_of")
    unsent = api.post(
        path, {"dry_run": True, "filter": {"since": "2999-01-01T00:00:00Z", **member}}
    )
    assert "'since' attribute must not be after 'as_of', which is now" in unsent.error["message"]


def test_a_dry_run_counts_more_than_a_change_takes(api: Api) -> None:
    """Up to a thousand; a change of as many is refused."""
    die(api)
    assert api.post("/dead-letter/retry", {"dry_run": True, "limit": 1000}).json["matched"] == 1
    for body in ({"confirm": True, "limit": 101}, {"dry_run": True, "limit": 1001}):
        assert api.post("/dead-letter/retry", body).status == 400
