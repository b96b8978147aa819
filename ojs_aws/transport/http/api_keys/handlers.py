"""Handles the list of API keys, and their revocation (ojs-security, 12.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ojs_aws.domain.api_keys import ApiKey, KeySecret
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.queries import further, read_mark, requested_page, write_mark

if TYPE_CHECKING:
    from ojs_aws.transport.http.api_keys import models

_MARK: Final = "k:"


def list_api_keys(call: Call) -> Answer[models.ApiKeysAnswer]:
    """Return a page of API keys by id; keys that ended are listed for some time."""
    wanted = requested_page(call.request.query)
    now = call.backend.clock.now()
    page = call.backend.api_keys.page(read_mark(_MARK, wanted.cursor), wanted.limit)
    last = page[-1].id if len(page) == wanted.limit else ""
    body: models.ApiKeysAnswer = {
        "api_keys": [_entry(key, now) for key in page],
        **further(write_mark(_MARK, last)),
    }
    return Answer(body)


def revoke_api_key(call: Call) -> Answer[models.ApiKeyAnswer]:
    """Revoke a key; one that is revoked already stays as it is.

    The gateway may accept it for as long as it remembers its answers.
    """
    key_id = call.named("key_id")
    call.note({"api_key": key_id[:40]})
    key, is_new = call.backend.api_keys.revoke_once(key_id)
    if is_new:
        call.backend.audit("revoke_api_key", {"key_id": key_id}, call.actor)
    return Answer({"api_key": _entry(key, call.backend.clock.now())})


def _entry(key: ApiKey, now: Instant) -> models.ApiKeyEntry:
    """Return what may be known of a key: nothing of its secrets but their times."""
    is_over = key.expires_at is not None and key.expires_at <= now
    shown: models.ApiKeyEntry = {
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


def _secret(secret: KeySecret) -> models.ApiKeySecret:
    shown: models.ApiKeySecret = {"created_at": format_instant(secret.created_at)}
    if secret.expires_at is not None:
        shown["expires_at"] = format_instant(secret.expires_at)
    return shown
