"""Register and read schemas of job types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ojs_aws.client.areas.area import Area
from ojs_aws.client.transports.requests import Values, entry_of, object_in, objects_in, text_in
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.schemas import SchemaVersion


@dataclass(frozen=True, slots=True)
class JobSchema:
    """Represents a registered version of a type's schema.

    :ivar uri: what jobs name it by: ``Job(..., schema=schema.uri)``.
    :ivar schema: the JSON Schema; empty in lists.
    """

    type: str
    version: SchemaVersion
    uri: str
    created_at: str
    schema: Mapping[str, JsonValue] = field(default_factory=dict)
    is_latest: bool = False


class Schemas(Area):
    """Looks after schemas; every method raises the errors of ``ojs_aws.domain.errors``."""

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
        if not exist_ok:
            return job_schema((await self._ask("register_schema", body=body)).values)
        put = await self._ask("put_schema", body=body, type=str(job_type), version=str(version))
        return job_schema(put.values)

    async def get(self, job_type: str, version: SchemaVersion | None = None) -> JobSchema:
        """Read a version; the latest where none is named.

        :raises NotFoundError: there is none.
        """
        if version is None:
            return await self.by_uri(job_type)
        answer = await self._ask("get_schema_version", type=job_type, version=str(version))
        return job_schema(answer.values)

    async def by_uri(self, uri: str) -> JobSchema:
        """Read the version that jobs name by a URI.

        :raises NotFoundError: there is none.
        """
        return job_schema((await self._ask("get_schema", name=uri)).values)

    async def versions(self, job_type: str) -> list[JobSchema]:
        """List the versions of a type without their schemas, the newest first.

        :raises NotFoundError: it has none.
        """
        values = (await self._ask("list_schema_versions", type=job_type)).values
        return [job_schema({"type": job_type, **each}) for each in objects_in(values, "versions")]

    async def list(self) -> list[JobSchema]:
        """List all versions of all types, without their schemas."""
        return [job_schema(each) for each in await self._ask_all("list_schemas", "schemas")]

    async def delete(self, job_type: str, version: SchemaVersion) -> None:
        """Remove a version; jobs that named it stay.

        :raises NotFoundError: there is none.
        """
        await self._ask("delete_schema_version", type=job_type, version=str(version))


def job_schema(values: Values) -> JobSchema:
    """Return the version that an answer describes, wrapped or not."""
    inner = object_in(values, "schema")
    described = inner if "created_at" in inner else values
    version = described.get("version")
    return entry_of(
        JobSchema,
        described,
        type=text_in(described, "type") or text_in(described, "job_type"),
        version=version if isinstance(version, (int, str)) else "",
    )
