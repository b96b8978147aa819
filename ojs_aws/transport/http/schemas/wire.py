"""Reads and writes schemas in the forms of the registry, the binding and the admin API.

The type is ``type`` or ``job_type``, the schema ``schema`` or ``args_schema``. The binding names a
schema by its URI and answers in a wrapper; the admin API names it by type and version, and its
answer is the schema's record itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import Member, RawJson
from ojs_aws.domain.schemas.schema import (
    SchemaEntry,
    SchemaName,
    SchemaVersion,
    check_schema_version,
)
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.schemas.registry import SchemaRegistration
from ojs_aws.transport.http.json_of import JsonOf, json_of

if TYPE_CHECKING:
    from ojs_aws.transport.http.answers import Pagination
    from ojs_aws.transport.http.schemas import answers
    from ojs_aws.transport.http.schemas.answers import SchemaName as ShownName


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


def described(name: SchemaName) -> ShownName:
    """Return a version without its schema."""
    return {
        "uri": name.uri,
        "type": name.type,
        "job_type": name.type,
        "version": name.version,
        "created_at": format_instant(name.created_at),
    }


def schema_answer(entry: SchemaEntry, *, is_admin: bool) -> answers.SchemaAnswer:
    """Return one schema: in the wrapper of the binding, or as the admin API shows it."""
    named = described(entry)
    record: answers.SchemaRecord = {**named, "schema": JsonOf(entry.schema)}
    return {**named, "schema": record["schema"] if is_admin else json_of(record)}


def versions_answer(names: Sequence[SchemaName]) -> answers.SchemaVersionsAnswer:
    """Return the versions of a type, the newest first."""
    versions = [described(name) for name in names]
    for position, version in enumerate(versions):
        version["is_latest"] = position == 0
    job_type = names[0].type
    return {"type": job_type, "job_type": job_type, "versions": versions, "count": len(versions)}


def schemas_answer(names: Sequence[SchemaName], pagination: Pagination) -> answers.SchemasAnswer:
    """Return a page of all versions."""
    items = json_of([described(name) for name in names])
    return {"schemas": items, "items": items, "pagination": pagination}


def deleted_answer(name: SchemaName) -> answers.SchemaDeletedAnswer:
    """Return what was removed."""
    return {"deleted": True, **described(name)}
