"""Empties a bucket that goes with its stack: CloudFormation deletes none that holds an object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendError
from ojs_aws.topology import REMOVAL_TAG, REMOVED_WITH_STACK

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PAGE: Final = 500
"""Objects of one call: S3 takes a thousand, and needs seconds for them."""

_UNTAGGED: Final = frozenset({"NoSuchTagSet", "NoSuchBucket"})


@dataclass(frozen=True, slots=True)
class RemovableBuckets:
    """Empties buckets that say by their tag that they go with their stack."""

    client: S3Client

    def goes_with_stack(self, bucket: str) -> bool:
        """Make one call; a bucket that does not exist says nothing."""
        with translated("GetBucketTagging"):
            try:
                tags = self.client.get_bucket_tagging(Bucket=bucket)["TagSet"]
            except refusals() as problem:
                if error_code(problem) not in _UNTAGGED:
                    raise
                return False
        return {"Key": REMOVAL_TAG, "Value": REMOVED_WITH_STACK} in tags

    def empty(self, bucket: str) -> Iterator[int]:
        """Delete each version of each object, and yield how many after every two calls.

        May be repeated, and goes on where it was ended.

        :raises BackendError: an object that cannot be deleted.
        """
        while page := self._page(bucket):
            with translated("DeleteObjects"):
                answer = self.client.delete_objects(
                    Bucket=bucket, Delete={"Objects": page, "Quiet": True}
                )
            for refused in answer.get("Errors", []):
                raise BackendError(
                    f"DeleteObjects failed: {refused.get('Code')} for '{refused.get('Key')}'."
                )
            yield len(page)

    def _page(self, bucket: str) -> list[Any]:
        """Return some versions and delete markers. Without versioning each version is "null"."""
        with translated("ListObjectVersions"):
            answer = self.client.list_object_versions(Bucket=bucket, MaxKeys=PAGE)
        return [
            {"Key": each["Key"], "VersionId": each["VersionId"]}
            for each in (*answer.get("Versions", []), *answer.get("DeleteMarkers", []))
        ]
