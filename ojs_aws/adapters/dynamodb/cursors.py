"""Cursors: where a page ended, as text that clients pass back and do not look into."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final

from ojs_aws.domain.errors import InvalidRequestError

MAX_LENGTH: Final = 1024


def encode_cursor(*parts: str) -> str:
    """A cursor of some parts."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, count: int) -> list[str]:
    """The parts of a cursor.

    :raises InvalidRequestError: it is none of ours.
    """
    try:
        if len(cursor) > MAX_LENGTH:
            raise ValueError("too long")
        padded = cursor + "=" * (-len(cursor) % 4)
        parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if not isinstance(parts, list) or len(parts) != count:
            raise ValueError("other parts")
        if not all(isinstance(part, str) and part for part in parts):
            raise ValueError("other types")
    except (ValueError, binascii.Error, RecursionError):
        raise InvalidRequestError(
            "The 'cursor' parameter is not one that this server gave out.",
            details={"field": "cursor"},
            hint="Pass next_cursor of the previous page as it is, or start without a cursor.",
        ) from None
    return parts
