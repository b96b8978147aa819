"""Who may call what over HTTP: every route, every scope, and the bounds of credentials."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.config import Settings
from ojs_aws.domain.access import GRANTS, Caller, Permission, Scope, permissions_of
from ojs_aws.domain.api_keys import Refusal
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.services.workers.service import Directive
from ojs_aws.transport.http.callers import verdict_context
from ojs_aws.transport.http.route import Bounds, scopes_of
from ojs_aws.transport.http.routes import ROUTES, Route
from tests.api import Api
from tests.simulation.world import World

JOB = "01912345-6789-7abc-8def-0123456789ab"
PARAMETERS = {
    "job_id": JOB,
    "queue": "email",
    "name": "email.send",
    "type": "email.send",
    "version": "1.0",
    "key": "k",
}


def path_of(route: Route, position: int = 0) -> str:
    """A path that a route has."""
    return re.sub(r"<(\w+)>", lambda m: PARAMETERS.get(m[1], "x"), route.paths[position])


def as_caller(caller: Caller) -> dict[str, Any]:
    """What the gateway says of somebody with an API key."""
    return {"lambda": verdict_context(Verdict(caller))}


def scoped(
    *scopes: Scope, queues: tuple[str, ...] = (), types: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The same, by scopes."""
    granted = permissions_of(scopes)
    return as_caller(
        Caller(id="key:1", name="test", permissions=granted, queues=queues, types=types)
    )


@pytest.fixture(scope="module")
def shut() -> Api:
    """The functions of a deployment with API keys."""
    return Api(World(settings=Settings(auth="api-key")).backend)


def test_bounds_are_checked_by_what_the_path_has() -> None:
    """A route of a job names one, a route of a queue too."""
    for route in ROUTES:
        bounds = route.access.bounds
        assert bounds is not Bounds.JOB or "<job_id>" in route.path
        assert bounds not in {Bounds.QUEUE, Bounds.WHOLE_QUEUE} or "<queue>" in route.path


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_sec_007_an_operation_is_allowed_if_and_only_if_the_table_says_so(
    route: Route, scope: Scope, shut: Api
) -> None:
    """SEC-007, by each path of the route: 403 with the scopes that would do, or anything else."""
    permission = route.access.permission
    is_allowed = permission in {Permission.PUBLIC, Permission.KNOWN} or permission in GRANTS[scope]
    shut.authorizer = scoped(scope)
    for position in range(len(route.paths)):
        reply = shut.send(route.method, path_of(route, position))
        assert reply.status < 500
        assert (reply.status == 403) is not is_allowed
        if not is_allowed:
            assert reply.error["code"] == "permission_denied"
            assert reply.error["retryable"] is False
            assert set(reply.error["details"]["scopes"]) == set(scopes_of(route.access))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_sec_003_only_health_and_manifest_answer_without_credentials(
    route: Route, shut: Api
) -> None:
    """SEC-003, SEC-004, SEC-005: 401 in the OJS form, and how to authenticate."""
    for authorizer in ({}, {"lambda": verdict_context(Verdict(None, Refusal.MISSING))}):
        shut.authorizer = authorizer
        reply = shut.send(route.method, path_of(route))
        if route.operation in {"health", "manifest"}:
            assert reply.status == 200
            continue
        assert reply.status == 401
        assert reply.error["code"] == "unauthenticated"
        assert reply.error["request_id"]
        assert reply.headers["WWW-Authenticate"] == 'Bearer realm="ojs"'
        assert reply.headers["Content-Type"] == "application/openjobspec+json"


@pytest.mark.parametrize(("method", "path"), [("GET", "/ojs/v1/nowhere"), ("PUT", "/ojs/v1/jobs")])
def test_an_unknown_route_shows_strangers_nothing(method: str, path: str, shut: Api) -> None:
    """404 and 405 are for those who are known."""
    shut.authorizer = {}
    assert shut.send(method, path).status == 401
    shut.authorizer = scoped(Scope.WORKER)
    assert shut.send(method, path).status in {404, 405}


def test_health_and_manifest_can_be_closed_too() -> None:
    """By a setting; then any credentials do."""
    closed = Api(World(settings=Settings(auth="api-key", public_status=False)).backend)
    for path in ("/ojs/v1/health", "/health", "/ready", "/ojs/manifest"):
        closed.authorizer = {}
        assert closed.send("GET", path).status == 401
        closed.authorizer = scoped(Scope.WORKER)
        assert closed.send("GET", path).status == 200


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (Refusal.UNKNOWN, "unauthenticated"),
        (Refusal.MALFORMED, "unauthenticated"),
        (Refusal.REVOKED, "unauthenticated"),
        (Refusal.EXPIRED, "token_expired"),
    ],
)
def test_credentials_that_are_not_valid_are_401(refusal: Refusal, code: str, shut: Api) -> None:
    """Callers learn only that credentials have expired, and only with the right secret."""
    shut.authorizer = {"lambda": verdict_context(Verdict(None, refusal, "0123456789abcdef"))}
    reply = shut.post("/jobs", {"type": "email.send", "args": []})
    assert (reply.status, reply.error["code"]) == (401, code)
    assert "invalid_token" in reply.headers["WWW-Authenticate"]
    assert str(refusal) not in reply.text.replace("token_expired", "").replace("has expired", "")


@pytest.mark.parametrize("path", ["/ojs/v1/health", "/health", "/ready", "/ojs/manifest"])
def test_head_asks_for_no_more_credentials_than_get(path: str, shut: Api) -> None:
    """Load balancers check health by it; the answer has no body, whatever it is."""
    shut.authorizer = {}
    shown, asked = shut.send("GET", path), shut.send("HEAD", path)
    assert (asked.status, asked.text) == (200, "")
    assert {*asked.headers} == {*shown.headers}
    closed = Api(World(settings=Settings(auth="api-key", public_status=False)).backend)
    assert closed.send("HEAD", path).status == 401
    refused = shut.send("HEAD", "/ojs/v1/queues")
    assert (refused.status, refused.text) == (401, "")


@pytest.mark.parametrize(("left_ms", "status"), [(1, 200), (0, 401), (-1, 401)])
def test_what_the_gateway_remembers_ends_with_the_key(left_ms: int, status: int) -> None:
    """Its memory outlives a key that expires, or a secret whose grace ends."""
    world = World(settings=Settings(auth="api-key"))
    api, now = Api(world.backend), world.backend.clock.now()
    caller = Caller(id="key:1", name="test", permissions=permissions_of([Scope.OPERATOR]))
    verdict = Verdict(caller, until=Instant(now + left_ms))
    api.authorizer = {"lambda": verdict_context(verdict)}
    reply = api.get("/queues")
    assert (reply.status, "token_expired" in reply.text) == (status, status == 401)


def test_a_stranger_learns_nothing_of_the_request_itself(shut: Api) -> None:
    """A malformed body, version or content type is looked at after the credentials."""
    shut.authorizer = {}
    assert shut.post("/jobs", b"{", headers={"content-type": "text/x"}).status == 401
    assert shut.post("/jobs", {}, headers={"ojs-version": "9.0"}).status == 401


def test_without_authentication_everything_is_allowed() -> None:
    """What an authorizer might say then counts for nothing."""
    api = Api(World().backend)
    api.authorizer = scoped(Scope.READ_ONLY)
    assert api.post("/jobs", {"type": "email.send", "args": []}).status == 201


# ------------------------------------------------------------------------------------- bounds


@pytest.fixture
def world() -> World:
    """A deployment with API keys."""
    return World(settings=Settings(auth="api-key"))


@pytest.fixture
def api_of(world: World) -> Api:
    """Its functions."""
    return Api(world.backend)


ADMIN = scoped(Scope.ADMIN)
BODY = {"type": "email.send", "args": []}


def pushed(api: Api, queue: str, **more: Any) -> str:
    """The id of a job that an administrator pushed."""
    api.authorizer = ADMIN
    reply = api.post("/jobs", {**BODY, "options": {"queue": queue}, **more})
    assert reply.status == 201
    return str(reply.json["job"]["id"])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/jobs", {**BODY, "options": {"queue": "other"}}),
        ("/jobs", {**BODY, "queue": "other"}),
        ("/jobs", BODY),
        ("/jobs", {**BODY, "type": "other.type", "queue": "email"}),
        ("/jobs/batch", {"jobs": [{**BODY, "queue": "email"}, {**BODY, "queue": "other"}]}),
        (
            "/workflows",
            {
                "type": "chain",
                "steps": [{**BODY, "queue": "email"}, {**BODY, "options": {"queue": "other"}}],
            },
        ),
        (
            "/workflows",
            {
                "type": "batch",
                "jobs": [{**BODY, "queue": "email"}],
                "callbacks": {"on_complete": {**BODY, "queue": "other"}},
            },
        ),
        ("/cron", {"name": "c", "cron": "0 9 * * *", **BODY, "options": {"queue": "other"}}),
    ],
)
def test_sec_006_a_foreign_queue_or_type_is_403_and_nothing_is_enqueued(
    path: str, body: dict[str, Any], world: World, api_of: Api
) -> None:
    """SEC-006: wherever the body names it."""
    api_of.authorizer = scoped(Scope.OPERATOR, queues=("email",), types=("email.*",))
    reply = api_of.post(path, body)
    assert (reply.status, reply.error["code"]) == (403, "permission_denied")
    assert reply.error["details"]["field"]
    assert not world.stored.jobs


def test_within_the_bounds_all_is_as_ever(api_of: Api) -> None:
    """Push, batch, workflow, cron, read, cancel."""
    api_of.authorizer = scoped(Scope.OPERATOR, queues=("email",), types=("email.*",))
    inside = {**BODY, "options": {"queue": "email"}}
    reply = api_of.post("/jobs", inside)
    assert reply.status == 201
    job_id = reply.json["job"]["id"]
    assert api_of.post("/jobs/batch", {"jobs": [inside, inside]}).status == 201
    assert api_of.post("/workflows", {"type": "chain", "steps": [inside]}).status == 201
    assert api_of.post("/cron", {"name": "c", "cron": "0 9 * * *", **inside}).status == 201
    assert api_of.get(f"/jobs/{job_id}").status == 200
    assert api_of.get("/queues/email/config").status != 403
    assert api_of.delete(f"/jobs/{job_id}").status == 200
    query = {"queue": "email", "type": "email.send"}
    assert api_of.get("/dead-letter", query=query).status == 200


JOB_ROUTES = [route for route in ROUTES if route.access.bounds is Bounds.JOB]


@pytest.mark.parametrize("route", JOB_ROUTES, ids=lambda route: route.operation)
def test_a_foreign_job_is_as_if_there_were_none(route: Route, world: World, api_of: Api) -> None:
    """The very same answer as for an id that nobody has; and the job is untouched."""
    job_id = pushed(api_of, "other")
    before = world.stored.jobs[job_id]
    everything = tuple(Permission)
    api_of.authorizer = as_caller(
        Caller(id="key:1", permissions=frozenset(everything), queues=("email",))
    )
    answers = [
        api_of.send(route.method, route.path.replace("<job_id>", each), {})
        for each in (job_id, JOB)
    ]
    foreign, missing = (
        {**answer.error, "request_id": "", "details": {}, "message": ""} for answer in answers
    )
    assert {answer.status for answer in answers} == {404}
    assert foreign == missing
    assert answers[0].error["message"].replace(job_id, "") == answers[1].error["message"].replace(
        JOB, ""
    )
    assert world.stored.jobs[job_id] == before


BOUND_REFUSED = [r for r in ROUTES if r.access.bounds is Bounds.REFUSED]


@pytest.mark.parametrize("route", BOUND_REFUSED, ids=lambda route: route.operation)
def test_what_is_about_more_than_a_queue_is_refused_to_bound_credentials(
    route: Route, api_of: Api
) -> None:
    """Even where their scope would do."""
    each: tuple[dict[str, Any], ...] = ({"queues": ("email",)}, {"types": ("email.send",)})
    for bounds in each:
        caller = Caller(id="key:1", permissions=frozenset(Permission), **bounds)
        api_of.authorizer = as_caller(caller)
        assert api_of.send(route.method, path_of(route)).status == 403


def test_a_worker_fetches_from_its_queues_only(world: World, api_of: Api) -> None:
    """And reports on jobs of its queues only."""
    foreign, own = pushed(api_of, "other"), pushed(api_of, "email")
    api_of.authorizer = scoped(Scope.WORKER, queues=("email",))
    for queues in (["other"], ["email", "other"]):
        reply = api_of.post("/workers/fetch", {"queues": queues, "worker_id": "w"})
        assert (reply.status, reply.error["details"]["queue"]) == (403, "other")
    reply = api_of.post("/workers/fetch", {"queues": ["email"], "worker_id": "w", "count": 5})
    assert [job["id"] for job in reply.json["jobs"]] == [own]
    assert api_of.post("/workers/ack", {"job_id": own}).status == 200

    api_of.authorizer = ADMIN
    api_of.post("/workers/fetch", {"queues": ["other"], "worker_id": "v"})
    held = world.stored.jobs[foreign].reservation
    api_of.authorizer = scoped(Scope.WORKER, queues=("email",))
    error = {"error": {"message": "no"}}
    for path, body in (
        ("/workers/ack", {"job_id": foreign}),
        ("/workers/nack", {"job_id": foreign, **error}),
        (f"/jobs/{foreign}/ack", {}),
        (f"/jobs/{foreign}/nack", error),
        (f"/jobs/{foreign}/progress", {"percentage": 50}),
        ("/workers/progress", {"job_id": foreign, "percentage": 50}),
    ):
        assert api_of.post(path, body).status == 404
    beat = {"worker_id": "v", "active_jobs": [foreign], "visibility_timeout_ms": 3_600_000}
    reply = api_of.post("/workers/heartbeat", beat)
    assert (reply.status, reply.json["jobs_lost"]) == (200, [foreign])
    assert world.stored.jobs[foreign].reservation == held


@pytest.mark.parametrize("worker", [{"worker_id": "w"}, {}])
def test_a_heartbeat_answers_foreign_jobs_as_unknown_ones(
    world: World, api_of: Api, worker: dict[str, str]
) -> None:
    """Both are lost; a held job of the caller's own queue is extended; one read for all."""
    foreign, own = pushed(api_of, "other"), pushed(api_of, "email")
    api_of.post("/workers/fetch", {"queues": ["other", "email"], **worker, "count": 2})
    api_of.authorizer = scoped(Scope.WORKER, queues=("email",))
    reads = len(world.faults.calls)
    beat = {**worker, "active_jobs": [foreign, own, JOB]}
    answered = api_of.post("/workers/heartbeat", beat).json
    assert (answered["jobs_extended"], answered["jobs_lost"]) == ([own], [foreign, JOB])
    assert world.faults.calls[reads:].count("load_many") == 1
    answered = api_of.post("/workers/heartbeat", {**worker, "active_jobs": [foreign]}).json
    assert (answered["state"], answered["jobs_lost"]) == ("running", [foreign])


def as_key(key_id: str, *queues: str) -> dict[str, Any]:
    """What the gateway says of a worker's key of this id."""
    permissions = permissions_of([Scope.WORKER])
    return as_caller(Caller(id=f"key:{key_id}", permissions=permissions, queues=queues))


def test_a_key_cannot_beat_as_the_worker_of_another_key(world: World, api_of: Api) -> None:
    """403: the worker's state, its directive and its jobs stay as they are."""
    theirs, foreign = as_key("1", "email"), as_key("2", "other")
    api_of.authorizer = theirs
    api_of.post("/workers/heartbeat", {"worker_id": "w", "heartbeat_interval_ms": 5000})
    world.backend.workers.service.direct("w", Directive.QUIET)
    known = world.backend.workers.service.get("w")
    for more in ({"state": "terminate", "active_jobs": []}, {"state": "quiet"}, {}):
        api_of.authorizer = foreign
        reply = api_of.post("/workers/heartbeat", {"worker_id": "w", **more})
        assert (reply.status, reply.error["code"]) == (403, "permission_denied")
        assert "key:1" not in reply.text
        assert world.backend.workers.service.get("w") == known
    api_of.authorizer = theirs
    assert api_of.post("/workers/heartbeat", {"worker_id": "w"}).json["state"] == "quiet"


def test_a_worker_id_is_free_again_when_its_worker_is_forgotten(world: World, api_of: Api) -> None:
    """It ended, an operator removed it, or it was silent for an hour."""
    for name in ("ended", "removed", "silent"):
        api_of.authorizer = as_key("1")
        api_of.post("/workers/heartbeat", {"worker_id": name})
        api_of.authorizer = as_key("2")
        assert api_of.post("/workers/heartbeat", {"worker_id": name}).status == 403
    api_of.authorizer = as_key("1")
    api_of.post("/workers/heartbeat", {"worker_id": "ended", "state": "terminate"})
    world.clock.advance(s=60)
    world.backend.workers.service.deregister("removed")
    api_of.authorizer = as_key("2")
    for name, status in (("ended", 200), ("removed", 200), ("silent", 403)):
        assert api_of.post("/workers/heartbeat", {"worker_id": name}).status == status, name
    world.clock.advance(s=3540)
    assert api_of.post("/workers/heartbeat", {"worker_id": "silent"}).status == 200


def test_results_of_foreign_jobs_are_as_if_there_were_no_such_jobs(api_of: Api) -> None:
    """Asked for together with others, too."""
    foreign, own = pushed(api_of, "other"), pushed(api_of, "email")
    api_of.authorizer = scoped(Scope.READ_ONLY, queues=("email",))
    results = api_of.post("/jobs/results", {"ids": [foreign, own, JOB]}).json["results"]
    assert results[own]["queue"] == "email"
    assert results[foreign] is results[JOB] is None


def test_a_worker_that_is_bound_to_types_fetches_nothing(api_of: Api) -> None:
    """A queue gives what it holds: only queues can bound a worker."""
    api_of.authorizer = scoped(Scope.WORKER, types=("email.send",))
    assert api_of.post("/workers/fetch", {"queues": ["email"]}).status == 403


def test_dead_letters_of_others_are_not_listed(api_of: Api) -> None:
    """Also not by a cursor or another type."""
    api_of.authorizer = scoped(Scope.READ_ONLY, queues=("email",))
    assert api_of.get("/dead-letter").status == 200
    assert api_of.get("/dead-letter", query={"queue": "other"}).status == 403
    assert api_of.get("/dead-letter", query={"queue": "email"}).status == 200
    cursor = {"queue": "email", "cursor": "other!000"}
    assert api_of.get("/dead-letter", query=cursor).status == 400
    api_of.authorizer = scoped(Scope.READ_ONLY, types=("email.send",))
    assert api_of.get("/dead-letter", query={"queue": "email"}).status == 200
    assert api_of.get("/dead-letter", query={"type": "other.type"}).status == 403


@pytest.mark.parametrize(
    "more",
    [
        {"unique": {"keys": ["type", "args"]}},
        {"unique": {"on_conflict": "replace"}},
        {"options": {"queue": "email", "unique": {"keys": ["args"], "on_conflict": "ignore"}}},
        {"unique": {"keys": ["type"]}, "unique_key": "0" * 64},
    ],
)
def test_a_job_is_not_unique_against_those_of_other_queues(
    more: dict[str, Any], api_of: Api
) -> None:
    """It would be answered with a foreign job, or replace it."""
    pushed(api_of, "other", unique={"keys": ["type", "args"]})
    api_of.authorizer = scoped(Scope.PRODUCER, queues=("email",))
    assert api_of.post("/jobs", {**BODY, "queue": "email", **more}).status == 403
    own = {"unique": {"keys": ["queue", "args"]}}
    assert api_of.post("/jobs", {**BODY, "queue": "email", **own}).status == 201


@pytest.mark.parametrize(
    ("policy", "bounds", "status"),
    [
        ({"key": "queue:other"}, {"queues": ("email",)}, 403),
        ({"key": "queue", "by": "meta.of"}, {"queues": ("email",)}, 403),
        ({"key": "queue:other:type:email.send"}, {"queues": ("email",)}, 403),
        ({"key": "type:email.send"}, {"queues": ("email",)}, 403),
        ({"key": "type:other"}, {"types": ("email.send",)}, 403),
        ({"key": "type:email.send"}, {"types": ("email.send",)}, 201),
        ({"key": "queue:email"}, {"queues": ("email",)}, 201),
        ({"key": "stripe"}, {"queues": ("email",)}, 201),
        ({}, {"queues": ("email",)}, 201),
    ],
)
def test_a_limit_is_not_counted_for_jobs_of_others(
    policy: dict[str, Any], bounds: dict[str, tuple[str, ...]], status: int, api_of: Api
) -> None:
    """A job that named the bucket of a foreign queue would use up its starts."""
    api_of.authorizer = scoped(Scope.PRODUCER, **bounds)
    job = {**BODY, "queue": "email", "meta": {"of": "other"}}
    reply = api_of.post("/jobs", {**job, "rate_limit": {"concurrency": 1, **policy}})
    assert reply.status == status
    assert status == 201 or reply.error["details"]["field"] == "rate_limit.key"


def test_a_cron_job_of_others_is_not_replaced(api_of: Api) -> None:
    """By a registration under its name."""
    entry = {"name": "nightly", "cron": "0 9 * * *", **BODY}
    api_of.authorizer = ADMIN
    assert api_of.post("/cron", {**entry, "options": {"queue": "other"}}).status == 201
    api_of.authorizer = scoped(Scope.OPERATOR, queues=("email",))
    assert api_of.post("/cron", {**entry, "options": {"queue": "email"}}).status == 403


# --------------------------------------------------------------------- other ways to be known


def test_the_scopes_of_a_token_are_those_with_the_prefix() -> None:
    """JWT: from the claim that the settings name, however the gateway writes it."""
    world = World(settings=Settings(auth="jwt"))
    api = Api(world.backend)
    for claims, status in (
        ({"sub": "u", "scope": "openid ojs:producer"}, 201),
        ({"sub": "u", "scope": "[openid ojs:operator]"}, 201),
        ({"client_id": "u", "scope": "ojs:producer"}, 201),
        ({"sub": "u", "scope": "producer"}, 403),
        ({"sub": "u"}, 403),
        ({"sub": "u", "scope": "ojs:worker ojs:read-only"}, 403),
        ({"sub": "u", "scope": "ojs:producer", "ojs_queues": "email"}, 403),
        ({"sub": "u", "scope": "ojs:producer", "ojs_queues": "[email default]"}, 201),
        ({"sub": "u", "scope": "ojs:producer", "ojs_queues": "[]"}, 403),
        ({"sub": "u", "scope": "ojs:producer", "ojs_types": ""}, 403),
        ({"scope": "ojs:producer"}, 401),
    ):
        api.authorizer = {"jwt": {"claims": claims, "scopes": None}}
        assert api.post("/jobs", BODY).status == status, claims
    api.authorizer = as_caller(Caller(id="key:1"))
    assert api.post("/jobs", BODY).status == 401


def test_claim_and_prefix_can_be_chosen() -> None:
    """As other issuers write them."""
    chosen = Settings(auth="jwt", auth_scope_claim="cognito:groups", auth_scope_prefix="jobs/")
    api = Api(World(settings=chosen).backend)
    api.authorizer = {"jwt": {"claims": {"sub": "u", "cognito:groups": "[jobs/producer]"}}}
    assert api.post("/jobs", BODY).status == 201


def test_principals_of_iam_have_the_scopes_that_the_settings_give_them() -> None:
    """The closest ARN counts; who is not named may do nothing."""
    role = "arn:aws:sts::1:assumed-role/"
    scopes = ((f"{role}Shop/boss", ("operator",)), (f"{role}Shop/*", ("producer",)))
    api = Api(World(settings=Settings(auth="iam", iam_scopes=scopes)).backend)
    for name, pushes, reads in (
        ("Shop/a", 201, 403),
        ("Shop/boss", 201, 404),
        ("Shop2/a", 403, 403),
    ):
        api.authorizer = {"iam": {"userArn": role + name}}
        assert api.post("/jobs", BODY).status == pushes
        assert api.get(f"/jobs/{JOB}").status == reads


@pytest.mark.parametrize("auth", ["iam", "gateway"])
def test_who_passed_the_gateways_own_check_is_known_by_it(auth: str) -> None:
    """IAM has decided by route; an authorizer of one's own, as it likes."""
    api = Api(World(settings=Settings(auth=auth)).backend)
    api.authorizer = {}
    assert api.post("/jobs", BODY).status == 401
    api.authorizer = {"iam": {"userArn": "arn:aws:sts::1:assumed-role/r/s"}}
    assert api.post("/jobs", BODY).status == 201


names = st.from_regex(r"[a-z][a-z0-9-]{0,6}", fullmatch=True)


@settings(max_examples=60, deadline=None)
@given(own=names, asked=names, scope=st.sampled_from(Scope))
def test_no_queue_is_reached_across_bounds(own: str, asked: str, scope: Scope) -> None:
    """Whatever the names: a push lands if and only if scope and bounds allow it."""
    world = World(settings=Settings(auth="api-key"))
    api = Api(world.backend)
    api.authorizer = scoped(scope, queues=(own,))
    reply = api.post("/jobs", {**BODY, "queue": asked})
    may = Permission.ENQUEUE in GRANTS[scope] and asked == own
    assert (reply.status == 201) is may
    assert bool(world.stored.jobs) is may


# --------------------------------------------------------------------------------------- logs


def test_sec_018_refusals_are_logged_with_who_and_what_without_secrets() -> None:
    """SEC-018, and section 11: structured; of a credential its id only."""
    lines = io.StringIO()
    logger = Logger(service="audit", level="DEBUG", stream=lines)
    api = Api(World(settings=Settings(auth="api-key")).backend, logger)
    text = "ojs_0123456789abcdef_" + "S" * 43
    headers = {"authorization": f"Bearer {text}", "x-request-id": "req-1"}
    api.authorizer = {"lambda": verdict_context(Verdict(None, Refusal.UNKNOWN, "0123456789abcdef"))}
    replies = [api.post("/jobs", BODY, headers=headers)]
    api.authorizer = scoped(Scope.READ_ONLY)
    replies.append(api.post("/jobs", BODY, headers=headers))
    api.authorizer = scoped(Scope.PRODUCER)
    replies.append(api.post("/jobs", BODY, headers=headers))
    logged = [json.loads(line) for line in lines.getvalue().splitlines()]
    failed, denied = (line for line in logged if line["message"] == "Access refused")
    assert (failed["event_type"], failed["outcome"]) == ("authentication.failed", "failure")
    assert (denied["event_type"], denied["principal"]) == ("authorization.denied", "key:1")
    assert denied["detail"]["operation"] == "push"
    assert denied["source_ip"] == "127.0.0.1"
    assert denied["correlation_id"] == "req-1"
    answered = [line for line in logged if line["message"] == "Request answered"]
    assert [line.get("principal") for line in answered] == [None, "key:1", "key:1"]
    everywhere = lines.getvalue() + "".join(reply.text + str(reply.headers) for reply in replies)
    assert "SSSS" not in everywhere
    assert "Bearer ojs_" not in everywhere


def test_a_bound_worker_names_jobs_like_any_other(world: World, api_of: Api) -> None:
    """What is no job's id, or too many of them, is refused before anything is read."""
    api_of.authorizer = scoped(Scope.WORKER, queues=("email",))
    for ids in (["x"], [""], [JOB[:-4] + f"{each:04x}" for each in range(5000)]):
        reads = len(world.faults.calls)
        reply = api_of.post("/workers/heartbeat", {"worker_id": "w", "active_jobs": ids})
        assert reply.status == 400, ids[0]
        assert world.faults.calls[reads:].count("load_many") == 0
