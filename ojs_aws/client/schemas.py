"""Schemas of job types, as the client registers and reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.schemas.schema import SchemaVersion

SchemaAnswer: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class JobSchema:
    """A registered version of a type's schema.

    :ivar uri: what jobs name it by: ``Job(..., schema=schema.uri)``.
    :ivar schema: the JSON Schema; empty in lists.
    """

    type: str
    version: SchemaVersion
    uri: str
    created_at: str
    schema: Mapping[str, JsonValue] = field(default_factory=dict)
    is_latest: bool = False


class SchemasTransport(Protocol):
    """How a client reaches the registry; answers are as the specification has them."""

    async def register(self, body: Mapping[str, JsonValue]) -> SchemaAnswer:
        """Register a version that must be new."""

    async def put(self, body: Mapping[str, JsonValue]) -> SchemaAnswer:
        """Register a version; the very same again changes nothing."""

    async def get(self, job_type: str, version: SchemaVersion | None) -> SchemaAnswer:
        """Read a version; the latest where none is named."""

    async def by_uri(self, uri: str) -> SchemaAnswer:
        """Read a version by its URI."""

    async def versions(self, job_type: str) -> Sequence[SchemaAnswer]:
        """The versions of a type, the newest first."""

    async def list(self) -> Sequence[SchemaAnswer]:
        """All versions of all types."""

    async def delete(self, job_type: str, version: SchemaVersion) -> None:
        """Remove a version."""


class Schemas:
    """The schema registry; every method raises the errors of ``ojs_aws.domain.errors``."""

    def __init__(self, transport: SchemasTransport) -> None:
        """Use the client's transport."""
        self._transport = transport

    async def register(
        self,
        job_type: str,
        version: SchemaVersion,
        schema: Mapping[str, JsonValue],
        *,
        uri: str | None = None,
        exist_ok: bool = True,
    ) -> JobSchema:
        """Register a version of a type's schema. Applications may do so at each start.

        :param version: such as ``1``, ``"1.1"`` or ``"2.0.0"``.
        :param schema: JSON Schema, draft 2020-12, of the arguments: an array, or the one object.
        :param exist_ok: whether the very same schema may be registered already.
        :raises InvalidRequestError: it is no JSON Schema, or no version.
        :raises IncompatibleSchemaError: it refuses what the version before accepted, and its
            major version is the same; the details name each breaking change.
        :raises ConflictError: another schema has this version, or this URI.
        """
        body: dict[str, JsonValue] = {
            "type": job_type,
            "version": version,
            "schema": {**schema},
        }
        body |= {} if uri is None else {"uri": uri}
        send = self._transport.put if exist_ok else self._transport.register
        return job_schema(await send(body))

    async def get(self, job_type: str, version: SchemaVersion | None = None) -> JobSchema:
        """Read a version; the latest where none is named.

        :raises NotFoundError: there is none.
        """
        return job_schema(await self._transport.get(job_type, version))

    async def by_uri(self, uri: str) -> JobSchema:
        """Read the version that jobs name so.

        :raises NotFoundError: there is none.
        """
        return job_schema(await self._transport.by_uri(uri))

    async def versions(self, job_type: str) -> list[JobSchema]:
        """The versions of a type without their schemas, the newest first.

        :raises NotFoundError: it has none.
        """
        return [job_schema(each) for each in await self._transport.versions(job_type)]

    async def list(self) -> list[JobSchema]:
        """All versions of all types, without their schemas."""
        return [job_schema(each) for each in await self._transport.list()]

    async def delete(self, job_type: str, version: SchemaVersion) -> None:
        """Remove a version; jobs that named it stay.

        :raises NotFoundError: there is none.
        """
        await self._transport.delete(job_type, version)


def job_schema(answer: SchemaAnswer) -> JobSchema:
    """The version that an answer describes, wrapped or not."""
    inner = answer.get("schema")
    described = inner if isinstance(inner, dict) and "created_at" in inner else answer
    version, schema = described.get("version"), described.get("schema")
    return JobSchema(
        type=str(described.get("type") or described.get("job_type") or ""),
        version=version if isinstance(version, (int, str)) else "",
        uri=str(described.get("uri") or ""),
        created_at=str(described.get("created_at") or ""),
        schema=schema if isinstance(schema, dict) else {},
        is_latest=described.get("is_latest") is True,
    )
