"""API keys: their text, their hashes, rotation and revocation (ojs-security, 6 and 12)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.access import Scope
from ojs_aws.domain.api_keys import (
    SECRET_BYTES,
    ApiKey,
    KeySecret,
    Presented,
    Refusal,
    check_key,
    digest_of,
    key_text,
    read_key,
    revoked,
    rotated,
    verify,
)
from ojs_aws.domain.credentials import bounds_of
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.timestamps import Instant

NOW = Instant(1_800_000_000_000)
HOUR = 3_600_000
ID = "0123456789abcdef"

secrets = st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES)


def presented(secret: bytes, key_id: str = ID) -> Presented:
    """A key as it is sent."""
    found = read_key(key_text(key_id, secret))
    assert found is not None
    return found


def key(secret: bytes = bytes(32), **changes: object) -> ApiKey:
    """A producer's key."""
    digest = digest_of(presented(secret))
    made = ApiKey(
        id=ID,
        name="checkout",
        scopes=frozenset({Scope.PRODUCER}),
        secrets=(KeySecret(digest=digest, created_at=NOW),),
        created_at=NOW,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


@given(secrets, secrets)
def test_sec_020_only_the_right_secret_is_accepted_and_none_is_readable(
    own: bytes, other: bytes
) -> None:
    """SEC-020: what is kept is a hash; a wrong secret is refused as an unknown key is."""
    kept = key(own)
    assert verify(kept, presented(own), NOW) is None
    assert presented(own).secret not in repr(kept)
    assert presented(own).secret not in repr(presented(own))
    if other != own:
        assert verify(kept, presented(other), NOW) is Refusal.UNKNOWN
        assert verify(None, presented(other), NOW) is Refusal.UNKNOWN


@given(secrets)
def test_a_hash_fits_one_key_only(secret: bytes) -> None:
    """The id is part of it: a record under another id does not accept the same secret."""
    assert digest_of(presented(secret)) != digest_of(presented(secret, "f" * 16))


@given(st.text(max_size=80))
def test_what_is_no_key_is_read_as_none(text: str) -> None:
    """Whatever is sent, nothing is raised."""
    found = read_key(text)
    assert found is None or text == f"ojs_{found.id}_{found.secret}"


def test_a_secret_has_256_bits() -> None:
    """ojs-security, section 6.1."""
    assert SECRET_BYTES * 8 == 256
    assert len(presented(bytes(32)).secret) == 43


def test_sec_021_the_old_secret_stays_valid_exactly_for_the_grace() -> None:
    """SEC-021: rotation without an interruption; at most two secrets are valid."""
    first, second, third = (bytes([n] * 32) for n in (1, 2, 3))
    once = rotated(key(first), digest_of(presented(second)), NOW, HOUR)
    for secret in (first, second):
        assert verify(once, presented(secret), Instant(NOW + HOUR - 1)) is None
    assert verify(once, presented(first), Instant(NOW + HOUR)) is Refusal.EXPIRED
    assert verify(once, presented(second), Instant(NOW + HOUR)) is None
    twice = rotated(once, digest_of(presented(third)), NOW, HOUR)
    assert verify(twice, presented(first), NOW) is Refusal.UNKNOWN
    assert verify(twice, presented(second), NOW) is None
    at_once = rotated(twice, digest_of(presented(first)), NOW, 0)
    assert verify(at_once, presented(third), NOW) is Refusal.UNKNOWN


def test_only_who_has_the_secret_learns_that_a_key_expired() -> None:
    """At the very instant it is over."""
    ends = key(expires_at=Instant(NOW + HOUR))
    assert verify(ends, presented(bytes(32)), Instant(NOW + HOUR - 1)) is None
    assert verify(ends, presented(bytes(32)), Instant(NOW + HOUR)) is Refusal.EXPIRED
    assert verify(ends, presented(b"x" * 32), Instant(NOW + HOUR)) is Refusal.UNKNOWN


def test_a_revoked_key_has_no_secret_any_more() -> None:
    """And cannot be rotated into life; revoking it again changes nothing."""
    ended = revoked(key(), NOW)
    assert ended.secrets == ()
    assert verify(ended, presented(bytes(32)), NOW) is Refusal.REVOKED
    assert revoked(ended, Instant(NOW + 1)) is ended
    with pytest.raises(InvalidRequestError):
        rotated(ended, "0" * 64, NOW, HOUR)


@pytest.mark.parametrize(
    "changes",
    [
        {"scopes": frozenset()},
        {"scopes": frozenset({Scope.WORKER, Scope.PRODUCER})},
        {"scopes": frozenset({Scope.WORKER, Scope.OPERATOR})},
        {"scopes": frozenset({Scope.ADMIN, Scope.PRODUCER})},
        {"scopes": frozenset({Scope.ADMIN}), "queues": ("email",)},
        {"scopes": frozenset({Scope.WORKER}), "types": ("email.send",)},
        {"name": ""},
        {"name": "two\nlines"},
        {"queues": ("e*mail",)},
        {"queues": ("email queue",)},
        {"types": tuple(f"t{n}" for n in range(51))},
        {"expires_at": NOW},
    ],
)
def test_a_key_that_nobody_should_have_is_refused(changes: dict[str, Any]) -> None:
    """Credentials of workers and administrators are their own (ojs-security, 6.2 and 6.3)."""
    with pytest.raises(InvalidRequestError):
        check_key(key(**changes))


def test_bounds_have_one_order_and_a_star_alone_is_none() -> None:
    """So that the same bounds read the same."""
    assert bounds_of(["b", "a", "b ", ""]) == ("a", "b")
    assert bounds_of(["a", "*"]) == ()
