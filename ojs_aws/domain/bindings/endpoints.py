"""Checks that an endpoint which somebody registers is one that the stack allows.

The stack names prefixes, such as ``https://app.example.com/jobs/``. A URL is allowed below one of
them alone: of the same host and port, and with a path that no server reads in two ways.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Sequence
from typing import Final

LONGEST_URL: Final = 2048
_PRINTABLE: Final = re.compile(r"[!-\[\]-~]+", re.ASCII)
"""What a URL has: no space, no control character, no backslash, nothing beyond ASCII."""
_HOST: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+", re.ASCII)
_ODD_SEGMENTS: Final = re.compile(r"%(2e|2f|5c|00)|/\.{1,2}(/|$)|//", re.ASCII | re.IGNORECASE)
"""Of a path: what some servers decode or normalise, so that it leads elsewhere."""


def check_prefix(prefix: str) -> None:
    """Refuse what is no prefix of endpoints.

    :raises ValueError: saying what is wrong with it.
    """
    parts = _parts(prefix)
    if parts.query or not parts.path.endswith("/"):
        raise ValueError(f"{prefix!r} must end with a slash: https://app.example.com/jobs/.")


def check_endpoint(url: str, prefixes: Sequence[str]) -> None:
    """Refuse a URL that is below no prefix.

    :raises ValueError: saying what is wrong with it.
    """
    parts = _parts(url)
    for prefix in prefixes:
        allowed = urllib.parse.urlsplit(prefix)
        if parts.netloc == allowed.netloc and parts.path.startswith(allowed.path):
            return
    raise ValueError(f"The stack allows endpoints below {', '.join(prefixes)} alone.")


def _parts(url: str) -> urllib.parse.SplitResult:
    """Return the parts of a URL that can mean one thing only.

    :raises ValueError: it is none.
    """
    if len(url) > LONGEST_URL or not _PRINTABLE.fullmatch(url) or "#" in url:
        raise ValueError(f"An endpoint is a URL of at most {LONGEST_URL} ASCII characters.")
    parts = urllib.parse.urlsplit(url)
    if not url.startswith("https://"):
        raise ValueError("An endpoint is reached by HTTPS: https://app.example.com/jobs.")
    host, _, port = parts.netloc.partition(":")
    if not _HOST.fullmatch(host) or (port and not port.isdigit()) or parts.netloc.endswith(":"):
        raise ValueError(
            "An endpoint has a host in lower case, and no user: https://app.example.com."
        )
    if host.rpartition(".")[2].isdigit():
        raise ValueError("An endpoint has the name of a host, and no address.")
    if _ODD_SEGMENTS.search(parts.path):
        raise ValueError("The path of an endpoint has no empty, encoded or relative parts.")
    return parts
