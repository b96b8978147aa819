"""Stores a document as an attribute: the text itself, or the place where it is."""

from __future__ import annotations

from ojs_aws.adapters.dynamodb.values import (
    Item,
    Value,
    number,
    packed,
    read_number,
    read_string,
    string,
    unpacked,
)
from ojs_aws.domain.job import Document, StoredElsewhere
from ojs_aws.domain.json_text import RawJson


def document_value(document: Document) -> Value:
    """Return a document's text, or the place where it is stored (a map)."""
    if isinstance(document, StoredElsewhere):
        place: Item = {
            "p": string(document.place),
            "h": string(document.digest),
            "n": number(document.size_bytes),
        }
        if document.trace_id:
            place["t"] = string(document.trace_id)
        return {"M": place}
    return packed(document)


def read_document(value: Value) -> Document:
    """Read what :func:`document_value` wrote."""
    if "M" in value:
        place: Item = value["M"]
        return StoredElsewhere(
            read_string(place, "p"),
            read_string(place, "h"),
            read_number(place, "n") or 0,
            read_string(place, "t"),
        )
    return RawJson(unpacked(value))
