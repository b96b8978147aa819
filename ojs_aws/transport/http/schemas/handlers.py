"""Handles the schema registry (ojs-schema-registry, 10; HTTP binding, 15; job versioning, 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NotRequired
from urllib.parse import quote

from typing_extensions import TypedDict

from ojs_aws.domain.attributes import invalid, not_found
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.lists import ListTotal
from ojs_aws.domain.json_text import Member, RawJson
from ojs_aws.domain.schemas import (
    SchemaEntry,
    SchemaVersion,
    check_schema_version,
    version_in_path,
)
from ojs_aws.domain.schemas import SchemaName as StoredName
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.schemas.registry import SchemaRegistration, unknown_schema
from ojs_aws.transport.http.answers import JsonObject, Pagination, Timestamp
from ojs_aws.transport.http.calls import CREATED, OK, Answer, Call, JsonOf, json_of
from ojs_aws.transport.http.queries import read_mark, requested_page, write_mark
from ojs_aws.transport.http.routes import BASE, canonical_path

_ADMIN: Final = f"{BASE}/admin/"
_MARK: Final = "s:"


class SchemaName(TypedDict):
    """Names a version of a job type's schema."""

    uri: str
    type: str
    job_type: str
    version: str | int
    created_at: Timestamp
    is_latest: NotRequired[bool]


class SchemaRecord(SchemaName):
    """Shows a version with its schema, as the admin API does."""

    schema: JsonOf[JsonObject]


class SchemaAnswer(SchemaName):
    """Shows a version with its schema; ``schema`` wraps the record in the HTTP binding."""

    schema: JsonOf[SchemaRecord] | JsonOf[JsonObject]


class SchemasAnswer(TypedDict):
    """Shows a page of all versions of all types."""

    schemas: JsonOf[list[SchemaName]]
    items: JsonOf[list[SchemaName]]
    pagination: Pagination


class SchemaVersionsAnswer(TypedDict):
    """Shows the versions of a type, the newest first."""

    type: str
    job_type: str
    versions: list[SchemaName]
    count: int


class SchemaDeletedAnswer(SchemaName):
    """Names the version that was removed."""

    deleted: bool


def list_schemas(call: Call) -> Answer[SchemasAnswer]:
    """Return all versions of all types, newest first within a type."""
    wanted = requested_page(call.request.query)
    there, view = call.backend.schemas.registry.everything(), call.request.caller.view
    names = [name for name in there if view.shows_type(name.type)]
    after = read_mark(_MARK, wanted.cursor)
    keys = [name.uri for name in names]
    start = (keys.index(after) + 1 if after in keys else len(keys)) if after else 0
    shown = names[start + wanted.offset :][: wanted.limit]
    is_last = start + wanted.offset + len(shown) >= len(names)
    mark = write_mark(_MARK, "" if is_last or not shown else shown[-1].uri)
    return Answer(schemas_answer(shown, wanted.pagination(ListTotal(len(names)), mark)))


def register_schema(call: Call) -> Answer[SchemaAnswer]:
    """Register a schema; an existing version cannot be registered again."""
    entry = call.backend.schemas.registry.register(read_schema(call.members()), call.actor)
    return Answer(_shown(call, entry), CREATED, _location(entry))


def put_schema(call: Call) -> Answer[SchemaAnswer]:
    """Register the schema of a version (201); exactly the same again changes nothing (200)."""
    wanted = read_put_schema(call.members(), call.named("type"), _version(call))
    entry, is_new = call.backend.schemas.registry.put(wanted, call.actor)
    return Answer(_shown(call, entry), CREATED if is_new else OK, _location(entry))


def get_schema(call: Call) -> Answer[SchemaAnswer]:
    """Return the schema of a URI, or of a type's latest version."""
    name = call.named("name")
    registry = call.backend.schemas.registry
    if ":" not in name:
        _check_type(call, name)
        return Answer(_shown(call, registry.latest(name)))
    entry = registry.by_uri(name)
    if not call.request.caller.view.shows_type(entry.type):
        raise unknown_schema(name)
    return Answer(_shown(call, entry))


def get_schema_version(call: Call) -> Answer[SchemaAnswer]:
    """Return the schema of one version."""
    _check_type(call, call.named("type"))
    entry = call.backend.schemas.registry.version(call.named("type"), _version(call))
    return Answer(_shown(call, entry))


def list_schema_versions(call: Call) -> Answer[SchemaVersionsAnswer]:
    """Return the versions of a type, the newest first."""
    _check_type(call, call.named("type"))
    return Answer(versions_answer(call.backend.schemas.registry.versions(call.named("type"))))


def delete_schema(call: Call) -> Answer[SchemaDeletedAnswer]:
    """Remove the schema of a URI."""
    name = call.named("name")
    if ":" not in name:
        hint = "DELETE /ojs/v1/schemas/<type>/<version> removes one version of a type."
        raise not_found("schema", name[:255], f"'{name[:200]}' is no URI of a schema.", hint)
    return Answer(deleted_answer(call.backend.schemas.registry.delete_uri(name)))


def delete_schema_version(call: Call) -> Answer[SchemaDeletedAnswer]:
    """Remove one version."""
    return Answer(
        deleted_answer(call.backend.schemas.registry.delete(call.named("type"), _version(call)))
    )


def _check_type(call: Call, job_type: str) -> None:
    """Refuse a job type outside the caller's bounds."""
    call.request.caller.check_type(job_type)


def _shown(call: Call, entry: SchemaEntry) -> SchemaAnswer:
    is_admin = canonical_path(call.request.path).startswith(_ADMIN)
    return schema_answer(entry, is_admin=is_admin)


def _location(entry: SchemaEntry) -> dict[str, str]:
    return {"Location": f"{BASE}/schemas/{entry.type}/{quote(str(entry.version), safe='')}"}


def _version(call: Call) -> SchemaVersion:
    return version_in_path(call.named("version"))


def read_schema(members: Mapping[str, Member]) -> SchemaRegistration:
    """Return the registration in a body."""
    schema = _given(members, "schema", "args_schema")
    return SchemaRegistration(
        type=_value(members, "type", "job_type"),
        version=_value(members, "version"),
        uri=_value(members, "uri"),
        schema=None if schema is None else schema.value,
        text=RawJson("null") if schema is None else schema.raw,
    )


def read_put_schema(
    members: Mapping[str, Member], job_type: str, version: SchemaVersion
) -> SchemaRegistration:
    """Return the registration in a body whose path names the type and the version.

    :raises InvalidRequestError: the body names others.
    """
    wanted = read_schema(members)
    if wanted.type not in (None, job_type):
        raise invalid("type", f"'{job_type}', as the path says", wanted.type)
    if wanted.version is not None:
        same = str(check_schema_version(wanted.version)) == str(version)
        if not same:
            raise invalid("version", f"'{version}', as the path says", wanted.version)
    return SchemaRegistration(
        type=job_type,
        version=version if wanted.version is None else wanted.version,
        uri=wanted.uri,
        schema=wanted.schema,
        text=wanted.text,
    )


def _given(members: Mapping[str, Member], *names: str) -> Member | None:
    found = (members[name] for name in names if name in members)
    return next((member for member in found if member.value is not None), None)


def _value(members: Mapping[str, Member], *names: str) -> JsonValue:
    member = _given(members, *names)
    return None if member is None else member.value


def described(name: StoredName) -> SchemaName:
    """Return a version without its schema."""
    return {
        "uri": name.uri,
        "type": name.type,
        "job_type": name.type,
        "version": name.version,
        "created_at": format_instant(name.created_at),
    }


def schema_answer(entry: SchemaEntry, *, is_admin: bool) -> SchemaAnswer:
    """Return one schema: in the wrapper of the binding, or as the admin API shows it."""
    named = described(entry)
    record: SchemaRecord = {**named, "schema": JsonOf(entry.schema)}
    return {**named, "schema": record["schema"] if is_admin else json_of(record)}


def versions_answer(names: Sequence[StoredName]) -> SchemaVersionsAnswer:
    """Return the versions of a type, the newest first."""
    versions = [described(name) for name in names]
    for position, version in enumerate(versions):
        version["is_latest"] = position == 0
    job_type = names[0].type
    return {"type": job_type, "job_type": job_type, "versions": versions, "count": len(versions)}


def schemas_answer(names: Sequence[StoredName], pagination: Pagination) -> SchemasAnswer:
    """Return a page of all versions."""
    items = json_of([described(name) for name in names])
    return {"schemas": items, "items": items, "pagination": pagination}


def deleted_answer(name: StoredName) -> SchemaDeletedAnswer:
    """Return what was removed."""
    return {"deleted": True, **described(name)}
