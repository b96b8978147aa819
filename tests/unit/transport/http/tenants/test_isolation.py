"""Tenants over HTTP: what a request with a tenant sees and changes, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.transport.http.route import Bounds
from ojs_aws.transport.http.routes import ROUTES, Route
from ojs_aws.transport.http.tenants.isolation import OPERATIONS
from tests.api import Api, Reply
from tests.simulation.world import World
from tests.unit.transport.http.test_authorization import path_of

MISSING = "01912345-6789-7abc-8def-0123456789ab"
ACME = {"X-OJS-Tenant": "acme"}
BETA = {"X-OJS-Tenant": "beta"}


@pytest.fixture
def world() -> World:
    """An open deployment."""
    return World()


@pytest.fixture
def api(world: World) -> Api:
    """Its functions."""
    return Api(world.backend)


def pushed(api: Api, tenant: str = "acme", **more: Any) -> str:
    """The id of a job of a tenant."""
    return api.push(meta={"tenant_id": tenant}, **more)


def ended(reply: Reply) -> tuple[int, str, object]:
    """What an error says, without the job's id."""
    return reply.status, reply.error["code"], reply.error["message"].replace(MISSING, "ID")


# ----------------------------------------------------------------------- identification
def test_the_header_names_the_tenant_of_a_job(api: Api) -> None:
    """EXT-MT-001: it is in the metadata, beside what was there."""
    reply = api.post("/jobs", {"type": "a.b", "args": [], "meta": {"k": 1}}, headers=ACME)
    assert reply.status == 201
    assert reply.json["job"]["meta"] == {"k": 1, "tenant_id": "acme"}
    read = api.get(f"/jobs/{reply.json['id']}", headers=ACME)
    assert read.json["job"]["meta"] == {"k": 1, "tenant_id": "acme"}


def test_the_same_tenant_twice_is_one_and_another_is_a_conflict(api: Api) -> None:
    """Section 5.3; a batch names the job at fault and stores nothing."""
    job = {"type": "a.b", "args": [], "meta": {"tenant_id": "acme"}}
    assert api.post("/jobs", job, headers=ACME).status == 201
    refused = api.post("/jobs", job, headers=BETA)
    assert (refused.status, refused.error["details"]["field"]) == (400, "meta.tenant_id")
    batch = api.post("/jobs/batch", {"jobs": [{"type": "a.b", "args": []}, job]}, headers=BETA)
    assert (batch.status, batch.error["details"]["field"]) == (400, "jobs[1].meta.tenant_id")
    assert api.get("/jobs", headers=BETA).json["jobs"] == []


@pytest.mark.parametrize("named", ["", "_default", "a b", "acme,beta", "x" * 129])
def test_a_malformed_header_is_refused_by_every_operation(api: Api, named: str) -> None:
    """400, whatever is asked."""
    for path in ("/jobs", "/health", "/queues"):
        reply = api.get(path, headers={"X-OJS-Tenant": named})
        assert (reply.status, reply.error["details"]["field"]) == (400, "X-OJS-Tenant")


@pytest.mark.parametrize("tenant", ["_default", "", 7, None, {"a": 1}])
def test_a_malformed_tenant_in_the_metadata_is_refused(api: Api, tenant: object) -> None:
    """400, with the name of the attribute."""
    reply = api.post("/jobs", {"type": "a.b", "args": [], "meta": {"tenant_id": tenant}})
    assert (reply.status, reply.error["details"]["field"]) == (400, "meta.tenant_id")


def test_nothing_is_written_for_the_default_tenant(api: Api, world: World) -> None:
    """A job without a tenant has neither metadata nor an attribute of its own (section 15.3)."""
    job = api.push()
    assert api.get(f"/jobs/{job}").json["job"]["meta"] == {}
    stored = world.store.load(job)
    assert stored is not None
    assert stored.tenant == ""


# --------------------------------------------------------------------------- isolation
JOB_ROUTES = [
    route for route in ROUTES if "<job_id>" in route.path and route.operation != "fail_job"
]


@pytest.mark.parametrize("route", JOB_ROUTES, ids=lambda route: route.operation)
def test_another_tenants_job_is_as_if_there_were_none(route: Route, api: Api, world: World) -> None:
    """EXT-MT-008 and all others: the same answer to the byte, and nothing changes."""
    job = pushed(api)
    before = world.store.load(job)
    body = {"worker_id": "w", "percentage": 1, "state": {}, "priority": 3}
    for position in range(len(route.paths)):
        path = path_of(route, position)
        foreign = api.send(route.method, path.replace(MISSING, job), body, headers=BETA)
        missing = api.send(route.method, path, body, headers=BETA)
        assert foreign.status == 404
        assert ended(foreign)[:2] == ended(missing)[:2]
        assert (
            foreign.text.replace(job, MISSING).split("request_id")[0]
            == (missing.text.split("request_id")[0])
        )
    assert world.store.load(job) == before


def test_its_own_job_is_read_changed_and_ended(api: Api) -> None:
    """With the header, and without one as before."""
    job, other = pushed(api), pushed(api, "beta")
    assert api.send("PATCH", f"/ojs/v1/jobs/{job}", {"priority": 4}, headers=ACME).status == 200
    assert api.get(f"/jobs/{job}/progress", headers=ACME).status == 200
    assert api.delete(f"/jobs/{job}", headers=ACME).json["job"]["state"] == "cancelled"
    assert api.delete(f"/jobs/{other}").status == 200


def test_reports_of_another_tenant_end_nothing(api: Api) -> None:
    """ACK, FAIL and progress by the body; BEAT names the job as lost."""
    job = pushed(api)
    assert [each["id"] for each in api.fetch()] == [job]
    body = {"job_id": job, "worker_id": "w"}
    error = {"error": {"type": "E", "message": "m"}}
    assert api.post("/workers/ack", body, headers=BETA).status == 404
    assert api.post("/workers/nack", body | error, headers=BETA).status == 404
    assert api.post("/workers/progress", body | {"percentage": 1}, headers=BETA).status == 404
    beat = {"worker_id": "w", "active_jobs": [job]}
    assert api.post("/workers/heartbeat", beat, headers=BETA).json["jobs_lost"] == [job]
    assert api.post("/workers/heartbeat", beat, headers=ACME).json["jobs_extended"] == [job]
    assert api.post("/jobs/results", {"ids": [job]}, headers=BETA).json["results"] == {job: None}
    assert api.post("/jobs/results", {"ids": [job]}, headers=ACME).json["results"][job] is not None
    assert api.post("/workers/ack", body, headers=ACME).status == 200


def test_lists_hold_the_tenants_jobs_and_nothing_of_others(api: Api) -> None:
    """Neither their number nor a cursor that names one of them."""
    own = [pushed(api, queue="q") for _ in range(3)]
    for _ in range(5):
        pushed(api, "beta", queue="q")
    api.push(queue="q")
    listed = api.get("/jobs", query={"queue": "q"}, headers=ACME).json
    assert {each["id"] for each in listed["jobs"]} == {*own}
    assert listed["pagination"]["total"] == 3
    first = api.get("/jobs", query={"queue": "q", "limit": "2"}, headers=ACME).json
    cursor = first["pagination"]["next_cursor"]
    rest = api.get("/jobs", query={"queue": "q", "cursor": cursor}, headers=ACME).json
    assert {each["id"] for each in first["jobs"] + rest["jobs"]} == {*own}


def test_a_total_counts_no_jobs_of_other_tenants(api: Api, world: World) -> None:
    """Of a page that does not show all: neither counters of lists nor rows count for it."""
    policy = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    for tenant in ("acme", *["beta"] * 4, "acme"):
        pushed(api, tenant, queue="q", retry=policy)
    queued = api.get(
        "/jobs", query={"queue": "q", "state": "available", "limit": "1"}, headers=ACME
    )
    assert queued.json["pagination"]["total"] <= 2
    for job in api.fetch("q", count=9):
        error = {"type": "E", "message": "m"}
        api.post("/workers/nack", {"job_id": job["id"], "worker_id": "w", "error": error})
    dead = api.get("/dead-letter", query={"limit": "1"}, headers=ACME)
    assert dead.json["pagination"]["total"] <= 2


def test_bulk_changes_stay_within_the_tenant(api: Api) -> None:
    """By a filter and by ids; a foreign id is not found."""
    own, other = pushed(api), pushed(api, "beta")
    body = {"filter": {"state": "available", "queue": "default"}, "confirm": True}
    done = api.post("/admin/jobs/bulk/cancel", body, headers=ACME).json
    assert done["job_ids"] == [own]
    named = api.post("/admin/jobs/bulk/cancel", {"job_ids": [other], "confirm": True}, headers=ACME)
    assert named.json["errors"][0]["status"] == "not_found"
    some = api.post("/jobs/bulk/cancel", {"job_ids": [other]}, headers=ACME).json
    assert some["items"][0]["error"]["code"] == "not_found"
    assert api.get(f"/jobs/{other}").json["state"] == "available"


def test_what_counts_the_jobs_of_all_tenants_is_refused(api: Api) -> None:
    """Operations that look at no job's tenant: 403, and the answer says what to do."""
    for route in ROUTES:
        bounds = route.access.bounds
        is_public = bounds in {Bounds.NONE, Bounds.JOB} and route.operation != "show_metrics"
        if is_public or route.operation in OPERATIONS:
            continue
        reply = api.send(route.method, path_of(route), {"queues": ["q"]}, headers=ACME)
        assert (reply.status, reply.error["code"]) == (403, "permission_denied"), route.operation
        assert "X-OJS-Tenant" in reply.error["hint"]


def test_every_listed_operation_exists() -> None:
    """A name that is misspelt would refuse what is meant."""
    assert {route.operation for route in ROUTES} >= OPERATIONS


# -------------------------------------------------------------------------- uniqueness
def test_two_tenants_may_have_the_same_unique_job(api: Api) -> None:
    """A duplicate within a tenant names the other job; one of two tenants is none."""
    job = {"type": "a.b", "args": [1], "unique": {"keys": ["type", "args"]}}
    first = api.post("/jobs", job, headers=ACME)
    assert first.status == 201
    assert api.post("/jobs", job, headers=BETA).status == 201
    assert api.post("/jobs", job).status == 201
    again = api.post("/jobs", job, headers=ACME)
    assert again.status == 409
    assert again.error["details"]["existing_job_id"] == first.json["id"]


def test_an_id_that_another_tenant_has_shows_nothing_of_its_job(api: Api) -> None:
    """That there is one cannot be hidden: ids are unique."""
    job = {"id": MISSING, "type": "a.b", "args": []}
    assert api.post("/jobs", job, headers=ACME).status == 201
    taken = api.post("/jobs", job, headers=BETA)
    assert (taken.status, taken.error["details"]) == (409, {})
    changed = api.post("/jobs", job | {"args": [1]}, headers=ACME)
    assert changed.error["details"]["existing_job_id"] == MISSING


def test_an_idempotency_key_is_of_its_tenant(api: Api) -> None:
    """Else the second tenant would read the answer to the first."""
    body = {"jobs": [{"type": "a.b", "args": []}], "idempotency_key": "k"}
    ids = {
        api.post("/jobs/bulk", body, headers=headers).json["items"][0]["job"]["id"]
        for headers in (ACME, BETA, ACME, {})
    }
    assert len(ids) == 3


# ---------------------------------------------------------------- workflows, cron, retry
def test_the_jobs_of_a_workflow_inherit_its_tenant(api: Api, world: World) -> None:
    """By the header, or by the one that some steps name (section 15.2)."""
    steps = [{"type": "a.b", "args": []}, {"type": "a.c", "args": []}]
    by_header = api.post("/workflows", {"type": "chain", "steps": steps}, headers=ACME)
    assert by_header.status == 201
    named = [steps[0], {**steps[1], "meta": {"tenant_id": "acme"}}]
    by_step = api.post("/workflows", {"type": "group", "jobs": named})
    assert by_step.status == 201
    jobs = api.get("/jobs", headers=ACME).json["jobs"]
    assert len(jobs) == 3
    for made in (by_header, by_step):
        path = f"/workflows/{made.json['workflow']['id']}"
        assert api.get(path, headers=ACME).status == 200
        foreign, missing = (
            api.get(path, headers=BETA),
            api.get(f"/workflows/{MISSING}", headers=BETA),
        )
        assert foreign.status == missing.status == 404
        assert api.delete(path, headers=BETA).status == 404
    assert len(api.get("/workflows", headers=ACME).json["workflows"]) == 2
    assert api.get("/workflows", headers={"X-OJS-Tenant": "gamma"}).status in {200, 400}


def test_later_steps_and_callbacks_keep_the_tenant(api: Api, world: World) -> None:
    """What begins later is enqueued with the tenant of the first."""
    steps = [{"type": "a.b", "args": []}, {"type": "a.c", "args": []}]
    api.post("/workflows", {"type": "chain", "steps": steps}, headers=ACME)
    (first,) = api.fetch()
    api.post("/workers/ack", {"job_id": first["id"], "worker_id": "w"})
    world.backend.workflows.service.get(first["workflow_id"])
    (second,) = api.fetch()
    assert second["meta"] == {"tenant_id": "acme"}


def test_a_workflow_of_two_tenants_is_refused(api: Api) -> None:
    """Section 15.2, without the header and with it."""
    steps = [
        {"type": "a.b", "args": [], "meta": {"tenant_id": tenant}} for tenant in ("acme", "beta")
    ]
    for headers in ({}, ACME):
        reply = api.post("/workflows", {"type": "chain", "steps": steps}, headers=headers)
        assert (reply.status, reply.error["code"]) == (400, "invalid_request")
        assert reply.error["details"]["field"].endswith("meta.tenant_id")


def test_cron_jobs_enqueue_for_their_tenant(api: Api) -> None:
    """The job of a run is the tenant's, and others see no such cron job."""
    body = {"name": "nightly", "cron": "0 0 * * *", "type": "a.b", "args": []}
    assert api.post("/cron", body, headers=ACME).status == 201
    assert [each["name"] for each in api.get("/cron", headers=ACME).json["cron_jobs"]] == [
        "nightly"
    ]
    assert api.get("/cron", headers=BETA).json["cron_jobs"] == []
    assert api.get("/cron/nightly", headers=BETA).status == 404
    assert api.post("/cron", body, headers=BETA).status == 403
    run = api.post("/cron/nightly/trigger", headers=ACME)
    job = api.get(f"/jobs/{run.json['job_id']}", headers=ACME).json["job"]
    assert job["meta"]["tenant_id"] == "acme"


def test_a_retried_dead_letter_keeps_its_tenant(api: Api, world: World) -> None:
    """An override cannot move it to another one."""
    job = pushed(api, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    api.fetch()
    error = {"type": "E", "message": "m"}
    api.post("/workers/nack", {"job_id": job, "worker_id": "w", "error": error})
    assert [each["id"] for each in api.get("/dead-letter", headers=ACME).json["jobs"]] == [job]
    assert api.get("/dead-letter", headers=BETA).status in {200, 400}
    moved = {"override": {"meta": {"tenant_id": "beta"}}}
    assert api.post(f"/dead-letter/{job}/retry", moved).status == 400
    assert api.post(f"/dead-letter/{job}/retry", headers=BETA).status == 404
    assert api.post(f"/dead-letter/{job}/retry", headers=ACME).status == 200
    stored = world.store.load(job)
    assert stored is not None
    assert (stored.tenant, str(stored.state)) == ("acme", "available")
