"""Makes, lists, rotates and revokes API keys for operators; checks them for the authorizer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Unpack

from ojs_aws.domain.access import TOKEN_PREFIX, Caller, Scope
from ojs_aws.domain.api_keys import (
    DEFAULT_GRACE_MS,
    ID_BYTES,
    SECRET_BYTES,
    ApiKey,
    KeySecret,
    Presented,
    Refusal,
    check_key,
    digest_of,
    end_of,
    key_text,
    read_key,
    revoked,
    rotated,
    verify,
)
from ojs_aws.domain.attributes import not_found
from ojs_aws.domain.conflicts import StaleKeyError
from ojs_aws.domain.credentials import KeyOptions, read_options
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.access import ApiKeys

RandomBytes = Callable[[int], bytes]

MAX_REMEMBERED: Final = 1000
"""Credentials that one process remembers at most."""

_PAGE: Final = 100
_MAX_HEADER: Final = 4096


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """Holds a key and its text, which is shown only once."""

    key: ApiKey
    text: str

    def __repr__(self) -> str:
        return f"Issued({self.key.id})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Holds the result of a check: a caller, or why there is none.

    :ivar key_id: of the key that was named, for logs; empty where none was.
    :ivar until: when the caller's credentials end; None where nothing says so yet.
    """

    caller: Caller | None
    refusal: Refusal | None = None
    key_id: str = ""
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class KeyAdmin:
    """Lists and revokes API keys; makes none."""

    keys: ApiKeys
    clock: Clock

    def page(self, after: str, limit: int) -> Sequence[ApiKey]:
        """Return keys by id, after the named one; keys that ended stay listed for some time."""
        return self.keys.page(after, limit)

    def list(self) -> Iterator[ApiKey]:
        """Yield the keys by id; keys that ended stay listed for some time."""
        after = ""
        while page := self.page(after, _PAGE):
            yield from page
            after = page[-1].id

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key. A gateway's cache accepts it until its own time is over.

        :raises NotFoundError: there is no such key.
        :raises ConflictError: somebody else changed the key at the same time.
        """
        return self.revoke_once(key_id)[0]

    def revoke_once(self, key_id: str) -> tuple[ApiKey, bool]:
        """Revoke a key as :meth:`revoke` does; also return False if it was revoked before."""
        key = self._get(key_id)
        changed = revoked(key, self.clock.now())
        if changed is not key:
            self._save(changed)
        return changed, changed is not key

    def _get(self, key_id: str) -> ApiKey:
        key = self.keys.load(key_id)
        if key is None:
            message = f"There is no API key '{key_id[:40]}'."
            hint = "`ojs-aws keys list` shows their ids."
            raise not_found("api_key", key_id[:40], message, hint)
        return key

    def _save(self, key: ApiKey) -> None:
        try:
            self.keys.save(key)
        except StaleKeyError:
            raise ConflictError(
                "The key was changed by somebody else at the same time.",
                hint="Look at it again, and repeat what is still wanted.",
            ) from None


@dataclass(frozen=True, slots=True)
class KeyIssuer(KeyAdmin):
    """Makes API keys, too. Operators use it: it needs more rights than any function has."""

    random_bytes: RandomBytes

    def create(
        self,
        name: str,
        scopes: Iterable[Scope],
        *,
        lasts_ms: int | None = None,
        **options: Unpack[KeyOptions],
    ) -> IssuedKey:
        """Make a key.

        :param options: its bounds: see :class:`~ojs_aws.domain.credentials.Credential`.
        :param lasts_ms: after how many milliseconds it expires; None: never.
        :raises InvalidRequestError: a key that nobody should have.
        """
        now, key_id = self.clock.now(), self.random_bytes(ID_BYTES).hex()
        text, secret = self._secret(key_id, now)
        key = ApiKey(
            id=key_id,
            name=name,
            scopes=frozenset(scopes),
            secrets=(secret,),
            created_at=now,
            expires_at=None if lasts_ms is None else Instant(now + lasts_ms),
            **read_options(options),
        )
        check_key(key)
        self._save(key)
        return IssuedKey(key, text)

    def rotate(self, key_id: str, grace_ms: int = DEFAULT_GRACE_MS) -> IssuedKey:
        """Give a key a new secret; the last one stays valid for a while.

        :raises NotFoundError: there is no such key.
        :raises InvalidRequestError: the key has ended, or the grace is out of range.
        :raises ConflictError: somebody else changed the key at the same time.
        """
        key, now = self._get(key_id), self.clock.now()
        text, secret = self._secret(key_id, now)
        changed = rotated(key, secret.digest, now, grace_ms)
        self._save(changed)
        return IssuedKey(changed, text)

    def _secret(self, key_id: str, now: Instant) -> tuple[str, KeySecret]:
        text = key_text(key_id, self.random_bytes(SECRET_BYTES))
        presented = read_key(text) or Presented(key_id, "")
        return text, KeySecret(digest=digest_of(presented), created_at=now)


@dataclass(frozen=True, slots=True)
class Authentication:
    """Finds the caller of an ``Authorization`` header: one read."""

    keys: ApiKeys
    clock: Clock

    def __call__(self, header: str) -> Verdict:
        """Return the verdict on a header; never raises for its contents."""
        if not header.strip():
            return Verdict(None, Refusal.MISSING)
        scheme, _, text = header[:_MAX_HEADER].strip().partition(" ")
        presented = read_key(text.strip()) if scheme.lower() == "bearer" else None
        if presented is None:
            return Verdict(None, Refusal.MALFORMED)
        key = self.keys.load(presented.id)
        refusal = verify(key, presented, self.clock.now())
        if key is None or refusal is not None:
            return Verdict(None, refusal, presented.id)
        return Verdict(key.caller, key_id=key.id, until=end_of(key, presented))


@dataclass(frozen=True, slots=True)
class AttemptAuthentication:
    """Finds the callers of attempts' tokens without a call, and leaves all others to another one.

    :ivar keys: returns the keys that sign deliveries; asked for tokens only.
    """

    others: Callable[[str], Verdict]
    keys: Callable[[], Sequence[str]]
    clock: Clock

    def __call__(self, header: str) -> Verdict:
        """Return the verdict on a header; never raises for its contents."""
        scheme, _, text = header[:_MAX_HEADER].strip().partition(" ")
        token = text.strip()
        if scheme.lower() != "bearer" or not token.startswith(TOKEN_PREFIX):
            return self.others(header)
        from ojs_aws.domain.jobs.attempt_tokens import (  # few callers have one
            check_token,
            read_token,
        )

        found, said = check_token(token, self.keys(), self.clock.now()), read_token(token)
        if isinstance(found, Refusal):
            return Verdict(None, found, said.caller.id if said else "")
        return Verdict(found.caller, key_id=found.caller.id, until=found.ends_at)


@dataclass(frozen=True, slots=True)
class RememberedAuthentication:
    """Finds callers, and remembers those that it found, as API Gateway does for its authorizer.

    A revoked key may still work until its caller is forgotten; one that expires works until then.
    Refused credentials are looked up each time. The memory has hashes of the credentials, and no
    secret.

    :ivar lasts_ms: how long a caller is remembered; 0: not at all.
    """

    authentication: Callable[[str], Verdict]
    clock: Clock
    lasts_ms: int
    _known: dict[bytes, tuple[Verdict, Instant]] = field(default_factory=dict)

    def __call__(self, header: str) -> Verdict:
        """Return the verdict on a header; never raises for its contents."""
        now, place = self.clock.now(), hashlib.sha256(header.encode("utf-8", "replace")).digest()
        verdict, until = self._known.pop(place, (None, now))
        if verdict is None or until <= now:
            verdict, until = self.authentication(header), Instant(now + self.lasts_ms)
            until = until if verdict.until is None else min(until, verdict.until)
        if verdict.caller is not None:
            self._known[place] = verdict, until  # what is in use is forgotten last
            if len(self._known) > MAX_REMEMBERED:
                del self._known[next(iter(self._known))]
        return verdict
