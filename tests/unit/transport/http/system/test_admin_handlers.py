"""The operators' API over HTTP (ojs-admin-api, sections 7, 8, 10 and 12)."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Caller, Scope, permissions_of
from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.jobs.failure_groups import failure_group, window_of
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.transport.http.callers import verdict_context
from ojs_aws.transport.http.system.admin_handlers import SHOWN
from tests.api import Api
from tests.simulation.world import World, count_changes
from tests.unit.transport.http.jobs.test_foreign_jobs import admin, bound


def die(api: Api, **more: Any) -> str:
    """Push a job and fail it for good."""
    job_id = api.push(retry={"max_attempts": 1}, **more)
    api.post("/workers/fetch", {"queues": [more.get("queue", "default")], "worker_id": "w"})
    api.post("/workers/nack", {"job_id": job_id, "error": {"type": "Broken", "message": "m"}})
    return job_id


@pytest.fixture
def world() -> World:
    """A fresh backend over the model, with queues that are known to it."""
    world = World()
    for queue in ("billing", "email"):
        world.registry.ensure(queue, world.clock.now())
    return world


def test_adm_003_jobs_are_listed_with_pagination_and_a_state_filter(api: Api, world: World) -> None:
    """As `items` and `jobs`, with a total that says whether it is exact."""
    waiting = []
    for _ in range(3):
        waiting.append(api.push())
        world.clock.advance(s=1)
    dead = die(api, queue="billing")
    page = api.get("/admin/jobs", query={"state": "available", "per_page": "2"}).json
    assert [job["id"] for job in page["items"]] == [waiting[2], waiting[1]]
    assert page["jobs"] == page["items"]
    pagination = page["pagination"]
    assert (pagination["total"], pagination["total_is_exact"], page["total"]) == (3, True, 3)
    assert pagination["has_more"] is True
    query = {"state": "available", "per_page": "2", "cursor": pagination["next_cursor"]}
    rest = api.get("/admin/jobs", query=query).json
    assert [job["id"] for job in rest["items"]] == [waiting[0]]
    second = api.get("/admin/jobs", query={"state": "available", "per_page": "2", "page": "2"})
    assert second.json["items"] == rest["items"]
    both = api.get("/admin/jobs", query={"state": "available,discarded"}).json
    assert {job["id"] for job in both["items"]} == {*waiting, dead}
    (shown,) = api.get("/admin/jobs", query={"state": "discarded"}).json["items"]
    assert shown["error"] == {"type": "Broken", "message": "m"}
    assert (shown["queue"], shown["attempt"], shown["max_attempts"]) == ("billing", 1, 1)
    assert "args" not in shown


def test_the_order_of_a_list_can_be_turned_round(api: Api, world: World) -> None:
    """And the answer says what it is ordered by."""
    first = api.push()
    world.clock.advance(s=1)
    second = api.push()
    answer = api.get("/admin/jobs", query={"order": "asc", "sort": "priority"}).json
    assert [job["id"] for job in answer["items"]] == [first, second]
    assert answer["order"] == {"by": ["queue", "state", "list"], "direction": "asc"}


def test_a_type_filter_is_exact_or_a_beginning(api: Api) -> None:
    """And its total is not exact unless the page is all of it."""
    api.push(type="mail.send")
    api.push(type="mail.print")
    api.push()
    found = api.get("/admin/jobs", query={"type": "mail.*", "limit": "1"}).json
    assert (len(found["items"]), found["pagination"]["total_is_exact"]) == (1, False)
    whole = api.get("/admin/jobs", query={"type": "mail.*"}).json
    assert (len(whole["items"]), whole["total"]) == (2, 2)
    assert whole["pagination"]["total_is_exact"] is True


def test_a_change_whose_record_is_lost_is_done(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request succeeds; only the event is missing."""

    def lost(_: object) -> None:
        raise BackendUnavailableError("lost")

    monkeypatch.setattr(world.bulk, "record_operation", lost)
    monkeypatch.setattr(world.bulk, "record_bulk", lost)
    api.push()
    body = {"filter": {"queue": "default"}, "confirm": True}
    assert api.post("/admin/jobs/bulk/cancel", body).json["succeeded"] == 1
    entry = {"name": "n", "cron": "0 9 * * *", "type": "a.b", "args": []}
    assert api.post("/cron", entry).status == 201
    assert api.delete("/cron/n").status in {200, 204}
    assert api.get("/cron/n").status == 404


def test_a_purge_that_changes_nothing_records_nobody(api: Api, world: World) -> None:
    """A dry run neither; what was changed is counted."""
    api.push()
    body = {"states": ["available"], "confirm": True}
    for more in ({"dry_run": True}, {}, {}):
        api.send("DELETE", "/ojs/v1/queues/default/jobs", {**body, **more})
    (done,) = world.stored.operations.values()
    target = {"queue": "default", "states": ["available"], "deleted": 0, "cancelled": 1}
    assert (done.operation, done.queue, decode(done.target)) == ("purge_queue", "default", target)


def test_jobs_are_listed_and_changed_by_tag_and_error(api: Api) -> None:
    """The answers say how many jobs were looked at."""
    tagged = api.push(tags=["vip"], pending=True)
    dead = die(api)
    page = api.get("/admin/jobs", query={"tag": "vip"}).json
    assert [job["id"] for job in page["items"]] == [tagged]
    assert page["pagination"]["examined"] == 2
    page = api.get("/admin/jobs", query={"error": "bROKEN: m", "state": "discarded"}).json
    assert [job["id"] for job in page["items"]] == [dead]
    body = {"filter": {"tag": "vip"}}
    dry = api.post("/admin/jobs/bulk/cancel", {**body, "dry_run": True}).json
    assert (dry["matched"], dry["examined"], dry["has_more"]) == (1, 1, False)
    done = api.post("/admin/jobs/bulk/cancel", {**body, "confirm": True}).json
    assert (done["job_ids"], done["examined"]) == ([tagged], 1)
    retry = {"filter": {"error": "broken"}, "confirm": True}
    assert api.post("/admin/jobs/bulk/retry", retry).json["job_ids"] == [dead]


def test_named_jobs_are_changed_whatever_live_state_they_are_in(api: Api) -> None:
    """Those that a dry run counted, if they go on meanwhile; each has an outcome of its own."""
    first, second = api.push(), api.push()
    dry = api.post("/admin/jobs/bulk/cancel", {"filter": {"state": "available"}, "dry_run": True})
    assert set(dry.json["job_ids"]) == {first, second}
    api.fetch()
    unknown = "01990000-0000-7000-8000-00000000ffff"
    named = {"job_ids": [first, second, unknown], "confirm": True}
    done = api.post("/admin/jobs/bulk/cancel", named).json
    assert (done["job_ids"], done["matched"], done["failed"]) == ([first, second], 3, 1)
    assert done["errors"][0]["status"] == "not_found"
    both: dict[str, Any] = {"job_ids": [first], "filter": {"queue": "default"}}
    wrong: list[dict[str, Any]] = [
        *({"job_ids": ids} for ids in ([], "x", [first, first], [1])),
        both,
    ]
    for body in wrong:
        assert api.post("/admin/jobs/bulk/cancel", {**body, "confirm": True}).status == 400, body
    assert api.post("/admin/jobs/bulk/cancel", {"job_ids": [first]}).status == 400


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"state": "nowhere"}, "state"),
        ({"queue": "No Queue"}, "queue"),
        ({"type": "No"}, "type"),
        ({"since": "yesterday"}, "since"),
        ({"order": "sideways"}, "order"),
        ({"sort": "colour"}, "sort"),
        ({"cursor": "x"}, "cursor"),
        ({"tag": "x" * 257}, "tag"),
        ({"error": "x" * 257}, "error"),
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "until"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_by_name(
    api: Api, query: dict[str, str], field: str
) -> None:
    """400, and which parameter."""
    reply = api.get("/admin/jobs", query=query)
    assert (reply.status, reply.error["details"]["field"]) == (400, field)


def test_adm_004_a_job_is_shown_whole_with_its_history(api: Api, world: World) -> None:
    """The envelope as everywhere, and what happened in the order of time."""
    job_id = die(api, meta={"tenant": "acme"})
    detail = api.get(f"/admin/jobs/{job_id}").json
    assert detail["job"]["meta"] == detail["meta"] == {"tenant": "acme"}
    assert detail["errors"][0]["type"] == "Broken"
    kinds = [entry["what"] for entry in detail["history"]]
    assert kinds[0] == "created"
    assert {"enqueued", "started", "attempt_failed", "discarded"} <= set(kinds)
    failed = next(entry for entry in detail["history"] if entry["what"] == "attempt_failed")
    assert (failed["attempt"], failed["error"]["message"]) == (1, "m")
    assert "events" not in detail
    events = api.get(f"/admin/jobs/{job_id}", query={"events": "true"}).json["events"]
    assert set(events) == {"items", "cursor", "has_more"}
    assert api.get("/admin/jobs/01990000-0000-7000-8000-00000000ffff").status == 404


def test_a_job_is_cancelled_and_retried_by_an_operator(api: Api) -> None:
    """The same as CANCEL and the dead letters' retry; a cancelled job stays cancelled."""
    waiting, dead = api.push(queue="email"), die(api)
    gone = api.post(f"/admin/jobs/{waiting}/cancel").json
    assert (gone["job"]["state"], gone["previous_state"]) == ("cancelled", "available")
    assert api.post(f"/admin/jobs/{waiting}/cancel").status == 409
    assert api.post(f"/admin/jobs/{waiting}/retry").status == 409
    again = api.post(f"/admin/jobs/{dead}/retry").json
    assert (again["job"]["state"], again["job"]["attempt"]) == ("available", 0)


@pytest.mark.parametrize("is_nested", [True, False])
def test_adm_007_bulk_retry_takes_a_filter_and_must_be_confirmed(api: Api, is_nested: bool) -> None:
    """In the filter object of the specification, or flat as its OpenAPI document has it."""
    ids = {die(api, queue="billing") for _ in range(2)}
    chosen = {"queue": "billing", "state": "discarded"}
    body: dict[str, Any] = {"filter": chosen} if is_nested else dict(chosen)
    refused = api.post("/admin/jobs/bulk/retry", body)
    assert (refused.status, refused.error["details"]["field"]) == (400, "confirm")
    done = api.post("/admin/jobs/bulk/retry", body | {"confirm": True}).json
    assert (done["action"], done["matched"], done["succeeded"], done["failed"]) == (
        "retry",
        2,
        2,
        0,
    )
    assert set(done["job_ids"]) == ids
    assert (done["errors"], done["has_more"]) == ([], False)


def test_adm_r005_bulk_cancel_and_delete_go_on_by_a_cursor(api: Api) -> None:
    """A limit ends a request; ``next_cursor`` leads to the rest."""
    for _ in range(3):
        api.push()
    body: dict[str, Any] = {"filter": {"queue": "default"}, "confirm": True, "limit": 2}
    dry = api.post("/admin/jobs/bulk/cancel", {"filter": {"queue": "default"}, "dry_run": True})
    assert (dry.json["dry_run"], dry.json["matched"], dry.json["succeeded"]) == (True, 3, 0)
    first = api.post("/admin/jobs/bulk/cancel", body).json
    assert (first["succeeded"], first["has_more"]) == (2, True)
    second = api.post("/admin/jobs/bulk/cancel", body | {"cursor": first["next_cursor"]}).json
    assert (second["succeeded"], second["has_more"]) == (1, False)
    gone = api.post("/admin/jobs/bulk/delete", body | {"limit": 100}).json
    assert gone["succeeded"] == 3
    assert api.get("/admin/jobs").json["total"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"confirm": True}, "filter"),
        ({"confirm": True, "filter": {}}, "filter"),
        ({"confirm": True, "filter": []}, "filter"),
        ({"confirm": True, "filter": {"colour": "red"}}, "filter.colour"),
        ({"confirm": True, "filter": {"state": "active"}}, "filter.state"),
        ({"confirm": True, "filter": {"state": 7}}, "state"),
        ({"confirm": True, "filter": {"tag": 7}}, "tag"),
        ({"confirm": True, "filter": {"error": "x" * 257}}, "error"),
        ({"confirm": True, "filter": {"queue": "default"}, "limit": 0}, "limit"),
        ({"confirm": True, "filter": {"queue": "default"}, "limit": "x"}, "limit"),
        ({"confirm": True, "filter": {"queue": "default"}, "cursor": "x"}, "cursor"),
        ({"confirm": "yes", "filter": {"queue": "default"}}, "confirm"),
        ({"dry_run": "yes", "filter": {"queue": "default"}}, "dry_run"),
    ],
)
def test_a_bulk_change_that_is_not_clear_changes_nothing(
    api: Api, world: World, body: dict[str, Any], field: str
) -> None:
    """400, and which attribute."""
    die(api)
    before = dict(world.stored.jobs)
    reply = api.post("/admin/jobs/bulk/retry", body)
    assert (reply.status, reply.error["details"]["field"]) == (400, field)
    assert world.stored.jobs == before


def test_adm_005_the_statistics_are_of_all_queues_together(api: Api, world: World) -> None:
    """Jobs by state, workers, throughput."""
    count_changes(world)
    api.push(queue="email")
    die(api, queue="billing")
    api.post("/workers/heartbeat", {"worker_id": "w1"})
    stats = api.get("/admin/stats").json
    assert (stats["queues"], stats["workers"]) == (3, 1)
    assert (stats["jobs"]["available"], stats["jobs"]["discarded"]) == (1, 1)
    rates = {name: stats["throughput"][f"{name}_per_minute"] for name in _RATES}
    assert rates == {"enqueued": 0.4, "processed": 0.2, "failed": 0.2}
    assert stats["throughput"]["enqueued_per_min"] == 1  # rounded up for the command line
    assert stats["is_exact"] is False
    assert set(stats["estimated"]) == set(stats["jobs"])
    one = api.get("/admin/stats", query={"queue": "email"}).json
    assert (one["is_exact"], one["estimated"], one["queues_counted"]) == (True, [], 1)


_RATES = ("enqueued", "processed", "failed")


def test_jobs_that_are_gone_are_not_in_the_statistics(api: Api, world: World) -> None:
    """Dropped dead letters, and jobs whose time to live is over; the stream publishes both."""
    count_changes(world)
    gone, kept = die(api), die(api)
    del world.stored.jobs[gone]
    jobs = api.get("/admin/stats").json["jobs"]
    assert (jobs["discarded"], jobs["available"]) == (1, 0)
    api.post(f"/admin/jobs/{kept}/retry")
    jobs = api.get("/admin/stats").json["jobs"]
    assert (jobs["discarded"], jobs["available"]) == (0, 1)


def test_obs_006_the_depth_of_queues_is_a_gauge(api: Api, world: World) -> None:
    """In the Prometheus text format, with workers and what they execute."""
    count_changes(world)
    api.push(queue="email")
    api.push(queue="billing")
    api.post("/workers/fetch", {"queues": ["billing"], "worker_id": "w"})
    api.post("/workers/heartbeat", {"worker_id": "w1"})
    reply = api.get("/admin/metrics")
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = reply.text.splitlines()
    assert 'ojs_queue_depth{queue="email",state="available"} 1' in lines
    assert 'ojs_workers_busy{queue="billing"} 1' in lines
    assert "ojs_workers_active 1" in lines


def test_an_overview_says_how_long_jobs_wait_and_run(api: Api, world: World) -> None:
    """Percentiles of each queue and of all, the longest wait, and how late the numbers are."""
    count_changes(world)
    done = [api.push(queue="email") for _ in range(2)]
    world.clock.advance(s=4)
    api.post("/workers/fetch", {"queues": ["email"], "worker_id": "w", "count": 2})
    world.clock.advance(s=1)
    for job_id in done:
        api.post("/workers/ack", {"job_id": job_id, "worker_id": "w"})
    api.push(queue="billing")
    since = format_instant(world.clock.now())
    world.clock.advance(s=30)
    assert "oldest_available_at" not in api.get("/admin/overview").json
    world.backend.upkeep.sweep.tick()
    found = api.get("/admin/overview").json
    billing, email = found["queues"][0], found["queues"][-1]
    assert (billing["name"], billing["oldest_available_at"]) == ("billing", since)
    assert (email["name"], "oldest_available_at" in email) == ("email", False)
    assert billing["latency_ms"] == {"p50": None, "p95": None, "p99": None}
    assert email["latency_ms"] == found["totals"]["latency_ms"]
    assert email["latency_ms"]["p95"] == pytest.approx(4000, rel=0.2)
    assert found["totals"]["duration_ms"]["p50"] == pytest.approx(1000, rel=0.2)
    assert (found["oldest_available_at"], found["oldest_available_queue"]) == (since, "billing")
    assert found["events"] == {"last_at": since, "lag_ms": 0}
    text = api.get("/admin/metrics").text
    assert 'ojs_queue_oldest_available_seconds{queue="billing"} 30.0' in text
    assert 'ojs_queue_wait_seconds{queue="email",quantile="0.95"} 3.' in text
    assert "ojs_events_lag_seconds 0.0" in text
    point = api.get("/admin/stats/history", query={"period": "1h", "queue": "email"}).json["data"]
    assert point[-1]["latency_ms"] == email["latency_ms"]
    api.post("/queues/billing/pause")
    assert "oldest_available_at" not in api.get("/admin/overview").json


def test_what_a_sweep_found_is_not_shown_to_callers_of_other_queues(world: World) -> None:
    """The oldest job is that of the queues which the caller may see."""
    count_changes(world)
    world.backend.settings = replace(world.backend.settings, auth="api-key")
    api = Api(world.backend)
    api.authorizer = admin()
    api.push(queue="billing")
    world.clock.advance(s=1)
    api.push(queue="email")
    world.clock.advance(s=1)
    world.backend.upkeep.sweep.tick()
    assert api.get("/admin/overview").json["oldest_available_queue"] == "billing"
    api.authorizer = bound(queues=("email",))
    assert api.get("/admin/overview").json["oldest_available_queue"] == "email"


def test_adm_r002_what_queues_did_is_counted_by_period(api: Api, world: World) -> None:
    """Points begin at the multiples of their period; too many are refused, not left out."""
    count_changes(world)
    for _ in range(2):
        die(api)
    world.clock.advance(s=600)
    die(api)
    world.clock.advance(s=60)
    history = api.get("/admin/stats/history", query={"queue": "default", "period": "5m"}).json
    assert history["period"] == "5m"
    assert [point["failed"] for point in history["data"] if point["failed"]] == [2, 1]
    assert [point["enqueued"] for point in history["data"] if point["enqueued"]] == [2, 1]
    assert all(point["timestamp"][14:16] in _FIVES for point in history["data"])
    day = {"period": "1m", "since": format_instant(Instant(world.clock.now() - 86_400_000))}
    minutes = api.get("/admin/stats/history", query=day).json["data"]
    assert len(minutes) in {1440, 1441}
    assert sum(point["failed"] for point in minutes) == 3
    too_much = api.get(
        "/admin/stats/history", query={"period": "1m", "since": "2025-01-01T00:00:00Z"}
    )
    assert too_much.error["details"]["field"] == "period"
    assert api.get("/admin/stats/history", query={"period": "2m"}).status == 400


_FIVES = {f"{minute:02d}" for minute in range(0, 60, 5)}


def test_the_configuration_shows_no_names_of_resources_and_no_secrets(api: Api) -> None:
    """A setting is shown only if it is named as harmless; a new one is not, until somebody says."""
    shown = api.get("/admin/system/config").json["settings"]
    assert set(shown) == SHOWN
    assert shown["queues"] == ["default"]
    known = {each.name for each in fields(Settings)}
    assert known >= SHOWN
    assert {"table", "bucket", "event_bus", "queue_url_prefix", "queue_prefix"} <= known - SHOWN


def test_a_repair_is_asked_for_part_by_part(api: Api, world: World) -> None:
    """And refuses what is no cursor, or no flag, before anything is sent."""
    for _ in range(3):
        api.push()
    world.lose_messages()
    for body in ({"cursor": "x"}, {"cursor": 7}, {"dry_run": "yes"}):
        reply = api.post("/admin/repair", body)
        assert (reply.status, reply.json["error"]["code"]) == (400, "invalid_request"), body
    assert not world.messages.receive("default", 10, 1)
    whole = api.post("/admin/repair", {}).json
    assert (whole["ready"], whole["waiting"], whole["has_more"]) == (3, 0, False)
    assert "next_cursor" not in whole


def test_failures_are_shown_by_error_within_bounds(world: World) -> None:
    """A key bound to queues sees those of its own; one bound to types none."""
    api = Api(world.backend)
    for queue, count in (("billing", 2), ("email", 3)):
        for number in range(count):
            now = Instant(world.clock.now() + number)
            group = failure_group("Broken", f"no user {number}", f"job-{queue}-{number}", now)
            world.backend.stores.failure_groups().add(
                queue, window_of(now), [group], f"{queue}{number}"
            )
    body = api.get("/admin/errors").json
    (group,) = body["groups"]
    assert (group["type"], group["message"], group["count"]) == ("Broken", "no user *", 5)
    assert (group["queues"], body["is_exact"], body["has_more"]) == (
        ["billing", "email"],
        False,
        False,
    )
    world.backend.settings = replace(world.backend.settings, auth="api-key")
    api = Api(world.backend)
    api.authorizer = bound(queues=("email",))
    (own,) = api.get("/admin/errors").json["groups"]
    assert (own["queues"], own["count"]) == (["email"], 3)
    assert "billing" not in api.get("/admin/errors").text
    assert api.get("/admin/errors", query={"queue": "billing"}).status == 403
    api.authorizer = bound(types=("email.*",))
    assert api.get("/admin/errors").status == 403


def test_many_jobs_get_a_priority_as_a_dry_run_counted_them(world: World, api: Api) -> None:
    """The dry run's instant holds; the priority is checked before anything is changed."""
    ids = {api.push(queue="email") for _ in range(3)}
    other = api.push(queue="billing")
    world.clock.advance(s=1)
    path, wanted = "/admin/jobs/bulk/priority", {"filter": {"queue": "email"}}
    dry = api.post(path, {**wanted, "priority": 50, "dry_run": True}).json
    assert (dry["action"], dry["matched"], dry["succeeded"]) == ("reprioritise", 3, 0)
    world.clock.advance(s=1)
    later = api.push(queue="email")
    change = {**wanted, "priority": 50, "confirm": True, "as_of": dry["as_of"]}
    done = api.post(path, change).json
    assert set(done["job_ids"]) == ids
    assert {world.stored.jobs[each].priority for each in ids} == {50}
    assert {world.stored.jobs[each].priority for each in (other, later)} == {0}
    again = api.post(path, change).json
    assert again["job_ids"] == []
    for wrong in ({"confirm": True}, {"priority": 101, "confirm": True}, {"priority": 1}):
        assert api.post(path, {**wanted, **wrong}).status == 400, wrong


def test_a_bulk_priority_keeps_to_the_callers_bounds(world: World) -> None:
    """Jobs of others are not met; readers may not change anything."""
    world.backend.settings = replace(world.backend.settings, auth="api-key")
    api = Api(world.backend)
    api.authorizer = admin()
    mine, foreign = api.push(queue="email"), api.push(queue="billing")
    body = {"filter": {"state": "available"}, "priority": 9, "confirm": True}
    api.authorizer = bound(queues=("email",))
    assert api.post("/admin/jobs/bulk/priority", body).json["job_ids"] == [mine]
    assert world.stored.jobs[foreign].priority == 0
    reader = Caller(id="key:2", permissions=permissions_of([Scope.READ_ONLY]))
    api.authorizer = {"lambda": verdict_context(Verdict(reader))}
    assert api.post("/admin/jobs/bulk/priority", body).status == 403
