"""The operators' view of workers over HTTP (ojs-admin-api, section 9)."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Caller, Scope, permissions_of
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.transport.http.callers import verdict_context
from tests.api import Api
from tests.simulation.world import World

ABOUT = {"hostname": "h1", "pid": 7, "queues": ["email"], "concurrency": 3, "labels": ["v1"]}


def beat(api: Api, worker_id: str = "w1", **more: Any) -> Any:
    """A heartbeat's answer."""
    reply = api.post("/workers/heartbeat", {"worker_id": worker_id} | more)
    assert reply.status == 200, reply.text
    return reply.json


def test_wrk_005_workers_are_listed_with_what_they_said(api: Api, world: World) -> None:
    """The shape of the admin API: items, summary, pagination."""
    beat(api, "a", **ABOUT, heartbeat_interval_ms=5000)
    world.clock.advance(s=14)
    beat(api, "b", state="quiet", active_jobs=2)
    world.clock.advance(s=1)
    listed = api.get("/admin/workers").json
    first, second = listed["items"]
    assert {name: first[name] for name in ABOUT} == ABOUT
    assert (first["id"], first["state"], second["state"]) == ("a", "running", "quiet")
    assert (first["stale"], second["stale"]) == (True, False)
    assert "queues" not in second
    assert first["last_heartbeat_at"] < second["last_heartbeat_at"]
    assert second["active_jobs"] == 2
    assert listed["summary"] == {
        "total": 2,
        "running": 0,
        "quiet": 1,
        "terminate": 0,
        "stale": 1,
        "is_exact": True,
    }
    assert listed["pagination"]["total"] == listed["total"] == 2
    assert (listed["pagination"]["page"], listed["pagination"]["per_page"]) == (1, 50)


def test_a_silent_worker_fits_the_schema_of_the_workers_information(api: Api, world: World) -> None:
    """The schema knows three states, and no empty list of queues; both paths say the rest."""
    beat(api, "quiet", state="quiet", queues=[], heartbeat_interval_ms=5000)
    beat(api, "named", queues=["email"], heartbeat_interval_ms=5000)
    world.clock.advance(s=15)
    named, quiet = api.get("/admin/workers").json["items"]
    assert (quiet["state"], quiet["stale"], named["stale"]) == ("quiet", True, True)
    assert "queues" not in quiet
    assert named["queues"] == ["email"]
    one = api.get("/admin/workers/quiet").json
    assert (one["state"], one["stale"], one["worker"]["state"]) == ("quiet", True, "quiet")


def test_a_page_in_a_browser_reads_silence_as_a_state(api: Api, world: World) -> None:
    """The official admin UI shows it, and reads the queues of every worker."""
    beat(api, "w", heartbeat_interval_ms=5000)
    browser = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64)"}
    (alive,) = api.get("/admin/workers", headers=browser).json["items"]
    assert (alive["state"], alive["stale"], alive["queues"]) == ("running", False, [])
    world.clock.advance(s=15)
    (silent,) = api.get("/admin/workers", headers=browser).json["items"]
    assert (silent["state"], silent["stale"], silent["queues"]) == ("stale", True, [])


@pytest.mark.parametrize("limit", ["limit", "per_page"])
def test_workers_are_listed_page_by_page(api: Api, limit: str) -> None:
    """By cursor, by offset and by number: none twice, none left out."""
    names = [f"w{n}" for n in range(5)]
    for name in names:
        beat(api, name)
    seen, cursor = [], ""
    while True:
        page = api.get(
            "/admin/workers", query={limit: "2"} | ({"cursor": cursor} if cursor else {})
        )
        seen += [item["id"] for item in page.json["items"]]
        cursor = page.json["pagination"].get("next_cursor", "")
        assert page.json["pagination"]["has_more"] is bool(cursor)
        if not cursor:
            break
    assert seen == names
    second = api.get("/admin/workers", query={limit: "2", "page": "2"}).json
    assert [item["id"] for item in second["items"]] == names[2:4]
    assert second["pagination"]["page"] == 2


@pytest.mark.parametrize(
    "query", [{"cursor": "x"}, {"page": "0"}, {"page": "1000"}, {"per_page": "-1"}, {"limit": "a"}]
)
def test_bad_pages_are_refused(api: Api, query: dict[str, str]) -> None:
    """With the parameter's name."""
    reply = api.get("/admin/workers", query=query)
    assert (reply.status, reply.error["details"]["field"]) == (400, next(iter(query)))


def test_a_worker_names_who_directed_it_and_when(api: Api) -> None:
    """Also after it was resumed, since that is a directive."""
    beat(api)
    assert "directed_by" not in api.get("/admin/workers/w1").json
    for change in ("quiet", "resume"):
        api.post(f"/admin/workers/w1/{change}")
        worker = api.get("/admin/workers").json["items"][0]
        assert worker["directed_by"] == {"id": "anonymous", "name": "anonymous"}
        assert worker["directed_at"] <= worker["expected_until"]


def test_wrk_006_wrk_013_a_directive_is_delivered_by_the_next_heartbeat(api: Api) -> None:
    """Quiet, back again, and terminate, which is final."""
    beat(api)
    answer = api.post("/admin/workers/w1/quiet")
    assert (answer.status, answer.json["directive"]) == (200, "quiet")
    assert answer.json["worker"]["id"] == "w1"
    assert beat(api)["state"] == "quiet"
    assert api.post("/admin/workers/w1/resume").json["previous_directive"] == "quiet"
    assert beat(api)["state"] == "running"
    api.post("/admin/workers/w1/terminate")
    assert beat(api)["state"] == beat(api)["state"] == "terminate"
    refused = api.post("/admin/workers/w1/quiet")
    assert (refused.status, refused.error["details"]["current_state"]) == (409, "terminate")
    assert beat(api)["state"] == "terminate"


def test_a_quiet_worker_is_given_nothing(api: Api) -> None:
    """ojs-graceful-shutdown, section 5.1: from the heartbeat on that reported it."""
    api.post("/jobs", {"type": "a", "args": []})
    beat(api)
    api.post("/admin/workers/w1/quiet")
    beat(api)
    fetch = {"queues": ["default"], "worker_id": "w1"}
    assert api.post("/workers/fetch", fetch).json["jobs"] == []
    api.post("/admin/workers/w1/resume")
    beat(api)
    assert len(api.post("/workers/fetch", fetch).json["jobs"]) == 1


@pytest.mark.parametrize(
    "drains",
    [{"state": "drain"}, {"state": "Draining"}, {"state": "shutting_down"}, {"shutdown": True}],
)
def test_a_worker_that_says_that_it_drains_is_given_nothing(
    api: Api, drains: dict[str, Any]
) -> None:
    """EXT-GS-003: in whichever words; running again, it is given jobs."""
    api.post("/jobs", {"type": "a", "args": []})
    assert beat(api, **drains)["state"] == "running"  # the operator's directive, not its own state
    assert api.get("/admin/workers/w1").json["state"] == "quiet"
    fetch = {"queues": ["default"], "worker_id": "w1"}
    assert api.post("/workers/fetch", fetch).json["jobs"] == []
    beat(api, shutdown=False)
    assert len(api.post("/workers/fetch", fetch).json["jobs"]) == 1


def test_a_shutdown_does_not_take_back_that_a_worker_terminates(api: Api) -> None:
    """Worker protocol, section 2.3: that is final."""
    beat(api, state="terminate", shutdown=True, active_jobs=1)
    assert api.get("/admin/workers/w1").json["state"] == "terminate"
    reply = api.post("/workers/heartbeat", {"worker_id": "w1", "shutdown": "yes"})
    assert reply.status == 400


def test_every_heartbeat_is_acknowledged(api: Api) -> None:
    """Also one that names jobs which the worker does not hold, or gives no name."""
    lost = "019539a4-aaaa-7000-8000-111111111111"
    assert beat(api)["acknowledged"] is True
    assert beat(api, active_jobs=[lost])["acknowledged"] is True
    reply = api.post("/workers/heartbeat", {"active_jobs": [lost]})
    assert (reply.status, reply.json["acknowledged"]) == (200, True)


def test_the_health_of_a_worker_is_503_while_it_drains(api: Api, world: World) -> None:
    """For readiness probes (ojs-graceful-shutdown, section 8.1), with the worker's state."""
    assert api.get("/workers/w1/health").status == 404
    beat(api, heartbeat_interval_ms=5000, active_jobs=1)
    well = api.get("/workers/w1/health")
    assert (well.status, well.json["state"], well.json["status"]) == (200, "running", "ok")
    assert (well.json["worker_id"], well.json["draining"]) == ("w1", False)
    for state in ("quiet", "drain", "draining", "shutting_down", "terminate"):
        beat(api, state=state, active_jobs=1)
        drains = api.get("/workers/w1/health")
        assert (drains.status, drains.json["state"]) == (503, state)
        assert (drains.json["status"], drains.json["draining"]) == ("draining", True)
        own = "terminate" if state == "terminate" else "quiet"
        assert api.get("/admin/workers/w1").json["state"] == own
    beat(api)
    assert api.get("/workers/w1/health").json["state"] == "running"
    api.post("/admin/workers/w1/quiet")
    assert api.get("/workers/w1/health").status == 503
    api.post("/admin/workers/w1/resume")
    assert api.get("/workers/w1/health").status == 200
    world.clock.advance(s=15)
    stale = api.get("/workers/w1/health")
    assert (stale.status, stale.json["state"], stale.json["status"]) == (503, "stale", "stale")


def test_the_health_of_a_worker_shows_only_states_that_it_can_be_in(api: Api, world: World) -> None:
    """A client cannot have any text shown, and a silent worker is ``stale`` whatever it said."""
    beat(api, said="x", said_state="draining")
    assert api.get("/workers/w1/health").json["state"] == "running"
    assert api.post("/workers/heartbeat", {"worker_id": "w1", "state": "sleeping"}).status == 400
    beat(api, state="DRAIN", heartbeat_interval_ms=5_000)
    assert api.get("/workers/w1/health").json["state"] == "drain"
    beat(api, shutdown=True)
    assert api.get("/workers/w1/health").json["state"] == "quiet"
    beat(api, state="draining", heartbeat_interval_ms=5_000)
    world.clock.advance(s=15)
    assert api.get("/workers/w1/health").json["state"] == "stale"


def test_the_health_of_a_worker_with_an_odd_id_is_found(api: Api) -> None:
    """The id is any text."""
    beat(api, "host/7 ü")
    assert api.get("/workers/host%2F7%20%C3%BC/health").json["worker_id"] == "host/7 ü"


def test_bound_credentials_see_the_health_of_their_own_workers_alone() -> None:
    """Whether a foreign worker drains is nobody's business."""
    api = Api(World(settings=Settings(auth="api-key")).backend)

    def health_as(key: str, *queues: str) -> int:
        permissions = permissions_of([Scope.WORKER])
        caller = Caller(id=key, name=key, permissions=permissions, queues=queues)
        api.authorizer = {"lambda": verdict_context(Verdict(caller))}
        if key == "k1":
            beat(api)
        return api.get("/workers/w1/health").status

    assert health_as("k1", "email") == 200
    assert health_as("k2", "email") == 404
    assert health_as("k2") == 200


@pytest.mark.parametrize(
    ("body", "directed"),
    [
        ({"queue": "email"}, ["a", "b"]),
        ({"label": "v2"}, ["b", "c"]),
        ({"all": True}, ["a", "b", "c"]),
        ({"queue": "email", "label": "v2"}, ["b"]),
    ],
)
def test_workers_are_directed_together(api: Api, body: dict[str, Any], directed: list[str]) -> None:
    """By queue, by label, or all: those that are there now, and no later ones."""
    beat(api, "a", queues=["email"], labels=["v1"])
    beat(api, "b", queues=["email", "x"], labels=["v2"])
    beat(api, "c", queues=["x"], labels=["v2"])
    answer = api.post("/admin/workers/quiet", body).json
    assert (answer["workers"], answer["updated"], answer["has_more"]) == (
        directed,
        len(directed),
        False,
    )
    assert [name for name in "abc" if beat(api, name)["state"] == "quiet"] == directed
    assert beat(api, "d", queues=["email"], labels=["v2"])["state"] == "running"


def test_directing_all_names_those_that_terminate_already(api: Api) -> None:
    """They get no other directive."""
    for name in ("a", "b"):
        beat(api, name)
    api.post("/admin/workers/a/terminate")
    answer = api.post("/admin/workers/resume", {"all": True}).json
    assert (answer["workers"], answer["refused"]) == (["b"], ["a"])
    assert beat(api, "a")["state"] == "terminate"


@pytest.mark.parametrize(
    "body",
    [
        {},
        None,
        {"all": False},
        {"all": "yes"},
        {"queue": "NO"},
        {"label": 5},
        {"all": True, "cursor": "x"},
    ],
)
def test_directing_several_needs_to_know_which(api: Api, body: Any) -> None:
    """400, and nobody is directed."""
    beat(api)
    reply = api.post("/admin/workers/terminate", body)
    assert reply.status == 400
    assert reply.error["details"]["field"] in {"all", "queue", "label", "cursor"}
    assert beat(api)["state"] == "running"


@pytest.mark.parametrize("verb", ["quiet", "terminate", "resume"])
def test_an_unknown_worker_cannot_be_directed(api: Api, world: World, verb: str) -> None:
    """404; one that ended, or was silent for an hour, is unknown too. Nothing is stored."""
    assert api.post(f"/admin/workers/nobody/{verb}").status == 404
    beat(api, "gone", state="terminate")
    assert api.post(f"/admin/workers/gone/{verb}").status == 404
    beat(api, "silent")
    world.clock.advance(s=3600)
    assert api.post(f"/admin/workers/silent/{verb}").status == 404
    assert {each.directive for each in world.stored.workers.values()} == {"running"}


def test_a_worker_is_read_with_its_jobs(api: Api) -> None:
    """Section 9.2."""
    job_id = api.post("/jobs", {"type": "a", "args": []}).json["id"]
    api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w1"})
    beat(api, active_jobs=[job_id])
    answer = api.get("/admin/workers/w1").json
    assert answer["worker"]["active_job_ids"] == answer["active_job_ids"] == [job_id]
    assert api.get("/admin/workers/w2").status == 404


def test_a_stale_worker_is_removed_and_its_jobs_are_free(api: Api, world: World) -> None:
    """Section 9.4: one that beats is not."""
    job_id = api.post("/jobs", {"type": "a", "args": []}).json["id"]
    api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w1"})
    for _ in range(2):
        world.clock.advance(s=1)
        beat(api, active_jobs=[job_id])
    alive = api.delete("/admin/workers/w1")
    assert (alive.status, alive.error["code"]) == (409, "conflict")
    world.clock.advance(s=45)
    assert api.delete("/admin/workers/w1").json["jobs_requeued"] == [job_id]
    assert api.get("/admin/workers").json["items"] == []
    assert world.stored.jobs[job_id].failures[-1].type == "worker_death"
    assert api.delete("/admin/workers/w1").status == 404


def test_a_heartbeat_for_lost_jobs_only_is_answered_with_its_directive(
    api: Api, world: World
) -> None:
    """Worker protocol, section 4.4: every heartbeat is answered with a state."""
    job_id = api.post("/jobs", {"type": "a", "args": []}).json["job"]["id"]
    unknown = "01912345-6789-7abc-8def-0123456789ab"
    api.post("/workers/fetch", {"queues": ["default"], "worker_id": "other"})
    held = world.stored.jobs[job_id]
    beat(api)
    api.post("/admin/workers/w1/quiet")
    answer = beat(api, active_jobs=[job_id, unknown])
    assert (answer["state"], answer["jobs_lost"]) == ("quiet", [job_id, unknown])
    assert answer["jobs_extended"] == answer["jobs_cancelled"] == []
    assert world.stored.jobs[job_id] == held
    nameless = api.post("/workers/heartbeat", {"active_jobs": [unknown]})
    assert (nameless.status, nameless.json["state"]) == (200, "running")
    assert nameless.json["jobs_lost"] == [unknown]
