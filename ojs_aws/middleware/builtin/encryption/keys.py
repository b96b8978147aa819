"""Provide keys for the encryption of arguments (encryption specification, section 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from ojs_aws.middleware.errors import MiddlewareError

KEY_BYTES: Final = 32


class EncryptionError(MiddlewareError):
    """Base class of the errors of encryption. No message holds plain text."""


class UnknownKeyError(EncryptionError, LookupError):
    """Raised when the worker does not have the key that arguments were encrypted with."""


class KeyServiceError(EncryptionError):
    """Raised when the key service did not give or open a key; a later attempt may succeed."""


class DecryptionError(EncryptionError, ValueError):
    """Raised when arguments were changed, belong to another job, or cannot be read."""


class PlainArgsError(EncryptionError, ValueError):
    """Raised when a worker that accepts only encrypted arguments gets plain ones."""


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """Holds a key for AES-256-GCM.

    :ivar id: what later finds the key again; travels with the job, in plain text.
    :ivar secret: 32 bytes; never shown by ``repr``.
    """

    id: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse a key without an id, or of another length.

        :raises ValueError: no id, or not 32 bytes.
        """
        if not self.id:
            raise ValueError("an encryption key needs an id, which finds it again")
        if len(self.secret) != KEY_BYTES:
            raise ValueError(
                f"encryption key {self.id!r} must have {KEY_BYTES} bytes (256 bits), "
                f"not {len(self.secret)}"
            )


class KeyProvider(Protocol):
    """Knows the keys. Used by many threads at once.

    A provider that may wait, for a network say, has an attribute ``waits = True``: its methods are
    then called in a thread of their own.
    """

    def current(self, job_type: str) -> EncryptionKey:
        """Return the key that encrypts new jobs of a type.

        :raises EncryptionError: there is none now; the job is not enqueued.
        """

    def find(self, key_id: str, job_type: str) -> EncryptionKey:
        """Return the key with an id that :meth:`current` once gave for this type.

        :raises UnknownKeyError: there is none.
        :raises KeyServiceError: it could not be asked for.
        """


class StaticKeys:
    """Keeps keys that the program gives: from a secret manager, or the environment.

    To rotate: give every worker the new key beside the old one, then name it as the current one in
    the clients; take the old one away when no job has it any more (section 10.1).
    """

    waits = False

    def __init__(self, keys: Mapping[str, bytes], *, current: str | None = None) -> None:
        """Keep the keys.

        :param keys: 32 bytes each, by their ids.
        :param current: id of the one that encrypts; default: the last of the mapping.
        :raises ValueError: no key, one that has not 32 bytes, or a current one that is not there.
        """
        if not keys:
            raise ValueError("there must be at least one encryption key")
        self._keys = {name: EncryptionKey(name, bytes(secret)) for name, secret in keys.items()}
        chosen = [*keys][-1] if current is None else current
        if chosen not in self._keys:
            raise ValueError(f"the current key {chosen!r} is none of {', '.join(self._keys)}")
        self._current = self._keys[chosen]

    def current(self, job_type: str) -> EncryptionKey:  # noqa: ARG002 - the same for all types
        """Return the current key, for every type."""
        return self._current

    def find(self, key_id: str, job_type: str) -> EncryptionKey:  # noqa: ARG002
        """Return a key as :meth:`KeyProvider.find` does."""
        try:
            return self._keys[key_id]
        except KeyError:
            raise UnknownKeyError(
                f"The arguments were encrypted with key {key_id[:80]!r}; this process has "
                f"{', '.join(sorted(self._keys))}. Keep a key until no job needs it any more."
            ) from None

    def __repr__(self) -> str:
        """Return the ids of the keys; never a secret."""
        return f"<StaticKeys {', '.join(self._keys)}; current {self._current.id}>"
