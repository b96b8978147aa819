"""Limits of API clients over HTTP (HTTP binding, section 18; ojs-rate-limiting, section 10.4)."""

from __future__ import annotations

from ojs_aws.config import Settings
from tests.api import Api
from tests.simulation.world import World

PUSH = {"type": "demo.echo", "args": []}


def limited(**settings: str) -> tuple[World, Api]:
    """A world whose clients may make two requests at once, and one a second."""
    environ = {"OJS_CLIENT_RATE_PER_S": "1", "OJS_CLIENT_BURST": "2", **settings}
    world = World(settings=Settings.from_env(environ))
    return world, Api(world.backend)


def test_sec_014_one_request_too_many_is_refused_with_when_to_come_again() -> None:
    """429 as both documents have it; nothing was done, and the client may come again."""
    world, api = limited()
    now_s = world.clock.at // 1000
    for left in ("1", "0"):
        reply = api.post("/jobs", PUSH)
        assert reply.status == 201
        assert reply.headers["X-RateLimit-Limit"] == "2"
        assert reply.headers["X-RateLimit-Remaining"] == left
    refused = api.post("/jobs", PUSH)
    assert refused.status == 429
    assert refused.headers["Retry-After"] == "1"
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    assert int(refused.headers["X-RateLimit-Reset"]) == now_s + 1
    assert (refused.error["code"], refused.error["retryable"]) == ("rate_limited", True)
    assert refused.error["details"]["retry_after_seconds"] == 1
    assert len(world.stored.jobs) == 2
    world.clock.advance(s=1)
    assert api.post("/jobs", PUSH).status == 201


def test_every_answer_has_the_headers() -> None:
    """Errors, too."""
    _, api = limited()
    for reply in (api.post("/jobs", {"type": "NOT ONE"}), api.get("/jobs/unknown")):
        assert reply.status in {400, 404}
        assert {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} <= {
            *reply.headers
        }


def test_each_credential_is_limited_by_itself() -> None:
    """Whatever address it comes from; one that is unknown is refused before it is counted."""
    world, api = limited(OJS_AUTH="jwt", OJS_AUTH_SCOPE_CLAIM="scope")
    for subject in ("alice", "bob"):
        claims = {"sub": subject, "scope": "ojs:admin"}
        api.authorizer = {"jwt": {"claims": claims, "scopes": None}}
        statuses = [api.get("/queues").status for _ in range(3)]
        assert statuses == [200, 200, 429], subject
    assert set(world.stored.clients) == {"jwt:alice", "jwt:bob"}
    api.authorizer = {}
    assert api.get("/queues").status == 401
    assert len(world.stored.clients) == 2


def test_health_and_manifest_are_never_refused() -> None:
    """Who watches the server must not be kept out by it."""
    _, api = limited()
    assert {api.get("/health").status for _ in range(5)} == {200}
    assert {api.send("GET", "/ojs/manifest").status for _ in range(5)} == {200}


def test_there_are_no_headers_where_clients_have_no_limit(api: Api) -> None:
    """Section 18.1: servers that do not enforce a limit omit them."""
    assert "X-RateLimit-Limit" not in api.get("/queues").headers
