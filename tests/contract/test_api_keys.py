"""The records of API keys in the table, and who wins when two change one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ojs_aws.adapters.dynamodb.access import ApiKeys
from ojs_aws.adapters.dynamodb.names import DOCUMENT
from ojs_aws.bootstrap import build_authentication, build_key_issuer
from ojs_aws.domain.access import Scope
from ojs_aws.domain.api_keys import Refusal, read_key
from ojs_aws.domain.conflicts import StaleKeyError
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, NotFoundError
from ojs_aws.services.access.api_keys import Authentication, KeyIssuer
from ojs_aws.testing.deployment import FakeClock
from tests.aws import EmbeddedAws

DAY = 86_400_000


@pytest.fixture
def issuer(aws: EmbeddedAws, clock: FakeClock) -> KeyIssuer:
    """The keys, for operators."""
    return build_key_issuer(aws.settings, aws.clients.dynamodb, clock)


@pytest.fixture
def authenticate(aws: EmbeddedAws, clock: FakeClock) -> Authentication:
    """The keys, for the authorizer."""
    return build_authentication(aws.settings, aws.clients.dynamodb, clock)


def test_a_key_is_found_with_one_read(
    aws: EmbeddedAws, issuer: KeyIssuer, authenticate: Authentication
) -> None:
    """By the id in its text."""
    issued = issuer.create("shop", [Scope.PRODUCER], queues=["email"], types=["email.*"])
    with aws.calls.counted() as calls:
        verdict = authenticate(f"Bearer {issued.text}")
    assert calls == {"GetItem": 1}
    assert verdict.caller == issued.key.caller
    assert verdict.caller is not None
    assert verdict.caller.id == f"key:{issued.key.id}"
    assert (verdict.caller.queues, verdict.caller.types) == (("email",), ("email.*",))


@pytest.mark.parametrize(
    ("header", "refusal"),
    [
        ("", Refusal.MISSING),
        ("   ", Refusal.MISSING),
        ("Bearer", Refusal.MALFORMED),
        ("Basic dXNlcjpwYXNz", Refusal.MALFORMED),
        ("Bearer ojs_0123456789abcdef_" + "A" * 42, Refusal.MALFORMED),
        ("Bearer ojs_0123456789abcdef_" + "A" * 43, Refusal.UNKNOWN),
        ("Bearer " + "x" * 100_000, Refusal.MALFORMED),
    ],
)
def test_a_header_that_is_no_valid_key_finds_nobody(
    header: str, refusal: Refusal, authenticate: Authentication
) -> None:
    """And raises nothing."""
    verdict = authenticate(header)
    assert (verdict.caller, verdict.refusal) == (None, refusal)


def test_sec_020_the_table_holds_no_secret(aws: EmbeddedAws, issuer: KeyIssuer) -> None:
    """SEC-020: not in any attribute, nor a part of one; and no index lists the record."""
    issued = issuer.create("shop", [Scope.PRODUCER])
    issuer.rotate(issued.key.id)
    items = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    given = read_key(issued.text)  # a secret may hold the underscore that separates it
    assert given is not None
    assert len(given.secret) == 43
    parts = {given.secret[at : at + 12] for at in range(len(given.secret) - 11)}
    assert not [part for part in parts if part in str(items)]
    assert all("gpk" not in item for item in items)


def test_sec_021_keys_rotate_without_an_interruption(
    issuer: KeyIssuer, authenticate: Authentication, clock: FakeClock
) -> None:
    """Both texts work during the grace, a day by default; afterwards the new one only."""
    first = issuer.create("shop", [Scope.PRODUCER])
    second = issuer.rotate(first.key.id)
    assert first.text != second.text
    assert (
        authenticate(f"bearer {first.text}").caller == authenticate(f"Bearer {second.text}").caller
    )
    clock.advance(ms=DAY)
    assert authenticate(f"Bearer {first.text}").refusal is Refusal.EXPIRED
    assert authenticate(f"Bearer {second.text}").caller is not None


def test_a_revoked_key_is_refused_at_once_and_the_others_are_not(
    issuer: KeyIssuer, authenticate: Authentication
) -> None:
    """ojs-security, section 12.3."""
    one, other = (issuer.create(name, [Scope.READ_ONLY]) for name in ("one", "other"))
    issuer.revoke(one.key.id)
    assert authenticate(f"Bearer {one.text}").refusal is Refusal.REVOKED
    assert authenticate(f"Bearer {other.text}").caller is not None
    listed = {key.id: key for key in issuer.list()}
    assert listed[one.key.id].revoked_at is not None
    assert listed[other.key.id].revoked_at is None


def test_all_keys_are_listed_however_many(issuer: KeyIssuer, aws: EmbeddedAws) -> None:
    """Page by page, and never by a scan."""
    made = {issuer.create(f"key {n}", [Scope.PRODUCER]).key.id for n in range(103)}
    with aws.calls.counted() as calls:
        assert {key.id for key in issuer.list()} == made
    assert set(calls) == {"Query"}


def test_records_of_ended_keys_go_after_three_months(aws: EmbeddedAws, issuer: KeyIssuer) -> None:
    """Those of valid ones stay."""
    issued = issuer.create("for a day", [Scope.PRODUCER], lasts_ms=DAY)
    ends = issued.key.created_at + DAY
    assert issued.key.expires_at == ends
    issuer.create("for ever", [Scope.PRODUCER])
    items = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    ttls = {item["sk"]["S"]: item.get("ttl") for item in items}
    assert ttls.pop(issued.key.id) == {"N": str(ends // 1000 + 90 * 86_400)}
    assert list(ttls.values()) == [None]


def test_of_two_changes_one_wins(aws: EmbeddedAws, issuer: KeyIssuer) -> None:
    """A rotation does not bring a revoked key back."""
    key = issuer.create("shop", [Scope.PRODUCER]).key
    issuer.revoke(key.id)
    keys = ApiKeys(aws.clients.dynamodb, aws.settings.table)
    with pytest.raises(StaleKeyError):
        keys.save(replace(key, name="renamed", version=1))
    with pytest.raises(StaleKeyError):
        keys.save(key)
    with pytest.raises(NotFoundError):
        issuer.rotate("f" * 16)


def test_somebody_elses_change_is_a_conflict(
    issuer: KeyIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reported as such, and nothing is changed."""
    key = issuer.create("shop", [Scope.PRODUCER]).key
    stale = issuer.keys.load(key.id)
    issuer.rotate(key.id)
    monkeypatch.setattr(ApiKeys, "load", lambda *_: stale)
    with pytest.raises(ConflictError):
        issuer.revoke(key.id)


def test_a_lost_answer_to_a_write_does_not_make_it_a_conflict(
    aws: EmbeddedAws, issuer: KeyIssuer
) -> None:
    """botocore sends it again; the record is already the one that was to be written."""
    keys = ApiKeys(aws.clients.dynamodb, aws.settings.table)
    key = issuer.create("shop", [Scope.PRODUCER]).key
    keys.save(key)
    assert keys.load(key.id) == key


def test_a_key_of_a_tenant_stays_one(issuer: KeyIssuer, authenticate: Authentication) -> None:
    """The record keeps the tenant, also for the secret that follows; others have none."""
    issued = issuer.create("acme", [Scope.PRODUCER], tenant="acme")
    rotated = issuer.rotate(issued.key.id)
    for text in (issued.text, rotated.text):
        caller = authenticate(f"Bearer {text}").caller
        assert caller is not None
        assert caller.tenant == "acme"
    plain = authenticate(f"Bearer {issuer.create('all', [Scope.PRODUCER]).text}").caller
    assert plain is not None
    assert plain.tenant == ""


def test_the_record_of_a_key_without_a_tenant_names_none(
    aws: EmbeddedAws, issuer: KeyIssuer
) -> None:
    """It is the record that versions without tenants store."""
    issuer.create("all", [Scope.PRODUCER])
    (item,) = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    assert "tenant" not in item[DOCUMENT]["S"]


@pytest.mark.parametrize(
    ("scope", "tenant", "field"),
    [(Scope.PRODUCER, "no spaces", "tenant"), (Scope.ADMIN, "acme", "scopes")],
)
def test_a_key_that_no_tenant_should_have_is_refused(
    issuer: KeyIssuer, scope: Scope, tenant: str, field: str
) -> None:
    """A malformed id; and an administrator's key, which has no bounds."""
    with pytest.raises(InvalidRequestError) as refused:
        issuer.create("bad", [scope], tenant=tenant)
    assert refused.value.details["field"] == field
