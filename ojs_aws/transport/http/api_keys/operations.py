"""Declares the operations on API keys. A function of their own serves them (decision 82)."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.access import ADMINISTERS
from ojs_aws.transport.http.route import BASE, Group, Route

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        at=f"GET {BASE}/admin/api-keys",
        operation="list_api_keys",
        group=Group.API_KEYS,
        access=ADMINISTERS,
        home="api_keys.handlers",
        summary="List the API keys, without their secrets",
        query=("limit", "cursor"),
    ),
    Route(
        at=f"POST {BASE}/admin/api-keys/<key_id>/revoke",
        operation="revoke_api_key",
        group=Group.API_KEYS,
        access=ADMINISTERS,
        home="api_keys.handlers",
        repeatable=True,
        summary="Revoke an API key",
        errors=(409,),
    ),
)
