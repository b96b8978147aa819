"""Declares the operations on schemas of job types."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import ADMINISTERS, INSPECTS
from ojs_aws.transport.http.route import BASE, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, home="schemas.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _operator(
        method="GET",
        path=f"{BASE}/schemas",
        aliases=(f"{BASE}/admin/schemas",),
        operation="list_schemas",
        access=INSPECTS,
        summary="List the schemas of job types",
        query=("limit", "cursor", "offset", "page", "per_page"),
    ),
    _operator(
        method="POST",
        path=f"{BASE}/schemas",
        aliases=(f"{BASE}/admin/schemas",),
        operation="register_schema",
        access=ADMINISTERS,
        summary="Register a schema of a job type",
        request="SchemaBody",
        statuses=(201,),
        errors=(409, 413),
        needs_body=True,
    ),
    _operator(
        method="GET",
        path=f"{BASE}/schemas/<name>",
        aliases=(f"{BASE}/admin/schemas/<name>",),
        operation="get_schema",
        access=INSPECTS,
        summary="Read the schema of a URI, or of a type's latest version",
        errors=(404,),
    ),
    _operator(
        method="DELETE",
        path=f"{BASE}/schemas/<name>",
        aliases=(f"{BASE}/admin/schemas/<name>",),
        operation="delete_schema",
        access=ADMINISTERS,
        summary="Remove the schema of a URI",
        errors=(404,),
    ),
    _operator(
        method="GET",
        path=f"{BASE}/schemas/<type>/versions",
        aliases=(f"{BASE}/admin/schemas/<type>/versions",),
        operation="list_schema_versions",
        access=INSPECTS,
        summary="List the versions of a type's schema, the newest first",
        errors=(404,),
    ),
    _operator(
        method="GET",
        path=f"{BASE}/schemas/<type>/<version>",
        aliases=(f"{BASE}/admin/schemas/<type>/<version>",),
        operation="get_schema_version",
        access=INSPECTS,
        summary="Read the schema of one version",
        errors=(404,),
    ),
    _operator(
        method="PUT",
        path=f"{BASE}/schemas/<type>/<version>",
        aliases=(f"{BASE}/admin/schemas/<type>/<version>",),
        operation="put_schema",
        access=ADMINISTERS,
        summary="Register the schema of one version; the same again changes nothing",
        request="SchemaPutBody",
        statuses=(201, 200),
        errors=(409, 413),
        needs_body=True,
    ),
    _operator(
        method="DELETE",
        path=f"{BASE}/schemas/<type>/<version>",
        aliases=(f"{BASE}/admin/schemas/<type>/<version>",),
        operation="delete_schema_version",
        access=ADMINISTERS,
        summary="Remove the schema of one version",
        errors=(404,),
    ),
)
