"""Limits and suspension of tenants at the API: who may set them, and what they do to jobs."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from ojs_aws.transport.http.route import BASE
from tests.api import Api, Reply
from tests.simulation.world import World, count_changes
from tests.unit.transport.http.test_authorization import scoped

ACME: dict[str, Any] = {"X-OJS-Tenant": "acme"}
JOB = {"type": "a.b", "args": []}


@pytest.fixture
def world() -> World:
    """An open deployment."""
    return World()


@pytest.fixture
def api(world: World) -> Api:
    """Its functions."""
    return Api(world.backend)


def send(api: Api, method: str, path: str, body: object = None, **headers: str) -> Reply:
    """Change a tenant."""
    return api.send(method, f"{BASE}/admin/tenants/{path}", body, headers=headers)


def limit(api: Api, tenant: str, most: int | None) -> None:
    """Set how many jobs of a tenant run at a time."""
    reply = send(api, "PATCH", tenant, {"limits": {"max_concurrency": most}})
    assert reply.status == 200, reply.text


def pushed(world: World, api: Api, tenant: str = "", **more: Any) -> str:
    """The id of a job of a tenant that is enqueued later than the one before."""
    world.clock.advance(ms=5)
    if tenant:
        more["meta"] = {"tenant_id": tenant}
    return api.push(**more)


def taken(api: Api, count: int = 9, queue: str = "default", **headers: str) -> list[str]:
    """The jobs that a worker gets."""
    body = {"queues": [queue], "worker_id": "w", "count": count}
    return [job["id"] for job in api.post("/workers/fetch", body, headers=headers).json["jobs"]]


def test_the_limits_of_a_tenant_are_set_changed_and_removed(api: Api) -> None:
    """Whether one of its jobs was ever seen or not."""
    reply = send(api, "PUT", "acme", {"limits": {"max_concurrency": 20}})
    expected = {"tenant_id": "acme", "state": "active", "limits": {"max_concurrency": 20}}
    assert (reply.status, reply.json) == (200, expected)
    reply = send(api, "PUT", "acme/limits", {"max_concurrency": 5, "reason": "an incident"})
    assert reply.json["limits"] == {"max_concurrency": 5}
    assert send(api, "PATCH", "acme", {}).json["limits"] == {"max_concurrency": 5}
    shown = api.get("/admin/tenants/acme").json
    assert (shown["state"], shown["limits"]) == ("active", {"max_concurrency": 5})
    assert shown["tenant"]["limits"] == {"max_concurrency": 5}
    used = {"max_concurrency": {"limit": 5, "current": 0}}
    stats = api.get("/admin/tenants/acme/stats").json
    assert (stats["limits"], stats["state"]) == (used, "active")
    assert send(api, "PATCH", "acme", {"limits": {"max_concurrency": None}}).json["limits"] == {}
    send(api, "PUT", "acme", {"limits": {"max_concurrency": 0}})
    assert api.get("/admin/tenants/acme/stats").json["limits"]["max_concurrency"]["limit"] == 0
    assert send(api, "PUT", "acme", {}).json["limits"] == {}
    assert send(api, "DELETE", "acme").json == {"tenant_id": "acme", "deleted": True}
    assert api.get("/admin/tenants/acme/stats").json["limits"] == {}


def test_a_suspension_stays_until_it_is_ended(api: Api) -> None:
    """New limits do not end it; a removal of all settings does."""
    send(api, "PUT", "acme", {"limits": {"max_concurrency": 20}})
    assert send(api, "POST", "acme/suspend").json["state"] == "suspended"
    assert send(api, "PUT", "acme", {}).json == {
        "tenant_id": "acme",
        "state": "suspended",
        "limits": {},
    }
    limit(api, "acme", 3)
    shown = api.get("/admin/tenants/acme").json
    assert (shown["state"], shown["limits"]) == ("suspended", {"max_concurrency": 3})
    resumed = send(api, "POST", "acme/resume").json
    assert (resumed["state"], resumed["limits"]) == ("active", {"max_concurrency": 3})
    send(api, "POST", "acme/suspend")
    send(api, "DELETE", "acme")
    assert api.get("/admin/tenants/acme").json["state"] == "active"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("-acme", {"limits": {}}, 400),
        ("acme", {"limits": 5}, 400),
        ("acme", {"limits": {"max_concurrency": "5"}}, 400),
        ("acme", {"limits": {"max_concurrency": -1}}, 422),
        ("acme", {"limits": {"max_size": 5}}, 422),
        ("acme/limits", {"max_size": 5}, 422),
    ],
)
def test_wrong_limits_are_refused(api: Api, path: str, body: object, status: int) -> None:
    """And nothing is set."""
    assert send(api, "PUT", path, body).status == status
    assert api.get("/admin/tenants/acme").json["limits"] == {}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_limits_outside_of_their_object_are_not_taken_for_none(api: Api, method: str) -> None:
    """They would lift all that the tenant has."""
    limit(api, "acme", 2)
    refused = send(api, method, "acme", {"max_concurrency": 1})
    assert (refused.status, refused.error["details"]["field"]) == (400, "max_concurrency")
    assert api.get("/admin/tenants/acme").json["limits"] == {"max_concurrency": 2}


def test_only_operators_of_all_tenants_change_one(api: Api) -> None:
    """A tenant cannot lift its own limit, and nor can who may only operate."""
    assert send(api, "PUT", "acme", {}, **ACME).status == 403
    assert send(api, "POST", "acme/resume", **ACME).status == 403
    assert api.get("/admin/tenants/acme", headers=ACME).status == 200
    closed = Api(World(settings=Settings(auth="api-key")).backend)
    for scope, status in ((Scope.OPERATOR, 403), (Scope.ADMIN, 200)):
        closed.authorizer = scoped(scope)
        assert send(closed, "POST", "acme/suspend").status == status


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/jobs", JOB),
        ("/jobs/batch", {"jobs": [JOB]}),
        ("/workflows", {"type": "chain", "name": "w", "steps": [JOB]}),
    ],
)
def test_a_suspended_tenant_enqueues_nothing(
    world: World, api: Api, path: str, body: object
) -> None:
    """429 as section 8.2 writes it; other tenants and jobs without one go on."""
    send(api, "POST", "acme/suspend")
    refused = api.post(path, body, headers=ACME)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "60")
    shown = {name: refused.error[name] for name in ("code", "tenant_id", "limit", "retryable")}
    assert shown == {
        "code": "TENANT_LIMIT_EXCEEDED",
        "tenant_id": "acme",
        "limit": "suspended",
        "retryable": False,
    }
    assert world.stored.jobs == {}
    assert api.post(path, body, headers={"X-OJS-Tenant": "beta"}).status == 201
    assert api.post(path, body).status == 201
    send(api, "POST", "acme/resume")
    world.clock.advance(s=5)
    assert api.post(path, body, headers=ACME).status == 201


def test_jobs_of_a_suspended_tenant_do_not_begin(world: World, api: Api) -> None:
    """They stay available, and begin after the resume in their order; others pass by."""
    first, other, second = (pushed(world, api, name) for name in ("acme", "beta", "acme"))
    plain = pushed(world, api)
    send(api, "POST", "acme/suspend")
    assert taken(api, **ACME) == []
    assert taken(api) == [other, plain]
    assert api.get(f"/jobs/{first}").json["job"]["state"] == "available"
    send(api, "POST", "acme/resume")
    assert taken(api) == [first, second]


def test_a_job_that_runs_when_its_tenant_is_suspended_ends(world: World, api: Api) -> None:
    """Its worker may ACK it, and the bucket counts no less than nothing."""
    job = pushed(world, api, "acme")
    assert taken(api) == [job]
    send(api, "POST", "acme/suspend")
    assert api.post("/workers/ack", {"job_id": job, "worker_id": "w"}).status == 200
    limit(api, "acme", 1)
    stats = api.get("/admin/tenants/acme/stats").json
    assert stats["limits"]["max_concurrency"] == {"limit": 1, "current": 0}


def test_a_cron_job_of_a_suspended_tenant_is_refused_and_goes_on(world: World, api: Api) -> None:
    """A run is over with the code; the next one comes when it is due."""
    body = {"name": "report", "expression": "* * * * *", "job_template": JOB}
    assert api.post("/cron", body, headers=ACME).status == 201
    send(api, "POST", "acme/suspend")
    world.clock.advance(s=61)
    world.backend.cron.scheduler.tick()
    assert world.stored.jobs == {}
    send(api, "POST", "acme/resume")
    world.clock.advance(s=61)
    world.backend.cron.scheduler.tick()
    (job,) = world.stored.jobs.values()
    assert job.tenant == "acme"


def test_no_more_jobs_of_a_tenant_run_than_its_limit_in_all_queues(world: World, api: Api) -> None:
    """MT-003: whoever ends one makes room, and jobs behind those that wait are fetched."""
    limit(api, "acme", 2)
    jobs = [pushed(world, api, "acme") for _ in range(3)]
    elsewhere = pushed(world, api, "acme", options={"queue": "email"})
    other = pushed(world, api, "beta")
    assert taken(api) == [jobs[0], jobs[1], other]
    assert taken(api, queue="email") == []
    assert taken(api, **ACME) == []
    stats = api.get("/admin/tenants/acme/stats").json
    assert stats["limits"] == {"max_concurrency": {"limit": 2, "current": 2}}
    assert api.post("/workers/ack", {"job_id": jobs[0], "worker_id": "w"}).status == 200
    assert taken(api, queue="email") == [elsewhere]
    assert taken(api) == []


def test_a_limit_of_a_tenant_and_one_of_the_job_apply_together(world: World, api: Api) -> None:
    """A start takes a place in both, and its end gives both back."""
    limit(api, "acme", 1)
    own = {"key": "api", "concurrency": 1}
    first, second = (pushed(world, api, "acme", rate_limit=own) for _ in range(2))
    free = pushed(world, api, rate_limit=own)
    assert taken(api) == [first]
    assert api.post("/workers/ack", {"job_id": first, "worker_id": "w"}).status == 200
    assert taken(api, count=1) == [second]
    assert taken(api) == []
    assert api.post("/workers/ack", {"job_id": second, "worker_id": "w"}).status == 200
    assert taken(api) == [free]


def test_a_limit_of_a_tenant_is_listed_with_those_that_wait(world: World, api: Api) -> None:
    """Among the limits, by its key."""
    limit(api, "acme", 1)
    for tenant in ("acme", "acme", "beta", ""):
        pushed(world, api, tenant, type="a.b")
    assert len(taken(api, count=1)) == 1
    (listed,) = api.get("/rate-limits").json["items"]
    assert (listed["key"], listed["waiting_count"]) == ("tenant/acme", 1)
    assert listed["concurrency"]["active"] == 1
    pushed(world, api, type="c.d")
    waiting = {"queue:default": 4, "queue:default:type:a.b": 3, "type:c.d": 1}
    for key, count in waiting.items():
        assert api.send("PUT", f"{BASE}/rate-limits/{key}", {"concurrency": 9}).status == 200
        assert api.get(f"/rate-limits/{key}").json["waiting_count"] == count
    assert api.send("DELETE", f"{BASE}/rate-limits/tenant%2Facme").status == 400


def test_a_worker_of_a_tenant_at_its_limit_looks_no_further(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jobs behind cannot begin either, so their rows are not read."""
    monkeypatch.setattr("ojs_aws.services.jobs.fetch.tenant_round.PAGE", 15)
    body = {"jobs": [JOB] * 120}
    assert api.post("/jobs/batch", body, headers=ACME).status == 201
    send(api, "POST", "acme/suspend")
    assert taken(api, **ACME) == []
    before = world.aws.calls.made["Query"]
    assert taken(api, **ACME) == []
    assert world.aws.calls.made["Query"] == before + 2


def test_settings_of_a_tenant_are_read_only_where_there_may_be_some(world: World, api: Api) -> None:
    """For a job of a tenant, once some tenant has settings."""
    made = world.aws.calls.made
    pushed(world, api, "acme")
    assert made["GetItem"] == 0
    limit(api, "beta", 5)
    world.clock.advance(s=5)
    before = made["GetItem"]
    pushed(world, api)
    assert made["GetItem"] == before
    pushed(world, api, "acme")
    assert made["GetItem"] == before + 1


@pytest.mark.parametrize(("age_ms", "reads"), [(0, 2), (5_000, 1)])
def test_a_batch_reads_its_tenant_once(age_ms: int, reads: int) -> None:
    """Also where a process keeps no settings between requests; else, the next batch reads none."""
    world = World(settings=Settings(queue_settings_age_ms=age_ms))
    api = Api(world.backend)
    limit(api, "acme", 5)
    before = world.aws.calls.made["GetItem"]
    for _ in range(2):
        assert api.post("/jobs/batch", {"jobs": [JOB] * 9}, headers=ACME).status == 201
    assert world.aws.calls.made["GetItem"] == before + reads


def test_limits_of_enqueuing_are_shown_with_what_they_count(api: Api) -> None:
    """But for a rate, of which nobody counts what is left."""
    rate = {"limit": 100, "period": "PT1M"}
    limits = {"max_enqueue_rate": rate, "max_queue_depth": 10, "max_scheduled": 4}
    assert send(api, "PUT", "acme", {"limits": limits}).json["limits"] == limits
    assert api.get("/admin/tenants/acme").json["limits"] == limits
    assert api.get("/admin/tenants/acme/stats").json["limits"] == {
        "max_enqueue_rate": rate,
        "max_queue_depth": {"limit": 10, "current": 0},
        "max_scheduled": {"limit": 4, "current": 0},
    }


def test_jobs_without_a_tenant_ask_for_the_settings_of_none(world: World, api: Api) -> None:
    """Alone and in a batch, while other tenants have limits."""
    limit(api, "acme", 5)
    before = world.aws.calls.made["GetItem"]
    assert api.post("/jobs", JOB).status == 201
    assert api.post("/jobs/batch", {"jobs": [JOB] * 3}).status == 201
    assert world.aws.calls.made["GetItem"] == before


def test_a_tenant_beyond_its_rate_is_refused(world: World, api: Api) -> None:
    """And nobody else; a request that is repeated finds its job."""
    send(api, "PUT", "acme", {"limits": {"max_enqueue_rate": {"limit": 2, "period": "PT1M"}}})
    first = {**JOB, "id": "01990000-0000-7000-8000-00000000aaaa"}
    for body in (first, JOB):
        assert api.post("/jobs", body, headers=ACME).status == 201
    refused = api.post("/jobs", JOB, headers=ACME)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "30")
    shown = {"tenant_id": "acme", "limit": "max_enqueue_rate", "current": 2, "maximum": 2}
    assert refused.json["error"].items() >= {"code": "TENANT_LIMIT_EXCEEDED", **shown}.items()
    assert api.post("/jobs/batch", {"jobs": [JOB]}, headers=ACME).status == 429
    assert api.post("/jobs", first, headers=ACME).status < 300
    assert api.post("/jobs", JOB, headers={"X-OJS-Tenant": "beta"}).status == 201
    assert api.post("/jobs", JOB).status == 201
    world.clock.advance(s=30)
    assert api.post("/jobs", JOB, headers=ACME).status == 201


def test_a_tenant_beyond_its_depth_is_refused(world: World, api: Api) -> None:
    """A batch as a whole, and jobs that are scheduled by a limit of their own, too."""
    count_changes(world)
    send(api, "PUT", "acme", {"limits": {"max_queue_depth": 3, "max_scheduled": 1}})
    later = {**JOB, "options": {"delay_until": "+PT1H"}}
    assert api.post("/jobs", later, headers=ACME).status == 201
    refused = api.post("/jobs", later, headers=ACME)
    assert (refused.status, refused.json["error"]["limit"]) == (429, "max_scheduled")
    refused = api.post("/jobs/batch", {"jobs": [JOB] * 3}, headers=ACME)
    assert (refused.status, refused.json["error"]["limit"]) == (429, "max_queue_depth")
    assert api.post("/jobs/batch", {"jobs": [JOB] * 2}, headers=ACME).status == 201
    for _ in range(2):
        assert api.post("/jobs", JOB, headers=ACME).status == 429
        world.clock.advance(s=1)
    assert len(taken(api, 2)) == 2
    world.clock.advance(s=1)
    assert api.post("/jobs", JOB, headers=ACME).status == 201
    used = {"limit": 3, "current": 2}
    assert api.get("/admin/tenants/acme/stats").json["limits"]["max_queue_depth"] == used


def test_a_workflow_is_held_to_the_limits_as_it_begins(world: World, api: Api) -> None:
    """By the jobs that begin with it; those that follow belong to what was let in."""
    send(api, "PUT", "acme", {"limits": {"max_enqueue_rate": {"limit": 1, "period": "PT1H"}}})
    step = {"type": "a.b", "args": []}
    chain = {"type": "chain", "steps": [step, step]}
    made = api.post("/workflows", chain, headers=ACME)
    assert made.status == 201, made.text
    refused = api.post("/workflows", chain, headers=ACME)
    assert (refused.status, refused.json["error"]["code"]) == (429, "TENANT_LIMIT_EXCEEDED")
    assert api.post("/jobs", JOB, headers=ACME).status == 429
    [first] = taken(api)
    assert api.post("/workers/ack", {"job_id": first, "worker_id": "w"}).status == 200
    advance = world.backend.workflows.advance
    end = advance.news_of(world.stored.jobs[first])
    advance.advance(made.json["id"], [end] if end else [])
    assert len(taken(api)) == 1
