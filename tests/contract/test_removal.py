"""What goes with a stack: buckets are emptied, and queues of first use are found and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ojs_aws.adapters import removal
from ojs_aws.adapters.removal import QueuesOfFirstUse, RemovableBuckets
from ojs_aws.domain.errors import BackendError
from ojs_aws.topology import OWNER_TAG, REMOVAL_TAG, REMOVED_WITH_STACK
from tests.aws import EmbeddedAws, embedded

pytestmark = pytest.mark.moto

BUCKET = "documents"


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A deployment."""
    with embedded() as aws:
        yield aws


@pytest.fixture
def s3(aws: EmbeddedAws) -> Any:
    """Its S3."""
    return aws.clients.s3()


@pytest.fixture
def sqs(aws: EmbeddedAws) -> Any:
    """Its SQS."""
    return aws.clients.sqs


def tagged(s3: Any, key: str, value: str) -> None:
    """Give the bucket one tag."""
    s3.put_bucket_tagging(Bucket=BUCKET, Tagging={"TagSet": [{"Key": key, "Value": value}]})


# ------------------------------------------------------------------------------------ buckets


def test_a_bucket_goes_with_its_stack_if_its_tag_says_so(s3: Any) -> None:
    """Not without a tag, not by another one, and not if there is no bucket."""
    buckets = RemovableBuckets(s3)
    assert not buckets.goes_with_stack(BUCKET)
    tagged(s3, REMOVAL_TAG, "retain")
    assert not buckets.goes_with_stack(BUCKET)
    tagged(s3, "team", REMOVED_WITH_STACK)
    assert not buckets.goes_with_stack(BUCKET)
    tagged(s3, REMOVAL_TAG, REMOVED_WITH_STACK)
    assert buckets.goes_with_stack(BUCKET)
    assert not buckets.goes_with_stack("nobodys-bucket")


@pytest.mark.parametrize("is_versioned", [False, True])
def test_an_emptied_bucket_can_be_deleted(
    s3: Any, monkeypatch: pytest.MonkeyPatch, is_versioned: bool
) -> None:
    """With all versions and delete markers, page by page; S3 deletes no other bucket."""
    monkeypatch.setattr(removal, "VERSIONS_OF_A_PAGE", 3)
    if is_versioned:
        status = {"Status": "Enabled"}
        s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration=status)
    for number in range(4):
        for body in (b"a", b"b"):
            s3.put_object(Bucket=BUCKET, Key=f"jobs/{number} ä&+%", Body=body)
    if is_versioned:
        s3.delete_object(Bucket=BUCKET, Key="jobs/1 ä&+%")
    counts = list(RemovableBuckets(s3).empty(BUCKET))
    assert sum(counts) == (9 if is_versioned else 4)
    assert len(counts) > 1
    assert list(RemovableBuckets(s3).empty(BUCKET)) == []
    s3.delete_bucket(Bucket=BUCKET)


def test_emptying_goes_on_where_it_was_ended(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an invocation that had no more time."""
    monkeypatch.setattr(removal, "VERSIONS_OF_A_PAGE", 2)
    for number in range(5):
        s3.put_object(Bucket=BUCKET, Key=str(number), Body=b"")
    assert next(RemovableBuckets(s3).empty(BUCKET)) == 2
    assert list(RemovableBuckets(s3).empty(BUCKET)) == [2, 1]


def test_an_object_that_cannot_be_deleted_is_an_error(
    s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 answers 200 and names it, and would be asked again and again."""
    s3.put_object(Bucket=BUCKET, Key="held", Body=b"")
    refused = {"Errors": [{"Key": "held", "Code": "AccessDenied"}]}
    monkeypatch.setattr(s3, "delete_objects", lambda **_: refused)
    with pytest.raises(BackendError, match="AccessDenied for 'held'"):
        list(RemovableBuckets(s3).empty(BUCKET))


# ------------------------------------------------------------------------------------- queues


def names(sqs: Any) -> set[str]:
    """The names of all queues."""
    return {url.rsplit("/", 1)[-1] for url in sqs.list_queues().get("QueueUrls", [])}


@pytest.mark.parametrize("prefix", ["shop", "shop__"])
def test_queues_with_the_tag_of_the_deployment_are_deleted(
    sqs: Any, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    """Not those of the template, which have no tag, nor those of a deployment named alike."""
    monkeypatch.setattr(removal, "QUEUES_OF_A_PAGE", 2)
    begin = prefix if prefix.endswith("__") else "shop-"
    own = [f"{begin}{each}" for each in ("a", "b", "c")]
    for name in own:
        sqs.create_queue(QueueName=name, tags={OWNER_TAG: prefix, "team": "x"})
    sqs.create_queue(QueueName=f"{begin}declared")
    sqs.create_queue(QueueName=f"{begin}staging-a", tags={OWNER_TAG: f"{begin}staging"})
    sqs.create_queue(QueueName="other", tags={OWNER_TAG: prefix})
    before = names(sqs)
    assert list(QueuesOfFirstUse(sqs, prefix).delete()) == [1, 1, 1]
    assert names(sqs) == before - {*own}
    assert list(QueuesOfFirstUse(sqs, prefix).delete()) == []


@pytest.mark.parametrize("gone_at", ["list_queue_tags", "delete_queue"])
def test_a_queue_that_is_gone_already_is_left_out(
    sqs: Any, monkeypatch: pytest.MonkeyPatch, gone_at: str
) -> None:
    """SQS lists a queue for up to a minute after its deletion."""
    url = sqs.create_queue(QueueName="shop__a", tags={OWNER_TAG: "shop__"})["QueueUrl"]
    call = getattr(sqs, gone_at)

    def late(**request: Any) -> Any:
        monkeypatch.setattr(sqs, gone_at, call)
        sqs.delete_queue(QueueUrl=url)
        return call(**request)

    monkeypatch.setattr(sqs, gone_at, late)
    list(QueuesOfFirstUse(sqs, "shop__").delete())
    assert "shop__a" not in names(sqs)
