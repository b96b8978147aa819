"""Declares the operations on schemas of job types."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import ADMINISTERS, INSPECTS_TYPES
from ojs_aws.transport.http.route import BASE, PAGED, Group, Route

_operator = functools.partial(
    Route, group=Group.OPERATOR, home="schemas.handlers", has_admin_path=True
)

ROUTES: Final[tuple[Route, ...]] = (
    _operator(
        at=f"GET {BASE}/schemas",
        operation="list_schemas",
        access=INSPECTS_TYPES,
        summary="List the schemas of job types",
        query=PAGED,
    ),
    _operator(
        at=f"POST {BASE}/schemas",
        operation="register_schema",
        access=ADMINISTERS,
        summary="Register a schema of a job type",
        request="SchemaBody",
        statuses=(201,),
        errors=(409,),
    ),
    _operator(
        at=f"GET {BASE}/schemas/<name>",
        operation="get_schema",
        access=INSPECTS_TYPES,
        summary="Read the schema of a URI, or of a type's latest version",
    ),
    _operator(
        at=f"DELETE {BASE}/schemas/<name>",
        operation="delete_schema",
        is_recorded=True,
        access=ADMINISTERS,
        summary="Remove the schema of a URI",
    ),
    _operator(
        at=f"GET {BASE}/schemas/<type>/versions",
        operation="list_schema_versions",
        access=INSPECTS_TYPES,
        summary="List the versions of a type's schema, the newest first",
    ),
    _operator(
        at=f"GET {BASE}/schemas/<type>/<version>",
        operation="get_schema_version",
        access=INSPECTS_TYPES,
        summary="Read the schema of one version",
    ),
    _operator(
        at=f"PUT {BASE}/schemas/<type>/<version>",
        operation="put_schema",
        access=ADMINISTERS,
        summary="Register the schema of one version; the same schema again changes nothing",
        request="SchemaPutBody",
        statuses=(201, 200),
        errors=(409,),
    ),
    _operator(
        at=f"DELETE {BASE}/schemas/<type>/<version>",
        operation="delete_schema_version",
        is_recorded=True,
        access=ADMINISTERS,
        summary="Remove the schema of one version",
    ),
)
