"""Declares the answers about schemas."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from ojs_aws.transport.http.answers import JsonObject, Pagination, Timestamp
from ojs_aws.transport.http.json_of import JsonOf


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
