"""Declares the operations on schemas of job types."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import ADMINISTERS, INSPECTS_TYPES, PAGED, Group, Route

_operator = functools.partial(
    Route, group=Group.OPERATOR, module="schemas.handlers", has_admin_path=True
)

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _operator("GET /schemas", "list_schemas", INSPECTS_TYPES,
        "List the schemas of job types", query=PAGED),
    _operator("POST /schemas", "register_schema", ADMINISTERS,
        "Register a schema of a job type", request="SchemaBody", statuses=(201,), errors=(409,)),
    _operator("GET /schemas/<name>", "get_schema", INSPECTS_TYPES,
        "Read the schema of a URI, or of a type's latest version"),
    _operator("DELETE /schemas/<name>", "delete_schema", ADMINISTERS,
        "Remove the schema of a URI", is_recorded=True),
    _operator("GET /schemas/<type>/versions", "list_schema_versions", INSPECTS_TYPES,
        "List the versions of a type's schema, the newest first"),
    _operator("GET /schemas/<type>/<version>", "get_schema_version", INSPECTS_TYPES,
        "Read the schema of one version"),
    _operator("PUT /schemas/<type>/<version>", "put_schema", ADMINISTERS,
        "Register the schema of one version; the same schema again changes nothing",
        request="SchemaPutBody", statuses=(201, 200), errors=(409,)),
    _operator("DELETE /schemas/<type>/<version>", "delete_schema_version", ADMINISTERS,
        "Remove the schema of one version", is_recorded=True),
)
