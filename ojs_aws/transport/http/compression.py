"""Expands compressed bodies (ojs-payload-limits, section 6). Limits apply to the result."""

from __future__ import annotations

import zlib
from typing import Final

from ojs_aws.domain.errors import (
    InvalidPayloadError,
    PayloadTooLargeError,
    UnsupportedCompressionError,
)
from ojs_aws.transport.http.calls import MAX_BODY_BYTES

COMPRESSIONS: Final = ("gzip",)
"""What this server reads, beside plain text."""

_GZIP: Final = 16 + zlib.MAX_WBITS


def expanded(body: bytes, encoding: str) -> bytes:
    """Return a body as it was before its sender compressed it, never more than the limit.

    :param encoding: the Content-Encoding header; may be empty.
    :raises UnsupportedCompressionError: another compression than those that the manifest names.
    :raises PayloadTooLargeError: more than ``MAX_BODY_BYTES`` come out.
    :raises InvalidPayloadError: it is not compressed so, or ends too early.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"} or not body:
        return body
    if name not in COMPRESSIONS:
        raise UnsupportedCompressionError(
            f"The Content-Encoding {name[:40]!r} is not supported.",
            details={
                "field": "Content-Encoding",
                "received": name[:40],
                "supported": [*COMPRESSIONS],
            },
            hint="Send the body as gzip, or as it is.",
        )
    stream = zlib.decompressobj(_GZIP)
    try:
        text = stream.decompress(body, MAX_BODY_BYTES + 1)
    except zlib.error as problem:
        raise InvalidPayloadError("The body is not valid gzip.") from problem
    if len(text) > MAX_BODY_BYTES:
        raise PayloadTooLargeError(
            f"The body has more than {MAX_BODY_BYTES} bytes once it is decompressed.",
            details={"field": "body", "max_bytes": MAX_BODY_BYTES},
        )
    if not stream.eof:
        raise InvalidPayloadError("The gzip body ends too early.")
    return text
