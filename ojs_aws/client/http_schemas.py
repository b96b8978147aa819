"""The schema registry over HTTP (ojs-schema-registry, section 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ojs_aws.client.connection import Answer, HttpConnection, segment
from ojs_aws.client.schemas import SchemaAnswer
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.schemas.schema import SchemaVersion

SCHEMAS = "/schemas"


class HttpSchemas:
    """The port SchemasTransport over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use the transport's connection."""
        self._connection = connection

    async def register(self, body: Mapping[str, JsonValue]) -> SchemaAnswer:
        """POST /schemas; not sent again, it would find itself."""
        text = encode({**body})
        return _values(await self._connection.request("POST", SCHEMAS, text, repeatable=False))

    async def put(self, body: Mapping[str, JsonValue]) -> SchemaAnswer:
        """PUT /schemas/:type/:version."""
        path = _path(str(body["type"]), str(body["version"]))
        return _values(await self._connection.request("PUT", path, encode({**body})))

    async def get(self, job_type: str, version: SchemaVersion | None) -> SchemaAnswer:
        """GET /schemas/:type, or /schemas/:type/:version."""
        path = _path(job_type) if version is None else _path(job_type, str(version))
        return _values(await self._connection.request("GET", path))

    async def by_uri(self, uri: str) -> SchemaAnswer:
        """GET /schemas/:uri."""
        return _values(await self._connection.request("GET", _path(uri)))

    async def versions(self, job_type: str) -> Sequence[SchemaAnswer]:
        """GET /schemas/:type/versions."""
        answer = _values(await self._connection.request("GET", _path(job_type) + "/versions"))
        return [{"type": job_type, **each} for each in _objects(answer, "versions")]

    async def list(self) -> Sequence[SchemaAnswer]:
        """GET /schemas, page by page."""
        query = {"limit": "200"}
        found: list[SchemaAnswer] = []
        while True:
            values = _values(await self._connection.request("GET", SCHEMAS, query=query))
            found += _objects(values, "schemas")
            page = values.get("pagination")
            following = page.get("next_cursor") if isinstance(page, dict) else None
            if not isinstance(following, str) or not following:
                return found
            query["cursor"] = following

    async def delete(self, job_type: str, version: SchemaVersion) -> None:
        """DELETE /schemas/:type/:version."""
        path = _path(job_type, str(version))
        await self._connection.request("DELETE", path, repeatable=False)


def _path(*parts: str) -> str:
    return "/".join((SCHEMAS, *map(segment, parts)))


def _values(answer: Answer) -> dict[str, JsonValue]:
    return {name: member.value for name, member in answer.members.items()}


def _objects(values: Mapping[str, JsonValue], name: str) -> list[dict[str, JsonValue]]:
    listed = values.get(name)
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
