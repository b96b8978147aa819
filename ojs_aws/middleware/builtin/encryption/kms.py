"""Encrypt with data keys that AWS KMS makes and opens (envelope encryption).

A job carries its data key, encrypted by KMS, as the key id ``kms:<base64url>``. So the codec
metadata of the specification is enough to decrypt, and nothing has to be stored elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from ojs_aws.middleware.builtin.encryption import (
    DecryptionError,
    EncryptionKey,
    KeyServiceError,
    UnknownKeyError,
)

if TYPE_CHECKING:
    from mypy_boto3_kms.client import KMSClient

K = TypeVar("K")

PREFIX: Final = "kms:"
DEFAULT_MAX_AGE_S: Final = 300.0
DEFAULT_MAX_USES: Final = 1_000_000
DEFAULT_MAX_KEYS: Final = 1000
PURPOSE: Final = {"ojs:purpose": "args"}
MOST_USES: Final = 2**32
"""Encryptions with random nonces that one key may make (encryption specification, section 6.1)."""


@dataclass(slots=True)
class _Kept:
    key: EncryptionKey
    until: float
    uses: int = 0


@dataclass(eq=False, repr=False)
class KmsKeys:
    """Keeps data keys from KMS in memory, for a limited time and number of jobs.

    Needs ``kms:GenerateDataKey`` where jobs are enqueued and ``kms:Decrypt`` in workers. KMS
    rotates its own keys by itself; to move to another KMS key, give the clients its id and leave
    the workers the right to decrypt with the old one.

    :param kms_key_id: id, ARN or alias of the symmetric KMS key that protects data keys.
    :param client: ``boto3.client("kms")``; any number of threads uses it.
    :param context: further pairs of the encryption context, the same in clients and workers;
        CloudTrail shows them, and key policies can demand them.
    :param bind_type: put the job's type into the encryption context: a data key then serves one
        type only, and KMS opens it for no other.
    :param max_age_s: seconds that a data key is kept.
    :param max_uses: jobs that one data key encrypts at most.
    :param max_keys: data keys that are kept, of either kind; the one used longest ago leaves.
    :param clock: monotonic seconds.
    :raises ValueError: a limit that is not positive, or too many uses for one key.
    """

    waits = True

    kms_key_id: str
    client: KMSClient
    _: KW_ONLY
    context: Mapping[str, str] | None = None
    bind_type: bool = False
    max_age_s: float = DEFAULT_MAX_AGE_S
    max_uses: int = DEFAULT_MAX_USES
    max_keys: int = DEFAULT_MAX_KEYS
    clock: Callable[[], float] = time.monotonic
    _making: threading.Lock = field(default_factory=threading.Lock, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _made: OrderedDict[str, _Kept] = field(default_factory=OrderedDict, init=False)
    _opened: OrderedDict[tuple[str, str], _Kept] = field(default_factory=OrderedDict, init=False)

    def __post_init__(self) -> None:
        """Ask KMS only when the first key is needed."""
        if self.max_age_s <= 0 or self.max_keys < 1 or not 1 <= self.max_uses <= MOST_USES:
            raise ValueError("max_age_s, max_uses (up to 2**32) and max_keys must be positive")

    def current(self, job_type: str) -> EncryptionKey:
        """Return a data key, at most ``max_age_s`` old; only one is requested at a time.

        :raises KeyServiceError: KMS gave none.
        """
        scope = job_type if self.bind_type else ""
        with self._making:
            with self._lock:
                kept = self._living(self._made, scope)
                if kept is not None and kept.uses < self.max_uses:
                    kept.uses += 1
                    return kept.key
            key = self._generate(job_type)
            self._keep(self._made, scope, key, uses=1)
            # Whoever enqueues may execute as well: the key need not be opened again.
            self._keep(self._opened, (key.id, scope), key)
            return key

    def find(self, key_id: str, job_type: str) -> EncryptionKey:
        """Open the data key that a job carries.

        :raises UnknownKeyError: the id is none of KMS.
        :raises DecryptionError: KMS refuses it: it was changed, or made for another context.
        :raises KeyServiceError: KMS could not be asked.
        """
        scope = job_type if self.bind_type else ""
        with self._lock:
            kept = self._living(self._opened, (key_id, scope))
        if kept is not None:
            return kept.key
        key = self._open(key_id, job_type)
        self._keep(self._opened, (key_id, scope), key)
        return key

    # ------------------------------------------------------------------ KMS
    def _generate(self, job_type: str) -> EncryptionKey:
        try:
            answer = self.client.generate_data_key(
                KeyId=self.kms_key_id,
                KeySpec="AES_256",
                EncryptionContext=self._context_for(job_type),
            )
        except Exception as problem:  # its client is the caller's: whatever it raises, no key
            raise KeyServiceError(f"KMS made no data key: {problem}") from problem
        key_id = PREFIX + base64.urlsafe_b64encode(answer["CiphertextBlob"]).decode()
        return EncryptionKey(key_id, answer["Plaintext"])

    def _open(self, key_id: str, job_type: str) -> EncryptionKey:
        if not key_id.startswith(PREFIX):
            raise UnknownKeyError(f"The key {key_id[:80]!r} is none of KMS: '{PREFIX}' is missing.")
        try:
            blob = base64.b64decode(key_id[len(PREFIX) :], altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as problem:
            raise DecryptionError("The job's data key is not base64.") from problem
        try:
            answer = self.client.decrypt(
                CiphertextBlob=blob, EncryptionContext=self._context_for(job_type)
            )
        except Exception as problem:
            if _code_of(problem) == "InvalidCiphertextException":
                raise DecryptionError(
                    "KMS does not open the job's data key: it was changed, or made for another "
                    f"encryption context than {sorted(self._context_for(job_type))}."
                ) from problem
            raise KeyServiceError(f"KMS did not open the job's data key: {problem}") from problem
        return EncryptionKey(key_id, answer["Plaintext"])

    def _context_for(self, job_type: str) -> dict[str, str]:
        own = {"ojs:type": job_type} if self.bind_type else {}
        return {**PURPOSE, **(self.context or {}), **own}

    # ------------------------------------------------------------------ what is kept
    def _living(self, keys: OrderedDict[K, _Kept], name: K) -> _Kept | None:
        """Return a kept key that is not too old; the lock is held."""
        kept = keys.get(name)
        if kept is None:
            return None
        if kept.until <= self.clock():
            del keys[name]
            return None
        keys.move_to_end(name)
        return kept

    def _keep(
        self, keys: OrderedDict[K, _Kept], name: K, key: EncryptionKey, uses: int = 0
    ) -> None:
        with self._lock:
            keys[name] = _Kept(key, self.clock() + self.max_age_s, uses)
            keys.move_to_end(name)
            while len(keys) > self.max_keys:
                keys.popitem(last=False)


def _code_of(problem: Exception) -> str:
    """Return the error code of an answer of AWS; empty for any other error."""
    response = getattr(problem, "response", None)
    error = response.get("Error", {}) if isinstance(response, dict) else {}
    return str(error.get("Code", ""))
