"""FETCH by a worker of one tenant: which jobs it gets, in which order, and how far it looks."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.jobs.ready_keys import limit_of, ready_key, ready_since, tenant_in
from ojs_aws.services.jobs.fetch import tenant_round
from ojs_aws.transport.http.route import BASE
from tests.api import Api
from tests.simulation.world import World

ACME: dict[str, Any] = {"X-OJS-Tenant": "acme"}
BETA: dict[str, Any] = {"X-OJS-Tenant": "beta"}


@pytest.fixture
def world() -> World:
    """An open deployment."""
    return World()


@pytest.fixture
def api(world: World) -> Api:
    """Its functions."""
    return Api(world.backend)


def pushed(world: World, api: Api, tenant: str = "acme", **more: Any) -> str:
    """The id of a job of a tenant that is enqueued later than the one before."""
    world.clock.advance(ms=5)
    if tenant:
        more["meta"] = {"tenant_id": tenant}
    return api.push(**more)


def taken(api: Api, count: int = 1, **headers: str) -> list[str]:
    """The jobs that a worker gets."""
    body = {"queues": ["default"], "worker_id": "w", "count": count}
    reply = api.post("/workers/fetch", body, headers=headers)
    assert reply.status == 200, reply.text
    return [job["id"] for job in reply.json["jobs"]]


@pytest.mark.parametrize("limit", ["", "queue:email", "a.b_c"])
@pytest.mark.parametrize("tenant", ["", "acme", "a:b"])
def test_a_sort_key_names_limit_and_tenant(limit: str, tenant: str) -> None:
    """A job with neither has its place alone, as before there were tenants."""
    place = "100#1760000000000000"
    key = ready_key(place, limit, tenant)
    assert (limit_of(key), tenant_in(key)) == (limit, tenant)
    assert ready_since(key) == 1_760_000_000_000
    assert (key == place) is not bool(limit or tenant)
    assert tenant or key == (f"{place}~{limit}" if limit else place)


def test_a_worker_of_a_tenant_gets_the_jobs_of_that_tenant(world: World, api: Api) -> None:
    """EXT-MT-002: in their order, by priority first, and no others."""
    pushed(world, api, "beta", priority=9)
    pushed(world, api, "")
    first, second = pushed(world, api), pushed(world, api)
    urgent = pushed(world, api, priority=5)
    assert taken(api, 9, **ACME) == [urgent, first, second]
    assert taken(api, 9, **ACME) == []
    assert len(taken(api, 9, **BETA)) == 1


def test_a_worker_without_a_tenant_gets_the_jobs_of_all(world: World, api: Api) -> None:
    """In the order of the queue, whoever's they are."""
    jobs = [pushed(world, api, tenant) for tenant in ("acme", "", "beta")]
    assert taken(api, 9) == jobs


def test_it_takes_no_message(world: World, api: Api) -> None:
    """A message may be the permit of another tenant's job, which would wait for it then."""
    pushed(world, api, "beta")
    own = pushed(world, api)
    assert taken(api, **ACME) == [own]
    stored = world.store.load(own)
    assert stored is not None
    assert stored.reservation is not None
    assert stored.reservation.message_handle == ""
    assert len(taken(api, 9)) == 1


def test_its_due_jobs_are_settled_and_those_of_others_are_not(world: World, api: Api) -> None:
    """Schedules and reservations that ended, before the sweep sees them."""
    at = "+PT1M"
    later = pushed(world, api, scheduled_at=at)
    other = pushed(world, api, "beta", scheduled_at=at)
    held = pushed(world, api, visibility_timeout_ms=30_000)
    assert taken(api, **ACME) == [held]
    world.clock.advance(ms=59_000)
    assert taken(api, 9, **ACME) == [held]
    world.clock.advance(ms=2_000)
    assert taken(api, 9, **ACME) == [later]
    stored = world.store.load(other)
    assert stored is not None
    assert str(stored.state) == "scheduled"
    assert taken(api, 9, **BETA) == [other]


def test_due_jobs_and_ready_ones_keep_their_order(world: World, api: Api) -> None:
    """An urgent job that became due comes before a ready one of lower priority."""
    urgent = pushed(world, api, scheduled_at="+PT1S", priority=9)
    ready = pushed(world, api)
    world.clock.advance(ms=2_000)
    assert taken(api, 9, **ACME) == [urgent, ready]


def test_it_looks_through_pages_to_a_bound(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job behind more rows of others than the bound is found when some of these have begun."""
    monkeypatch.setattr(tenant_round, "MAX_ROWS", 120)
    monkeypatch.setattr(tenant_round, "PAGE", 15)
    body = {"jobs": [{"type": "a.b", "args": []}] * 120}
    assert api.post("/jobs/batch", body, headers=BETA).status == 201
    own = pushed(world, api)
    assert taken(api, **ACME) == []
    assert len(taken(api, 1)) == 1
    assert taken(api, **ACME) == [own]


def test_a_paused_queue_gives_a_tenant_nothing(world: World, api: Api) -> None:
    """Its jobs stay available."""
    own = pushed(world, api)
    assert api.post("/queues/default/pause").status == 200
    assert taken(api, **ACME) == []
    assert api.post("/queues/default/resume").status == 200
    assert taken(api, **ACME) == [own]


def test_a_limit_keeps_a_tenants_job_waiting(world: World, api: Api) -> None:
    """The bucket of the job's own limit, and the limit of the whole queue."""
    limit = {"key": "k", "concurrency": 1}
    first, second = (pushed(world, api, rate_limit=limit) for _ in range(2))
    free = pushed(world, api)
    assert taken(api, 9, **ACME) == [first, free]
    assert api.post("/workers/ack", {"job_id": first, "worker_id": "w"}).status == 200
    assert taken(api, 9, **ACME) == [second]


def test_a_lost_claim_leaves_the_job_with_its_holder(world: World, api: Api) -> None:
    """Of two workers of a tenant each gets another job."""
    jobs = {pushed(world, api) for _ in range(4)}
    got = [*taken(api, 2, **ACME), *taken(api, 2, **ACME)]
    assert sorted(got) == sorted(jobs)


def test_a_worker_of_a_tenant_that_finds_nothing_does_not_wait() -> None:
    """It takes no message, so a wait for one would only repeat its queries."""
    for wait_ms in (0, 1_000):
        world = World(settings=Settings(fetch_wait_ms=wait_ms))
        api = Api(world.backend)
        pushed(world, api, "beta")
        assert taken(api, **ACME) == []
        before = world.aws.calls.made["Query"]
        assert taken(api, **ACME) == []
        assert world.aws.calls.made["Query"] == before + 2


def test_an_error_after_a_claim_does_not_take_the_claimed_job(world: World, api: Api) -> None:
    """The answer has the job that was claimed; the other one stays for the next FETCH."""
    first, second = pushed(world, api), pushed(world, api)

    def fail_the_second_claim(number: int) -> None:
        if world.faults.calls[number] == "claim":
            world.faults.faulty = number + 1

    world.faults.afterwards = fail_the_second_claim
    assert taken(api, 2, **ACME) == [first]
    world.faults.faulty, world.faults.afterwards = None, lambda _: None
    assert taken(api, 2, **ACME) == [second]


def test_a_due_job_that_was_settled_already_is_found(world: World, api: Api) -> None:
    """Where the index still shows it among the jobs that wait, and not yet among the ready ones."""
    later = pushed(world, api, scheduled_at="+PT1S")
    waiting = world.store.load(later)
    world.clock.advance(ms=2_000)
    assert api.get(f"/jobs/{later}").json["job"]["state"] == "available"
    world.index_shows(later, waiting)
    assert taken(api, **BETA) == []
    assert taken(api, **ACME) == [later]


def test_it_claims_no_more_jobs_than_it_was_asked_for(world: World, api: Api) -> None:
    """Nothing is written for the others."""
    for _ in range(4):
        pushed(world, api)
    taken(api, **BETA)
    before = world.aws.calls.made["UpdateItem"]
    assert len(taken(api, 2, **ACME)) == 2
    assert world.aws.calls.made["UpdateItem"] == before + 2


def test_it_looks_no_further_in_a_queue_at_its_limit(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jobs behind cannot begin either, so their rows are not read."""
    monkeypatch.setattr(tenant_round, "PAGE", 15)
    assert api.send("PUT", f"{BASE}/queues/default/rate-limit", {"concurrency": 1}).status == 200
    body = {"jobs": [{"type": "a.b", "args": []}] * 120}
    assert api.post("/jobs/batch", body, headers=ACME).status == 201
    assert len(taken(api, 1, **ACME)) == 1
    taken(api, **ACME)
    before = world.aws.calls.made["Query"]
    assert taken(api, **ACME) == []
    assert world.aws.calls.made["Query"] == before + 2


def test_an_error_of_every_claim_is_the_answer(world: World, api: Api) -> None:
    """A worker that got an empty list would believe that its tenant has no jobs."""
    pushed(world, api)
    claim = len(world.faults.calls) + 3  # behind head, due and scopes
    world.faults.faulty = claim
    headers = dict(ACME)
    reply = api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"}, headers=headers)
    assert world.faults.calls[claim] == "claim"
    assert reply.status >= 500
