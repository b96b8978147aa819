"""Stores large documents in S3, restores deleted ones, and writes the files of an export."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendError, DocumentMissingError
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import DOCUMENT_PREFIX

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MISSING: Final = "NoSuchKey"
"""S3 answers so only to those who may list the bucket; to others AccessDenied, as for a document
that is there and that they may not read."""


@dataclass(frozen=True, slots=True)
class S3Documents:
    """Stores texts in one bucket. The client is made at the first use: few jobs need it."""

    client: Callable[[], S3Client]
    bucket: str

    def put(self, key: str, text: str) -> None:
        """Store a text under a key; the same text again changes nothing."""
        client = self.client()
        with translated("PutObject"):
            client.put_object(
                Bucket=self.bucket, Key=key, Body=text.encode(), ContentType="application/json"
            )

    def get(self, key: str) -> str:
        """Return the text under a key.

        :raises DocumentMissingError: there is none.
        """
        client = self.client()
        with translated("GetObject"):
            try:
                answer = client.get_object(Bucket=self.bucket, Key=key)
            except refusals() as problem:
                if error_code(problem) != MISSING:
                    raise
                raise DocumentMissingError(f"The document '{key}' is missing.") from problem
            return answer["Body"].read().decode()

    def link(self, key: str, seconds: int) -> str:
        """Return a URL by which anybody may read a key for some time; makes no call.

        It ends sooner where the credentials that sign it do.

        :raises BackendError: there are none to sign it.
        """
        with translated("GetObject"):
            return self.client().generate_presigned_url(
                "get_object", Params={"Bucket": self.bucket, "Key": key}, ExpiresIn=seconds
            )

    def delete(self, key: str) -> None:
        """Remove a key; an absent one is no error."""
        client = self.client()
        with translated("DeleteObject"):
            client.delete_object(Bucket=self.bucket, Key=key)


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


@dataclass(frozen=True, slots=True)
class S3Files:
    """Writes compressed texts to one bucket."""

    client: S3Client
    bucket: str

    def put(self, key: str, text: str) -> None:
        """Write a file; the same text again writes the same bytes under the same name.

        :raises BackendError: it may not be there; again is no error.
        """
        with translated("PutObject"):
            self.client.put_object(
                Bucket=self.bucket,
                Key=key,
                Body=gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0),
                ContentType="application/x-ndjson",
                ContentEncoding="gzip",
            )
