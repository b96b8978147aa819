"""The schema registry straight on DynamoDB.

The services are called in threads, since botocore blocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ojs_aws.client.schemas import SchemaAnswer
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import ANY_DEPTH, RawJson, decode, encode
from ojs_aws.domain.schemas.schema import SchemaEntry, SchemaName, SchemaVersion
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.schemas.registry import SchemaRegistration, SchemaRegistry


class DirectSchemas:
    """The port SchemasTransport over the services."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._backend = backend

    @property
    def _registry(self) -> SchemaRegistry:
        return self._backend.schemas

    async def register(self, body: Mapping[str, JsonValue]) -> SchemaAnswer:
        """Register a version that must be new."""
        return _whole(await asyncio.to_thread(self._registry.register, _wanted(body)))

    async def put(self, body: Mapping[str, JsonValue]) -> SchemaAnswer:
        """Register a version; the very same again changes nothing."""
        entry, _ = await asyncio.to_thread(self._registry.put, _wanted(body))
        return _whole(entry)

    async def get(self, job_type: str, version: SchemaVersion | None) -> SchemaAnswer:
        """Read a version; the latest where none is named."""
        if version is None:
            return _whole(await asyncio.to_thread(self._registry.latest, job_type))
        return _whole(await asyncio.to_thread(self._registry.version, job_type, version))

    async def by_uri(self, uri: str) -> SchemaAnswer:
        """Read a version by its URI."""
        return _whole(await asyncio.to_thread(self._registry.by_uri, uri))

    async def versions(self, job_type: str) -> Sequence[SchemaAnswer]:
        """The versions of a type, the newest first."""
        names = await asyncio.to_thread(self._registry.versions, job_type)
        return [{**_named(name), "is_latest": at == 0} for at, name in enumerate(names)]

    async def list(self) -> Sequence[SchemaAnswer]:
        """All versions of all types."""
        return [_named(name) for name in await asyncio.to_thread(self._registry.everything)]

    async def delete(self, job_type: str, version: SchemaVersion) -> None:
        """Remove a version."""
        await asyncio.to_thread(self._registry.delete, job_type, version)


def _wanted(body: Mapping[str, JsonValue]) -> SchemaRegistration:
    schema = body.get("schema")
    return SchemaRegistration(
        type=body.get("type"),
        version=body.get("version"),
        uri=body.get("uri"),
        schema=schema,
        text=RawJson(encode(schema)),
    )


def _named(name: SchemaName) -> dict[str, JsonValue]:
    return {
        "type": name.type,
        "version": name.version,
        "uri": name.uri,
        "created_at": format_instant(name.created_at),
    }


def _whole(entry: SchemaEntry) -> dict[str, JsonValue]:
    return {**_named(entry), "schema": decode(entry.schema, max_depth=ANY_DEPTH)}
