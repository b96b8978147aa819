"""Restores deleted documents in a bucket with versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import DOCUMENT_PREFIX

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class DeletedDocuments:
    """Finds deleted documents that are still kept as older versions."""

    client: S3Client
    bucket: str

    def bring_back(self, since: Instant, *, is_dry: bool = False) -> Iterator[int]:
        """Undo the deletions since an instant, page by page; may be repeated.

        :param is_dry: only count.
        :returns: how many documents of each page were, or would be, brought back.
        :raises BackendError: some could not be; the next run takes them up.
        """
        begin = datetime.fromtimestamp(since / 1000, UTC)
        start: dict[str, Any] = {}
        while True:
            with translated("ListObjectVersions"):
                page = self.client.list_object_versions(
                    Bucket=self.bucket, Prefix=DOCUMENT_PREFIX, **start
                )
            markers: list[Any] = [
                {"Key": each["Key"], "VersionId": each["VersionId"]}
                for each in page.get("DeleteMarkers", [])
                if each["IsLatest"] and each["LastModified"] >= begin
            ]
            if markers and not is_dry:
                self._remove(markers)
            yield len(markers)
            if not page.get("IsTruncated"):
                return
            start = {
                "KeyMarker": page["NextKeyMarker"],
                "VersionIdMarker": page["NextVersionIdMarker"],
            }

    def _remove(self, markers: list[Any]) -> None:
        """Remove deletion markers, which shows the versions before them again."""
        with translated("DeleteObjects"):
            answer = self.client.delete_objects(
                Bucket=self.bucket, Delete={"Objects": markers, "Quiet": True}
            )
        if failed := answer.get("Errors"):
            raise BackendError(
                f"{len(failed)} documents could not be brought back: {failed[0].get('Code')}.",
                hint="The role needs s3:ListBucketVersions and s3:DeleteObjectVersion.",
            )
