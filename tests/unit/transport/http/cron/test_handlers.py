"""Cron jobs over HTTP: every form that documents and clients write and read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.timestamps import parse_timestamp
from ojs_aws.services.cron import ended_run
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.transport.events.tick import build_tick
from tests.api import Api
from tests.simulation.world import World

DAILY = {
    "name": "daily-report",
    "cron": "0 9 * * *",
    "timezone": "America/New_York",
    "type": "report.generate",
    "args": [{"report": "daily_summary"}],
    "meta": {"owner": "analytics"},
    "options": {
        "queue": "reports",
        "timeout": 300,
        "retry": {"max_attempts": 3, "initial_interval_ms": 5000},
        "tags": ["daily"],
    },
    "overlap_policy": "skip",
    "enabled": True,
    "description": "Generate daily summary report at 9 AM ET",
}
TEMPLATE = {
    "name": "cleanup",
    "expression": "*/5 * * * *",
    "job_template": {"type": "cache.clean", "args": [1.50], "options": {"queue": "low"}},
}


@pytest.fixture
def world() -> World:
    """A fresh backend over the model, in February 2026."""
    made = World()
    made.clock.at = parse_timestamp("2026-02-12T20:15:00Z", "test")
    return made


def register(api: Api, body: dict[str, Any], **more: Any) -> Any:
    """A registration's answer."""
    reply = api.post("/cron", body | more)
    assert reply.status in {200, 201}, reply.text
    return reply.json


def test_the_form_of_ojs_cron_and_its_answer(api: Api) -> None:
    """CRON-07, CRON-15: section 8.1, with what the system adds."""
    reply = api.post("/cron", DAILY)
    assert reply.status == 201
    assert reply.headers["Location"] == "/ojs/v1/cron/daily-report"
    entry = reply.json["cron_job"]
    assert {name: entry[name] for name in DAILY} == DAILY
    assert entry["last_run_at"] is None
    assert entry["next_run_at"] == "2026-02-13T14:00:00.000Z"
    assert entry["run_count"] == 0
    assert entry["created_at"] == "2026-02-12T20:15:00.000Z"
    assert (entry["expression"], entry["status"]) == (DAILY["cron"], "active")
    assert reply.json["cron"] == entry
    assert reply.json["next_run_at"] == entry["next_run_at"]


def test_the_form_of_the_openapi_document(api: Api, world: World) -> None:
    """An expression and a template; its numbers stay as they were written."""
    reply = api.post("/cron", json.dumps(TEMPLATE).replace("1.5", "1.50"))
    assert '"args":[1.50]' in reply.text.replace(" ", "")
    entry = reply.json["cron"]
    assert entry["job_template"] == TEMPLATE["job_template"]
    assert (entry["cron"], entry["type"], entry["queue"]) == ("*/5 * * * *", "cache.clean", "low")
    assert (entry["timezone"], entry["overlap_policy"], entry["enabled"]) == ("UTC", "skip", True)
    world.clock.advance(s=300)
    report = build_tick(world.backend)({"detail-type": "Scheduled Event"}, None)
    assert report["cron_fired"] == 1
    assert [(job.type, job.queue) for job in world.stored.jobs.values()] == [("cache.clean", "low")]


def test_every_option_reaches_the_job(api: Api, world: World) -> None:
    """CRON-20: as if the client had pushed it, with the metadata of both."""
    register(api, DAILY)
    job_id = api.post("/cron/daily-report/trigger").json["job_id"]
    job = api.get(f"/jobs/{job_id}").json["job"]
    assert (job["queue"], job["timeout_ms"], job["tags"]) == ("reports", 300_000, ["daily"])
    assert job["max_attempts"] == 3
    assert job["meta"]["owner"] == "analytics"
    assert job["meta"]["cron_name"] == "daily-report"
    assert job["meta"]["cron_triggered_at"] == "2026-02-12T20:15:00.000Z"


def test_registering_again_changes_the_cron_job(api: Api) -> None:
    """CRON-26: 201, as for the first time (HTTP binding, 13.1), and one entry."""
    first = register(api, DAILY)["cron"]
    reply = api.post("/cron", DAILY | {"cron": "@hourly", "description": None})
    assert reply.status == 201
    entry = reply.json["cron"]
    assert entry["next_run_at"] == "2026-02-12T21:00:00.000Z"
    assert "description" not in entry
    assert entry["created_at"] == first["created_at"]
    assert api.get("/cron").json["total"] == 1


def test_null_is_as_good_as_left_out(api: Api) -> None:
    """Also in what is answered: clients that fill in every field send nulls."""
    nulls = {"args": None, "meta": None, "options": None, "description": None}
    cron = api.post("/cron", DAILY | nulls).json["cron"]
    assert (cron["args"], cron["options"], "meta" in cron) == ([], {}, False)


def test_members_of_the_system_are_ignored(api: Api) -> None:
    """CRON-06."""
    system = {
        "last_run_at": "2020-01-01T00:00:00Z",
        "next_run_at": "2020-01-01T00:00:00Z",
        "run_count": 99,
        "created_at": "2020-01-01T00:00:00Z",
        "status": "paused",
    }
    entry = register(api, DAILY, **system)["cron"]
    assert (entry["last_run_at"], entry["run_count"], entry["status"]) == (None, 0, "active")
    assert entry["created_at"] == "2026-02-12T20:15:00.000Z"


def test_a_list_has_every_name_that_clients_look_for(api: Api) -> None:
    """crons, cron_jobs and entries, with count and pagination; filtered by enabled (CRON-S06)."""
    register(api, TEMPLATE)
    register(api, DAILY, enabled=False)
    listed = api.get("/cron").json
    assert [entry["name"] for entry in listed["cron_jobs"]] == ["cleanup", "daily-report"]
    assert listed["crons"] == listed["entries"] == listed["cron_jobs"]
    assert (listed["count"], listed["pagination"]["total"]) == (2, 2)
    for value, names in (("true", ["cleanup"]), ("false", ["daily-report"])):
        found = api.get("/cron", query={"enabled": value}).json["entries"]
        assert [entry["name"] for entry in found] == names
    assert api.get("/cron", query={"enabled": "maybe"}).error["details"]["field"] == "enabled"


def test_a_list_comes_page_by_page(api: Api) -> None:
    """By cursor and by offset; none twice, none left out."""
    for number in range(5):
        register(api, TEMPLATE, name=f"job-{number}")
    seen: list[str] = []
    query = {"limit": "2"}
    page: dict[str, Any] = {}
    for _ in range(3):
        page = api.get("/cron", query=query).json
        seen += [entry["name"] for entry in page["crons"]]
        query["cursor"] = page["pagination"].get("next_cursor", "")
    assert seen == [f"job-{number}" for number in range(5)]
    assert not page["pagination"]["has_more"]
    last = api.get("/cron", query={"limit": "2", "offset": "4"}).json["crons"]
    assert [entry["name"] for entry in last] == ["job-4"]
    assert api.get("/cron", query={"cursor": "x"}).status == 400


def test_a_page_of_large_cron_jobs_stays_below_the_limit_of_an_answer(api: Api) -> None:
    """And goes on where it ended."""
    for number in range(30):
        register(api, DAILY, name=f"job-{number:02}", args=["x" * 30_000])
    seen: list[str] = []
    query: dict[str, str] = {}
    while not seen or query["cursor"]:
        reply = api.get("/cron", query=query)
        assert len(reply.text) < 6_000_000
        seen += [entry["name"] for entry in reply.json["crons"]]
        query["cursor"] = reply.json["pagination"].get("next_cursor", "")
    assert seen == [f"job-{number:02}" for number in range(30)]


def test_a_cron_job_shows_its_next_runs(api: Api, world: World) -> None:
    """As its own zone has them: none in the gap when the clocks go forward, none while paused."""
    world.clock.at = parse_timestamp("2026-03-06T20:00:00Z", "test")
    register(api, {**DAILY, "cron": "30 2 * * *"})
    found = api.get("/cron/daily-report").json
    assert found["cron_job"]["next_runs"] == found["next_runs"]
    days = ("07T07", "09T06", "10T06", "11T06", "12T06")
    assert found["next_runs"] == [f"2026-03-{day}:30:00.000Z" for day in days]
    register(api, {**DAILY, "cron": "@every 30m"})
    runs = api.get("/cron/daily-report").json["next_runs"]
    assert [run[11:16] for run in runs] == ["20:30", "21:00", "21:30", "22:00", "22:30"]
    api.post("/cron/daily-report/pause")
    assert api.get("/cron/daily-report").json["next_runs"] == []


def test_a_cron_job_is_read_paused_resumed_and_removed(api: Api) -> None:
    """CRON-27, CRON-28: by PATCH and by routes of their own."""
    register(api, TEMPLATE)
    assert api.get("/cron/cleanup").json["cron"]["name"] == "cleanup"
    paused = api.send("PATCH", "/ojs/v1/cron/cleanup", {"enabled": False}).json["cron_job"]
    assert (paused["enabled"], paused["next_run_at"], paused["status"]) == (False, None, "paused")
    resumed = api.post("/cron/cleanup/resume").json["cron"]
    assert resumed["next_run_at"] == "2026-02-12T20:20:00.000Z"
    assert api.post("/cron/cleanup/pause").json["cron"]["enabled"] is False
    removed = api.delete("/cron/cleanup").json
    assert (removed["deleted"], removed["name"]) == (True, "cleanup")
    assert removed["cron"]["name"] == "cleanup"
    assert api.get("/cron").json["crons"] == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/cron/none", None),
        ("DELETE", "/cron/none", None),
        ("PATCH", "/cron/none", {"enabled": True}),
        ("POST", "/cron/none/pause", None),
        ("POST", "/cron/none/resume", None),
        ("POST", "/cron/none/trigger", None),
        ("GET", "/cron/" + "x" * 3000, None),
        ("GET", "/cron/%C3%A4%20", None),
    ],
)
def test_an_unknown_cron_job_is_not_found(
    api: Api, method: str, path: str, body: dict[str, Any] | None
) -> None:
    """CRON-27: for every operation."""
    reply = api.send(method, "/ojs/v1" + path, body)
    assert (reply.status, reply.error["code"]) == (404, "not_found")


def without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    """A body without some members."""
    return {name: value for name, value in body.items() if name not in names}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        (without(DAILY, "name"), "name"),
        (DAILY | {"name": "Daily Report"}, "name"),
        (without(DAILY, "cron"), "cron"),
        (DAILY | {"cron": "not a valid cron"}, "cron"),
        (DAILY | {"cron": "99 25 32 13 8"}, "cron"),
        (DAILY | {"cron": "0 0 30 2 *"}, "cron"),
        (DAILY | {"timezone": "EST"}, "timezone"),
        (DAILY | {"overlap_policy": "sometimes"}, "overlap_policy"),
        (DAILY | {"enabled": "yes"}, "enabled"),
        (without(DAILY, "type"), "type"),
        (DAILY | {"args": {"a": 1}}, "args"),
        (DAILY | {"options": {"queue": "Not A Queue"}}, "queue"),
        (DAILY | {"options": 5}, "options"),
        (TEMPLATE | {"job_template": []}, "job_template"),
        (TEMPLATE | {"job_template": {}}, "type"),
    ],
)
def test_bad_registrations_are_refused_with_field_and_reason(
    api: Api, world: World, body: dict[str, Any], field: str
) -> None:
    """CRON-11: 400, and nothing is stored."""
    reply = api.post("/cron", body)
    assert reply.status == 400
    assert reply.error["details"]["field"] == field
    assert reply.error["message"]
    assert world.stored.crons == {}


@pytest.mark.parametrize("body", [{}, {"enabled": "no"}, {"enabled": None}])
def test_a_patch_that_says_nothing_is_refused(api: Api, body: dict[str, Any]) -> None:
    """Neither what changes, nor whether it is enabled."""
    register(api, TEMPLATE)
    reply = api.send("PATCH", "/ojs/v1/cron/cleanup", body)
    assert (reply.status, reply.error["details"]["field"]) == (400, "enabled")


def test_a_trigger_answers_what_became_of_it(api: Api, world: World) -> None:
    """201 with the job; 200 with the reason when the policy skips it."""
    register(api, TEMPLATE)
    triggered = api.post("/cron/cleanup/trigger")
    assert (triggered.status, triggered.json["triggered"]) == (201, True)
    job_id = triggered.json["job_id"]
    assert triggered.headers["Location"] == f"/ojs/v1/jobs/{job_id}"
    assert triggered.json["cron"]["last_occurrence"]["job_id"] == job_id
    world.backend.jobs.fetch(FetchRequest(("low",), 1, "w"))
    skipped = api.post("/cron/cleanup/trigger")
    assert (skipped.status, skipped.json["triggered"]) == (200, False)
    assert (skipped.json["reason"], skipped.json["active_job_id"]) == ("overlap_skip", job_id)
    assert skipped.json["job_id"] is None


def test_days_that_not_every_month_has_are_warned_of(api: Api) -> None:
    """Section 3.5: a warning, no error."""
    assert "day 31" in register(api, TEMPLATE, expression="0 0 31 * *")["warnings"][0]
    assert "day 30" in register(api, TEMPLATE, expression="0 0 0 30W,31 * *")["warnings"][0]
    for expression in ("0 0 28,31 * *", "0 0 L * *", "@monthly", "0 0 * * *"):
        assert "warnings" not in register(api, TEMPLATE, expression=expression)


def test_null_says_as_much_as_nothing(api: Api) -> None:
    """Several clients send it for what they do not have."""
    nothing = dict.fromkeys(
        ["cron", "timezone", "overlap_policy", "enabled", "args", "description"]
    )
    template = {"type": "a.b", "args": None, "meta": None, "options": None}
    entry = register(api, TEMPLATE | nothing, job_template=template)["cron"]
    assert entry["job_template"] == {"type": "a.b", "args": [], "options": {}}
    assert (entry["args"], entry["timezone"], entry["enabled"]) == ([], "UTC", True)


def test_cancel_means_cancel_previous(api: Api) -> None:
    """The OpenAPI document names it so."""
    entry = register(api, TEMPLATE, overlap_policy="cancel")["cron"]
    assert entry["overlap_policy"] == "cancel_previous"


def test_the_manifest_says_that_there_are_cron_jobs(api: Api) -> None:
    """Under both names."""
    capabilities = api.send("GET", "/ojs/manifest").json["capabilities"]
    assert capabilities["cron"] is capabilities["cron_jobs"] is True


def test_alarms_fire_the_cron_jobs_that_they_name(api: Api, world: World) -> None:
    """Several in one invocation; what they name may be gone."""
    register(api, TEMPLATE)
    world.clock.advance(s=300)
    records = [{"body": name} for name in ("cleanup", "cleanup", "gone")]
    report = build_tick(world.backend)({"Records": records}, None)
    assert report == {"cron_due": 2, "cron_fired": 1, "cron_failed": 0}


def test_the_end_of_a_run_that_others_wait_for_is_noticed(api: Api, world: World) -> None:
    """Only then: other jobs and other changes wake nobody."""
    register(api, TEMPLATE, overlap_policy="enqueue")
    register(api, TEMPLATE, name="other")
    held = world.stored.jobs[api.post("/cron/cleanup/trigger").json["job_id"]]
    other = world.stored.jobs[api.post("/cron/other/trigger").json["job_id"]]
    world.backend.jobs.fetch(FetchRequest(("low",), 2, "w"))
    active = world.stored.jobs[held.id]
    assert ended_run(held, active) == ""
    for job in (held, other):
        world.backend.jobs.ack(job.id, "w", None)
    assert ended_run(active, world.stored.jobs[held.id]) == "cleanup"
    assert ended_run(other, world.stored.jobs[other.id]) == ""
    assert ended_run(None, active) == ""
    assert ended_run(active, None) == "cleanup"
    assert ended_run(world.stored.jobs[held.id], None) == ""
