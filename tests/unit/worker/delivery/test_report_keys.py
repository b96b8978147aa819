"""The API knows the tokens of deliveries by the secrets that its environment names."""

from __future__ import annotations

import json

import pytest

from ojs_aws.domain.access import Caller
from ojs_aws.domain.api_keys import Refusal
from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant, token_text
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.topology import SECRETS, SIGNING_SECRET
from ojs_aws.worker.delivery import with_tokens
from ojs_aws.worker.secrets import FRESH_S, Secrets

SOMEBODY = Verdict(Caller(id="key:1"))
ARNS = {SIGNING_SECRET: "arn:first", "OJS_SIGNING_SECRET_2": "arn:second"}


class Store:
    """Secrets Manager, which counts its calls."""

    def __init__(self, **values: str) -> None:
        self.values, self.reads, self.now = values, list[str](), 0.0

    def read(self, arn: str) -> str:
        self.reads.append(arn)
        return self.values[arn.removeprefix("arn:")]


def others(_: str) -> Verdict:
    return SOMEBODY


def header(key: str, clock: FakeClock) -> str:
    """What an endpoint sends."""
    grant = AttemptGrant(
        job_id="01912345-6789-7abc-8def-0123456789ab",
        attempt=1,
        reservation_id="r-1",
        ends_at=Instant(clock.now() + 3_600_000),
    )
    return f"Bearer {token_text(grant, key)}"


def test_an_environment_without_secrets_changes_nothing() -> None:
    """Where no delivery hands out tokens, nobody looks for them."""
    assert with_tokens(others, {}) is others


def test_each_secret_counts_with_each_of_its_keys() -> None:
    """They are read by the first token, and no more for five minutes."""
    store, clock = Store(first="old,new", second="other"), FakeClock()
    environ = {SECRETS: json.dumps(ARNS)}
    secrets = Secrets(environ, store.read, lambda: store.now)
    find = with_tokens(others, environ, clock, secrets)
    assert find("Bearer ojs_key") is SOMEBODY
    assert store.reads == []
    for key in ("old", "new", "other"):
        found = find(header(key, clock))
        assert found.caller is not None
        assert found.caller.attempt is not None
    assert find(header("wrong", clock)).refusal is Refusal.UNKNOWN
    assert store.reads == ["arn:first", "arn:second"]
    store.now += FRESH_S
    store.values["first"] = "new,newest"
    assert find(header("newest", clock)).caller is not None
    assert find(header("old", clock)).refusal is Refusal.UNKNOWN
    assert len(store.reads) == 4


def test_on_a_machine_of_ones_own_a_variable_has_the_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As for the worker that delivers; by the clock of the machine."""
    from ojs_aws.worker import secrets

    environ = {SIGNING_SECRET: "key"}
    monkeypatch.setattr(secrets, "worker_secrets", lambda: Secrets(environ, Store().read))
    find = with_tokens(others, environ)
    later = FakeClock()
    later.at = 32_000_000_000_000
    assert find(header("key", later)).caller is not None
    assert find(header("other", later)).refusal is Refusal.UNKNOWN
