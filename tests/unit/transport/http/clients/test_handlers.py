"""What the official clients ask for by paths and in shapes of their own."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Caller, Permission
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.services.events import Commit, events_of
from ojs_aws.transport.http.callers import verdict_context
from ojs_aws.transport.http.calls import Request
from ojs_aws.transport.http.negotiation import Reader, reader_of
from tests.api import OJS, Api
from tests.simulation.world import World, count_changes

CLI = {"user-agent": "Go-http-client/1.1", "accept": OJS, "content-type": OJS}
"""How ojs-cli asks: it states a content type on a GET, and no version."""
RUNNER = {"user-agent": "Go-http-client/1.1", "accept": OJS}
"""How the reference runner of the conformance cases does."""
GO = RUNNER | {"ojs-version": "1.0.0-rc.1"}
RUBY = {"user-agent": "ojs-ruby/0.4.0 ruby/3.1.7", "accept": OJS, "content-type": OJS}
RUST = {"accept": OJS, "content-type": OJS, "ojs-version": "1.0.0-rc.1"}
PYTHON = {"user-agent": "python-httpx/0.28.1", "accept": OJS, "ojs-version": "1.0"}
OURS = {"user-agent": "ojs-aws", "ojs-version": "1.0", "accept": OJS}


@pytest.fixture
def api(world: World) -> Api:
    """The functions over it; the model has SQS queues of every name, so the registry knows it."""
    for name in ("email", "sms"):
        world.registry.ensure(name, world.clock.now())
    count_changes(world)
    return Api(world.backend)


def push(api: Api, queue: str = "email", **options: Any) -> str:
    """Push a job; its id."""
    body = {"type": "mail.send", "args": [], "options": {"queue": queue, **options}}
    reply = api.post("/jobs", body)
    assert reply.status == 201, reply.text
    return str(reply.json["id"])


def fetch(api: Api, queue: str = "email") -> str:
    """Fetch one job; its id."""
    return str(api.post("/workers/fetch", {"queues": [queue]}).json["jobs"][0]["id"])


def fail(api: Api, job_id: str, **more: Any) -> None:
    """Fail a job."""
    error = {"code": "handler_error", "message": "no", **more}
    assert api.post("/workers/nack", {"job_id": job_id, "error": error}).status == 200


# --------------------------------------------------------------------------------- who is asking
@pytest.mark.parametrize(
    ("headers", "method", "expected"),
    [
        ({}, "GET", Reader.CASES),
        (RUNNER, "GET", Reader.CASES),
        (CLI, "POST", Reader.CASES),
        (CLI, "GET", Reader.CLI),
        (GO, "GET", Reader.SDK),
        (RUST, "POST", Reader.SDK),
        (RUBY, "GET", Reader.SDK),
        (PYTHON, "GET", Reader.SDK),
        (OURS, "GET", Reader.CASES),
        ({"user-agent": "Mozilla/5.0"}, "GET", Reader.CASES),
    ],
)
def test_the_reader_is_known_by_what_it_states(
    headers: dict[str, str], method: str, expected: Reader
) -> None:
    """One place decides; the reference runner and the command line share Go's User-Agent."""
    request = Request(method=method, path="/", headers=headers, query={}, body=b"", id="r")
    assert reader_of(request) is expected


# ---------------------------------------------------------------------------------- queue stats
@pytest.mark.parametrize("headers", [GO, RUST, RUBY, PYTHON, CLI])
def test_official_clients_read_the_queue_by_its_name(api: Api, headers: dict[str, str]) -> None:
    """HTTP binding, section 11.2; a null where they read a number would stop some of them."""
    push(api)
    stats = api.get("/queues/email/stats", headers=headers).json
    assert (stats["queue"], stats["status"], stats["stats"]["available"]) == ("email", "active", 1)
    assert None not in stats["stats"].values()
    if headers is not CLI:
        for action, status in (("pause", "paused"), ("resume", "active")):
            changed = api.post(f"/queues/email/{action}", headers=headers).json
            assert (changed["queue"], changed["status"]) == ("email", status)


def test_the_cases_read_the_queue_as_an_object(api: Api) -> None:
    """What the reference runner looks for: ``$.queue.name`` and ``$.queue.available``."""
    push(api)
    stats = api.get("/queues/email/stats", headers=RUNNER).json
    assert (stats["queue"]["name"], stats["queue"]["available"]) == ("email", 1)
    paused = api.post("/queues/email/pause", {}, headers=CLI).json
    assert (paused["queue"]["name"], paused["queue"]["paused"]) == ("email", True)


# ----------------------------------------------------------------------------------- statistics
def test_the_command_line_reads_queues_and_workers_as_objects(api: Api, world: World) -> None:
    """``ojs stats`` printed zeros: numbers under names that it looks for, and whole ones."""
    push(api)
    push(api, "sms")
    api.post("/queues/sms/pause")
    api.post("/workers/heartbeat", {"worker_id": "w1"})
    stats = api.get("/admin/stats", headers=CLI).json
    queues = len(world.registry.all())
    assert stats["queues"] == {"total": queues, "active": queues - 1, "paused": 1}
    assert (stats["workers"]["total"], stats["workers"]["running"]) == (1, 1)
    assert stats["jobs"]["available"] == 2
    assert all(type(stats["throughput"][f"{kind}_per_min"]) is int for kind in _RATES)
    plain = api.get("/admin/stats").json
    assert (plain["queues"], plain["workers"]) == (queues, 1)


_RATES = ("enqueued", "completed", "failed")


def test_statistics_of_one_queue_count_that_queue(api: Api) -> None:
    """``ojs stats --queue``."""
    push(api)
    push(api, "sms")
    stats = api.get("/admin/stats", query={"queue": "sms"}).json
    assert (stats["queues"], stats["jobs"]["available"]) == (1, 1)


def test_history_has_the_data_points_of_the_command_line(api: Api) -> None:
    """``ojs stats --history --since 2h``: the same points under its name, and an age as a start."""
    push(api)
    history = api.get("/admin/stats/history", query={"period": "1h", "since": "2h"}).json
    assert history["data_points"] == history["data"]
    assert len(history["data"]) in (2, 3)


def test_metrics_are_numbers_for_the_command_line_only(api: Api) -> None:
    """``ojs metrics``; scrapers get text, and so does ``--format prometheus``."""
    push(api)
    fetch(api)
    numbers = api.get("/metrics", headers=CLI).json
    assert (numbers["jobs_active"], numbers["workers_active"]) == (1, 0)
    assert numbers["queues_active"] >= 2
    assert "ojs_up 1" in api.get("/metrics", headers=CLI, query={"format": "prometheus"}).text
    assert "ojs_up 1" in api.get("/metrics").text
    assert "ojs_up 1" in api.send("GET", "/metrics", headers=CLI).text


def test_metrics_with_numbers_need_leave_to_inspect() -> None:
    """Who may only enqueue scrapes the text, and learns nothing of others' jobs."""
    api = Api(World(settings=Settings(auth="api-key")).backend)
    caller = Caller(id="p", permissions=frozenset({Permission.ENQUEUE}))
    api.authorizer = {"lambda": verdict_context(Verdict(caller))}
    assert api.get("/metrics").status == 200
    assert api.get("/metrics", headers=CLI).status == 403


# ----------------------------------------------------------------------------------------- jobs
def test_jobs_are_listed_and_their_retries(api: Api) -> None:
    """``ojs jobs`` and ``ojs retries``."""
    job_id = push(api, retry={"max_attempts": 2, "initial_interval": "PT5S"})
    fail(api, fetch(api))
    listed = api.get("/jobs", query={"state": "retryable", "queue": "email", "limit": "25"}).json
    assert (listed["total"], listed["jobs"][0]["id"]) == (1, job_id)
    shown = api.get(f"/jobs/{job_id}/retries").json
    assert shown["job_id"] == job_id
    [retry] = shown["retries"]
    assert (retry["attempt"], retry["state"]) == (1, "retryable")
    assert "no" in retry["error"]
    assert retry["started_at"] <= retry["failed_at"] < retry["next_retry_at"]
    expected = {
        "max_attempts": 2,
        "initial_interval": "PT5S",
        "backoff_strategy": "exponential",
    }
    assert shown["policy"] == expected
    assert api.get("/jobs/01990000-0000-7000-8000-ffffffffffff/retries").status == 404


def test_the_job_of_the_admin_ui_always_has_errors_and_meta(api: Api) -> None:
    """The page of a job reads their length without a look."""
    job = api.get(f"/admin/jobs/{push(api)}").json
    assert (job["errors"], job["meta"]) == ([], {})


# --------------------------------------------------------------------------------------- queues
def test_a_queue_is_created_with_flat_settings(api: Api) -> None:
    """``ojs queues --create q --concurrency 5 --max-size 100``."""
    body = {"name": "small", "concurrency": 5, "max_size": 100}
    assert api.post("/queues", body).status == 201
    config = api.get("/queues/small/config").json["config"]
    assert (config["concurrency"], config["max_size"]) == (5, 100)
    both = {"name": "both", "concurrency": 5, "config": {"concurrency": 6}}
    refused = api.post("/queues", both)
    assert (refused.status, refused.error["details"]["field"]) == (400, "concurrency")


def test_one_retention_is_that_of_all_ended_jobs(api: Api) -> None:
    """``ojs queues --config q --retention 24h``."""
    push(api)
    changed = api.send("PUT", "/ojs/v1/admin/queues/email/config", {"retention": "24h"})
    assert changed.status == 200, changed.text
    expected = dict.fromkeys(("completed", "discarded", "cancelled"), "24h")
    assert changed.json["set"]["retention"] == expected


def test_a_queue_is_purged_by_its_path(api: Api) -> None:
    """``ojs queues --purge q --states completed``: more than the hundred jobs of one page."""
    jobs = [{"type": "mail.send", "args": [], "options": {"queue": "email"}} for _ in range(120)]
    assert api.post("/jobs/batch", {"jobs": jobs}).status == 201
    purged = api.post("/queues/email/purge", {"states": ["available"]}).json
    assert (purged["cancelled"], purged["deleted"], purged["has_more"]) == (120, 0, False)
    assert api.post("/queues/email/purge", {"states": ["cancelled"]}).json["deleted"] == 120
    assert api.post("/queues/email/purge", {"states": ["active"]}).status == 400
    assert api.post("/queues/none/purge", {"states": ["completed"]}).status == 404


def test_dead_letters_are_purged_by_their_path_and_age(api: Api, world: World) -> None:
    """``ojs dead-letter --purge --older-than 7d``; without an age all of them."""
    retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    for _ in range(2):
        push(api, retry=retry)
        fail(api, fetch(api))
        world.clock.advance(s=86_400)
    listed = api.get("/dead-letter").json
    assert [job["total_attempts"] for job in listed["jobs"]] == [1, 1]
    assert api.get("/dead-letter/stats").json["by_type"] == {"mail.send": 2}
    assert api.post("/dead-letter/purge", query={"older_than": "36h"}).json["deleted"] == 1
    assert api.post("/dead-letter/purge", query={"older_than": "soon"}).status == 400
    assert api.post("/dead-letter/purge").json["deleted"] == 1
    assert api.get("/dead-letter").json["total"] == 0


# -------------------------------------------------------------------------------------- workers
def test_all_workers_are_directed_at_once(api: Api) -> None:
    """``ojs workers --quiet`` and ``--resume``."""
    api.post("/workers/heartbeat", {"worker_id": "w1"})
    for name, state in (("quiet", "quiet"), ("resume", "running")):
        assert api.post("/admin/workers/directive", {"directive": name}).json["updated"] == 1
        assert api.post("/workers/heartbeat", {"worker_id": "w1"}).json["state"] == state
    assert api.post("/admin/workers/directive", {"directive": "dance"}).status == 400
    assert api.post("/admin/workers/directive", {}).status == 400


def test_each_worker_has_queues_and_its_last_heartbeat(api: Api) -> None:
    """The page of workers joins ``queues`` without a look; the command line has a shorter name."""
    api.post("/workers/heartbeat", {"worker_id": "w1"})
    api.post("/workers/heartbeat", {"worker_id": "w2", "queues": ["email"]})
    one, two = api.get("/admin/workers").json["items"]
    assert (one.get("queues"), two["queues"]) == (None, ["email"])
    assert one["last_heartbeat"] == one["last_heartbeat_at"]


# ----------------------------------------------------------------------------------------- cron
CRON = {
    "name": "nightly",
    "expression": "0 3 * * *",
    "job_template": {
        "type": "report.make",
        "args": [1],
        "options": {"queue": "low", "priority": 3},
    },
}


def test_a_cron_job_is_changed_member_by_member(api: Api) -> None:
    """``ojs cron --update``: what is not named stays, options included."""
    assert api.post("/cron", CRON).status == 201
    changed = api.send("PATCH", "/ojs/v1/cron/nightly", {"expression": "0 4 * * *"}).json
    assert (changed["expression"], changed["type"], changed["queue"]) == (
        "0 4 * * *",
        "report.make",
        "low",
    )
    template = {"type": "report.send", "options": {"queue": "high"}}
    changed = api.send("PATCH", "/ojs/v1/crons/nightly", {"job_template": template}).json
    assert (changed["type"], changed["queue"], changed["args"]) == ("report.send", "high", [1])
    assert changed["options"] == {"queue": "high", "priority": 3}
    job_id = api.post("/cron/nightly/trigger").json["job_id"]
    job = api.get(f"/jobs/{job_id}").json
    assert (job["type"], job["queue"], job["priority"], job["args"]) == (
        "report.send",
        "high",
        3,
        [1],
    )


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "enabled"), ({"name": "other"}, "name"), ({"job_template": 1}, "job_template")],
)
def test_what_cannot_be_changed_of_a_cron_job_is_refused(
    api: Api, body: dict[str, Any], field: str
) -> None:
    """400 with the member's name, and nothing is changed."""
    api.post("/cron", CRON)
    refused = api.send("PATCH", "/ojs/v1/cron/nightly", body)
    assert (refused.status, refused.error["details"]["field"]) == (400, field)


def test_the_runs_of_a_cron_job_are_listed(api: Api, world: World) -> None:
    """``ojs cron --history``, also before its event is in the log."""
    api.post("/cron", CRON)
    job_id = api.post("/cron/nightly/trigger").json["job_id"]
    [run] = api.get("/cron/nightly/history", query={"limit": "10"}).json["executions"]
    assert (run["job_id"], run["state"]) == (job_id, "available")
    assert fetch(api, "low") == job_id
    api.post("/workers/ack", {"job_id": job_id})
    world.clock.advance(s=1)
    second = api.post("/cron/nightly/trigger").json["job_id"]
    runs = api.get("/cron/nightly/history").json["executions"]
    assert runs[0]["job_id"] == second
    assert api.get("/cron/none/history").status == 404


def test_the_admin_ui_has_its_own_name_for_cron_jobs(api: Api) -> None:
    """``/crons``, with ``items``, ``id`` and ``schedule``."""
    api.post("/cron", CRON)
    page = api.get("/crons", query={"page": "1", "per_page": "50"}).json
    [cron] = page["items"]
    assert (cron["id"], cron["schedule"], cron["queue"]) == ("nightly", "0 3 * * *", "low")
    assert page["pagination"]["total"] == 1
    assert api.send("PATCH", "/ojs/v1/crons/nightly", {"enabled": False}).json["enabled"] is False
    assert api.delete("/crons/nightly").status == 200


# --------------------------------------------------------------------------------------- others
def test_events_come_in_numbered_pages_newest_first(api: Api, world: World) -> None:
    """The page of events reads ``items``, ``pagination`` and ``timestamp``."""
    assert api.get("/events").json["pagination"]["total"] == 0
    for number in range(3):
        after = world.stored.jobs[push(api, f"queue-{number}")]
        now = world.clock.now()
        world.events.append(events_of(None, after, Commit(now)), now)
    newest = api.get("/events", query={"page": "1", "per_page": "2", "type": "job.enqueued"}).json
    older = api.get("/events", query={"page": "2", "per_page": "2", "type": "job.enqueued"}).json
    queues = [each["data"]["queue"] for each in newest["items"] + older["items"]]
    assert queues == ["queue-2", "queue-1", "queue-0"]
    assert newest["items"][0]["timestamp"] == newest["items"][0]["time"]
    assert (newest["pagination"]["page"], newest["pagination"]["per_page"]) == (1, 2)
    assert (newest["pagination"]["has_more"], older["pagination"]["has_more"]) == (True, False)
    assert older["pagination"]["total"] == 3
    none = api.get("/events", query={"page": "1", "type": "job.retried"})
    assert (none.status, none.json["items"]) == (200, [])


def test_workflows_have_the_names_of_the_command_line_and_ui(api: Api) -> None:
    """``step_count``, ``cancelled_steps``, and a cancellation by POST."""
    steps = [
        {"id": "a", "type": "a.b", "args": []},
        {"id": "b", "type": "a.c", "args": [], "depends_on": ["a"]},
    ]
    made = api.post("/workflows", {"name": "w", "steps": steps}).json
    listed = api.get("/workflows", query={"limit": "25"}).json
    assert (listed["total"], listed["workflows"][0]["step_count"]) == (1, 2)
    done = api.post(f"/workflows/{made['id']}/cancel").json
    assert (done["state"], done["cancelled_steps"]) == ("cancelled", 2)


def test_workflows_are_listed_in_numbered_pages(api: Api) -> None:
    """The admin UI asks by number: no workflow twice, none left out, and a total that grows."""
    made = []
    for _ in range(5):
        steps = [{"id": "a", "type": "a.b", "args": []}]
        made.append(api.post("/workflows", {"name": "w", "steps": steps}).json["id"])
    pages = [
        api.get("/workflows", query={"page": str(number), "per_page": "2"}).json
        for number in (1, 2, 3, 4)
    ]
    shown = [each["id"] for page in pages for each in page["items"]]
    assert sorted(shown) == sorted(made)
    assert [len(page["items"]) for page in pages] == [2, 2, 1, 0]
    totals = [page["pagination"]["total"] for page in pages]
    assert totals[2] == 5
    assert pages[0]["pagination"]["has_more"] is True


def test_limits_are_overridden_as_the_command_line_does(api: Api) -> None:
    """``ojs rate-limits --override key --concurrency 5``, and its flat numbers."""
    path = "/ojs/v1/rate-limits/api/override"
    assert api.send("PUT", path, {"concurrency": 5}).status == 200
    shown = api.get("/rate-limits/api", headers=CLI).json
    assert (shown["concurrency"], shown["active"], shown["available"]) == (5, 0, 5)
    assert api.get("/rate-limits/api").json["concurrency"]["limit"] == 5
    assert api.get("/rate-limits", headers=CLI).json["rate_limits"][0]["key"] == "api"
    assert api.send("DELETE", path).status == 200
    flat = api.send("PUT", "/ojs/v1/rate-limits/ui", {"limit": 7, "period": "PT1M"})
    assert (flat.status, flat.json["limit"], flat.json["period"]) == (200, 7, "PT1M")


def test_priorities_are_a_distribution_for_the_admin_ui(api: Api) -> None:
    """Sorted there; ``counts_by_priority`` stays."""
    push(api, priority=5)
    push(api)
    stats = api.get("/queues/email/priority-stats").json
    assert stats["distribution"] == [{"priority": 0, "count": 1}, {"priority": 5, "count": 1}]


def test_settings_are_shown_under_the_command_lines_path(api: Api) -> None:
    """``ojs system config``."""
    assert api.get("/admin/config").json == api.get("/admin/system/config").json
