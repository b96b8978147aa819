"""Keys with bounds and the jobs outside of them: neither read nor changed, by no way in."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Caller, Scope, permissions_of
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.domain.unique.keys import UniquePolicy, fingerprint
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.transport.http.callers import verdict_context
from tests.api import Api
from tests.simulation.world import World

KEY = hashlib.sha256(b"order 42").hexdigest()
SECRET = "4111-1111"
OWN = {"type": "email.send", "args": ["hello"], "queue": "email"}
BOUNDS: list[dict[str, tuple[str, ...]]] = [
    {"types": ("email.*",)},
    {"queues": ("email",)},
    {"types": ("email.send",), "queues": ("email",)},
]
WAYS = ("push", "push_batch", "large_batch", "bulk", "atomic_bulk", "cron")


@pytest.fixture
def world() -> World:
    """A deployment with API keys."""
    return World(settings=Settings(auth="api-key"))


@pytest.fixture
def api(world: World) -> Api:
    """Its functions; the caller is an administrator at first."""
    api = Api(world.backend)
    api.authorizer = admin()
    return api


def admin() -> dict[str, Any]:
    """What the gateway says of an administrator."""
    caller = Caller(id="key:0", permissions=permissions_of([Scope.ADMIN]))
    return {"lambda": verdict_context(Verdict(caller))}


def bound(**bounds: tuple[str, ...]) -> dict[str, Any]:
    """What it says of somebody who may enqueue, see and operate, within bounds."""
    scopes = [Scope.PRODUCER, Scope.OPERATOR]
    caller = Caller(id="key:1", permissions=permissions_of(scopes), **bounds)  # type: ignore[arg-type]
    return {"lambda": verdict_context(Verdict(caller))}


def enqueue(world: World, api: Api, way: str, job: dict[str, Any]) -> Any:
    """Enqueue a job by one of the ways in; the answer."""
    others = [{**OWN, "args": [at]} for at in range(101 if way == "large_batch" else 1)]
    if way == "push":
        return api.post("/jobs", job)
    if way in {"push_batch", "large_batch"}:
        return api.post("/jobs/batch", {"jobs": [*others, job]})
    if way in {"bulk", "atomic_bulk"}:
        mode = "atomic" if way == "atomic_bulk" else "partial"
        return api.post("/jobs/bulk", {"jobs": [*others, job], "atomicity": mode})
    template = {name: value for name, value in job.items() if name != "id"}
    cron = {"name": "c", "cron": "* * * * *", "job_template": template}
    reply = api.post("/cron", cron)
    world.clock.advance(s=61)
    world.backend.cron.service.firing.tick()
    return reply


def secret_job(api: Api, **more: Any) -> str:
    """The id of an administrator's job that no bounds of these tests hold."""
    job = {"type": "payment.charge", "args": [SECRET], "queue": "payments", **more}
    reply = api.post("/jobs", job)
    assert reply.status == 201, reply.text
    return str(reply.json["job"]["id"])


def attempt_of(conflict: str, key: str) -> dict[str, Any]:
    """A job within all bounds whose client chose a foreign job's key."""
    policy = {"keys": ["queue", "type"], "on_conflict": conflict}
    return {**OWN, "unique": policy, "unique_key": key}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("conflict", ["ignore", "replace", "reject"])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_clients_key_finds_no_foreign_job(
    world: World, api: Api, bounds: dict[str, tuple[str, ...]], conflict: str, way: str
) -> None:
    """The new job is stored; the foreign one stays as it is, and is not seen."""
    foreign = secret_job(api, unique={"keys": ["type"]}, unique_key=KEY)
    before = world.stored.jobs[foreign]
    api.authorizer = bound(**bounds)
    reply = enqueue(world, api, way, attempt_of(conflict, KEY))
    assert reply.status == 201, reply.text
    assert SECRET not in reply.text
    assert foreign not in reply.text
    assert world.stored.jobs[foreign] == before
    mine = [job for job in world.stored.jobs.values() if job.unique_key and job.id != foreign]
    assert [job.queue for job in mine] == ["email"]


@pytest.mark.parametrize("way", WAYS)
def test_a_clients_key_does_not_keep_foreign_jobs_out(world: World, api: Api, way: str) -> None:
    """Not even one that is the fingerprint of a job that is yet to come."""
    policy = {"keys": ["type", "args"]}
    victim = Job("payment.charge", [SECRET], queue="payments")
    api.authorizer = bound(types=("email.*",))
    enqueue(world, api, way, attempt_of("reject", fingerprint(victim, UniquePolicy.by("args"))))
    api.authorizer = admin()
    secret_job(api, unique=policy)
    again = {"type": victim.type, "args": [SECRET], "queue": "payments", "unique": policy}
    assert api.post("/jobs", again).status == 409


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_clients_key_keeps_its_own_duplicates_out(
    api: Api, bounds: dict[str, tuple[str, ...]]
) -> None:
    """Encryption needs it: the backend cannot read what makes two jobs the same."""
    api.authorizer = bound(**bounds)
    first = api.post("/jobs", attempt_of("reject", KEY)).json["job"]["id"]
    refused = api.post("/jobs", {**attempt_of("reject", KEY), "args": ["other"]})
    assert (refused.status, refused.error["details"]["existing_job_id"]) == (409, first)
    ignored = api.post("/jobs", attempt_of("ignore", KEY))
    assert (ignored.status, ignored.json["job"]["id"]) == (200, first)
    assert api.post("/jobs", attempt_of("replace", KEY)).status == 201
    assert api.post("/jobs", attempt_of("reject", "0" * 64)).status == 201


def test_keys_of_one_type_are_apart_by_queue_only_where_it_counts(api: Api) -> None:
    """As in a fingerprint: a policy without the queue holds across the caller's queues."""
    api.authorizer = bound(types=("email.send",))
    for keys, status in ((["type"], 409), (["type", "queue"], 201)):
        job = {**OWN, "unique": {"keys": keys}, "unique_key": KEY}
        assert api.post("/jobs", job).status == 201
        assert api.post("/jobs", {**job, "queue": "email.late"}).status == status


def test_clients_without_bounds_keep_their_keys_as_they_are(world: World, api: Api) -> None:
    """Locks of a running deployment go on keeping duplicates out."""
    job = {**OWN, "unique": {"keys": ["type"]}, "unique_key": KEY}
    first = api.post("/jobs", job).json["job"]
    assert (first["unique_key"], world.stored.jobs[first["id"]].unique_key) == (KEY, KEY)
    assert api.post("/jobs", {**job, "type": "email.other"}).status == 409


def test_a_job_that_was_moved_elsewhere_is_no_duplicate_any_more(world: World, api: Api) -> None:
    """An operator retried it in another queue: a key for its old queue does not find it."""
    policy = {"keys": ["queue", "args"], "on_conflict": "replace"}
    moved = api.post("/jobs", {**OWN, "unique": policy, "retry": {"max_attempts": 1}}).json["job"]
    api.post("/workers/fetch", {"queues": ["email"], "worker_id": "w"})
    api.post("/workers/nack", {"job_id": moved["id"], "error": {"message": "no"}})
    override = {"override": {"queue": "payments"}}
    assert api.post(f"/dead-letter/{moved['id']}/retry", override).status == 200
    for conflict in ("ignore", "replace", "reject"):
        api.authorizer = bound(queues=("email",))
        reply = api.post("/jobs", {**OWN, "unique": {**policy, "on_conflict": conflict}})
        assert (reply.status, moved["id"] in reply.text) == (201, False), conflict
        assert world.stored.jobs[moved["id"]].state is JobState.AVAILABLE
        api.authorizer = admin()
        assert api.delete(f"/jobs/{reply.json['job']['id']}").status == 200


# ------------------------------------------------------------------------------- what errors show
@pytest.mark.parametrize("way", [way for way in WAYS if way != "cron"])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_id_of_a_foreign_job_is_refused_without_a_word_of_it(
    world: World, api: Api, bounds: dict[str, tuple[str, ...]], way: str
) -> None:
    """409, as there must be, and neither details nor a message that name anything of it."""
    foreign = secret_job(api)
    api.authorizer = bound(**bounds)
    reply = enqueue(world, api, way, {**OWN, "id": foreign})
    error = reply.json["items"][-1]["error"] if "bulk" in way else reply.error
    assert error["code"] == "duplicate"
    assert error["details"].keys() <= {"index"}
    for visible in (foreign, "payment", SECRET, "available", "existing"):
        assert visible not in str(error), visible


def test_the_id_of_an_own_job_is_refused_as_before(api: Api) -> None:
    """Its owner learns which job that is."""
    api.authorizer = bound(queues=("email",))
    job_id = api.post("/jobs", OWN).json["job"]["id"]
    reply = api.post("/jobs", {**OWN, "id": job_id, "args": ["other"]})
    assert (reply.status, reply.error["details"]["existing_job_id"]) == (409, job_id)
    twice = api.post("/jobs/batch", {"jobs": [{**OWN, "id": JOB}, {**OWN, "id": JOB}]})
    assert twice.error["details"] == {"index": 1, "existing_job_id": JOB}


JOB = "01912345-6789-7abc-8def-0123456789ab"


def test_an_unknown_queue_is_refused_without_the_names_of_foreign_ones() -> None:
    """Callers without bounds see all of them."""
    names = ("email", "email.late", "payments")
    settings = Settings(auth="api-key", allow_undeclared_queues=False, queues=names)
    api = Api(World(settings=settings).backend)
    for authorizer, visible in ((admin(), [*names]), (bound(queues=("email*",)), [*names[:2]])):
        api.authorizer = authorizer
        for reply in (
            api.post("/jobs", {**OWN, "queue": "email.new"}),
            api.post("/jobs/batch", {"jobs": [OWN, {**OWN, "queue": "email.new"}]}),
        ):
            assert (reply.status, reply.error["details"]["queues"]) == (404, visible)


def test_a_queue_that_takes_some_types_only_names_no_foreign_ones(api: Api) -> None:
    """Callers without bounds see all of them."""
    types = ["email.receipt", "payment.charge"]
    assert (
        api.send("PUT", "/ojs/v1/queues/email/config", {"allowed_job_types": types}).status == 200
    )
    for authorizer, visible in ((admin(), types), (bound(types=("email.*",)), types[:1])):
        api.authorizer = authorizer
        reply = api.post("/jobs", OWN)
        assert (reply.status, reply.error["details"]["allowed_job_types"]) == (422, visible)


def test_a_foreign_cron_job_of_the_same_name_is_not_shown(api: Api) -> None:
    """Neither its queue nor its type; it stays what it is."""
    cron = {"name": "nightly", "cron": "0 0 * * *"}
    job = {"type": "payment.charge", "args": [SECRET], "options": {"queue": "payments"}}
    api.post("/cron", {**cron, **job})
    for bounds in BOUNDS:
        api.authorizer = bound(**bounds)
        reply = api.post("/cron", {**cron, **OWN, "options": {"queue": "email"}})
        assert (reply.status, reply.error["details"]) == (403, {"field": "name"})
        assert "payment" not in reply.text
    api.authorizer = admin()
    assert api.get("/cron/nightly").json["cron_job"]["type"] == "payment.charge"


def test_the_schema_of_another_job_type_is_not_quoted(api: Api) -> None:
    """A job may name it and is checked by it; the refusal holds nothing of what it says."""
    members = {"type": "object", "required": ["card_number"]}
    uri = "urn:payments:charge:1"
    schema = {"type": "payment.charge", "version": "1.0.0", "uri": uri, "schema": members}
    registered = api.post("/schemas", schema)
    assert registered.status == 201, registered.text
    uri = registered.json.get("uri", uri)
    api.authorizer = bound(types=("email.*",))
    single = api.post("/jobs", {**OWN, "args": [{}], "schema": uri})
    batch = api.post("/jobs/batch", {"jobs": [{**OWN, "args": [{}], "schema": uri}] * 2})
    for reply in (single, batch):
        assert reply.status == 422
        assert reply.error["details"]["schema"] == uri
        assert "card_number" not in reply.text
        assert "payment.charge" not in reply.text
    for reader in (bound(types=("email.*", "payment.*")), admin()):
        api.authorizer = reader
        assert "card_number" in api.post("/jobs", {**OWN, "args": [{}], "schema": uri}).text


def test_findings_name_no_foreign_queue_or_job(world: World, api: Api) -> None:
    """Callers with bounds see their queues and no workers; of job types there are no findings."""
    world.registry.ensure("email", world.clock.now())
    world.registry.ensure("payments", world.clock.now())
    mine = str(api.post("/jobs", OWN).json["job"]["id"])
    foreign = secret_job(api)
    api.post("/workers/heartbeat", {"worker_id": "theirs"})
    world.clock.advance(s=600)
    everything = api.get("/admin/findings").text
    assert all(each in everything for each in (mine, foreign, "payments", "theirs"))
    api.authorizer = bound(queues=("email",))
    reply = api.get("/admin/findings")
    assert mine in reply.text
    assert not any(each in reply.text for each in (foreign, "payments", "theirs"))
    api.authorizer = bound(types=("report.*",))
    assert api.get("/admin/findings").status == 403


def test_why_names_no_foreign_job(world: World, api: Api) -> None:
    """Callers with bounds learn that a limit is full, and not by whom."""
    shared = {"rate_limit": {"key": "stripe", "concurrency": 1}}
    foreign = str(api.post("/jobs", {**OWN, **shared}).json["job"]["id"])
    world.backend.jobs.fetch(FetchRequest(("email",), worker_id="w"))
    mine = str(api.post("/jobs", {**OWN, **shared}).json["job"]["id"])
    assert foreign in api.get(f"/admin/jobs/{mine}/why").text
    api.authorizer = bound(types=("email.*",))
    reply = api.get(f"/admin/jobs/{mine}/why")
    assert reply.json["reasons"][0]["code"] == "limit"
    assert foreign not in reply.text
    api.authorizer = bound(types=("report.*",))
    assert api.get(f"/admin/jobs/{mine}/why").status == 404
