"""Answers requests for the dashboard's files, and describes where operators sign in.

Nothing here is secret: the page is a public client, which proves itself by PKCE.

Every server of the page asks here, so that all answer alike. The paths are relative to where the
page is; nothing here knows a path prefix.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

OPENID: Final = "openid"
"""The scope by which an issuer gives an ID token, and so returns the nonce."""

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
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
    """Return the origin of a URL: HTTPS, or plain HTTP to this machine.

    :raises ValueError: it is another URL. A policy would read its spaces and semicolons as its own.
    """
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    is_usable = parts.scheme == "https" or is_local
    if not is_usable or not _HOST.fullmatch(parts.netloc):
        raise ValueError(f"{url!r} is no https URL.")
    return f"{parts.scheme}://{parts.netloc}"


STATIC: Final = Path(__file__).resolve().parent / "static"
"""What `make dashboard` builds."""

INDEX: Final = "index.html"

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "font-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
"""The page runs its own script alone, asks its own server alone, and is shown in no other page."""

_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}

_HASHED: Final = re.compile(r"assets/.+-[A-Z0-9]{8}\.\w+", re.ASCII)
_FOREVER: Final = "public, max-age=31536000, immutable"
_HTML: Final = re.compile(r"(^|,)\s*text/html\s*(;(?!\s*q=0(\.0*)?\s*(,|$))|,|$)", re.IGNORECASE)
_GZIP: Final = re.compile(r"(^|,)\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*(,|$))|,|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """Holds an answer: 200 with the file, or 304 without it."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def wants_page(accept: str) -> bool:
    """Return True if an ``Accept`` header names HTML, as browsers do and API clients do not."""
    return _HTML.search(accept) is not None


def answer_file(
    path: str, headers: Mapping[str, str], sign_in: SignIn | None = None, environment: str = ""
) -> FileAnswer | None:
    """Return the answer to a GET of a file, or None if the page has no such file.

    :param path: relative to the page: empty or ``/`` is the page itself.
    :param headers: of the request, by their names in lower case.
    :param sign_in: the issuer that the page leads to; None: it asks for a key or a token.
    :param environment: what the page calls the environment; empty: what its host's name says.
    """
    name = path.removeprefix("/") or INDEX
    content = _contents().get(name)
    if content is None:
        return None
    if sign_in is not None and name == INDEX:
        content = with_meta(content, "ojs-sign-in", sign_in.to_json())
    if environment and name == INDEX:
        content = with_meta(content, "ojs-environment", environment)
    is_packed = _GZIP.search(headers.get("accept-encoding", "")) is not None
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}{"-gzip" if is_packed else ""}"'
    answer = {
        "Cache-Control": _FOREVER if _HASHED.fullmatch(name) else "no-cache",
        "Content-Security-Policy": content_security_policy(sign_in),
        "ETag": tag,
        "Referrer-Policy": "no-referrer",
        "Vary": "Accept, Accept-Encoding" if name == INDEX else "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    if tag in _tags(headers.get("if-none-match", "")):
        return FileAnswer(304, answer, b"")
    answer["Content-Type"] = _TYPES[Path(name).suffix]
    if not is_packed:
        return FileAnswer(200, answer, content)
    answer["Content-Encoding"] = "gzip"
    return FileAnswer(200, answer, _packed(name, content))


def with_meta(page: bytes, name: str, content: str) -> bytes:
    """Return the page with a text in its head, which its script reads."""
    meta = f'<meta name="{name}" content="{html.escape(content)}">'
    return page.replace(b"<title>", f"{meta}<title>".encode(), 1)


def content_security_policy(sign_in: SignIn | None) -> str:
    """Return the page's policy, which lets it ask the issuer too, where there is one."""
    if sign_in is None:
        return CONTENT_SECURITY_POLICY
    issuer = " ".join(sign_in.connect_sources)
    return CONTENT_SECURITY_POLICY.replace("connect-src 'self'", f"connect-src 'self' {issuer}")


def _tags(header: str) -> frozenset[str]:
    return frozenset(tag.strip().removeprefix("W/") for tag in header.split(","))


@cache
def _contents() -> Mapping[str, bytes]:
    """Return every file of the page by its name: what is not listed here cannot be asked for."""
    files = (path for path in STATIC.rglob("*") if path.suffix in _TYPES)
    return {path.relative_to(STATIC).as_posix(): path.read_bytes() for path in files}


@cache
def _packed(name: str, content: bytes) -> bytes:
    """Return a file as it was compressed when it was built, if it still is what was built."""
    path = STATIC / f"{name}.gz"
    if path.is_file() and content == _contents()[name]:
        return path.read_bytes()
    return gzip.compress(content, mtime=0)
