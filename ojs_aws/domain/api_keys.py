"""Makes and checks API keys: text, stored hashes, rotation, revocation (ojs-security, 6.4, 12).

A key reads ``ojs_<id>_<secret>``. The id finds its record with one read; of the secret, 256 bits
of chance, only a hash is kept. A secret of that size cannot be guessed, so the hash need not be
slow (decision 0029).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from ojs_aws.domain.access import Caller, Scope, permissions_of
from ojs_aws.domain.credentials import (
    Credential,
    check_credential,
    credential_fields,
    invalid_field,
)
from ojs_aws.domain.timestamps import Instant

SECRET_BYTES: Final = 32
ID_BYTES: Final = 8
DEFAULT_GRACE_MS: Final = 86_400_000
"""How long the secret before the current one stays valid, when nobody says otherwise (12.5)."""

MAX_GRACE_MS: Final = 90 * 86_400_000

_KEY: Final = re.compile(r"ojs_(?P<id>[0-9a-f]{16})_(?P<secret>[A-Za-z0-9_-]{43})", re.ASCII)
_NO_SECRET: Final = "0" * 64
"""Stands in for the hash of a key that there is not, so that its absence takes as long."""


class Refusal(StrEnum):
    """Says why credentials were not accepted; for logs."""

    MISSING = "missing"
    MALFORMED = "malformed"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySecret:
    """Holds what is stored of one secret.

    :ivar digest: SHA-256, in hexadecimal.
    :ivar expires_at: when it ends; None for the current one.
    """

    digest: str
    created_at: Instant
    expires_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey(Credential):
    """Holds what is stored of a key: everything but its secret.

    :ivar secrets: the current one first, then at most one before it.
    :ivar version: of its record, counted by each write.
    """

    id: str
    scopes: frozenset[Scope]
    secrets: tuple[KeySecret, ...]
    created_at: Instant
    expires_at: Instant | None = None
    revoked_at: Instant | None = None
    version: int = 0

    @property
    def caller(self) -> Caller:
        """Return the caller that the key stands for."""
        return Caller(
            id=f"key:{self.id}",
            permissions=permissions_of(self.scopes),
            **credential_fields(self),
        )


@dataclass(frozen=True, slots=True)
class Presented:
    """Holds a key as somebody sent it. Its ``repr`` shows only the id."""

    id: str
    secret: str

    def __repr__(self) -> str:
        return f"Presented({self.id})"


def read_key(text: str) -> Presented | None:
    """Return the parts of a key's text, or None if the text is no key."""
    match = _KEY.fullmatch(text)
    return Presented(match["id"], match["secret"]) if match else None


def key_text(key_id: str, secret: bytes) -> str:
    """Return the text of a key, which is shown once and never stored.

    :param secret: :data:`SECRET_BYTES` bytes of chance.
    """
    encoded = base64.urlsafe_b64encode(secret).decode().rstrip("=")
    return f"ojs_{key_id}_{encoded}"


def digest_of(presented: Presented) -> str:
    """Return the hash that is stored of a secret. It covers the id, so it fits one key only."""
    return hashlib.sha256(f"ojs-api-key:{presented.id}:{presented.secret}".encode()).hexdigest()


def verify(key: ApiKey | None, presented: Presented, now: Instant) -> Refusal | None:
    """Return why a key is refused, or None if it is valid. Always takes the same time.

    Only who has the right secret learns that a key has expired.
    """
    digest = digest_of(presented)
    secrets = key.secrets if key else ()
    valid = expired = False
    for kept in secrets or (KeySecret(digest=_NO_SECRET, created_at=now),):
        is_same = hmac.compare_digest(kept.digest, digest)
        is_over = kept.expires_at is not None and kept.expires_at <= now
        valid |= is_same and not is_over
        expired |= is_same and is_over
    if key is not None and key.revoked_at is not None:
        return Refusal.REVOKED
    if key is None or not (valid or expired):
        return Refusal.UNKNOWN
    is_over = key.expires_at is not None and key.expires_at <= now
    return Refusal.EXPIRED if is_over or not valid else None


def end_of(key: ApiKey, presented: Presented) -> Instant | None:
    """Return when a valid key ends with this secret, or None if nothing says so yet."""
    digest = digest_of(presented)
    same = [each for each in key.secrets if hmac.compare_digest(each.digest, digest)]
    ends = [key.expires_at, *(each.expires_at for each in same)]
    return min((each for each in ends if each is not None), default=None)


def check_key(key: ApiKey) -> None:
    """Refuse to create a key that nobody should have.

    :raises InvalidRequestError: no scope; scopes that need credentials of their own (ojs-security,
        6.2 and 6.3); bounds that a scope cannot have; a malformed name or bound.
    """
    _check_scopes(key)
    check_credential(key)
    if key.expires_at is not None and key.expires_at <= key.created_at:
        raise invalid_field("expires_at", "A key expires after it was made.")


def _check_scopes(key: ApiKey) -> None:
    if not key.scopes:
        raise invalid_field("scopes", "A key needs a scope.")
    if Scope.WORKER in key.scopes and len(key.scopes) > 1:
        raise invalid_field("scopes", "A worker's key has no other scope: make a second key.")
    if Scope.ADMIN in key.scopes and (len(key.scopes) > 1 or key.queues or key.types or key.tenant):
        raise invalid_field("scopes", "An admin's key has no other scope, and no bounds.")
    if Scope.WORKER in key.scopes and key.types:
        raise invalid_field("types", "A worker takes what its queues hold: bind its key to queues.")


def rotated(key: ApiKey, digest: str, now: Instant, grace_ms: int) -> ApiKey:
    """Return the key with a new secret. The last secret stays valid for a while, older ones do not.

    :param grace_ms: how long; 0 ends it at once.
    :raises InvalidRequestError: the key is revoked or expired, or the grace is out of range.
    """
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        raise invalid_field("id", "The key is revoked or expired: make a new one.")
    if not 0 <= grace_ms <= MAX_GRACE_MS:
        raise invalid_field("grace", f"The grace is 0 to {MAX_GRACE_MS // 86_400_000} days.")
    current = KeySecret(digest=digest, created_at=now)
    before = replace(key.secrets[0], expires_at=Instant(now + grace_ms))
    secrets = (current, before) if grace_ms else (current,)
    return replace(key, secrets=secrets, version=key.version + 1)


def revoked(key: ApiKey, now: Instant) -> ApiKey:
    """Return the key without its hashes, so that it is no longer valid; its record stays."""
    if key.revoked_at is not None:
        return key
    return replace(key, secrets=(), revoked_at=now, version=key.version + 1)
