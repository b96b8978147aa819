"""Registers, reads and removes schemas (ojs-schema-registry, 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from ojs_aws.domain.attributes import check_type, field_error, invalid, is_uri, not_found, too_large
from ojs_aws.domain.conflicts import SchemaTakenError
from ojs_aws.domain.credentials import Actor, stored_actor
from ojs_aws.domain.errors import (
    ConflictError,
    IncompatibleSchemaError,
    InvalidRequestError,
    JsonValue,
    NotFoundError,
)
from ojs_aws.domain.json_text import ANY_DEPTH, RawJson, decode
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.schemas import (
    SchemaEntry,
    SchemaName,
    SchemaVersion,
    check_schema_version,
    newest_first,
    predecessor,
    release_of,
    schema_uri,
)
from ojs_aws.domain.schemas.changes import breaking_changes

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.schemas import Schemas

MAX_SCHEMA_BYTES: Final = 65_536
MAX_URI_LENGTH: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRegistration:
    """Holds what a client asks for, its members not checked yet.

    :ivar uri: None where the client leaves it to the registry.
    :ivar schema: the value, and its text as the client wrote it.
    """

    type: JsonValue
    version: JsonValue
    uri: JsonValue
    schema: JsonValue
    text: RawJson


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """Registers, lists, reads and removes the schemas of job types."""

    schemas: Schemas
    clock: Clock

    def register(self, wanted: SchemaRegistration, by: Actor | None = None) -> SchemaEntry:
        """Register a schema, which then never changes.

        :param by: who does it.
        :raises InvalidRequestError: a member is not what it must be, or the schema is no JSON
            Schema of draft 2020-12; nothing is stored.
        :raises PayloadTooLargeError: the schema has more than 64 KB.
        :raises ConflictError: the type has this version, or another schema has this URI.
        :raises IncompatibleSchemaError: it refuses what the version before accepted, and its
            major version is the same.
        """
        entry = self._entry(wanted, by)
        self._check_compatible(entry, wanted.schema)
        try:
            self.schemas.add(entry)
        except SchemaTakenError as taken:
            raise _taken(entry, taken.existing) from None
        return entry

    def put(self, wanted: SchemaRegistration, by: Actor | None = None) -> tuple[SchemaEntry, bool]:
        """Register a schema; exactly the same one again changes nothing.

        :param by: who does it.
        :returns: the entry, and whether it is new.
        :raises OjsError: as :meth:`register` does.
        """
        entry = self._entry(wanted, by)
        self._check_compatible(entry, wanted.schema)
        try:
            self.schemas.add(entry)
        except SchemaTakenError as taken:
            found = taken.existing
            existing = None if found is None else self.schemas.load(found.uri)
            if existing is None or _content(existing) != _content(entry):
                raise _taken(entry, found) from None
            return existing, False
        return entry, True

    def _check_compatible(self, entry: SchemaEntry, schema: JsonValue) -> None:
        """Refuse breaking changes if the version promises none (section 8.4).

        Only versions with a minor part promise that; for others nothing is read.
        """
        if release_of(entry.version)[1:] == (0, 0):
            return
        before = predecessor(list(self.schemas.names(entry.type)), entry.version)
        known = None if before is None else self.schemas.load(before.uri)
        if known is None:
            return
        changes = breaking_changes(decode(known.schema, max_depth=ANY_DEPTH), schema)
        if not changes:
            return
        breaking: list[JsonValue] = list(changes)
        following = f"{release_of(entry.version)[0] + 1}.0.0"
        raise IncompatibleSchemaError(
            f"Schema version {entry.version} introduces breaking changes compared to "
            f"{known.version}. Use a major version bump ({following}).",
            details={
                "field": "version",
                "compared_to": known.version,
                "breaking_changes": breaking,
            },
            hint="Jobs that follow the version before would be refused by this one.",
        )

    def _entry(self, wanted: SchemaRegistration, by: Actor | None) -> SchemaEntry:
        job_type = check_type(wanted.type)
        version = check_schema_version(wanted.version)
        uri = schema_uri(job_type, version) if wanted.uri is None else wanted.uri
        if not (isinstance(uri, str) and len(uri) <= MAX_URI_LENGTH and is_uri(uri)):
            raise invalid("uri", "a URI such as urn:ojs:schema:email.send:v1", wanted.uri)
        if not isinstance(wanted.schema, dict) or not wanted.schema:
            expected = "a JSON Schema that says something, an object"
            raise invalid("schema", expected, wanted.schema, missing=wanted.schema is None)
        size = len(wanted.text.encode("utf-8", "surrogatepass"))
        if size > MAX_SCHEMA_BYTES:
            message = f"The schema has {size} bytes; at most {MAX_SCHEMA_BYTES} are accepted."
            raise too_large("schema", size, MAX_SCHEMA_BYTES, message)
        _check_schema(f"{job_type}@{version}", wanted.schema)
        now = self.clock.now()
        return SchemaEntry(
            type=job_type,
            version=version,
            uri=uri,
            created_at=now,
            schema=wanted.text,
            by=stored_actor(by, now),
        )

    def everything(self) -> list[SchemaName]:
        """Return all versions of all types, by type, the newest first."""
        by_type: dict[str, list[SchemaName]] = {}
        for name in self.schemas.names():
            by_type.setdefault(name.type, []).append(name)
        return [name for job_type in sorted(by_type) for name in newest_first(by_type[job_type])]

    def versions(self, job_type: str) -> list[SchemaName]:
        """Return the versions of a type, the newest first.

        :raises NotFoundError: it has none.
        """
        return _known(newest_first(self.schemas.names(job_type)), job_type)

    def latest(self, job_type: str) -> SchemaEntry:
        """Return the schema of a type's latest version.

        :raises NotFoundError: it has none.
        """
        return self.by_uri(self.versions(job_type)[0].uri)

    def version(self, job_type: str, version: SchemaVersion) -> SchemaEntry:
        """Return the schema of one version.

        :raises NotFoundError: there is none.
        """
        return self.by_uri(self._named(job_type, version).uri)

    def by_uri(self, uri: str) -> SchemaEntry:
        """Return the schema with this URI.

        :raises NotFoundError: there is none.
        """
        return _known(self.schemas.load(uri), uri)

    def delete(self, job_type: str, version: SchemaVersion) -> SchemaName:
        """Remove one version. Jobs that named it stay as they are.

        :raises NotFoundError: there is none.
        """
        name = self._named(job_type, version)
        self.schemas.delete(name)
        return name

    def delete_uri(self, uri: str) -> SchemaName:
        """Remove the schema with this URI.

        :raises NotFoundError: there is none.
        """
        name = self.by_uri(uri).name
        self.schemas.delete(name)
        return name

    def _named(self, job_type: str, version: SchemaVersion) -> SchemaName:
        return _known(self.schemas.named(job_type, version), f"{job_type}@{version}")


def _check_schema(name: str, schema: dict[str, JsonValue]) -> None:
    from ojs_aws.middleware.builtin.validation.registry import (
        check_readable,
        compile_registered,
    )
    from ojs_aws.middleware.results import InvalidSchemaError  # jsonschema is slow

    try:
        check_readable(name, schema)
        compile_registered(name, schema)
    except InvalidSchemaError as problem:
        text = str(problem)[:1000]
        raise field_error("schema", text, schema_error=text) from problem
    except (RecursionError, OverflowError) as problem:
        raise InvalidRequestError(
            f"The schema of {name} holds a URI or a number that cannot be read, or is nested too "
            "deeply.",
            details={"field": "schema"},
        ) from problem


T = TypeVar("T")


def _known(found: T | None, name: str) -> T:
    if not found:
        raise unknown_schema(name)
    return found


def unknown_schema(name: str) -> NotFoundError:
    """Return the error about a schema that does not exist."""
    hint = "GET /ojs/v1/schemas lists those that are registered."
    return not_found("schema", name[:255], f"There is no schema '{name[:200]}'.", hint)


def _content(entry: SchemaEntry) -> tuple[object, ...]:
    return entry.type, entry.version, entry.uri, entry.schema


def _taken(entry: SchemaEntry, existing: SchemaName | None) -> ConflictError:
    found = existing or entry
    return ConflictError(
        f"The schema {found.type}@{found.version} ({found.uri}) is registered already.",
        details={"type": found.type, "version": found.version, "uri": found.uri},
        hint="Register what has changed under a version of its own; jobs may rely on this one.",
    )
