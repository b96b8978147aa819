"""The object store of large documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.adapters.errors import translated

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class S3Documents:
    """Texts in one bucket. The client is made at the first use: few jobs need it."""

    client: Callable[[], S3Client]
    bucket: str

    def put(self, key: str, text: str) -> None:
        """Keep a text under a key; the same text again changes nothing."""
        client = self.client()
        with translated("PutObject"):
            client.put_object(
                Bucket=self.bucket, Key=key, Body=text.encode(), ContentType="application/json"
            )

    def get(self, key: str) -> str:
        """The text under a key."""
        client = self.client()
        with translated("GetObject"):
            return client.get_object(Bucket=self.bucket, Key=key)["Body"].read().decode()

    def delete(self, key: str) -> None:
        """Remove a key; an absent one is no error."""
        client = self.client()
        with translated("DeleteObject"):
            client.delete_object(Bucket=self.bucket, Key=key)
