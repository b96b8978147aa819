"""What a process remembers of the credentials that it has checked."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace

import pytest

from ojs_aws.domain.access import Caller, Scope
from ojs_aws.domain.api_keys import Refusal
from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant, token_text
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.access.api_keys import (
    MAX_REMEMBERED,
    AttemptAuthentication,
    Authentication,
    KeyIssuer,
    RememberedAuthentication,
    Verdict,
)
from ojs_aws.testing.deployment import FakeClock
from tests.simulation.world import World

LASTS_MS = 300_000


@dataclass
class Asked:
    """An authentication that knows every header but the refused ones."""

    refused: set[str] = field(default_factory=set)
    headers: list[str] = field(default_factory=list)
    until: Instant | None = None

    def __call__(self, header: str) -> Verdict:
        self.headers.append(header)
        if header in self.refused:
            return Verdict(None, Refusal.REVOKED)
        return Verdict(Caller(id=header, name=header), until=self.until)


def remembered(lasts_ms: int = LASTS_MS) -> tuple[RememberedAuthentication, Asked, FakeClock]:
    asked, clock = Asked(), FakeClock()
    return RememberedAuthentication(asked, clock, lasts_ms), asked, clock


@pytest.mark.parametrize(("after_ms", "times"), [(LASTS_MS - 1, 1), (LASTS_MS, 2)])
def test_a_caller_is_remembered_until_its_time_is_over(after_ms: int, times: int) -> None:
    """A key that was revoked meanwhile works no longer than that."""
    authenticate, asked, clock = remembered()
    assert authenticate("a").caller == Caller(id="a", name="a")
    asked.refused.add("a")
    clock.advance(ms=after_ms)
    is_known = authenticate("a").caller is not None
    assert (is_known, len(asked.headers)) == (times == 1, times)


@pytest.mark.parametrize(("after_ms", "is_known"), [(999, True), (1000, False), (1001, False)])
def test_a_caller_is_forgotten_when_its_credentials_end(after_ms: int, is_known: bool) -> None:
    """Also if that is before the memory's own end."""
    authenticate, asked, clock = remembered()
    asked.until = Instant(clock.now() + 1000)
    authenticate("a")
    asked.refused.add("a")
    clock.advance(ms=after_ms)
    assert (authenticate("a").caller is not None) is is_known


def test_a_caller_is_forgotten_at_the_memorys_end_where_that_is_first() -> None:
    """Whatever its credentials say."""
    authenticate, asked, clock = remembered()
    asked.until = Instant(clock.now() + LASTS_MS + 1)
    authenticate("a")
    clock.advance(ms=LASTS_MS)
    authenticate("a")
    assert len(asked.headers) == 2


@pytest.mark.parametrize("lasts_ms", [None, 5000])
@pytest.mark.parametrize("grace_ms", [0, 3000])
def test_a_verdict_says_when_the_key_or_its_secret_ends(
    lasts_ms: int | None, grace_ms: int
) -> None:
    """The last secret of a key that was rotated ends with its grace."""
    keys, clock = World().api_keys, FakeClock()
    issuer = KeyIssuer(keys, clock, secrets.token_bytes)
    authenticate = Authentication(keys, clock)
    issued, begun = issuer.create("a", [Scope.OPERATOR], lasts_ms=lasts_ms), clock.now()
    expiry = None if lasts_ms is None else begun + lasts_ms
    assert authenticate(f"Bearer {issued.text}").until == expiry
    if grace_ms:
        issuer.rotate(issued.key.id, grace_ms)
        assert authenticate(f"Bearer {issued.text}").until == begun + grace_ms


def test_to_be_asked_for_does_not_make_the_memory_longer() -> None:
    """Or a key that is in use could never be revoked."""
    authenticate, asked, clock = remembered()
    authenticate("a")
    asked.refused.add("a")
    clock.advance(ms=LASTS_MS - 1)
    authenticate("a")
    clock.advance(ms=1)
    assert authenticate("a").refusal is Refusal.REVOKED


def test_what_is_refused_is_looked_up_each_time() -> None:
    """A key that was made a moment later works at once."""
    authenticate, asked, _ = remembered()
    asked.refused.add("a")
    assert authenticate("a").caller is None
    asked.refused.clear()
    assert authenticate("a").caller is not None


def test_without_a_memory_each_request_asks() -> None:
    authenticate, asked, _ = remembered(lasts_ms=0)
    for _ in range(2):
        authenticate("a")
    assert asked.headers == ["a", "a"]


def test_the_memory_is_bounded_and_holds_no_secret() -> None:
    """What is in use stays; the text of credentials is nowhere in it."""
    authenticate, asked, _ = remembered()
    for number in range(MAX_REMEMBERED + 10):
        authenticate(f"secret-{number}")
        authenticate("secret-0")
    assert asked.headers.count("secret-0") == 1
    assert len(authenticate._known) == MAX_REMEMBERED
    assert "secret-1" not in str(list(authenticate._known))


# ---------------------------------------------------------------------- tokens of attempts
GRANT = AttemptGrant(
    job_id="01912345-6789-7abc-8def-0123456789ab",
    attempt=1,
    reservation_id="r-1",
    ends_at=Instant(1_900_000_000_000),
)


def test_a_header_without_a_token_is_left_to_the_keys() -> None:
    """Whatever it is; the secrets that sign are not even read then."""

    def keys() -> list[str]:
        raise AssertionError

    asked = Asked()
    authenticate = AttemptAuthentication(asked, keys, FakeClock())
    headers = ["", "Bearer ojs_1_2", "Basic ojs_attempt_x", "Bearer", "ojs_attempt_x", "Bearer  x"]
    for header in headers:
        authenticate(header)
    assert asked.headers == headers


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
def test_a_token_is_known_without_a_call(scheme: str) -> None:
    """Its scheme may be written as that of a key."""
    asked = Asked()
    authenticate = AttemptAuthentication(asked, lambda: ["other", "key"], FakeClock())
    verdict = authenticate(f" {scheme} {token_text(GRANT, 'key')} ")
    assert verdict == Verdict(
        GRANT.caller, key_id="attempt:01912345-6789-7abc-8def-0123456789ab", until=GRANT.ends_at
    )
    assert asked.headers == []


@pytest.mark.parametrize(
    ("text", "refusal", "key_id"),
    [
        (token_text(GRANT, "wrong"), Refusal.UNKNOWN, GRANT.caller.id),
        (token_text(GRANT, "key") + "0", Refusal.MALFORMED, ""),
        ("ojs_attempt_" + "x" * 5000, Refusal.MALFORMED, ""),
        (token_text(replace(GRANT, ends_at=Instant(1)), "key"), Refusal.EXPIRED, GRANT.caller.id),
    ],
    ids=["forged", "malformed", "endless", "expired"],
)
def test_a_token_that_is_not_valid_is_refused(text: str, refusal: Refusal, key_id: str) -> None:
    """The log names the job, never the token."""
    authenticate = AttemptAuthentication(Asked(), lambda: ["key"], FakeClock())
    assert authenticate(f"Bearer {text}") == Verdict(None, refusal, key_id)
