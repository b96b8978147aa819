"""Encrypt bytes with AES-256-GCM (encryption specification, sections 5.1 and 6).

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

from ojs_aws.middleware.builtin.encryption.keys import DecryptionError, KeyProvider
from ojs_aws.middleware.errors import missing_extra

ENCODING: Final = "binary/encrypted"
KEY_ID: Final = "encryption_key_id"
VERSION: Final = b"\x01"
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16


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
