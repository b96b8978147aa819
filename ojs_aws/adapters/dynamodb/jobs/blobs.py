"""Stores documents in the job's item, in an item of their own, or in S3."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    Value,
    number,
    packed,
    read_string,
    stored_bytes,
    unpacked,
)
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.domain.errors import BackendError, DocumentMissingError, PayloadTooLargeError
from ojs_aws.domain.events import trace_id_of
from ojs_aws.domain.job import Document, StoredElsewhere
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.runtime import IN_ORDER, Parallel
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import DOCUMENT_PREFIX

if TYPE_CHECKING:
    from ojs_aws.adapters.s3 import S3Documents

ITEM: Final = "item"
S3: Final = "s3"
DIGEST_CHARACTERS: Final = 24
MAX_IN_TABLE: Final = 300_000
"""The longest document that the table keeps where S3 cannot; an item has 400 KB at most."""
DocumentRef = tuple[str, StoredElsewhere]
"""A job's id, and the place of one of its documents."""
_REF: Final[c.Columns] = {
    c.TEXT: {"p": "storage", "h": "digest"},
    c.NUMBER: {"n": "size_bytes"},
    c.OPTIONAL_TEXT: {"t": "trace_id"},
}


@dataclass(frozen=True, slots=True)
class Blobs(InTable):
    """Decides where a document is stored, and stores it there.

    Documents are addressed by a hash of their text, so that a repeated or refused request can
    never replace another's. The address of an envelope also names the attempt that stored it.
    Otherwise a late removal of a deleted job, or of what a refused request has put, could remove
    the document of a newer job with the same id.

    So a document never changes under its key. It is read with eventual consistency, which costs
    half. Only if it is not found, it is read again with strong consistency.

    :ivar envelope_limit_bytes: the longest envelope that stays in its job's item.
    :ivar parallel: reads and stores documents in S3 side by side.
    """

    objects: S3Documents | None
    inline_limit_bytes: int
    envelope_limit_bytes: int
    s3_threshold_bytes: int
    parallel: Parallel = IN_ORDER

    def placed_envelope(
        self, document: Document, life: str, *, is_in_table: bool = False
    ) -> tuple[Document, str]:
        """Return a job's document or a pointer to it, and the text to store elsewhere.

        :param life: separates the jobs that had this id one after the other.
        :param is_in_table: keep it out of S3 whatever its length, if the table can have it.
        """
        s3_from = MAX_IN_TABLE if is_in_table else self._s3_from
        return self._placed(document, self.envelope_limit_bytes, s3_from, life)

    def placed(self, document: Document, life: str = "") -> tuple[Document, str]:
        """Return a result or a checkpoint, or a pointer to it, and the text to store elsewhere.

        It may be longer than an envelope: one transition pays for it in the item, not three.
        """
        return self._placed(document, self.inline_limit_bytes, self._s3_from, life)

    @property
    def _s3_from(self) -> int:
        """Return the longest document that stays in the table."""
        return MAX_IN_TABLE if self.objects is None else self.s3_threshold_bytes

    def _placed(
        self, document: Document, inline_limit: int, s3_from: int, life: str
    ) -> tuple[Document, str]:
        if isinstance(document, StoredElsewhere):
            return document, ""
        size = stored_bytes(packed(document))
        if size <= inline_limit:
            return document, ""
        raw = document.encode()
        digest = hashlib.sha256(life.encode() + raw).hexdigest()[:DIGEST_CHARACTERS]
        ref = ITEM if size <= s3_from else S3
        if ref == S3 and self.objects is None:
            raise PayloadTooLargeError(
                f"The document has {len(raw)} bytes, {size} when compressed; without a bucket for "
                f"large documents at most {s3_from} compressed bytes can be kept.",
                details={"size_bytes": len(raw), "max_bytes": s3_from},
                hint="Configure OJS_BUCKET, or send a reference to the data.",
            )
        return StoredElsewhere(ref, digest, len(raw), trace_id_of(document)), document

    def item(self, job_id: str, ref: StoredElsewhere, text: str) -> Item:
        """Return the item of a document that is stored in the table."""
        return {**_key(job_id, ref), n.DOCUMENT: packed(text)}

    def keep(self, job_id: str, ref: StoredElsewhere, text: str) -> None:
        """Store a document in its place, by a call of its own."""
        if ref.storage == S3:
            self._objects().put(object_key(job_id, ref), text)
            return
        self.put_item(self.item(job_id, ref, text))

    def keep_all(self, documents: Sequence[tuple[DocumentRef, str]]) -> None:
        """Store documents in their places: 25 in the table to a call, those in S3 one by one."""
        kept = dict(documents)
        items = [self.item(*at, text) for at, text in kept.items() if at[1].storage == ITEM]
        objects = [(at, text) for at, text in kept.items() if at[1].storage == S3]
        if len(items) > 1:
            self.put_items(items)
        elif items:
            self.put_item(items[0])
        for _ in self.parallel.each(lambda document: self.keep(*document[0], document[1]), objects):
            pass

    def get(self, job_id: str, ref: StoredElsewhere) -> RawJson:
        """Read a document by a call of its own, and by a second one if the first finds nothing."""
        if ref.storage == S3:
            return RawJson(self._objects().get(object_key(job_id, ref)))
        key = _key(job_id, ref)
        item = self.get_item(key, is_consistent=False) or self.get_item(key)
        if not item:
            raise DocumentMissingError(f"A document of job '{job_id}' is missing.")
        return RawJson(unpacked(item[n.DOCUMENT]))

    def get_all(self, refs: Sequence[DocumentRef]) -> dict[DocumentRef, RawJson]:
        """Read documents that are in the table, a hundred to a call.

        :returns: those that were found; the others are to be read one by one.
        """
        wanted = {(n.job_pk(job_id), n.blob_sk(at.digest)): (job_id, at) for job_id, at in refs}
        keys = [item_key(*key) for key in wanted]
        return {
            wanted[read_string(item, n.PK), read_string(item, n.SK)]: RawJson(
                unpacked(item[n.DOCUMENT])
            )
            for item in self.get_items(keys, is_consistent=False)
            if n.DOCUMENT in item
        }

    def delete(self, job_id: str, ref: StoredElsewhere) -> None:
        """Remove a document."""
        if ref.storage == S3:
            self._objects().delete(object_key(job_id, ref))
            return
        self.delete_item(_key(job_id, ref))

    def discard(self, job_id: str, ref: StoredElsewhere, at: Instant) -> None:
        """Remove a document whose job was not stored.

        In the table by its time to live: those who enqueue jobs may not delete there.

        :param at: a moment in the past.
        """
        if ref.storage == S3:
            self._objects().delete(object_key(job_id, ref))
            return
        self.put_item({**_key(job_id, ref), n.TTL: number(at // 1000)})

    def _objects(self) -> S3Documents:
        if self.objects is None:
            raise BackendError("A document is kept in S3, but OJS_BUCKET is not configured.")
        return self.objects


def _key(job_id: str, ref: StoredElsewhere) -> Item:
    return item_key(n.job_pk(job_id), n.blob_sk(ref.digest))


def object_key(job_id: str, ref: StoredElsewhere) -> str:
    """Return the S3 key of a document."""
    return f"{DOCUMENT_PREFIX}{job_id}/{ref.digest}"


def document_value(document: Document) -> Value:
    """Return a document's text, or the place where it is stored (a map)."""
    if isinstance(document, StoredElsewhere):
        return {"M": c.attributes(document, _REF)}
    return packed(document)


def read_document(value: Value) -> Document:
    """Read what :func:`document_value` wrote."""
    if "M" in value:
        return StoredElsewhere(**c.read_members(value["M"], _REF))
    return RawJson(unpacked(value))
