"""Reads the headers of a request: version, content type, compression, and the page that sends it.

Implements sections 3.2, 4 and 19 of the HTTP binding. docs/clients.md lists the content types that
existing clients need.

A browser sends the name under which it reached the server (``Host``), and which page makes the
request (``Origin``, ``Sec-Fetch-Site``). No page can change these headers, so requests of other
sites' pages are refused by them. Programs that are no browsers do not send the latter two.
"""

from __future__ import annotations

import ipaddress
import re
import zlib
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from ojs_aws.domain.access import PermissionDeniedError
from ojs_aws.domain.envelope import SPEC_VERSION
from ojs_aws.domain.errors import (
    InvalidPayloadError,
    InvalidRequestError,
    PayloadTooLargeError,
    UnsupportedCompressionError,
    UnsupportedError,
)
from ojs_aws.transport.http.calls import JSON_TYPE, MAX_BODY_BYTES, OJS_TYPE, OJS_VERSION, Request
from ojs_aws.transport.http.route import BASE

READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""The methods that change nothing."""

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine for itself, as they stand in ``Host``."""

CLOUD_EVENTS: Final = "application/cloudevents"
"""How the content type of a whole CloudEvent begins; in binary mode it is that of the data."""
CLOUD_EVENT_TYPE: Final = f"{CLOUD_EVENTS}+json"
EVENT_BATCH_TYPE: Final = f"{CLOUD_EVENTS}-batch+json"
EVENT_PREFIX: Final = "ce-"
EVENT_TYPE: Final = f"{EVENT_PREFIX}type"
"""The header that a CloudEvent in binary mode has, whose body is its data."""
PUSH_PATH: Final = f"{BASE}/jobs"
BULK_PATH: Final = f"{BASE}/jobs/bulk"
_EVENT_TYPES: Final = {PUSH_PATH: CLOUD_EVENT_TYPE, BULK_PATH: EVENT_BATCH_TYPE}
_OWN_SITE: Final = frozenset({"none", "same-origin"})
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(:\d*)?", re.IGNORECASE)
PROFILED_TYPE: Final = f'{OJS_TYPE}; profile="{JSON_TYPE}"'
"""For clients that want the OJS type, but look for the plain one in it."""

_REQUEST_ID: Final = re.compile(r"[\x21-\x7e]{1,128}")
_VERSION: Final = re.compile(r"1(\.0(\.\d{1,4}(-[0-9A-Za-z.-]{1,32})?)?)?", re.ASCII)
_NEEDS_PLAIN_TYPE: Final = "python-httpx/"
"""User agent of the official Python SDK, which drops answers that do not name the plain type."""


_GO: Final = "Go-http-client/"
_RUBY: Final = "ojs-ruby/"
_OURS: Final = "ojs-aws"
_BROWSERS: Final = "Mozilla/"


def is_from_page(headers: Mapping[str, str]) -> bool:
    """Return True if a page in a browser makes the request.

    :param headers: by their names in lower case.
    """
    return "origin" in headers or "sec-fetch-site" in headers


def check_page(headers: Mapping[str, str], origins: Collection[str] = ()) -> None:
    """Refuse a request of another site's page.

    ``Sec-Fetch-Site`` decides where the browser sends it; else ``Origin`` is compared with
    ``Host``, which a proxy may have changed.

    :param headers: by their names in lower case.
    :param origins: origins whose pages may send requests, beside the server's own.
    :raises PermissionDeniedError: another site's page sends it.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin in origins or not is_from_page(headers):
        return
    host = headers.get("host", "")
    own = {f"http://{host}", f"https://{host}"}
    if site not in _OWN_SITE if site else origin not in own:
        raise PermissionDeniedError(
            "A page of another site asks for this.",
            details={"field": "Origin", "received": (origin or site or "")[:100]},
            hint="If that page may ask, name its origin in cors_origins (local: --cors-origin).",
        )


def check_host(
    headers: Mapping[str, str], names: Collection[str], *, has_any_address: bool = False
) -> None:
    """Refuse a request that names another host than this server.

    Any site can let its own name lead to this server by DNS (DNS rebinding). For the browser its
    pages then have the same origin as the server.

    :param headers: by their names in lower case.
    :param names: of the server, in lower case and without a port; any port is accepted.
    :param has_any_address: accept every IP address, too: no site can own one as a name.
    :raises PermissionDeniedError: the host is another one, or missing.
    """
    given = headers.get("host", "")
    found = _HOST.fullmatch(given)
    name = found[1].lower() if found else ""
    if name in names or (has_any_address and _is_address(name)):
        return
    raise PermissionDeniedError(
        f"{given[:100]!r} is no name of this server.",
        details={"field": "Host", "received": given[:100]},
        hint=f"Use {', '.join(names)}. `ojs-aws local --host-name` gives a server more names.",
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


class Reader(StrEnum):
    """Names who reads an answer, where documents and clients differ in the type of a member."""

    CASES = "cases"
    """The conformance cases, browsers, and all programs that are not known."""
    SDK = "sdk"
    """The official SDKs, which read what the HTTP binding shows."""
    CLI = "ojs-cli"
    """The official command line."""


def reader_of(request: Request) -> Reader:
    """Return who reads the answer to a request.

    The SDKs state the version of the binding that they speak, as its section 3.2 asks. The command
    line does not, and is known by Go's User-Agent with a content type on a GET without a body.
    """
    agent = request.header("user-agent")
    if agent.startswith(_OURS):
        return Reader.CASES
    if request.header("ojs-version").strip() or agent.startswith(_RUBY):
        return Reader.SDK
    stated = request.header("content-type").partition(";")[0].strip().lower()
    if agent.startswith(_GO) and request.method == "GET" and stated == OJS_TYPE:
        return Reader.CLI
    return Reader.CASES


def is_browser(request: Request) -> bool:
    """Return whether a page in a browser reads the answer, such as the official admin UI's."""
    return request.header("user-agent").startswith(_BROWSERS)


def is_request_id(text: str) -> bool:
    """Return whether to keep a client's request id: visible ASCII, at most 128 characters."""
    return _REQUEST_ID.fullmatch(text) is not None


def check_version(request: Request) -> None:
    """Refuse a version of the specification that this server does not speak.

    :raises UnsupportedError: naming the versions that it speaks.
    """
    wanted = request.header("ojs-version").strip()
    if wanted and not _VERSION.fullmatch(wanted):
        raise UnsupportedError(
            f"OJS-Version {wanted[:40]!r} is not supported; this server speaks {OJS_VERSION}.",
            details={
                "field": "OJS-Version",
                "received": wanted[:40],
                "supported": [OJS_VERSION, SPEC_VERSION],
            },
        )


def check_content_type(request: Request) -> bool:
    """Refuse a body of a type that this server does not read; GET and DELETE bodies are ignored.

    :returns: whether it is a CloudEvent, which PUSH takes, or a batch of them, which a bulk enqueue
        takes; the body of anything else is JSON.

    A body without any content type is read as JSON, unless a page in a browser sends it: such a
    body reaches other sites without a preflight. OJS's own type outweighs the headers of an event.

    :raises InvalidRequestError: naming the types that the server reads.
    """
    headers, path = request.headers, request.path
    is_data = EVENT_TYPE in headers and path == PUSH_PATH
    if request.method in {"GET", "DELETE", "HEAD", "OPTIONS"} or not (request.body or is_data):
        return False
    stated = request.header("content-type").partition(";")[0].strip().lower()
    if stated == OJS_TYPE:
        return False
    if stated in {CLOUD_EVENT_TYPE, EVENT_BATCH_TYPE}:
        if stated == _EVENT_TYPES.get(path):
            return True
    elif is_data:
        return True
    elif stated == JSON_TYPE or not (stated or is_from_page(headers)):
        return False
    hint = f"Send the body as {OJS_TYPE}."
    if stated.startswith(CLOUD_EVENTS):
        hint = f"Send one event to {PUSH_PATH} as {CLOUD_EVENT_TYPE}, "
        hint += f"several to {BULK_PATH} as {EVENT_BATCH_TYPE}."
    raise InvalidRequestError(
        f"The content type {stated[:80]!r} is not supported.",
        details={
            "field": "Content-Type",
            "received": stated[:80],
            "supported": [OJS_TYPE, JSON_TYPE],
        },
        hint=hint,
    )


def answer_type(headers: Mapping[str, str], setting: str) -> str:
    """Return the content type of an answer.

    :param headers: of the request, names in small letters.
    :param setting: ``auto``, ``ojs`` or ``json``.
    """
    if setting != "auto":
        return OJS_TYPE if setting == "ojs" else JSON_TYPE
    accept = headers.get("accept", "").lower()
    if OJS_TYPE not in accept:
        return JSON_TYPE if JSON_TYPE in accept else OJS_TYPE
    if headers.get("user-agent", "").startswith(_NEEDS_PLAIN_TYPE) and JSON_TYPE not in accept:
        return PROFILED_TYPE
    return OJS_TYPE


COMPRESSIONS: Final = ("gzip",)
"""What this server reads, beside plain text."""

_GZIP: Final = 16 + zlib.MAX_WBITS


def expanded(body: bytes, encoding: str) -> bytes:
    """Return a body as it was before its sender compressed it, never more than the limit.

    :param encoding: the Content-Encoding header; may be empty.
    :raises UnsupportedCompressionError: the compression is not one of ``COMPRESSIONS``.
    :raises PayloadTooLargeError: more than ``MAX_BODY_BYTES`` come out.
    :raises InvalidPayloadError: the body is not exactly one whole gzip member.
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
    if stream.unused_data:
        raise InvalidPayloadError(
            "The gzip body goes on behind its end.", hint="Compress the whole body at once."
        )
    return text
