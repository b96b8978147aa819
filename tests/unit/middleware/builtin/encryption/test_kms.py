"""Data keys from KMS: made, kept for a while, opened again, bound to their context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from ojs_aws.middleware import (
    DecryptionError,
    EncryptionMiddleware,
    KeyServiceError,
    KmsKeys,
    UnknownKeyError,
)
from tests.unit.middleware.builtin.encryption.test_middleware import opened, sealed
from tests.unit.middleware.doubles import job


class Kms:
    """A KMS with one key, and a count of its calls."""

    def __init__(self) -> None:
        self.client = boto3.client("kms", region_name="us-east-1")
        self.key_id = self.client.create_key()["KeyMetadata"]["KeyId"]
        self.calls: Counter[str] = Counter()
        self.client.meta.events.register("before-call", self._note)

    def _note(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1

    def keys(self, **options: Any) -> KmsKeys:
        return KmsKeys(self.key_id, self.client, **options)


@pytest.fixture
def kms(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kms]:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield Kms()


class Clock:
    """Seconds that only the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_another_process_opens_what_this_one_sealed(kms: Kms) -> None:
    """The job carries its data key, encrypted; nothing else is needed."""
    stored = await sealed(job("secret"), EncryptionMiddleware(kms.keys()))
    assert str(stored.meta["ojs.codec.key_id"]).startswith("kms:")
    assert await opened(stored, EncryptionMiddleware(kms.keys())) == ["secret"]
    assert kms.calls == {"GenerateDataKey": 1, "Decrypt": 1}


def test_fifty_jobs_at_once_ask_for_one_data_key(kms: Kms) -> None:
    """In fifty threads; and the one who made it need not have it opened."""
    keys = kms.keys()
    with ThreadPoolExecutor(50) as threads:
        made = set(threads.map(keys.current, ["a.b"] * 50))
    assert len(made) == 1
    (key,) = made
    assert keys.find(key.id, "a.b") == key
    assert kms.calls == {"GenerateDataKey": 1}


def test_a_data_key_is_used_for_a_limited_time_and_number_of_jobs(kms: Kms) -> None:
    """Then a new one is asked for; opened ones are forgotten as well."""
    clock = Clock()
    keys = kms.keys(max_age_s=60, max_uses=3, clock=clock)
    used = [keys.current("a.b").id for _ in range(4)]
    assert used[0] == used[1] == used[2] != used[3]
    clock.now = 60
    assert keys.current("a.b").id not in used
    keys.find(used[0], "a.b")
    assert kms.calls == {"GenerateDataKey": 3, "Decrypt": 1}


def test_only_so_many_keys_are_kept(kms: Kms) -> None:
    """The one used longest ago leaves."""
    ids = [kms.keys().current("a.b").id for _ in range(3)]
    keys = kms.keys(max_keys=2)
    for key_id in (*ids, ids[2], ids[1], ids[0]):
        keys.find(key_id, "a.b")
    assert kms.calls["Decrypt"] == 4


def test_a_data_key_is_opened_only_in_its_context(kms: Kms) -> None:
    """Own pairs, and the job's type where it is bound."""
    mine = kms.keys(context={"tenant": "acme"}, bind_type=True)
    key = mine.current("a.b")
    again = kms.keys(context={"tenant": "acme"}, bind_type=True)
    assert again.find(key.id, "a.b") == key
    with pytest.raises(DecryptionError, match=r"ojs:type.*tenant"):
        again.find(key.id, "c.d")
    with pytest.raises(DecryptionError, match="another"):
        kms.keys(context={"tenant": "other"}, bind_type=True).find(key.id, "a.b")
    assert mine.current("c.d") != key


def test_ids_that_are_no_kms_keys_are_refused(kms: Kms) -> None:
    """Without asking KMS."""
    with pytest.raises(UnknownKeyError, match="none of KMS"):
        kms.keys().find("key-2026-02", "a.b")
    with pytest.raises(DecryptionError, match="not base64"):
        kms.keys().find("kms:?", "a.b")
    assert kms.calls == {}


class Broken:
    """A KMS that does not answer."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    def generate_data_key(self, **_: Any) -> Any:
        raise self.problem

    decrypt = generate_data_key


@pytest.mark.parametrize(
    "problem",
    [
        EndpointConnectionError(endpoint_url="kms"),
        ClientError({"Error": {"Code": "ThrottlingException"}}, "Decrypt"),
    ],
)
async def test_a_kms_that_fails_aborts_the_enqueueing_and_fails_the_attempt(
    kms: Kms, problem: Exception
) -> None:
    """Another error than for changed data: a later attempt may succeed."""
    broken: Any = Broken(problem)
    middleware = EncryptionMiddleware(KmsKeys("alias/x", broken))
    with pytest.raises(KeyServiceError):
        await sealed(job("secret"), middleware)
    stored = await sealed(job("secret"), EncryptionMiddleware(kms.keys()))
    with pytest.raises(KeyServiceError):
        await opened(stored, middleware)


def test_limits_must_be_positive_and_safe(kms: Kms) -> None:
    """Random nonces allow 2**32 encryptions per key."""
    for bad in ({"max_age_s": 0}, {"max_uses": 2**32 + 1}, {"max_keys": 0}):
        with pytest.raises(ValueError, match="must be positive"):
            kms.keys(**bad)
