"""Declares the operations on API keys. A function of their own serves them (decision 82)."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.route import ADMINISTERS, Group, Route

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    Route("GET /admin/api-keys", "list_api_keys", ADMINISTERS,
        "List the API keys, without their secrets", group=Group.API_KEYS,
        module="api_keys.handlers", query=("limit", "cursor")),
    Route("POST /admin/api-keys/<key_id>/revoke", "revoke_api_key", ADMINISTERS,
        "Revoke an API key", group=Group.API_KEYS, module="api_keys.handlers", errors=(409,),
        repeatable=True),
)
