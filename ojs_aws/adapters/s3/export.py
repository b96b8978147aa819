"""Writes files of an export: each once, under a name that says what is in it."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.adapters.errors import translated

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


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
