"""Handles the list of API keys, and their revocation (ojs-security, 12.5)."""

from __future__ import annotations

from typing import Final, Literal, NotRequired

from typing_extensions import TypedDict

from ojs_aws.domain.access import Scope
from ojs_aws.domain.api_keys import ApiKey, KeySecret
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.transport.http.answers import Timestamp
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.queries import further, read_mark, requested_page, write_mark

_MARK: Final = "k:"


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


def list_api_keys(call: Call) -> Answer[ApiKeysAnswer]:
    """Return a page of API keys by id; keys that ended are listed for some time."""
    wanted = requested_page(call.request.query)
    now = call.backend.clock.now()
    page = call.backend.api_keys.page(read_mark(_MARK, wanted.cursor), wanted.limit)
    last = page[-1].id if len(page) == wanted.limit else ""
    body: ApiKeysAnswer = {
        "api_keys": [_entry(key, now) for key in page],
        **further(write_mark(_MARK, last)),
    }
    return Answer(body)


def revoke_api_key(call: Call) -> Answer[ApiKeyAnswer]:
    """Revoke a key; one that is revoked already stays as it is.

    The gateway may accept it for as long as it remembers its answers.
    """
    key_id = call.named("key_id")
    call.note({"api_key": key_id[:40]})
    key, is_new = call.backend.api_keys.revoke_once(key_id)
    if is_new:
        call.backend.audit("revoke_api_key", {"key_id": key_id}, call.actor)
    return Answer({"api_key": _entry(key, call.backend.clock.now())})


def _entry(key: ApiKey, now: Instant) -> ApiKeyEntry:
    """Return what may be known of a key: nothing of its secrets but their times."""
    is_over = key.expires_at is not None and key.expires_at <= now
    shown: ApiKeyEntry = {
        "id": key.id,
        "name": key.name,
        "state": "revoked" if key.revoked_at is not None else "expired" if is_over else "valid",
        "scopes": sorted(key.scopes),
        "queues": [*key.queues],
        "types": [*key.types],
        "created_at": format_instant(key.created_at),
        "secrets": [_secret(each) for each in key.secrets],
    }
    if key.tenant:
        shown["tenant_id"] = key.tenant
    if key.expires_at is not None:
        shown["expires_at"] = format_instant(key.expires_at)
    if key.revoked_at is not None:
        shown["revoked_at"] = format_instant(key.revoked_at)
    return shown


def _secret(secret: KeySecret) -> ApiKeySecret:
    shown: ApiKeySecret = {"created_at": format_instant(secret.created_at)}
    if secret.expires_at is not None:
        shown["expires_at"] = format_instant(secret.expires_at)
    return shown
