"""Stores a document as an attribute: the text itself, or the place where it is."""

from __future__ import annotations

from typing import Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb.values import Value, packed, unpacked
from ojs_aws.domain.job import Document, StoredElsewhere
from ojs_aws.domain.json_text import RawJson

_PLACE: Final[c.Columns] = {
    c.TEXT: {"p": "place", "h": "digest"},
    c.NUMBER: {"n": "size_bytes"},
    c.OPTIONAL_TEXT: {"t": "trace_id"},
}


def document_value(document: Document) -> Value:
    """Return a document's text, or the place where it is stored (a map)."""
    if isinstance(document, StoredElsewhere):
        return {"M": c.attributes(document, _PLACE)}
    return packed(document)


def read_document(value: Value) -> Document:
    """Read what :func:`document_value` wrote."""
    if "M" in value:
        return StoredElsewhere(**c.read_members(value["M"], _PLACE))
    return RawJson(unpacked(value))
