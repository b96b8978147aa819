"""Checks that the issuer of tokens answers as API Gateway needs it while it makes an authorizer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.account_limits import DISCOVERY_S

if TYPE_CHECKING:
    import httpx

DISCOVERY: Final = "/.well-known/openid-configuration"
_OK: Final = 200
_SLOW: Final = (
    "API Gateway waits no longer while it is deployed: make the issuer faster, or keep it warm "
    "until then."
)
_WRONG: Final = (
    "Is it the issuer's URL (jwt_issuer), as its tokens name it, and can the internet reach it?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Holds what an issuer answered.

    :ivar seconds: until the whole answer was there.
    :ivar status: 0, where there was none.
    """

    seconds: float
    status: int = 0
    body: bytes = b""


def ask_issuer(
    url: str,
    *,
    transport: httpx.BaseTransport | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Answer:
    """Get a discovery document; what takes longer than API Gateway waits is given up soon.

    :param transport: sends the request; by default over the network.
    """
    import httpx

    begun = clock()
    try:
        with httpx.Client(transport=transport, timeout=2 * DISCOVERY_S) as client:
            answer = client.get(url)
    except httpx.HTTPError:
        return Answer(seconds=clock() - begun)
    return Answer(seconds=clock() - begun, status=answer.status_code, body=answer.content)


def check_issuer(issuer: str, ask: Callable[[str], Answer]) -> tuple[str, str]:
    """Return what an issuer answers, and the way out of a problem; empty, if there is none.

    It is measured from this machine, and API Gateway asks from the region of the stack.

    :param ask: gets the discovery document from its URL.
    """
    answer = ask(issuer.rstrip("/") + DISCOVERY)
    took = f"{issuer} answered after {answer.seconds:.1f} s"
    if answer.seconds > DISCOVERY_S:
        return f"{took}; {DISCOVERY_S} s are allowed", _SLOW
    if answer.status != _OK:
        what = f"HTTP {answer.status}" if answer.status else "nothing"
        return f"{issuer} answered {what} for its discovery document", _WRONG
    try:
        document = json.loads(answer.body)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not document.get("jwks_uri"):
        return f"{issuer} has a discovery document without keys (jwks_uri)", _WRONG
    named = document.get("issuer")
    if named != issuer:
        hint = "Write it exactly so, slashes included: the gateway refuses tokens of another name."
        return f"{issuer} calls itself {named}", hint
    return took, ""
