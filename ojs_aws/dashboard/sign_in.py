"""Describes where operators sign in: an OpenID Connect issuer, as the deployed page reads it.

Nothing of it is a secret: the page is a public client, which proves itself by PKCE.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final
from urllib.parse import urlsplit

OPENID: Final = "openid"
"""The scope by which an issuer gives an ID token, and so returns the nonce."""

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:\d+)?|\[[0-9a-f:]+\](:\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """Say where to sign in, and for what.

    :ivar issuer: URL of the issuer, as it stands in its tokens.
    :ivar client_id: the page's own id at the issuer, as a public client.
    :ivar scopes: what the token is for; ``openid`` is among them.
    :ivar audience: the API that the token is for, where the issuer asks for its name; or empty.
    :ivar origins: further origins of the issuer's endpoints for tokens.
    """

    issuer: str
    client_id: str
    scopes: Sequence[str] = (OPENID,)
    audience: str = ""
    origins: Sequence[str] = ()

    @classmethod
    def from_json(cls, text: str) -> SignIn:
        """Return what :meth:`to_json` wrote."""
        return cls(**json.loads(text))

    def to_json(self) -> str:
        """Return it as the page reads it."""
        return json.dumps(asdict(self))

    @property
    def connect_sources(self) -> tuple[str, ...]:
        """Return the origins that the page may ask besides its own, for its content policy.

        :raises ValueError: one of them is no origin.
        """
        return tuple(dict.fromkeys(origin_of(each) for each in (self.issuer, *self.origins)))


def origin_of(url: str) -> str:
    """Return the origin of an URL: HTTPS, or plain HTTP to this machine.

    :raises ValueError: it is another URL. A policy would read its spaces and semicolons as its own.
    """
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and parts.netloc.rpartition(":")[0] in _LOOPBACK
    is_usable = parts.scheme == "https" or is_local
    if not is_usable or not _HOST.fullmatch(parts.netloc):
        raise ValueError(f"{url!r} is no https URL.")
    return f"{parts.scheme}://{parts.netloc}"
