"""Declares the answers about API keys. They never hold a secret or its hash."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from ojs_aws.domain.access import Scope
from ojs_aws.transport.http.models import Timestamp


class ApiKeySecret(TypedDict):
    """Says when a secret of a key was made, and until when it is valid besides the newest one."""

    created_at: Timestamp
    expires_at: NotRequired[Timestamp]


class ApiKeyEntry(TypedDict):
    """Describes an API key; without bounds, ``queues`` and ``types`` are empty.

    ``tenant_id`` is the tenant that it is bound to.
    """

    id: str
    name: str
    state: Literal["valid", "expired", "revoked"]
    scopes: list[Scope]
    queues: list[str]
    types: list[str]
    tenant_id: NotRequired[str]
    created_at: Timestamp
    expires_at: NotRequired[Timestamp]
    revoked_at: NotRequired[Timestamp]
    secrets: list[ApiKeySecret]


class ApiKeysAnswer(TypedDict):
    """Shows a page of API keys by id."""

    api_keys: list[ApiKeyEntry]
    has_more: bool
    next_cursor: NotRequired[str]


class ApiKeyAnswer(TypedDict):
    """Shows one API key."""

    api_key: ApiKeyEntry
