"""Declares the bodies with schemas of arguments."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ojs_aws.domain.schemas.schema import MAX_VERSION_LENGTH, VERSION_PATTERN
from ojs_aws.services.schemas.registry import MAX_URI_LENGTH
from ojs_aws.transport.http.bodies import Body, JobType

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
