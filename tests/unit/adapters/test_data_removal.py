"""What ``ojs-aws destroy --delete-data`` deletes, and what it leaves to other deployments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from ojs_aws.adapters.removal import DataRemoval
from ojs_aws.domain.errors import BackendError, InvalidRequestError


@pytest.fixture
def clients() -> Iterator[tuple[Any, Any, Any]]:
    with mock_aws():
        yield tuple(boto3.client(name, "us-east-1") for name in ("dynamodb", "s3", "sqs"))  # type: ignore[misc]


def test_a_protected_table_and_all_versions_of_a_bucket_go(clients: tuple[Any, Any, Any]) -> None:
    """A second run finds them gone."""
    dynamodb, s3, _ = clients
    key = {"AttributeName": "pk", "KeyType": "HASH"}
    dynamodb.create_table(
        TableName="jobs",
        KeySchema=[key],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        DeletionProtectionEnabled=True,
    )
    s3.create_bucket(Bucket="documents")
    versioning = {"Status": "Enabled"}
    s3.put_bucket_versioning(Bucket="documents", VersioningConfiguration=versioning)
    for body in (b"1", b"2"):
        s3.put_object(Bucket="documents", Key="a", Body=body)
    s3.delete_object(Bucket="documents", Key="a")
    removal = DataRemoval(*clients)
    for _ in range(2):
        removal.table("jobs")
        removal.bucket("documents")
    assert dynamodb.list_tables()["TableNames"] == []
    assert s3.list_buckets()["Buckets"] == []


def test_an_object_that_cannot_be_deleted_is_named(
    clients: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    s3 = clients[1]
    s3.create_bucket(Bucket="documents")
    s3.put_object(Bucket="documents", Key="a", Body=b"1")
    refusal = {"Errors": [{"Code": "AccessDenied", "Key": "a"}]}
    monkeypatch.setattr(s3, "delete_objects", lambda **_: refusal)
    with pytest.raises(BackendError, match="AccessDenied for 'a'"):
        DataRemoval(*clients).bucket("documents")


def test_a_queue_that_is_gone_counts_as_deleted(
    clients: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQS lists a deleted queue for another minute."""
    sqs = clients[2]
    urls = [sqs.create_queue(QueueName=f"ojs__{name}")["QueueUrl"] for name in ("a", "b")]
    delete = sqs.delete_queue

    def deleted_twice(QueueUrl: str) -> None:  # noqa: N803 - the name is boto3's
        for _ in range(2):
            delete(QueueUrl=QueueUrl)

    monkeypatch.setattr(sqs, "delete_queue", deleted_twice)
    DataRemoval(*clients).queues("ojs__")
    assert (len(urls), sqs.list_queues().get("QueueUrls", [])) == (2, [])


def test_queues_of_other_deployments_stay(clients: tuple[Any, Any, Any]) -> None:
    """A prefix without its separator begins the names of others, too."""
    sqs = clients[2]
    for name in ("ojs__email", "ojs-staging__email"):
        sqs.create_queue(QueueName=name)
    removal = DataRemoval(*clients)
    for unsafe in ("", "ojs"):
        with pytest.raises(InvalidRequestError):
            removal.queues(unsafe)
    removal.queues("ojs__")
    assert [url.rpartition("/")[2] for url in sqs.list_queues()["QueueUrls"]] == [
        "ojs-staging__email"
    ]
