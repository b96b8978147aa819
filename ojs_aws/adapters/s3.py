"""Stores large documents in S3, and writes the files of an export."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import DocumentMissingError

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
