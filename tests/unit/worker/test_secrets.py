"""Secrets are read when a worker starts, and again after they were rotated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws

from ojs_aws import Jobs, LambdaWorker, secret
from ojs_aws.adapters.secrets import SecretReader
from ojs_aws.domain.errors import BackendError
from ojs_aws.worker.secrets import FRESH_S, Secrets, worker_secrets

ARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-abc"


class Store:
    """Holds a value that the test rotates, and counts how often it is read."""

    def __init__(self) -> None:
        self.value, self.reads, self.now, self.is_down = "one", 0, 0.0, False

    def read(self, arn: str) -> str:
        assert arn == ARN
        self.reads += 1
        if self.is_down:
            raise BackendError("Reading a secret failed.")
        return self.value

    def secrets(self) -> Secrets:
        environ = {"OJS_SECRETS": json.dumps({"DB": ARN}), "LOCAL": "here"}
        return Secrets(environ, self.read, lambda: self.now)


def test_a_secret_is_read_once_until_it_is_old() -> None:
    """A rotated one is known after five minutes."""
    store = Store()
    secrets = store.secrets()
    secrets.read_all()
    store.value = "two"
    store.now = FRESH_S - 0.001
    assert (secrets.get("DB"), store.reads) == ("one", 1)
    store.now = FRESH_S
    assert (secrets.get("DB"), store.reads) == ("two", 2)


def test_a_handler_that_was_refused_reads_the_rotated_value_at_once() -> None:
    store = Store()
    secrets = store.secrets()
    assert secrets.get("DB") == "one"
    store.value = "two"
    assert secrets.get("DB", is_rotated=True) == "two"


def test_a_known_value_outlives_a_failure_to_read_it_again() -> None:
    """An outage of Secrets Manager stops no worker that has started."""
    store = Store()
    secrets = store.secrets()
    secrets.get("DB")
    store.is_down, store.now = True, FRESH_S
    assert secrets.get("DB") == "one"
    with pytest.raises(BackendError):
        secrets.get("DB", is_rotated=True)
    with pytest.raises(BackendError):
        store.secrets().read_all()


def test_a_variable_stands_for_a_secret_where_none_is_configured() -> None:
    """On one's own machine, and in tests."""
    assert Store().secrets().get("LOCAL") == "here"
    with pytest.raises(KeyError, match="MISSING"):
        Store().secrets().get("MISSING")


@pytest.mark.parametrize("text", ["no json", "[]", '{"DB": 1}'])
def test_a_variable_that_is_no_object_of_arns_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="OJS_SECRETS"):
        Secrets({"OJS_SECRETS": text}, Store().read)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretReader]:
    """Secrets Manager and Parameter Store of moto."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        session = cast("Any", boto3.Session(region_name="eu-west-1"))
        yield SecretReader(session.client)


@pytest.mark.moto
def test_secrets_members_and_parameters_are_read_by_their_arns(aws: SecretReader) -> None:
    """In the notation of ECS: ``arn:name::`` is one member of a secret's JSON."""
    made = aws.client("secretsmanager").create_secret(
        Name="db", SecretString='{"password": "x", "port": 5432}'
    )
    arn = made["ARN"]
    assert aws.read(f"{arn}:password::") == "x"
    assert aws.read(f"{arn}:port::") == "5432"
    assert json.loads(aws.read(arn)) == {"password": "x", "port": 5432}
    aws.client("ssm").put_parameter(Name="/shop/token", Value="t", Type="SecureString")
    assert aws.read("arn:aws:ssm:eu-west-1:123456789012:parameter/shop/token") == "t"
    with pytest.raises(BackendError, match="no member 'user'"):
        aws.read(f"{arn}:user::")
    with pytest.raises(BackendError):
        aws.read(ARN)
    made = aws.client("secretsmanager").create_secret(Name="bytes", SecretBinary=b"x")
    with pytest.raises(BackendError, match="is no text"):
        aws.read(made["ARN"])


def test_a_worker_without_its_secret_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Better at once than with the first job."""
    monkeypatch.setenv("OJS_SECRETS", json.dumps({"DB": ARN}))
    store = Store()
    store.is_down = True
    monkeypatch.setattr("ojs_aws.bootstrap.secret_reader", lambda: store)
    worker_secrets.cache_clear()
    with pytest.raises(BackendError):
        LambdaWorker(Jobs()).freeze()
    store.is_down = False
    LambdaWorker(Jobs()).freeze()
    assert (secret("DB"), store.reads) == ("one", 2)
    worker_secrets.cache_clear()
