"""Declares the requests and answers about schemas of arguments."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ojs_aws.domain.schemas.schema import MAX_VERSION_LENGTH, VERSION_PATTERN
from ojs_aws.services.schemas.registry import MAX_URI_LENGTH
from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.models import Body, JobType, JsonObject, Pagination, Timestamp

SchemaVersion = (
    Annotated[int, Field(ge=0, lt=10**9)]
    | Annotated[str, Field(pattern=f"^{VERSION_PATTERN}$", max_length=MAX_VERSION_LENGTH)]
)


class SchemaPutBody(Body):
    """Holds the schema of the version that the path names (job versioning, section 6.1)."""

    type: JobType | None = None
    version: SchemaVersion | None = None
    uri: Annotated[str, Field(max_length=MAX_URI_LENGTH)] | None = None
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    args_schema: dict[str, Any] | None = None


class SchemaBody(SchemaPutBody):
    """Registers a schema (ojs-schema-registry, section 4.1; binding, section 15.2).

    The type stands in ``type`` or in ``job_type``, the schema in ``schema`` or ``args_schema``.
    """

    job_type: JobType | None = None


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
