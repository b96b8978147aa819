"""Answers the calls of S3 that the adapters make, as botocore's client does."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from ojs_aws.memory_aws.calls import META, Answer, Calls, Client, Meta, Request, refuse

MAX_KEYS: Final = 1000
LINKS: Final = "https://s3.memory/"
"""Begins each link to an object."""


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """Holds one version of an object, or the marker of its deletion (content None)."""

    id: str
    content: bytes | None
    at: datetime


@dataclass(slots=True)
class MemoryBucket:
    """Keeps the versions of objects by key, the latest one last."""

    is_versioned: bool = True
    versions: dict[str, list[ObjectVersion]] = field(default_factory=dict)

    def latest(self, key: str) -> ObjectVersion | None:
        """Return the latest version of an object; None if it is deleted or was never there."""
        found = self.versions.get(key)
        return found[-1] if found and found[-1].content is not None else None


@dataclass(eq=False)
class MemoryS3(Client):
    """Keeps buckets in memory behind the methods of botocore's client."""

    service: ClassVar = "s3"
    operations: ClassVar = {
        "CreateBucket": "_create",
        "DeleteObject": "_delete",
        "DeleteObjects": "_delete_all",
        "GetBucketVersioning": "_versioning",
        "GetObject": "_get",
        "ListObjectVersions": "_list_versions",
        "ListObjectsV2": "_list",
        "PutObject": "_put",
    }
    calls: Calls
    buckets: dict[str, MemoryBucket] = field(default_factory=dict)
    meta: Meta = META
    _count: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def generate_presigned_url(self, operation: str, **options: Any) -> str:
        """Return a link to an object: unsigned, but with its end in seconds since 1970."""
        named = options["Params"]
        ends_at = self.calls.now_ms() // 1000 + options["ExpiresIn"]
        return f"{LINKS}{named['Bucket']}/{named['Key']}?{operation}&ends={ends_at}"

    def read_link(self, link: str) -> bytes:
        """Return what a link leads to, as anybody reads it.

        :raises AwsError: it has ended, or there is no such object.
        """
        path, _, ends_at = link.removeprefix(LINKS).partition("?get_object&ends=")
        if self.calls.now_ms() >= int(ends_at) * 1000:
            refuse("GetObject", "AccessDenied", "Request has expired", status=403)
        bucket, _, key = path.partition("/")
        body: io.BytesIO = self.get_object(Bucket=bucket, Key=key)["Body"]
        return body.read()

    def _carry_out(self, operation: str, request: Request) -> Answer:
        bucket = self.buckets.get(request["Bucket"])
        if bucket is None:
            if operation != "CreateBucket":
                refuse(operation, "NoSuchBucket", "The bucket does not exist", status=404)
            bucket = self.buckets[request["Bucket"]] = MemoryBucket()
        answer: Answer = getattr(self, self.operations[operation])(bucket, request)
        return answer

    def _add(self, bucket: MemoryBucket, key: str, content: bytes | None) -> ObjectVersion:
        at = datetime.fromtimestamp(self.calls.now_ms() / 1000, UTC)
        version = ObjectVersion(f"v{next(self._count)}", content, at)
        if bucket.is_versioned:
            bucket.versions.setdefault(key, []).append(version)
        elif content is None:
            bucket.versions.pop(key, None)
        else:
            bucket.versions[key] = [version]
        return version

    def _put(self, bucket: MemoryBucket, request: Request) -> Answer:
        body = request["Body"]
        content = body.encode() if isinstance(body, str) else bytes(body)
        return {"VersionId": self._add(bucket, request["Key"], content).id}

    def _get(self, bucket: MemoryBucket, request: Request) -> Answer:
        found = bucket.latest(request["Key"])
        if found is None or found.content is None:
            refuse("GetObject", "NoSuchKey", "The specified key does not exist.", status=404)
        return {
            "Body": io.BytesIO(found.content),
            "ContentLength": len(found.content),
            "LastModified": found.at,
        }

    def _delete(self, bucket: MemoryBucket, request: Request) -> Answer:
        return self._delete_one(bucket, request["Key"], request.get("VersionId"))

    def _delete_one(self, bucket: MemoryBucket, key: str, version: str | None) -> Answer:
        if version is None:
            marker = self._add(bucket, key, None)
            return {"Key": key, "DeleteMarker": True, "DeleteMarkerVersionId": marker.id}
        left = [each for each in bucket.versions.get(key, []) if each.id != version]
        if left:
            bucket.versions[key] = left
        else:
            bucket.versions.pop(key, None)
        return {"Key": key, "VersionId": version}

    def _delete_all(self, bucket: MemoryBucket, request: Request) -> Answer:
        wanted = request["Delete"]["Objects"]
        if len(wanted) > MAX_KEYS:
            refuse("DeleteObjects", "MalformedXML", f"At most {MAX_KEYS} keys")
        gone = [self._delete_one(bucket, each["Key"], each.get("VersionId")) for each in wanted]
        return {"Deleted": gone}

    def _list(self, bucket: MemoryBucket, request: Request) -> Answer:
        prefix, behind = request.get("Prefix", ""), request.get("ContinuationToken", "")
        keys = sorted(
            key
            for key in bucket.versions
            if key.startswith(prefix) and key > behind and bucket.latest(key) is not None
        )
        page = keys[: request.get("MaxKeys", MAX_KEYS)]
        contents = [_listed(key, found) for key in page if (found := bucket.latest(key))]
        answer: Answer = {"KeyCount": len(page), "IsTruncated": len(page) < len(keys)}
        if contents:
            answer["Contents"] = contents
        if answer["IsTruncated"]:
            answer["NextContinuationToken"] = page[-1]
        return answer

    def _list_versions(self, bucket: MemoryBucket, request: Request) -> Answer:
        answer: Answer = {"IsTruncated": False, "Versions": [], "DeleteMarkers": []}
        for key in sorted(bucket.versions):
            if not key.startswith(request.get("Prefix", "")):
                continue
            for each in reversed(bucket.versions[key]):
                kind = "DeleteMarkers" if each.content is None else "Versions"
                is_latest = each is bucket.versions[key][-1]
                answer[kind].append(
                    {
                        "Key": key,
                        "VersionId": each.id,
                        "IsLatest": is_latest,
                        "LastModified": each.at,
                    }
                )
        return answer

    def _versioning(self, bucket: MemoryBucket, _: Request) -> Answer:
        return {"Status": "Enabled"} if bucket.is_versioned else {}

    def _create(self, _: MemoryBucket, request: Request) -> Answer:
        return {"Location": f"/{request['Bucket']}"}


def _listed(key: str, version: ObjectVersion) -> Answer:
    return {"Key": key, "Size": len(version.content or b""), "LastModified": version.at}
