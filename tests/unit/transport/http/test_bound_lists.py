"""Lists, numbers and bulk changes for credentials that are bound to queues or job types."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from ojs_aws.services.jobs import list_walk
from ojs_aws.services.workflows import list_walk as workflow_walk
from ojs_aws.transport.http.queries import PARAMETERS
from ojs_aws.transport.http.routes import ROUTES, Route
from tests.api import Api, Reply
from tests.simulation.world import World
from tests.unit.transport.http.test_authorization import scoped

ADMIN = scoped(Scope.ADMIN)
BY_QUEUE = scoped(Scope.ADMIN, queues=("email", "mail-*"))
BY_TYPE = scoped(Scope.ADMIN, types=("email.*",))
BY_BOTH = scoped(Scope.ADMIN, queues=("email",), types=("email.*",))
THEIRS = ("other", "secret.type", "theirs")


@pytest.fixture
def world() -> World:
    """A deployment with API keys."""
    return World(settings=Settings(auth="api-key"))


@pytest.fixture
def api(world: World) -> Api:
    """Its functions, asked by an administrator."""
    made = Api(world.backend)
    made.authorizer = ADMIN
    return made


def push(world: World, api: Api, queue: str, job_type: str = "email.send", **more: Any) -> str:
    """The id of a job that an administrator pushed, when the next one is later."""
    world.clock.advance(ms=5)
    world.registry.ensure(queue, world.clock.now())
    given = api.authorizer
    api.authorizer = ADMIN
    job_id = api.push(job_type, queue=queue, **more)
    api.authorizer = given
    return job_id


def dead(world: World, api: Api, queue: str, job_type: str = "email.send") -> str:
    """The id of a dead letter."""
    retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    job_id = push(world, api, queue, job_type, retry=retry)
    (job,) = api.fetch(queue)
    assert job["id"] == job_id
    error = {"type": f"Broken {queue}", "message": "no"}
    body = {"job_id": job_id, "worker_id": "w", "error": error}
    assert api.post("/workers/nack", body).status == 200
    return job_id


def pages(api: Api, path: str, **query: str) -> Iterator[Reply]:
    """All pages of a list."""
    cursor = ""
    for _ in range(100):
        reply = api.get(path, query={**query, **({"cursor": cursor} if cursor else {})})
        assert reply.status == 200, reply.text
        yield reply
        cursor = reply.json["pagination"].get("next_cursor", "")
        if not cursor:
            return


def ids_of(replies: Iterator[Reply], name: str = "items") -> list[str]:
    """The ids on some pages."""
    return [each["id"] for reply in replies for each in reply.json[name]]


def assert_silent(reply: Reply, *more: str) -> None:
    """Nothing of others stands in the answer, nor in its cursors."""
    shown = reply.text
    cursor = str(reply.json.get("pagination", {}).get("next_cursor", ""))
    for _ in range(3):
        try:
            decoded = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except binascii.Error:  # it stands there as it is
            break
        cursor = decoded.decode(errors="replace")
        shown += cursor
        cursor = cursor.rpartition("!")[2]
        if not cursor.isascii() or not cursor.replace("-", "").replace("_", "").isalnum():
            break
    assert not [each for each in (*THEIRS, *more) if each in shown], shown


_FILTERS = [
    (route, PARAMETERS[name].name)
    for route in ROUTES
    for name in route.query
    if name in {"queue", "queues", "type", "job_type", "job_types", "job_type_or_prefix"}
]


@pytest.mark.parametrize(("route", "name"), _FILTERS, ids=lambda each: getattr(each, "path", each))
def test_a_filter_names_nothing_outside_the_bounds(
    route: Route, name: str, world: World, api: Api
) -> None:
    """Where an empty list would say that there is nothing, and others' jobs were meant."""
    push(world, api, "email")
    push(world, api, "other", "secret.type")
    api.authorizer = BY_TYPE if "type" in name else BY_QUEUE
    path = route.path.replace("<queue>", "email")
    mine, theirs = ("email.send", "secret.type") if "type" in name else ("email", "other")
    for given in (theirs, f"{mine},{theirs}") if name in {"queues", "job_types"} else (theirs,):
        reply = api.send(route.method, path, query={name: given})
        assert (reply.status, reply.error["code"]) == (403, "permission_denied"), reply.text
        assert reply.error["details"]["field"] == name


# ---------------------------------------------------------------------------------------- jobs
@pytest.mark.parametrize("caller", [BY_QUEUE, BY_TYPE, BY_BOTH])
def test_a_list_of_jobs_has_all_of_the_callers_and_no_others(
    caller: dict[str, Any], world: World, api: Api
) -> None:
    """In pages of one, in both orders, with and without a state; the total counts them alone."""
    mine, others = [], []
    for number in range(4):
        mine.append(push(world, api, "email", priority=number))
        others.append(push(world, api, "other", "secret.type"))
        if caller is not BY_QUEUE:
            others.append(push(world, api, "email", "secret.type"))
    api.authorizer = caller
    for query in ({}, {"order": "asc"}, {"state": "available"}, {"state": "available,pending"}):
        found = list(pages(api, "/admin/jobs", limit="1", **query))
        assert sorted(ids_of(iter(found))) == sorted(mine)
        for reply in found:
            assert_silent(reply, *others)
            assert reply.json["total"] <= len(mine)
            assert reply.json["pagination"]["examined"] <= 2


@pytest.mark.parametrize("caller", [BY_QUEUE, BY_TYPE, BY_BOTH])
def test_a_tag_or_an_error_finds_and_counts_only_the_callers_jobs(
    caller: dict[str, Any], world: World, api: Api
) -> None:
    """In lists and in bulk changes; ``examined`` leaves out the jobs of others."""
    broken = dead(world, api, "email")
    dead(world, api, "other", "secret.type")
    mine = push(world, api, "email", tags=["vip"])
    push(world, api, "email")
    foreign = push(world, api, "other", "secret.type", tags=["vip"])
    api.authorizer = caller
    reply = api.get("/admin/jobs", query={"tag": "vip"})
    assert [each["id"] for each in reply.json["items"]] == [mine]
    assert reply.json["pagination"]["examined"] == 3
    assert_silent(reply, foreign)
    reply = api.get("/admin/jobs", query={"error": "BROKEN"})
    assert [each["id"] for each in reply.json["items"]] == [broken]
    body = {"filter": {"tag": "vip"}, "dry_run": True}
    dry = api.post("/admin/jobs/bulk/cancel", body).json
    assert (dry["matched"], dry["job_ids"], dry["examined"]) == (1, [mine], 2)


def test_named_jobs_of_others_are_not_found(world: World, api: Api) -> None:
    """A bulk change by ids meets the caller's jobs alone."""
    mine, foreign = push(world, api, "email"), push(world, api, "other", "secret.type")
    api.authorizer = BY_QUEUE
    body = {"job_ids": [mine, foreign], "confirm": True}
    done = api.post("/admin/jobs/bulk/cancel", body).json
    assert (done["job_ids"], [each["status"] for each in done["errors"]]) == ([mine], ["not_found"])
    assert world.stored.jobs[foreign].state == "available"


def test_only_the_lists_of_the_callers_queues_are_read(world: World, api: Api) -> None:
    """So a list costs what the caller may see."""
    for number in range(20):
        push(world, api, f"other-{number}")
    push(world, api, "email")
    api.authorizer = BY_QUEUE
    world.faults.calls.clear()
    assert len(api.get("/admin/jobs").json["items"]) == 1
    assert world.faults.calls.count("listed") <= 7
    assert world.faults.calls.count("load_many") == 1


def test_a_named_queue_or_type_of_others_is_refused(world: World, api: Api) -> None:
    """403 for a name; the beginning of types finds the caller's own."""
    job_id = push(world, api, "email")
    push(world, api, "email", "secret.type")
    for caller in (BY_QUEUE, BY_BOTH):
        api.authorizer = caller
        assert api.get("/admin/jobs", query={"queue": "other"}).status == 403
    api.authorizer = BY_TYPE
    assert api.get("/admin/jobs", query={"type": "secret.type"}).status == 403
    found = api.get("/admin/jobs", query={"type": "*"})
    assert [each["id"] for each in found.json["items"]] == [job_id]
    assert api.get("/admin/jobs", query={"type": "secret.*"}).json["items"] == []


def test_a_cursor_of_somebody_else_opens_nothing_more(world: World, api: Api) -> None:
    """It goes on in the caller's own lists."""
    own = [push(world, api, "zebra") for _ in range(3)]
    for _ in range(3):
        push(world, api, "other", "secret.type")
    first = api.get("/admin/jobs", query={"limit": "1"}).json
    assert first["items"][0]["queue"] == "other"
    api.authorizer = scoped(Scope.READ_ONLY, queues=("zebra",))
    reply = api.get("/admin/jobs", query={"cursor": first["pagination"]["next_cursor"]})
    assert sorted(each["id"] for each in reply.json["items"]) == sorted(own)


@pytest.mark.parametrize("caller", [BY_TYPE, BY_BOTH])
def test_a_cursor_stands_behind_no_job_of_others(
    caller: dict[str, Any], world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a request has looked at enough, it goes on behind the caller's last job."""
    monkeypatch.setattr(list_walk, "MAX_SIFTED", 5)
    mine, others = [], []
    for _ in range(4):
        others += [push(world, api, "email", "secret.type") for _ in range(3)]
        mine.append(push(world, api, "email"))
    api.authorizer = caller
    for order in ("asc", "desc"):
        found = list(pages(api, "/admin/jobs", limit="50", order=order))
        assert len(found) > 1
        assert sorted(ids_of(iter(found))) == sorted(mine)
        for reply in found:
            assert_silent(reply, *others)


def test_too_many_jobs_of_others_are_a_plain_error(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cursor there would name a job of others; a narrower filter finds the caller's."""
    monkeypatch.setattr(list_walk, "MAX_SIFTED", 5)
    mine = push(world, api, "email", pending=True)
    others = [push(world, api, "email", "secret.type") for _ in range(8)]
    api.authorizer = BY_BOTH
    reply = api.get("/admin/jobs")
    assert reply.status == 400
    assert "None of the jobs" in reply.error["message"]
    assert not any(each in reply.text for each in others)
    assert ids_of(pages(api, "/admin/jobs", state="pending")) == [mine]


# -------------------------------------------------------------------------------- dead letters
@pytest.mark.parametrize("caller", [BY_QUEUE, BY_TYPE, BY_BOTH])
def test_dead_letters_of_the_caller_are_listed_and_retried(
    caller: dict[str, Any], world: World, api: Api
) -> None:
    """Without naming a queue; those of others stay as they are."""
    mine = [dead(world, api, "email") for _ in range(3)]
    others = [dead(world, api, "other", "secret.type") for _ in range(3)]
    kept = {each: world.stored.jobs[each] for each in others}
    api.authorizer = caller
    found = list(pages(api, "/dead-letter", limit="2"))
    assert sorted(ids_of(iter(found), "jobs")) == sorted(mine)
    for reply in found:
        assert_silent(reply, *others)
    reply = api.post("/dead-letter/retry", {"confirm": True, "ids": [mine[0], others[0]]})
    assert [each["status"] for each in reply.json["results"]] == ["retried", "not_found"]
    reply = api.post("/dead-letter/retry", {"confirm": True, "filter": {}})
    assert (reply.json["retried"], reply.json["failed"]) == (2, 0)
    assert api.post("/dead-letter/retry", {"confirm": True, "filter": {"queue": "x"}}).status == (
        200 if caller is BY_TYPE else 403
    )
    for path in (f"/dead-letter/{others[0]}", f"/dead-letter/{others[0]}/retry"):
        assert (
            api.send("GET" if path.endswith(others[0]) else "POST", f"/ojs/v1{path}").status == 404
        )
    assert api.delete(f"/dead-letter/{others[0]}").status == 404
    assert api.post("/dead-letter/purge").json["deleted"] == 0
    assert {each: world.stored.jobs[each] for each in others} == kept


def test_statistics_of_dead_letters_count_the_callers_queues(world: World, api: Api) -> None:
    """Their errors and types, too."""
    dead(world, api, "email")
    dead(world, api, "other", "secret.type")
    api.authorizer = BY_QUEUE
    reply = api.get("/dead-letter/stats")
    assert (reply.json["total"], reply.json["by_queue"]) == (1, {"email": 1})
    assert_silent(reply)
    api.authorizer = BY_TYPE
    assert api.get("/dead-letter/stats").status == 403


# ------------------------------------------------------------------------------ queues, numbers
NUMBERS = (
    "/queues",
    "/admin/queues",
    "/admin/stats",
    "/admin/overview",
    "/admin/findings",
    "/admin/errors",
    "/admin/metrics",
    "/admin/stats/history",
    "/admin/workers",
    "/dead-letter/stats",
)


def test_numbers_are_of_the_callers_queues(world: World, api: Api) -> None:
    """Queues, jobs, what was done, and workers that serve only these queues."""
    for queue in ("email", "mail-1", "other"):
        push(world, api, queue)
    serves = {"mine": ["email"], "theirs": ["other"], "theirs-too": ["email", "other"]}
    for name, queues in serves.items():
        api.post("/workers/heartbeat", {"worker_id": name, "queues": queues, "active_jobs": []})
    api.post("/workers/heartbeat", {"worker_id": "theirs-of-no-queue", "active_jobs": []})
    api.authorizer = BY_QUEUE
    for path in NUMBERS:
        reply = api.get(path)
        assert reply.status == 200, reply.text
        assert not [each for each in THEIRS if each in reply.text], reply.text
    for path in ("/queues", "/admin/queues"):
        names = [each["name"] for each in api.get(path).json["queues"]]
        assert names == ["email", "mail-1"]
        assert api.get(path).json["total"] == 2
        assert ids_by_name(pages(api, path, limit="1")) == names
    stats = api.get("/admin/stats").json
    assert (stats["queues"], stats["workers"]) == (2, 1)
    assert api.get("/admin/stats", query={"queue": "other"}).status == 403
    assert api.get("/admin/stats/history", query={"queue": "other"}).status == 403
    assert [each["id"] for each in api.get("/admin/workers").json["items"]] == ["mine"]
    assert api.get("/admin/workers/mine").status == 200
    for name in ("theirs", "theirs-too", "theirs-of-no-queue", "nobody"):
        assert api.get(f"/admin/workers/{name}").status == 404


def ids_by_name(replies: Iterator[Reply]) -> Sequence[str]:
    """The names on some pages."""
    return [each["name"] for reply in replies for each in reply.json["queues"]]


@pytest.mark.parametrize("path", [*NUMBERS, *(f"/queues/email{each}" for each in ("", "/stats"))])
def test_numbers_of_whole_queues_are_not_for_keys_of_types(path: str, api: Api) -> None:
    """They count jobs of other types; the message says so."""
    for caller in (BY_TYPE, BY_BOTH):
        api.authorizer = caller
        reply = api.get(path)
        assert reply.status == 403
        assert "bound to job types" in reply.error["message"]


def test_a_queue_of_others_cannot_be_purged(world: World, api: Api) -> None:
    """One's own can, by who may administer; not by a key of types."""
    mine, foreign = push(world, api, "email"), push(world, api, "other")
    body = {"states": ["available"], "confirm": True}
    api.authorizer = BY_QUEUE
    assert api.send("DELETE", "/ojs/v1/queues/other/jobs", body).status == 403
    assert api.send("DELETE", "/ojs/v1/queues/email/jobs", body).status == 200
    assert world.stored.jobs[mine].state == "cancelled"
    assert world.stored.jobs[foreign].state == "available"
    api.authorizer = BY_BOTH
    assert api.send("DELETE", "/ojs/v1/queues/email/jobs", body).status == 403


# ------------------------------------------------------------------------------------ in bulk
@pytest.mark.parametrize("caller", [BY_QUEUE, BY_TYPE, BY_BOTH])
@pytest.mark.parametrize("path", ["/admin/jobs/bulk/cancel", "/jobs/bulk/cancel"])
def test_a_bulk_change_by_filter_meets_no_job_of_others(
    path: str, caller: dict[str, Any], world: World, api: Api
) -> None:
    """Nor does its dry run count them."""
    mine = [push(world, api, "email") for _ in range(2)]
    others = [push(world, api, "other", "secret.type") for _ in range(2)]
    api.authorizer = caller
    body: dict[str, Any] = {"filter": {"state": "available"}}
    if path.startswith("/admin"):
        dry = api.post(path, {**body, "dry_run": True})
        assert (dry.json["matched"], sorted(dry.json["job_ids"])) == (2, sorted(mine))
        body["confirm"] = True
    reply = api.post(path, body)
    assert reply.status == 200, reply.text
    assert_silent(reply, *others)
    states = {each: world.stored.jobs[each].state for each in (*mine, *others)}
    assert states == dict.fromkeys(mine, "cancelled") | dict.fromkeys(others, "available")
    foreign = {"queue": "other"} if caller is not BY_TYPE else {"type": "secret.type"}
    assert api.post(path, {"filter": foreign, "confirm": True}).status == 403


@pytest.mark.parametrize("atomicity", ["partial", "atomic"])
def test_a_named_job_of_others_is_not_found(atomicity: str, world: World, api: Api) -> None:
    """The same answer as for an id that nobody has."""
    foreign, shown = push(world, api, "other", "secret.type"), []
    for other in (foreign, foreign[:-4] + "ffff"):
        mine = push(world, api, "email")
        api.authorizer = BY_QUEUE
        body = {"job_ids": [mine, other], "atomicity": atomicity}
        reply = api.post("/jobs/bulk/cancel", body)
        text = re.sub(r'"request_id":"[^"]*"', "", reply.text)
        shown.append(text.replace(other, "<other>").replace(mine, "<mine>"))
    assert shown[0] == shown[1]
    assert world.stored.jobs[foreign].state == "available"


# ------------------------------------------------------- cron jobs, workflows, limits, schemas
@pytest.mark.parametrize("caller", [BY_QUEUE, BY_TYPE, BY_BOTH])
def test_cron_jobs_of_others_do_not_exist(caller: dict[str, Any], world: World, api: Api) -> None:
    """They are not listed, and all requests by name get 404."""
    for name, queue, kind in (("mine", "email", "email.send"), ("theirs", "other", "secret.type")):
        entry = {"name": name, "cron": "0 9 * * *", "type": kind, "args": [], "queue": queue}
        assert api.post("/cron", entry).status == 201
    kept = world.stored.crons["theirs"]
    api.authorizer = caller
    reply = api.get("/cron")
    assert [each["name"] for each in reply.json["items"]] == ["mine"]
    assert reply.json["pagination"]["total"] == 1
    assert_silent(reply)
    for method, more, body in (
        ("GET", "", None),
        ("GET", "/history", None),
        ("POST", "/pause", None),
        ("POST", "/trigger", None),
        ("POST", "/resume", None),
        ("PATCH", "", {"enabled": False}),
        ("PATCH", "", {"cron": "0 8 * * *"}),
        ("DELETE", "", None),
    ):
        foreign, missing, own = (
            api.send(method, f"/ojs/v1/cron/{name}{more}", body)
            for name in ("theirs", "nobody", "mine")
        )
        assert (foreign.status, missing.status) == (404, 404), (method, more)
        shown = foreign.error["message"].replace("theirs", "nobody")
        assert shown == missing.error["message"]
        assert own.status in {200, 201}
    assert world.stored.crons["theirs"] == kept


def test_a_workflow_is_seen_if_all_of_its_jobs_are(world: World, api: Api) -> None:
    """Read, listed and cancelled; else there is none."""
    flows = {}
    for name, queues in (("mine", ["email", "email"]), ("mixed", ["email", "other"])):
        steps = [{"type": "email.send", "args": [], "queue": queue} for queue in queues]
        flows[name] = api.post("/workflows", {"type": "chain", "steps": steps}).json["id"]
    kept = world.stored.workflows[flows["mixed"]]
    api.authorizer = BY_QUEUE
    reply = api.get("/workflows")
    assert [each["id"] for each in reply.json["items"]] == [flows["mine"]]
    assert reply.json["pagination"]["total"] == 1
    assert_silent(reply, flows["mixed"])
    assert api.get(f"/workflows/{flows['mine']}").json["id"] == flows["mine"]
    assert api.get(f"/workflows/{flows['mine']}/progress").status == 200
    for flow in (flows["mixed"], flows["mine"][:-4] + "ffff", "none"):
        assert api.get(f"/workflows/{flow}").status == 404
        assert api.get(f"/workflows/{flow}/progress").status == 404
        assert api.delete(f"/workflows/{flow}").status == 404
    assert world.stored.workflows[flows["mixed"]] == kept
    assert api.delete(f"/workflows/{flows['mine']}").status == 200


def flow(world: World, api: Api, *jobs: tuple[str, str]) -> str:
    """The id of a workflow of some queues and types."""
    world.clock.advance(ms=5)
    steps = [{"type": kind, "args": [], "queue": queue} for queue, kind in jobs]
    created = api.post("/workflows", {"type": "chain", "steps": steps})
    assert created.status == 201, created.text
    return str(created.json["id"])


@pytest.mark.parametrize("scope", [Scope.ADMIN, Scope.OPERATOR, Scope.READ_ONLY])
@pytest.mark.parametrize(
    "bounds",
    [
        {},
        {"queues": ("email", "mail-*")},
        {"types": ("email.*",)},
        {"queues": ("email",), "types": ("email.*",)},
    ],
)
def test_workflows_are_listed_for_each_scope_and_its_bounds(
    scope: Scope, bounds: dict[str, Any], world: World, api: Api
) -> None:
    """Page by page, in a state, and from an offset; cursors name none of others."""
    mine, others = [], []
    for _ in range(3):
        others.append(flow(world, api, ("other", "secret.type")))
        mine.append(flow(world, api, ("email", "email.send"), ("email", "email.open")))
        others.append(flow(world, api, ("email", "email.send"), ("other", "secret.type")))
    everything = [others[0], mine[0], *others[1:3], mine[1], *others[3:5], mine[2], others[5]]
    seen = mine if bounds else everything
    api.authorizer = scoped(scope, **bounds)
    for query in ({}, {"state": "running"}):
        found = list(pages(api, "/workflows", limit="2", **query))
        assert ids_of(iter(found)) == seen[::-1]
        for reply in found if bounds else []:
            assert not [each for each in (*THEIRS, *others) if each in reply.text]
    skipped = api.get("/workflows", query={"offset": "1"})
    assert [each["id"] for each in skipped.json["items"]] == seen[-2::-1]
    assert api.get("/workflows", query={"state": "completed"}).json["items"] == []


@pytest.mark.parametrize("scope", [Scope.PRODUCER, Scope.WORKER])
def test_who_may_not_inspect_lists_no_workflows(scope: Scope, world: World, api: Api) -> None:
    """With bounds or without."""
    flow(world, api, ("email", "email.send"))
    for bounds in ({}, {"queues": ("email",)}):
        api.authorizer = scoped(scope, **bounds)
        assert api.get("/workflows").status == 403


def test_a_list_of_workflows_is_bounded(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on behind the caller's last one; without one it is an error that names nobody."""
    monkeypatch.setattr(workflow_walk, "MAX_EXAMINED", 3)
    monkeypatch.setattr(workflow_walk, "PAGE", 2)
    monkeypatch.setattr(workflow_walk, "PART", 1)
    mine = flow(world, api, ("email", "email.send"))
    others = [flow(world, api, ("other", "secret.type"))]
    newer = flow(world, api, ("email", "email.send"))
    others.append(flow(world, api, ("other", "secret.type")))
    api.authorizer = BY_QUEUE
    found = list(pages(api, "/workflows", limit="50"))
    assert [len(reply.json["items"]) for reply in found] == [1, 1]
    assert ids_of(iter(found)) == [newer, mine]
    for reply in found:
        assert not [each for each in (*THEIRS, *others) if each in reply.text]
    api.authorizer = ADMIN
    others += [flow(world, api, ("other", "secret.type")) for _ in range(3)]
    api.authorizer = BY_QUEUE
    reply = api.get("/workflows")
    assert reply.status == 400
    assert "None of the workflows" in reply.error["message"]
    assert not any(each in reply.text for each in others)


@pytest.mark.parametrize(
    ("caller", "seen"),
    [
        (BY_QUEUE, ["queue:email", "queue:email:type:email.send", "queue:mail-1"]),
        (BY_TYPE, ["type:email.open", "type:email.send"]),
        (BY_BOTH, ["queue:email:type:email.send"]),
    ],
)
def test_limits_are_those_of_the_callers_queues_or_types(
    caller: dict[str, Any], seen: list[str], world: World, api: Api
) -> None:
    """A key of the job's own choice is shared with others, and so is a type's over all queues."""
    keys = {
        *("queue:email", "queue:mail-1", "queue:emails", "queue:a", "queue:other"),
        *("queue:email:type:email.send", "queue:other:type:email.send"),
        *("type:email.send", "type:email.open", "type:secret.type", "stripe", "zz"),
    }
    for key in keys:
        assert api.send("PUT", f"/ojs/v1/rate-limits/{key}", {"concurrency": 2}).status == 200
    api.authorizer = caller
    replies = list(pages(api, "/rate-limits", limit="1"))
    assert [each["key"] for reply in replies for each in reply.json["items"]] == seen
    readable = {key for key in keys if api.get(f"/rate-limits/{key}").status == 200}
    more = {"queue:other:type:email.send", "queue:email:type:email.send"}
    assert readable == ({*seen} | more if caller is BY_TYPE else {*seen})
    skipped = api.get("/rate-limits", query={"page": "2", "per_page": "1"})
    assert [each["key"] for each in skipped.json["items"]] == seen[1:2]


def test_schemas_are_those_of_the_callers_types(api: Api) -> None:
    """Keys that are bound to queues alone have no types of their own: refused."""
    for kind in ("email.send", "secret.type"):
        body = {"type": kind, "version": 1, "schema": {"type": "array"}, "uri": f"urn:{kind}"}
        assert api.post("/schemas", body).status == 201
    api.authorizer = BY_TYPE
    reply = api.get("/schemas")
    assert [each["type"] for each in reply.json["schemas"]] == ["email.send"]
    assert reply.json["pagination"]["total"] == 1
    for path, status in (
        ("email.send", 200),
        ("urn:email.send", 200),
        ("email.send/versions", 200),
        ("email.send/1", 200),
        ("secret.type", 403),
        ("urn:secret.type", 404),
        ("secret.type/versions", 403),
        ("secret.type/1", 403),
    ):
        assert api.get(f"/schemas/{path}").status == status, path
    api.authorizer = BY_QUEUE
    assert api.get("/schemas").status == 403
    assert api.get("/schemas/email.send").status == 403
