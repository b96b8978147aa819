"""Restores documents of jobs that were deleted, and sweeps those that no job names any more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendError, InvalidRequestError
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import DOCUMENT_PREFIX

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MIN_AGE_MS: Final = 8 * 24 * 3600 * 1000
"""A document that is younger is left alone: the job that names it may still come. Large batches
keep their log for seven days; a transaction of the user's may be written after its draft."""

SUSPICIOUS: Final = 20
"""From so many documents on, most of them must have a job, or the table may be the wrong one."""


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
class Swept:
    """Counts what was found in a page of the bucket.

    :ivar documents: how many were looked at.
    :ivar unreferenced: of these, how many old ones belong to jobs that are gone.
    :ivar size_bytes: how large those are together.
    :ivar deleted: how many of them were deleted.
    """

    documents: int
    unreferenced: int
    size_bytes: int
    deleted: int


@dataclass(frozen=True, slots=True)
class UnreferencedDocuments:
    """Finds and deletes documents of jobs that are gone.

    Every document's name holds its job's id, and a document is always put under a name that no
    earlier job of that id can have had; only results are named by their text alone, and are put
    when their job is there already. So nothing refers to a document of a job that does not exist.
    If a job of that id with the same result is stored during the deletion, the second read finds
    it, and the document is restored.

    A document that an existing job does not name stays until that job has gone.

    :ivar existing: those of some job ids that have a job, strongly consistent.
    """

    client: S3Client
    bucket: str
    existing: Callable[[Sequence[str]], Collection[str]]

    def sweep(self, before: Instant, *, is_dry: bool, takes_most: bool = False) -> Iterator[Swept]:
        """Go through the bucket, a thousand documents at a time; may be repeated.

        One call for a page of the list, one read for each hundred jobs, and where something is
        deleted a call more for the page and the reads once more.

        :param before: when a document must have been put at the latest.
        :param is_dry: only count.
        :param takes_most: also go on where most of the documents have no job.
        :raises InvalidRequestError: the bucket keeps no versions, so that a deletion could not be
            taken back; or most documents have no job.
        :raises BackendError: AWS refused something; what was done is done.
        """
        if not is_dry:
            self._check_versions()
        seen = lost = 0
        for page in self._pages():
            gone = self._gone(page, before)
            seen, lost = seen + len(page), lost + len(gone)
            if not is_dry and not takes_most and lost > max(SUSPICIOUS, seen // 2):
                raise InvalidRequestError(
                    f"{lost} of {seen} documents belong to no job of this table.",
                    hint="Is it the table that the deployment uses now? If it is, say --force.",
                )
            yield Swept(
                len(page),
                len(gone),
                sum(each["Size"] for each in gone),
                0 if is_dry else self._delete([each["Key"] for each in gone]),
            )

    def _pages(self) -> Iterator[list[Any]]:
        more: dict[str, Any] = {}
        while True:
            with translated("ListObjectsV2"):
                page = self.client.list_objects_v2(
                    Bucket=self.bucket, Prefix=DOCUMENT_PREFIX, **more
                )
            yield [*page.get("Contents", [])]
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def _gone(self, page: Sequence[Any], before: Instant) -> list[Any]:
        """Return the old documents whose jobs do not exist."""
        latest = datetime.fromtimestamp(before / 1000, UTC)
        old = [each for each in page if each["LastModified"] < latest and _job_of(each["Key"])]
        there = self._existing([each["Key"] for each in old])
        return [each for each in old if _job_of(each["Key"]) not in there]

    def _existing(self, keys: Sequence[str]) -> Collection[str]:
        ids = list(dict.fromkeys(map(_job_of, keys)))
        return self.existing(ids) if ids else ()

    def _delete(self, keys: Sequence[str]) -> int:
        """Delete documents, and restore those that a job has named meanwhile."""
        if not keys:
            return 0
        answer = self._remove([{"Key": key} for key in keys])
        there = self._existing(keys)
        back = [
            {"Key": each["Key"], "VersionId": each["DeleteMarkerVersionId"]}
            for each in answer.get("Deleted", [])
            if _job_of(each["Key"]) in there
        ]
        if back:
            self._remove(back)
        return len(keys) - len(back)

    def _remove(self, objects: list[Any]) -> Any:
        with translated("DeleteObjects"):
            answer = self.client.delete_objects(Bucket=self.bucket, Delete={"Objects": objects})
        if failed := answer.get("Errors"):
            raise BackendError(
                f"{len(failed)} documents could not be deleted: {failed[0].get('Code')}.",
                hint="You need s3:DeleteObject and s3:DeleteObjectVersion.",
            )
        return answer

    def _check_versions(self) -> None:
        with translated("GetBucketVersioning"):
            status = self.client.get_bucket_versioning(Bucket=self.bucket).get("Status")
        if status != "Enabled":
            raise InvalidRequestError(
                f"Bucket '{self.bucket}' keeps no versions: a deletion could not be taken back.",
                hint="Deploy with document_backup_days, or switch on the bucket's versioning.",
            )


def _job_of(key: str) -> str:
    """Return the job that a document belongs to; empty if the key is not a document's."""
    job_id, slash, digest = key.removeprefix(DOCUMENT_PREFIX).partition("/")
    return job_id if slash and digest and "/" not in digest else ""
