"""Writes cursors: where a page ended, as opaque text that clients send back."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_string, string
from ojs_aws.domain.attributes import field_error

MAX_LENGTH: Final = 1024


def encode_cursor(*parts: str) -> str:
    """Return the cursor for some parts."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, count: int) -> list[str]:
    """Return the parts of a cursor.

    :raises InvalidRequestError: it is none of ours.
    """
    try:
        if len(cursor) <= MAX_LENGTH:
            padded = cursor + "=" * (-len(cursor) % 4)
            parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
            if _are_parts(parts, count):
                return list(parts)
    except (ValueError, binascii.Error, RecursionError):
        pass
    message = "The 'cursor' parameter is not one that this server gave out."
    hint = "Pass next_cursor of the previous page as it is, or start without a cursor."
    raise field_error("cursor", message, hint)


def _are_parts(parts: object, count: int) -> bool:
    return (
        isinstance(parts, list)
        and len(parts) == count
        and all(isinstance(part, str) and part and part.isascii() for part in parts)
    )


def row_cursor(last: Item) -> str:
    """Return the cursor behind a row of the index; empty for none."""
    return encode_cursor(*(read_string(last, name) for name in (n.GSK, n.PK, n.SK))) if last else ""


def row_at(partition: str, cursor: str) -> Item:
    """Return the key of the row of the index that a cursor stands behind."""
    gsk, pk, sk = decode_cursor(cursor, 3)
    return {n.GPK: string(partition), n.GSK: string(gsk), n.PK: string(pk), n.SK: string(sk)}
