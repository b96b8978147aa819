"""Handles the schema registry (ojs-schema-registry, 10; HTTP binding, 15; job versioning, 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ojs_aws.domain.error_details import not_found
from ojs_aws.domain.list_total import ListTotal
from ojs_aws.domain.schemas.schema import SchemaEntry, SchemaVersion, version_in_path
from ojs_aws.services.schemas.registry import unknown_schema
from ojs_aws.transport.http.calls import CREATED, OK, Answer, Call
from ojs_aws.transport.http.pages import read_mark, requested_page, write_mark
from ojs_aws.transport.http.routes import BASE, canonical_path
from ojs_aws.transport.http.schemas import wire as shapes

if TYPE_CHECKING:
    from ojs_aws.transport.http.schemas import answers


_ADMIN: Final = f"{BASE}/admin/"
_MARK: Final = "s:"


def list_schemas(call: Call) -> Answer[answers.SchemasAnswer]:
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
    return Answer(shapes.schemas_answer(shown, wanted.pagination(ListTotal(len(names)), mark)))


def register_schema(call: Call) -> Answer[answers.SchemaAnswer]:
    """Register a schema; an existing version cannot be registered again."""
    entry = call.backend.schemas.registry.register(shapes.read_schema(call.members()), call.actor)
    return Answer(_shown(call, entry), CREATED, _location(entry))


def put_schema(call: Call) -> Answer[answers.SchemaAnswer]:
    """Register the schema of a version (201); exactly the same again changes nothing (200)."""
    wanted = shapes.read_put_schema(call.members(), call.named("type"), _version(call))
    entry, is_new = call.backend.schemas.registry.put(wanted, call.actor)
    return Answer(_shown(call, entry), CREATED if is_new else OK, _location(entry))


def get_schema(call: Call) -> Answer[answers.SchemaAnswer]:
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


def get_schema_version(call: Call) -> Answer[answers.SchemaAnswer]:
    """Return the schema of one version."""
    _check_type(call, call.named("type"))
    entry = call.backend.schemas.registry.version(call.named("type"), _version(call))
    return Answer(_shown(call, entry))


def list_schema_versions(call: Call) -> Answer[answers.SchemaVersionsAnswer]:
    """Return the versions of a type, the newest first."""
    _check_type(call, call.named("type"))
    return Answer(
        shapes.versions_answer(call.backend.schemas.registry.versions(call.named("type")))
    )


def delete_schema(call: Call) -> Answer[answers.SchemaDeletedAnswer]:
    """Remove the schema of a URI."""
    name = call.named("name")
    if ":" not in name:
        hint = "DELETE /ojs/v1/schemas/<type>/<version> removes one version of a type."
        raise not_found("schema", name[:255], f"'{name[:200]}' is no URI of a schema.", hint)
    return Answer(shapes.deleted_answer(call.backend.schemas.registry.delete_uri(name)))


def delete_schema_version(call: Call) -> Answer[answers.SchemaDeletedAnswer]:
    """Remove one version."""
    return Answer(
        shapes.deleted_answer(
            call.backend.schemas.registry.delete(call.named("type"), _version(call))
        )
    )


def _check_type(call: Call, job_type: str) -> None:
    """Refuse a job type outside the caller's bounds."""
    call.request.caller.check_type(job_type)


def _shown(call: Call, entry: SchemaEntry) -> answers.SchemaAnswer:
    is_admin = canonical_path(call.request.path).startswith(_ADMIN)
    return shapes.schema_answer(entry, is_admin=is_admin)


def _location(entry: SchemaEntry) -> dict[str, str]:
    return {"Location": f"{BASE}/schemas/{entry.type}/{quote(str(entry.version), safe='')}"}


def _version(call: Call) -> SchemaVersion:
    return version_in_path(call.named("version"))
