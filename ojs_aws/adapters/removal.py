"""Removes what a stack does not: documents, SQS queues of first use, and kept data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.adapters.errors import ignoring, translated
from ojs_aws.adapters.pages import listed
from ojs_aws.adapters.sqs import MISSING
from ojs_aws.domain.errors import BackendError, InvalidRequestError
from ojs_aws.topology import (
    OWNER_TAG,
    QUEUE_SEPARATOR,
    REMOVAL_TAG,
    REMOVED_WITH_STACK,
    any_queue_name,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef, TagTypeDef
    from mypy_boto3_sqs import SQSClient

VERSIONS_OF_A_PAGE: Final = 500
"""Objects of one call: S3 takes a thousand, and needs seconds for them."""

_UNTAGGED: Final = frozenset({"NoSuchTagSet", "NoSuchBucket"})
_GONE: Final = MISSING | {"ResourceNotFoundException", "NoSuchBucket", "404"}


def delete_versions(
    client: S3Client, bucket: str, versions: Sequence[ObjectIdentifierTypeDef]
) -> None:
    """Delete versions of objects in one call.

    :raises BackendError: an object that cannot be deleted.
    """
    answer = client.delete_objects(Bucket=bucket, Delete={"Objects": versions, "Quiet": True})
    for refused in answer.get("Errors", []):
        raise BackendError(
            f"DeleteObjects failed: {refused.get('Code')} for '{refused.get('Key')}'."
        )


@dataclass(frozen=True, slots=True)
class RemovableBuckets:
    """Empties buckets that say by their tag that they go with their stack."""

    client: S3Client

    def goes_with_stack(self, bucket: str) -> bool:
        """Return whether the bucket's tag allows to empty it: one call; False without a bucket."""
        tags: Sequence[TagTypeDef] = ()
        with translated("GetBucketTagging"), ignoring(_UNTAGGED):
            tags = self.client.get_bucket_tagging(Bucket=bucket)["TagSet"]
        return {"Key": REMOVAL_TAG, "Value": REMOVED_WITH_STACK} in tags

    def empty(self, bucket: str) -> Iterator[int]:
        """Delete each version of each object, and yield how many after every two calls.

        May be repeated, and goes on where it was ended.

        :raises BackendError: an object that cannot be deleted.
        """
        while page := self._page(bucket):
            with translated("DeleteObjects"):
                delete_versions(self.client, bucket, page)
            yield len(page)

    def _page(self, bucket: str) -> list[ObjectIdentifierTypeDef]:
        """Return some versions and delete markers. Without versioning each version is "null"."""
        with translated("ListObjectVersions"):
            answer = self.client.list_object_versions(Bucket=bucket, MaxKeys=VERSIONS_OF_A_PAGE)
        return [
            {"Key": each["Key"], "VersionId": each["VersionId"]}
            for each in (*answer.get("Versions", []), *answer.get("DeleteMarkers", []))
        ]


QUEUES_OF_A_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class QueuesOfFirstUse:
    """Finds queues by the name and the tag that they have from the call that made them.

    The tag decides: queues of the template have none, and with the old separator the names of
    another deployment's queues may begin alike.
    """

    client: SQSClient
    prefix: str

    def delete(self) -> Iterator[int]:
        """Delete the queues; yield 1 after each. Two calls for each, one for a queue of others.

        A queue that is already being deleted may be listed for another minute, and is left out.
        """
        for url in self._named():
            if self._is_own(url):
                with translated("DeleteQueue"), ignoring(_GONE):
                    self.client.delete_queue(QueueUrl=url)
                yield 1

    def _is_own(self, url: str) -> bool:
        tags: Mapping[str, str] = {}
        with translated("ListQueueTags"), ignoring(_GONE):
            tags = self.client.list_queue_tags(QueueUrl=url).get("Tags", {})
        return tags.get(OWNER_TAG) == self.prefix

    def _named(self) -> list[str]:
        """Return the URLs of all queues whose names begin like the deployment's."""
        begin = any_queue_name(self.prefix).removesuffix("*")
        most = QUEUES_OF_A_PAGE
        ask = self.client.list_queues
        with translated("ListQueues"):
            return [*listed(ask, "QueueUrls", "NextToken", QueueNamePrefix=begin, MaxResults=most)]


@dataclass(frozen=True, slots=True)
class DataRemoval:
    """Deletes what nobody needs any more; what is gone already counts as deleted."""

    dynamodb: DynamoDBClient
    s3: S3Client
    sqs: SQSClient

    def table(self, name: str) -> None:
        """Delete a table, its protection included."""
        with translated(f"DeleteTable of {name}"), ignoring(_GONE):
            self.dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
            # while it is updated, it cannot be deleted
            self.dynamodb.get_waiter("table_exists").wait(
                TableName=name, WaiterConfig={"Delay": 2, "MaxAttempts": 150}
            )
            self.dynamodb.delete_table(TableName=name)

    def bucket(self, name: str) -> None:
        """Delete a bucket with each version of each object.

        :raises BackendError: an object that cannot be deleted.
        """
        with translated(f"DeleteBucket of {name}"), ignoring(_GONE):
            for page in self.s3.get_paginator("list_object_versions").paginate(Bucket=name):
                found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
                versions: list[ObjectIdentifierTypeDef] = [
                    {"Key": each["Key"], "VersionId": each["VersionId"]} for each in found
                ]
                if versions:
                    delete_versions(self.s3, name, versions)
            self.s3.delete_bucket(Bucket=name)

    def queues(self, prefix: str) -> None:
        """Delete the SQS queues whose names begin so.

        :raises InvalidRequestError: other deployments may have queues of such names: those of
            ``ojs-staging`` begin with ``ojs``, too.
        """
        if not prefix.endswith(QUEUE_SEPARATOR):
            raise InvalidRequestError(
                f"Queues of other deployments may begin with {prefix!r}, too.",
                hint="Everything else is deleted. Delete the queues that are left by hand.",
            )
        with translated(f"DeleteQueue of {prefix}*"):
            pages = self.sqs.get_paginator("list_queues").paginate(QueueNamePrefix=prefix)
            for url in [url for page in pages for url in page.get("QueueUrls", ())]:
                with ignoring(_GONE):  # a deleted queue is listed for another minute
                    self.sqs.delete_queue(QueueUrl=url)
