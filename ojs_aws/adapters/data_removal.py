"""Deletes the data that a deleted stack left: the table, documents, and queues of first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.topology import QUEUE_SEPARATOR

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef
    from mypy_boto3_sqs import SQSClient

_GONE: Final = frozenset(
    {"ResourceNotFoundException", "NoSuchBucket", "404", "AWS.SimpleQueueService.NonExistentQueue"}
)


@dataclass(frozen=True, slots=True)
class DataRemoval:
    """Deletes what nobody needs any more; what is gone already counts as deleted."""

    dynamodb: DynamoDBClient
    s3: S3Client
    sqs: SQSClient

    def table(self, name: str) -> None:
        """Delete a table, its protection included."""

        def delete() -> None:
            self.dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
            # while it is updated, it cannot be deleted
            self.dynamodb.get_waiter("table_exists").wait(
                TableName=name, WaiterConfig={"Delay": 2, "MaxAttempts": 150}
            )
            self.dynamodb.delete_table(TableName=name)

        _unless_gone(f"DeleteTable of {name}", delete)

    def bucket(self, name: str) -> None:
        """Delete a bucket with each version of each object."""

        def delete() -> None:
            for page in self.s3.get_paginator("list_object_versions").paginate(Bucket=name):
                found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
                versions: list[ObjectIdentifierTypeDef] = [
                    {"Key": each["Key"], "VersionId": each["VersionId"]} for each in found
                ]
                if versions:
                    self.s3.delete_objects(Bucket=name, Delete={"Objects": versions, "Quiet": True})
            self.s3.delete_bucket(Bucket=name)

        _unless_gone(f"DeleteBucket of {name}", delete)

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
                self.sqs.delete_queue(QueueUrl=url)


def _unless_gone(operation: str, delete: Callable[[], None]) -> None:
    with translated(operation):
        try:
            delete()
        except refusals() as problem:
            if error_code(problem) not in _GONE:
                raise
