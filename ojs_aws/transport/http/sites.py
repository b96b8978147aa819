"""Refuses what pages of other sites ask for, by way of a user's browser.

A browser says by which name it reached a server (``Host``) and which page asks (``Origin``,
``Sec-Fetch-Site``), and no page can change that. Other programs name no page.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from typing import Final

from ojs_aws.domain.access import PermissionDeniedError

READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""The methods that change nothing."""

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine for itself, as they stand in ``Host``."""

_OWN_SITE: Final = frozenset({"none", "same-origin"})
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(:\d*)?", re.IGNORECASE)


def is_from_page(headers: Mapping[str, str]) -> bool:
    """Return True if a page in a browser makes the request.

    :param headers: by their names in lower case.
    """
    return "origin" in headers or "sec-fetch-site" in headers


def check_page(headers: Mapping[str, str], origins: Collection[str] = ()) -> None:
    """Refuse a request of another site's page.

    What the browser itself says of the site decides: a proxy may change the name of the host.

    :param headers: by their names in lower case.
    :param origins: whose pages may ask, beside the server's own.
    :raises PermissionDeniedError: it is one.
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
    """Refuse a request under a name that is not the server's own.

    By DNS any site can let its name lead to this server: its pages are then of the same origin.

    :param headers: by their names in lower case.
    :param names: in lower case and without a port; the port may be any.
    :param has_any_address: whether every IP address counts: it is nobody's name.
    :raises PermissionDeniedError: it is another name, or none.
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
