"""API keys over HTTP: who may list and revoke them, and what never leaves the table."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Caller, Scope, permissions_of
from ojs_aws.domain.conflicts import StaleKeyError
from ojs_aws.services.access.api_keys import Authentication, IssuedKey, KeyIssuer, Verdict
from ojs_aws.transport.http.callers import verdict_context
from ojs_aws.transport.http.route import Group
from tests.api import Api
from tests.simulation.world import World

PATH = "/admin/api-keys"


@pytest.fixture
def world() -> World:
    """A deployment with API keys and a limit for clients."""
    return World(settings=Settings(auth="api-key", client_rate_per_s=1))


@pytest.fixture
def api(world: World) -> Api:
    """Its functions; the caller is an administrator at first."""
    api = Api(world.backend)
    api.authorizer = caller(Scope.ADMIN)
    return api


def caller(scope: Scope, **bounds: tuple[str, ...]) -> dict[str, Any]:
    """What the gateway says of a caller."""
    found = Caller(id="key:1", permissions=permissions_of([scope]), **bounds)  # type: ignore[arg-type]
    return {"lambda": verdict_context(Verdict(found))}


def issuer(world: World) -> KeyIssuer:
    """What makes keys; no function does."""
    return KeyIssuer(world.api_keys, world.clock, secrets.token_bytes)


def create(world: World, name: str = "checkout", **more: Any) -> IssuedKey:
    """Make a key; a second passes."""
    issued = issuer(world).create(name, [Scope.PRODUCER], **more)
    world.clock.advance(s=1)
    return issued


def test_keys_are_listed_without_what_could_be_used(world: World, api: Api) -> None:
    """Neither their secrets nor the hashes of these."""
    issued = create(world, queues=["email"], types=["email.*"], lasts_ms=60_000)
    rotated = issuer(world).rotate(issued.key.id)
    reply = api.get(PATH)
    (shown,) = reply.json["api_keys"]
    assert (shown["id"], shown["name"], shown["state"]) == (issued.key.id, "checkout", "valid")
    assert (shown["scopes"], shown["queues"], shown["types"]) == (
        ["producer"],
        ["email"],
        ["email.*"],
    )
    assert [each.keys() for each in shown["secrets"]] == [
        {"created_at"},
        {"created_at", "expires_at"},
    ]
    kept = world.stored.api_keys[issued.key.id].secrets
    hidden = [issued.text, rotated.text, *(each.digest for each in kept)]
    assert not any(each in reply.text for each in hidden)
    world.clock.advance(s=60)
    assert api.get(PATH).json["api_keys"][0]["state"] == "expired"


def test_a_revoked_key_is_refused_and_may_be_revoked_again(world: World, api: Api) -> None:
    """An answer may be lost; the time of the first revocation stays."""
    issued = create(world)
    authenticate = Authentication(world.api_keys, world.clock)
    assert authenticate(f"Bearer {issued.text}").caller is not None
    first = api.post(f"{PATH}/{issued.key.id}/revoke")
    assert (first.status, first.json["api_key"]["state"]) == (200, "revoked")
    assert authenticate(f"Bearer {issued.text}").caller is None
    world.clock.advance(s=5)
    assert api.post(f"{PATH}/{issued.key.id}/revoke").json == first.json
    digest = issued.key.secrets[0].digest
    assert digest not in first.text


def test_keys_are_listed_page_by_page(world: World, api: Api) -> None:
    """By id, each once; a cursor of another list is refused."""
    ids = sorted(create(world, f"key {number}").key.id for number in range(5))
    seen: list[str] = []
    query = {"limit": "2"}
    while True:
        page = api.get(PATH, query=query).json
        seen += [each["id"] for each in page["api_keys"]]
        if not page["has_more"]:
            break
        query["cursor"] = page["next_cursor"]
    assert seen == ids
    assert api.get(PATH, query={"cursor": "x"}).status == 400


def test_what_is_no_key_cannot_be_revoked(api: Api) -> None:
    """404."""
    for key_id in ("0123456789abcdef", "x", "a%2Fb"):
        assert api.post(f"{PATH}/{key_id}/revoke").status == 404


def test_a_key_that_somebody_changes_meanwhile_is_a_conflict(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written; who asks again revokes what there is then."""
    issued = create(world)

    def refuse(_: object) -> None:
        raise StaleKeyError

    monkeypatch.setattr(world.api_keys, "save", refuse)
    assert api.post(f"{PATH}/{issued.key.id}/revoke").status == 409


@pytest.mark.parametrize("scope", Scope)
def test_only_administrators_see_and_revoke_keys(world: World, api: Api, scope: Scope) -> None:
    """Bound to nothing."""
    issued = create(world)
    api.authorizer = caller(scope)
    expected = 200 if scope is Scope.ADMIN else 403
    assert api.get(PATH).status == expected
    assert api.post(f"{PATH}/{issued.key.id}/revoke").status == expected
    for bounds in ({"queues": ("email",)}, {"types": ("email.*",)}):
        api.authorizer = caller(scope, **bounds)
        assert api.get(PATH).status == 403
        assert api.post(f"{PATH}/{issued.key.id}/revoke").status == 403


def test_a_deployment_without_keys_has_no_such_operation(world: World) -> None:
    """The gateway has no route to them then: the system's function answers."""
    api = Api(world.backend)
    api.authorizer = caller(Scope.ADMIN)
    api.handlers.update(dict.fromkeys(Group, api.handlers[Group.SYSTEM]))
    reply = api.get(PATH)
    assert (reply.status, reply.error["code"]) == (404, "not_found")
    assert api.delete(PATH).status == 405
