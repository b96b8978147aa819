"""Stores documents outside the job's item: in an item of their own, or in S3."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Protocol

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.adapters.dynamodb.values import Item, number, packed, stored_bytes, unpacked
from ojs_aws.domain.errors import BackendError, DocumentMissingError, PayloadTooLargeError
from ojs_aws.domain.job import Document, StoredElsewhere
from ojs_aws.domain.jobs.tracing import trace_id_of
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant

ITEM: Final = "item"
S3: Final = "s3"
DIGEST_CHARACTERS: Final = 24


class ObjectStore(Protocol):
    """Stores large documents in S3."""

    def put(self, key: str, text: str) -> None:
        """Store a text under a key; the same text again changes nothing."""

    def get(self, key: str) -> str:
        """Return the text under a key."""

    def delete(self, key: str) -> None:
        """Remove a key; an absent one is no error."""


@dataclass(frozen=True, slots=True)
class Blobs(InTable):
    """Decides where a document is stored, and stores it there.

    Documents are addressed by a hash of their text, so that a repeated or refused request can
    never replace another's. The envelope's also by the attempt to store its job: neither removing
    the rest of a deleted job late, nor what a refused request has put, must hit another's.
    """

    objects: ObjectStore | None
    inline_limit_bytes: int
    s3_threshold_bytes: int

    def placed(self, document: Document, life: str = "") -> tuple[Document, str]:
        """Return the document itself or a pointer to it, and the text to store elsewhere.

        :param life: separates the jobs that had this id one after the other.
        """
        if isinstance(document, StoredElsewhere):
            return document, ""
        size = stored_bytes(packed(document))
        if size <= self.inline_limit_bytes:
            return document, ""
        raw = document.encode()
        digest = hashlib.sha256(life.encode() + raw).hexdigest()[:DIGEST_CHARACTERS]
        place = ITEM if size <= self.s3_threshold_bytes else S3
        if place == S3 and self.objects is None:
            raise PayloadTooLargeError(
                f"The document has {len(raw)} bytes, {size} when compressed; without a bucket for "
                f"large documents at most {self.s3_threshold_bytes} compressed bytes can be kept.",
                details={"size_bytes": len(raw), "max_bytes": self.s3_threshold_bytes},
                hint="Configure OJS_BUCKET, or send a reference to the data.",
            )
        return StoredElsewhere(place, digest, len(raw), trace_id_of(document)), document

    def item(self, job_id: str, place: StoredElsewhere, text: str) -> Item:
        """Return the item of a document that is stored in the table."""
        return {**_key(job_id, place), n.DOCUMENT: packed(text)}

    def keep(self, job_id: str, place: StoredElsewhere, text: str) -> None:
        """Store a document in its place, by a call of its own."""
        if place.place == S3:
            self._objects().put(object_key(job_id, place), text)
            return
        self.put_item(self.item(job_id, place, text))

    def get(self, job_id: str, place: StoredElsewhere) -> RawJson:
        """Read a document by a call of its own."""
        if place.place == S3:
            return RawJson(self._objects().get(object_key(job_id, place)))
        item = self.get_item(_key(job_id, place))
        if not item:
            raise DocumentMissingError(f"A document of job '{job_id}' is missing.")
        return RawJson(unpacked(item[n.DOCUMENT]))

    def delete(self, job_id: str, place: StoredElsewhere) -> None:
        """Remove a document."""
        if place.place == S3:
            self._objects().delete(object_key(job_id, place))
            return
        self.delete_item(_key(job_id, place))

    def discard(self, job_id: str, place: StoredElsewhere, at: Instant) -> None:
        """Remove a document whose job was not stored.

        In the table by its time to live: those who enqueue jobs may not delete there.

        :param at: a moment in the past.
        """
        if place.place == S3:
            self._objects().delete(object_key(job_id, place))
            return
        self.put_item({**_key(job_id, place), n.TTL: number(at // 1000)})

    def _objects(self) -> ObjectStore:
        if self.objects is None:
            raise BackendError("A document is kept in S3, but OJS_BUCKET is not configured.")
        return self.objects


def _key(job_id: str, place: StoredElsewhere) -> Item:
    return item_key(n.job_pk(job_id), n.blob_sk(place.digest))


def object_key(job_id: str, place: StoredElsewhere) -> str:
    """Return the S3 key of a document."""
    return f"jobs/{job_id}/{place.digest}"
