"""Finds who makes a request, from what the gateway and its authorizer pass on.

The one place that knows the shapes of API Gateway's request context. Everything else reads
``call.request.caller``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ojs_aws.domain.access import (
    ANYBODY,
    ATTEMPT,
    NOBODY,
    TOKEN_PREFIX,
    Caller,
    InvalidTokenError,
    TokenExpiredError,
    UnauthenticatedError,
    matches,
    permissions_of,
    read_scopes,
)
from ojs_aws.domain.credentials import read_credential, write_credential

if TYPE_CHECKING:
    from ojs_aws.config import Settings
    from ojs_aws.domain.credentials import AttemptBound
    from ojs_aws.domain.timestamps import Instant
    from ojs_aws.services.access.api_keys import Verdict

CONTEXT: Final = "ojs"
"""The member of the authorizer's context that holds what it found, as JSON."""

_HINT: Final = "Send 'Authorization: Bearer <key>'."
_EXPIRED: Final = "expired"


def verdict_context(verdict: Verdict) -> dict[str, str]:
    """Return what the authorizer passes to the functions, through the gateway."""
    caller = verdict.caller
    if caller is None:
        found: dict[str, object] = {"refused": str(verdict.refusal), "id": verdict.key_id}
    else:
        found = {
            "id": caller.id,
            "permissions": sorted(caller.permissions),
            **write_credential(caller),
            **({} if caller.attempt is None else {"attempt": _members_of(caller.attempt)}),
            **({} if verdict.until is None else {"until": verdict.until}),
        }
    return {CONTEXT: json.dumps(found, separators=(",", ":"))}


def caller_of(event: Mapping[str, Any], settings: Settings, now: Instant) -> Caller:
    """Return the caller of a request, by the deployment's way of authentication.

    :param event: of API Gateway's HTTP API, payload format 2.0.
    :raises UnauthenticatedError: nobody who is known; also where an authorizer should have spoken
        and did not, and where what the gateway remembers of it has expired.
    """
    reader = _READERS.get(settings.auth)
    if reader is None:
        header = (event.get("headers") or {}).get("authorization", "")
        return _with_token(header, now) if TOKEN_PREFIX in header else ANYBODY
    context = event.get("requestContext") or {}
    authorizer = context.get("authorizer")
    caller = reader(authorizer, settings, now) if isinstance(authorizer, dict) else None
    if caller is None:
        raise UnauthenticatedError("This needs credentials, and none were sent.", hint=_HINT)
    return caller


def caller_if_known(event: Mapping[str, Any], settings: Settings, now: Instant) -> Caller:
    """Return the caller of a public operation; nobody if unknown."""
    try:
        return caller_of(event, settings, now)
    except UnauthenticatedError:
        return NOBODY


def _by_key(authorizer: Mapping[str, Any], _: Settings, now: Instant) -> Caller | None:
    given = (authorizer.get("lambda") or {}).get(CONTEXT)
    if not isinstance(given, str):
        return None
    found = json.loads(given)
    refused = found.get("refused")
    if refused == _EXPIRED or found.get("until", now + 1) <= now:
        if found["id"].startswith(ATTEMPT):
            raise _attempt_is_over()
        raise TokenExpiredError("The API key has expired.", hint="Use the key that replaced it.")
    if refused == "missing":
        return None
    if refused:
        raise InvalidTokenError("The credentials are not valid.", hint=_HINT)
    from ojs_aws.domain.access import Permission  # beside its only use

    attempt = found.get("attempt")
    return Caller(
        id=found["id"],
        permissions=frozenset(map(Permission, found["permissions"])),
        attempt=None if attempt is None else _grant_of(attempt),
        **read_credential(found),
    )


def _members_of(grant: AttemptBound) -> dict[str, object]:
    return {
        "job_id": grant.job_id,
        "attempt": grant.attempt,
        "reservation_id": grant.reservation_id,
        "ends_at": grant.ends_at,
    }


def _grant_of(members: Mapping[str, Any]) -> AttemptBound:
    from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant  # few deployments have tokens

    return AttemptGrant(**members)


def _with_token(header: str, now: Instant) -> Caller:
    """Return the caller of a token where access is open and all others may do everything.

    The token still says which attempt a report is about, so that a late one changes no other. It
    opens nothing here, so nobody checks its signature.

    :raises UnauthenticatedError: the token's time is over, or it is none.
    """
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "bearer" or not text.startswith(TOKEN_PREFIX):
        return ANYBODY
    from ojs_aws.domain.jobs.attempt_tokens import read_token

    grant = read_token(text.strip())
    if grant is None:
        raise InvalidTokenError("The credentials are not valid.", hint=_HINT)
    if grant.ends_at <= now:
        raise _attempt_is_over()
    return grant.caller


def _attempt_is_over() -> TokenExpiredError:
    hint = "Drop the report: the time of this attempt is over."
    return TokenExpiredError("The token has expired.", hint=hint)


def _by_jwt(authorizer: Mapping[str, Any], settings: Settings, _: Instant) -> Caller | None:
    """Return the caller of a token whose signature, issuer and times the gateway has checked."""
    jwt = authorizer.get("jwt") or {}
    claims = jwt.get("claims") or {}
    subject = claims.get("sub") or claims.get("client_id")
    if not subject:
        return None
    prefix = settings.auth_scope_prefix
    granted = {*_words(claims.get(settings.auth_scope_claim)), *_words(jwt.get("scopes"))}
    scopes = read_scopes(word.removeprefix(prefix) for word in granted if word.startswith(prefix))
    return Caller(
        id=f"jwt:{subject}",
        name=str(subject),
        permissions=permissions_of(scopes),
        queues=_bounds(claims.get("ojs_queues")),
        types=_bounds(claims.get("ojs_types")),
    )


def _by_iam(authorizer: Mapping[str, Any], settings: Settings, _: Instant) -> Caller | None:
    """Return the caller whose signature the gateway has checked; IAM or settings decide."""
    arn = (authorizer.get("iam") or {}).get("userArn")
    if not arn:
        return None
    if not settings.iam_scopes:
        return Caller(id=f"iam:{arn}", name=str(arn))
    found = next((scopes for known, scopes in settings.iam_scopes if matches(known, arn)), ())
    return Caller(id=f"iam:{arn}", name=str(arn), permissions=permissions_of(read_scopes(found)))


def _by_gateway(authorizer: Mapping[str, Any], settings: Settings, now: Instant) -> Caller | None:
    """Return the caller that the deployment's own authorizer has accepted."""
    known = _by_key(authorizer, settings, now) or _by_iam(authorizer, settings, now)
    if known is not None:
        return known
    subject = ((authorizer.get("jwt") or {}).get("claims") or {}).get("sub", "")
    return Caller(id=f"gateway:{subject}", name=str(subject))


_Reader: TypeAlias = "Callable[[Mapping[str, Any], Settings, Instant], Caller | None]"

_READERS: Final[Mapping[str, _Reader]] = {
    "api-key": _by_key,
    "jwt": _by_jwt,
    "iam": _by_iam,
    "gateway": _by_gateway,
}
"""By the values of ``OJS_AUTH``; the remaining one, ``none``, leaves access open."""


def _bounds(claim: object) -> tuple[str, ...]:
    """Return the bounds in a claim. An empty one permits nothing: no queue is named ''."""
    return () if claim is None else tuple(sorted(_words(claim))) or ("",)


def _words(claim: object) -> Iterable[str]:
    """Return the words of a claim: the gateway writes an array as ``[a b]``."""
    if isinstance(claim, list):
        return [str(word) for word in claim]
    text = claim if isinstance(claim, str) else ""
    return text.removeprefix("[").removesuffix("]").replace(",", " ").split()
