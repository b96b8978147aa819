"""The schema registry over HTTP, and the arguments of jobs that name a schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.columns import packed
from ojs_aws.adapters.dynamodb.names import DOCUMENT
from ojs_aws.adapters.dynamodb.schemas import SCHEMA_SK
from ojs_aws.transport.http.routes import BASE
from tests.api import Api, Reply
from tests.simulation.world import World

EMAIL = {
    "type": "array",
    "prefixItems": [{"type": "string", "minLength": 3}, {"type": "integer"}],
    "minItems": 1,
}
URI = "urn:ojs:schema:email.send:v1"


def register(api: Api, version: int | str = 1, **more: Any) -> Any:
    """A registration's answer."""
    body = {"type": "email.send", "version": version, "schema": EMAIL, **more}
    reply = api.post("/schemas", body)
    assert reply.status == 201, reply.text
    return reply.json


def push(api: Api, *args: Any, **more: Any) -> Any:
    """A push of a job that names the schema."""
    return api.post("/jobs", {"type": "email.send", "args": [*args], "schema": URI, **more})


def test_sr_001_the_form_of_the_binding(api: Api) -> None:
    """Section 15.2: by URI, in a wrapper."""
    answer = register(api, uri="urn:ojs:schema:mine:v1")
    wanted = {"uri": "urn:ojs:schema:mine:v1", "type": "email.send", "version": 1, "schema": EMAIL}
    assert {name: answer["schema"][name] for name in wanted} == wanted
    assert answer["schema"]["created_at"].endswith("Z")
    read = api.get("/schemas/urn%3Aojs%3Aschema%3Amine%3Av1").json
    assert read["schema"] == answer["schema"]
    deleted = api.delete("/schemas/urn%3Aojs%3Aschema%3Amine%3Av1")
    assert (deleted.status, deleted.json["deleted"], deleted.json["uri"]) == (
        200,
        True,
        "urn:ojs:schema:mine:v1",
    )
    assert api.get("/schemas/urn%3Aojs%3Aschema%3Amine%3Av1").status == 404


def test_the_form_of_the_registry(api: Api) -> None:
    """Section 4: ``job_type``, and versions as text."""
    body = {"job_type": "invoice.generate", "version": "2.0.0", "schema": {"type": "object"}}
    reply = api.post("/schemas", body)
    assert reply.status == 201
    assert reply.json["schema"]["job_type"] == "invoice.generate"
    assert reply.json["schema"]["version"] == "2.0.0"
    assert reply.headers["Location"] == "/ojs/v1/schemas/invoice.generate/2.0.0"


def test_the_form_of_job_versioning(api: Api) -> None:
    """Its section 6.1: PUT, ``args_schema``; and the number of the path is a number."""
    path = f"{BASE}/admin/schemas/invoice.generate"
    body = {"type": "invoice.generate", "version": "2.0", "args_schema": EMAIL}
    first = api.send("PUT", f"{path}/2.0", body)
    assert (first.status, first.json["version"], first.json["schema"]) == (201, "2.0", EMAIL)
    assert api.send("PUT", f"{path}/3", {"schema": EMAIL}).json["version"] == 3
    assert api.send("PUT", f"{path}/2.0", body).status == 200
    other = api.send("PUT", f"{path}/2.0", {"schema": {"type": "array"}})
    assert (other.status, other.json["error"]["code"]) == (409, "conflict")
    assert api.send("PUT", f"{path}/4", {"schema": EMAIL, "version": 5}).status == 400
    assert api.send("PUT", f"{path}/4", {"schema": EMAIL, "type": "other"}).status == 400
    assert api.send("GET", f"{path}/3").json["uri"] == "urn:ojs:schema:invoice.generate:v3"


def test_sr_002_sr_003_versions_are_ordered_as_semver_says(api: Api) -> None:
    """Section 6.3; the latest is the one of the highest precedence, not the last registered."""
    for version in ("1.10.0", "1.9.0", "2.0.0-rc.1", 1, "2.0.0", "2.0.0-rc.2"):
        register(api, version)
    listed = api.get("/schemas/email.send/versions").json["versions"]
    order = ["2.0.0", "2.0.0-rc.2", "2.0.0-rc.1", "1.10.0", "1.9.0", 1]
    assert [one["version"] for one in listed] == order
    assert [one["is_latest"] for one in listed] == [True] + [False] * 5
    assert api.get("/schemas/email.send").json["schema"]["version"] == "2.0.0"
    assert api.get("/schemas/nobody/versions").status == 404


def test_sr_004_a_version_is_deleted(api: Api) -> None:
    """And found no more."""
    register(api, 1)
    register(api, 2)
    assert api.delete("/schemas/email.send/2").json["deleted"] is True
    assert api.get("/schemas/email.send").json["version"] == 1
    assert api.delete("/schemas/email.send/2").status == 404
    assert api.delete("/schemas/email.send").status == 404


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        [],
        True,
        {"type": "nonsense"},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"$ref": "https://example.com/schema.json"},
        {"items": {"pattern": "(a|aa)+$"}},
        {"items": {"pattern": "("}},
        {"items": {"pattern": "a{99999999999}"}},
        {"$id": "http://[bad"},
    ],
)
def test_sr_005_what_is_no_schema_is_refused(api: Api, schema: Any) -> None:
    """Nothing is stored, and nothing is downloaded."""
    reply = api.post("/schemas", {"type": "email.send", "version": 1, "schema": schema})
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalid_request")
    assert reply.json["error"]["details"]["field"] == "schema"
    assert api.get("/schemas").json["schemas"] == []


def test_other_members_are_checked(api: Api) -> None:
    """The error names the member."""
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"version": "two"}, "version"),
        ({"version": -1}, "version"),
        ({"version": None}, "version"),
        ({"type": "No Type"}, "type"),
        ({"uri": "not a uri"}, "uri"),
        ({"uri": "http://[bad"}, "uri"),
        ({"uri": "http://x:port/"}, "uri"),
    ]
    for more, field in wrong:
        body = {"type": "email.send", "version": 1, "schema": EMAIL, **more}
        reply = api.post("/schemas", body)
        assert reply.status == 400, more
        assert reply.json["error"]["details"]["field"] == field
    large = {"type": "array", "description": "x" * 70_000}
    reply = api.post("/schemas", {"type": "email.send", "version": 1, "schema": large})
    assert reply.status == 413


def test_sr_006_a_version_is_registered_once(api: Api) -> None:
    """Section 4.1; the answer says what there is."""
    register(api)
    reply = api.post("/schemas", {"type": "email.send", "version": "1", "schema": EMAIL})
    assert (reply.status, reply.json["error"]["details"]["uri"]) == (409, URI)


def test_schemas_are_listed_in_pages(api: Api) -> None:
    """Each once, by type and version."""
    for job_type in ("b", "a"):
        for version in (1, 2):
            register(api, version, type=job_type)
    found: list[tuple[str, int]] = []
    cursor = ""
    while True:
        page = api.get("/schemas", query={"limit": "3", "cursor": cursor}).json
        found += [(one["type"], one["version"]) for one in page["schemas"]]
        if not page["pagination"]["has_more"]:
            break
        cursor = page["pagination"]["next_cursor"]
    assert found == [("a", 2), ("a", 1), ("b", 2), ("b", 1)]


def test_sr_r001_env_051_arguments_are_checked(api: Api, world: World) -> None:
    """422, nothing stored, errors that point into the arguments and hold none of them."""
    register(api)
    assert push(api, "ada@example.com", 1).status == 201
    stored = len(world.stored.jobs)
    reply = push(api, "no", "secret")
    assert (reply.status, reply.json["error"]["code"]) == (422, "schema_validation")
    errors = reply.json["error"]["details"]["validation_errors"]
    assert [error["pointer"] for error in errors] == ["/args/0", "/args/1"]
    assert "secret" not in reply.text
    batch = {"jobs": [{"type": "email.send", "args": [1], "schema": URI}]}
    assert api.post("/jobs/batch", batch).json["error"]["details"]["index"] == 0
    assert len(world.stored.jobs) == stored


def test_env_052_a_schema_that_nobody_registered_says_nothing(api: Api) -> None:
    """It is kept with the job. One that is registered counts after seconds."""
    assert push(api, 1).json["job"]["schema"] == URI


def test_a_schema_of_objects_describes_the_only_argument(api: Api) -> None:
    """As the registry's examples have it; references mean what they did."""
    schema = {
        "type": "object",
        "required": ["to"],
        "properties": {"to": {"$ref": "#/$defs/name"}},
        "$defs": {"name": {"type": "string"}},
    }
    register(api, schema=schema)
    assert push(api, {"to": "ada"}).status == 201
    args: list[Any]
    for args in ([{"to": 1}], [{}], [], [{"to": "a"}, {"to": "b"}], ["a"]):
        assert push(api, *args).status == 422, args


def test_the_lists_of_older_drafts_are_understood(api: Api) -> None:
    """``items`` as a list, where no draft is named; and it stays as it was written."""
    schema = {"type": "array", "items": [{"type": "string"}], "additionalItems": False}
    assert register(api, schema=schema)["schema"]["schema"] == schema
    assert push(api, "a").status == 201
    assert push(api, "a", "b").status == push(api, 1).status == 422


def test_encrypted_arguments_are_not_checked(api: Api) -> None:
    """Nobody here can read them."""
    register(api)
    meta = {"ojs.codec.encodings": ["binary/encrypted"]}
    assert push(api, 1, meta=meta).status == 201


def test_schemas_are_kept_for_a_time(api: Api, world: World) -> None:
    """A known one for a minute, an unknown one for seconds."""
    assert push(api, 1).status == 201
    register(api)
    assert push(api, 1).status == 201
    world.clock.at += 5_000
    assert push(api, 1).status == 422
    api.delete("/schemas/email.send/1")
    assert push(api, 1).status == 422
    world.clock.at += 60_000
    assert push(api, 1).status == 201


def test_a_schema_cannot_stall_a_push(api: Api) -> None:
    """Work that doubles at each of sixty levels is given up."""
    defs: dict[str, Any] = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(30)
    }
    defs["d30"] = {"type": "array"}
    register(api, schema={"$ref": "#/$defs/d0", "$defs": defs})
    reply = push(api, "a")
    assert reply.status == 422
    assert "too involved" in reply.text


def insisting(api: Api, *args: Any, **members: Any) -> Reply:
    """Push a job that insists on being validated."""
    body = {"type": "email.send", "args": args, "meta": {"ojs_validate": True}, **members}
    return api.post("/jobs", body)


def test_a_job_that_insists_on_validation_is_refused_without_a_schema(api: Api) -> None:
    """EXT-MW-002: nothing could say that its arguments are right."""
    reply = insisting(api)
    assert (reply.status, reply.error["code"]) == (422, "schema_validation")
    assert "no schema" in reply.error["message"]
    assert insisting(api, schema="urn:none").status == 422
    assert (
        api.post("/jobs", {"type": "a.b", "args": [], "meta": {"x": "ojs_validate"}}).status == 201
    )


def test_it_is_checked_by_its_version_else_by_the_latest_of_its_type(
    api: Api, world: World
) -> None:
    """Job versioning, section 6.2; without naming a URI. A new version is seen within a minute."""
    short, long = ({"type": "array", "maxItems": 1}, {"type": "array", "minItems": 2})
    register(api, 1, schema=short)
    assert insisting(api, 1).status == 201
    assert insisting(api, 1, 2).status == 422
    register(api, 2, schema=long)
    world.clock.advance(s=61)
    assert insisting(api, 1, 2).status == 201
    assert insisting(api, 1, version=1).status == 201
    assert insisting(api, 1, version=2).status == 422
    assert insisting(api, 1, version=3).status == 422


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "array", "items": {"$id": "//["}}, "/items/$id"),
        ({"type": "array", "prefixItems": [{"not": {"$id": "//["}}]}, "/prefixItems/0/not/$id"),
        ({"type": "object", "properties": {"a/b": {"$id": "//["}}}, "/properties/a~1b/$id"),
        ({"type": "array", "items": [{"$id": "//["}]}, "/items/0/$id"),
        ({"type": "array", "$defs": {"x": {"$ref": "//["}}}, "/$defs/x/$ref"),
        ({"type": "array", "$id": "//["}, "/$id"),
        ({"type": "array", "items": {"multipleOf": 10**400}}, "/items/multipleOf"),
    ],
)
def test_a_schema_that_no_check_could_follow_is_refused(
    api: Api, schema: dict[str, Any], place: str
) -> None:
    """At its registration, and with the place of what cannot be read."""
    reply = api.post("/schemas", {"type": "email.send", "version": 1, "schema": schema})
    assert (reply.status, reply.error["details"]["field"]) == (400, "schema")
    assert f" at {place}: " in reply.error["message"]
    assert api.get("/schemas").json["schemas"] == []


def test_what_is_no_schema_within_a_schema_is_not_looked_at(api: Api) -> None:
    """Values, and keywords that nobody knows, may hold anything."""
    odd = {"$id": "//[", "multipleOf": 10**400}
    register(api, schema={"type": "array", "items": {"enum": [odd]}, "default": odd, "x-own": odd})
    assert push(api, odd).status == 201


def test_a_number_of_a_schema_that_is_no_double_is_refused(api: Api) -> None:
    """As in every other body."""
    text = '{"type":"a.b","version":1,"schema":{"type":"array","items":{"multipleOf":1e400}}}'
    reply = api.post("/schemas", text)
    assert (reply.status, reply.error["code"]) == (400, "invalid_payload")
    assert "1e400" in reply.error["message"]


def test_a_stored_schema_that_cannot_be_followed_refuses_jobs(api: Api, world: World) -> None:
    """One from before such were refused: it is no fault of the server."""
    part = {"not": {"$id": "//[", "properties": {"b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}}}
    register(api)
    text = json.dumps({"type": "array", "items": part})
    for key, item in [*world.table.items.rows.items()]:
        if key[1] == SCHEMA_SK:
            world.table.write(key, {**item, DOCUMENT: packed(text)})
    reply = push(api, {"b": 1})
    assert (reply.status, reply.error["code"]) == (422, "schema_validation")
    assert push(api, "fine").status in {201, 422}
