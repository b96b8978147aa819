"""Encrypt bytes with AES-256-GCM, and provide its keys (encryption specification, 5.1 to 10).

A sealed payload is a version byte (0x01), a random nonce of 12 bytes, the ciphertext and the tag of
16 bytes, in base64.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from ojs_aws.middleware.results import MiddlewareError, missing_extra

KEY_BYTES: Final = 32
ENCODING: Final = "binary/encrypted"
KEY_ID: Final = "encryption_key_id"
VERSION: Final = b"\x01"
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16


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


@dataclass(frozen=True, slots=True)
class Payload:
    """Holds data on its way through a codec (section 5.1).

    :ivar data: base64.
    :ivar metadata: what decoding needs: ``encoding`` and ``encryption_key_id``.
    """

    data: str = field(repr=False)
    metadata: Mapping[str, str]

    @classmethod
    def of(cls, plain: bytes) -> Payload:
        """Return a payload of plain bytes."""
        return cls(base64.b64encode(plain).decode(), {"encoding": "json/plain"})

    def content(self) -> bytes:
        """Return the bytes.

        :raises DecryptionError: the data is not base64.
        """
        try:
            return base64.b64decode(self.data, validate=True)
        except (binascii.Error, ValueError) as problem:
            raise DecryptionError("The encoded arguments are not base64.") from problem


class PayloadCodec(Protocol):
    """Transforms a payload and back."""

    def encode(self, payload: Payload) -> Payload:
        """Return the transformed payload."""

    def decode(self, payload: Payload) -> Payload:
        """Undo :meth:`encode`."""


class EncryptionCodec:
    """Encrypts the payloads of jobs of one type.

    A codec server is this class behind HTTP and authentication.
    """

    def __init__(
        self,
        keys: KeyProvider,
        job_type: str = "",
        *,
        associated: bytes = b"",
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """Use the keys of a provider.

        :param associated: data that is authenticated and not stored; decoding needs the same.
        :param random_bytes: cryptographically strong random bytes, so many of them.
        :raises ImportError: the extra ``encryption`` is not installed.
        """
        require_cryptography("EncryptionCodec")
        self._keys = keys
        self._job_type = job_type
        self._associated = associated or None
        self._random_bytes = random_bytes

    def encode(self, payload: Payload) -> Payload:
        """Encrypt with the current key and a new nonce."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # heavy

        key = self._keys.current(self._job_type)
        nonce = self._random_bytes(NONCE_BYTES)
        sealed = AESGCM(key.secret).encrypt(nonce, payload.content(), self._associated)
        data = base64.b64encode(VERSION + nonce + sealed).decode()
        return Payload(data, {"encoding": ENCODING, KEY_ID: key.id})

    def decode(self, payload: Payload) -> Payload:
        """Decrypt with the key that the payload names.

        :raises UnknownKeyError: that key is not known.
        :raises DecryptionError: the payload was changed, or the associated data is another.
        """
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if payload.metadata.get("encoding") != ENCODING:
            raise DecryptionError(f"Only {ENCODING!r} can be decrypted.")
        content = payload.content()
        if len(content) < len(VERSION) + NONCE_BYTES + TAG_BYTES:
            raise DecryptionError("The encrypted arguments are cut off.")
        if content[:1] != VERSION:
            raise DecryptionError(
                f"The encrypted arguments have version {content[0]:#04x}; 0x01 is known."
            )
        key = self._keys.find(payload.metadata.get(KEY_ID, ""), self._job_type)
        nonce, sealed = content[1 : 1 + NONCE_BYTES], content[1 + NONCE_BYTES :]
        try:
            plain = AESGCM(key.secret).decrypt(nonce, sealed, self._associated)
        except InvalidTag:
            raise DecryptionError(
                "The encrypted arguments do not verify: they were changed, belong to another job, "
                "or the key of that id is another one."
            ) from None
        return Payload.of(plain)


def require_cryptography(who: str) -> None:
    """Raise at configuration if the package that encrypts is not installed.

    :raises ImportError: the extra ``encryption`` is not installed.
    """
    try:
        import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401 - heavy
    except ImportError as problem:
        raise missing_extra(who, "encryption") from problem
