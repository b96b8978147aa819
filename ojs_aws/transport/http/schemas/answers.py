"""Declares the answers about schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.transport.http.schema_parts import (
    BOOLEAN,
    INSTANT,
    STRING,
    Schema,
    array,
    members,
    ref,
)

_SCHEMA_NAME: Final = members(
    ("uri", "type", "version", "created_at"),
    uri=STRING,
    type=STRING,
    job_type=STRING,
    version={"type": ["string", "integer"]},
    created_at=INSTANT,
    is_latest=BOOLEAN,
)

ANSWERS: Final[Mapping[str, Schema]] = {
    "SchemaName": _SCHEMA_NAME,
    "SchemaAnswer": members(
        ("uri", "type", "version", "created_at", "schema"),
        **_SCHEMA_NAME["properties"],
        schema={"type": "object"},
    ),
    "SchemasAnswer": members(
        ("schemas", "pagination"),
        schemas=array(ref("SchemaName")),
        pagination=ref("Pagination"),
    ),
    "SchemaVersionsAnswer": members(
        ("type", "versions"), type=STRING, versions=array(ref("SchemaName"))
    ),
    "SchemaDeletedAnswer": members(
        ("deleted", "uri", "type", "version"),
        deleted=BOOLEAN,
        **_SCHEMA_NAME["properties"],
    ),
}
