"""Encrypt a job's arguments on their way to the handler (encryption specification).

Everything between sees ciphertext only: the API, the table, the queues, dead letters, logs. The
job's type, queue, id and ``meta`` stay readable, since jobs are routed and matched by them.

Encrypted arguments are larger: 4/3 of their JSON text and about 110 bytes, and ``meta`` grows by 80
bytes and the key's id (some 250 characters with KMS).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, TypeVar

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.envelope import BOUND_TO, Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_members import MAX_NATIVE_DEPTH
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.unique.keys import UNIQUE_KEY, OnConflict, key_by, parse_unique_policy
from ojs_aws.middleware.builtin.encryption import (
    ENCODING,
    KEY_ID,
    DecryptionError,
    EncryptionCodec,
    KeyProvider,
    Payload,
    PlainArgsError,
    require_cryptography,
)
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import EnqueueNext, ExecutionNext

META_ENCODINGS: Final = "ojs.codec.encodings"
META_KEY_ID: Final = "ojs.codec.key_id"
MARKER: Final = "ojs_encoded"

R = TypeVar("R")


@dataclass(eq=False, repr=False)
class EncryptionMiddleware:
    """Encrypts ``args`` when a job is enqueued, and decrypts them when it is executed.

    Put it last in a client's chain, behind whatever reads or changes the arguments. In a worker's
    chain what lies further out sees the encrypted arguments, before the handler and after it, and
    what lies further in sees the plain ones.

    A job with a ``unique`` policy gets its uniqueness key from the plain arguments, before they are
    encrypted, in the attribute ``unique_key``.

    :param types: whether jobs of a type are encrypted; default: all are.
    :param bind_to: authenticate the job's ``type``, or type and ``id``, with the ciphertext: it
        then cannot be moved to another job. Workers of other SDKs cannot read such jobs, and a job
        that copies the arguments of another one, as each occurrence of a cron does, cannot be bound
        to its id; nor can a job of a workflow, which gets its id from the backend.
    :param refuse_plain: execute no job whose arguments are not encrypted, if its type is one of
        ``types``.
    :raises ImportError: the extra ``encryption`` is not installed.
    """

    keys: KeyProvider
    _: KW_ONLY
    types: Callable[[str], bool] | None = None
    bind_to: Literal["nothing", "type", "id"] = "nothing"
    refuse_plain: bool = False

    def __post_init__(self) -> None:
        """Encrypt with the current key, decrypt with any."""
        require_cryptography("EncryptionMiddleware")
        if self.bind_to not in ("nothing", "type", "id"):
            raise ValueError(f"bind_to must be 'nothing', 'type' or 'id', not {self.bind_to!r}")
        self._waits = bool(getattr(self.keys, "waits", False))
        self.never_waits = not self._waits

    # ------------------------------------------------------------------ enqueueing
    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass an encrypted copy on; a job that is encrypted already passes as it is.

        :raises EncryptionError: there is no key now; nothing is enqueued.
        :raises InvalidRequestError: the unique policy is invalid, or could give the arguments to
            another job than the one that they are bound to.
        """
        if not self._is_meant(job) or encoded(job) is not None:
            return await call_next(job)
        return await call_next(await self._away(lambda: self._encrypted(job)))

    def _encrypted(self, job: Job) -> Job:
        meta = dict(job.meta)
        sealed = self._codec(job, self.bind_to).encode(Payload.of(_plain_text(job)))
        meta[META_ENCODINGS] = [ENCODING]
        meta[META_KEY_ID] = sealed.metadata[KEY_ID]
        meta.pop(BOUND_TO, None)
        if self.bind_to != "nothing":
            meta[BOUND_TO] = self.bind_to
        changed = job.copy()
        if job.unique is not None:
            policy = parse_unique_policy(job.unique)
            if self.bind_to == "id" and policy.on_conflict is OnConflict.REPLACE_EXCEPT_SCHEDULE:
                message = "Arguments that are bound to the id of their job cannot go to another."
                raise field_error("unique.on_conflict", message, "Bind them to the type.")
            if UNIQUE_KEY not in job:
                changed[UNIQUE_KEY] = key_by(policy, job)
        changed.args = [{MARKER: True, "encoding": ENCODING, "data": sealed.data}]
        changed.meta = meta
        return changed

    # ------------------------------------------------------------------ executing
    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Show the plain arguments to what lies further in, and only as long as it runs.

        :raises PlainArgsError: the arguments are not encrypted, and have to be.
        :raises UnknownKeyError: the key is not here.
        :raises DecryptionError: the arguments cannot be decrypted.
        """
        data = encoded(job)
        if data is None:
            if self.refuse_plain and self._is_meant(job):
                raise PlainArgsError(
                    f"The arguments of job {job.id} are not encrypted, and this worker accepts no "
                    "others. Add EncryptionMiddleware to the client that enqueues it."
                )
            return await call_next()
        plain = await self._away(lambda: self._decrypted(job, data))
        shown = [job] if ctx.job is job else [job, ctx.job]
        sealed = [one.args for one in shown]
        for one in shown:
            one.args = plain
        try:
            return await call_next()
        finally:  # what reports errors further out must not see them
            for one, args in zip(shown, sealed, strict=True):
                one.args = args

    def _decrypted(self, job: Job, data: str) -> list[JsonValue]:
        encodings = job.meta.get(META_ENCODINGS, [ENCODING])
        if encodings != [ENCODING]:
            raise DecryptionError(
                f"The arguments of job {job.id} were encoded as {str(encodings)[:200]}; this "
                f"middleware reads {ENCODING} alone."
            )
        key_id = job.meta.get(META_KEY_ID)
        if not isinstance(key_id, str):
            raise DecryptionError(f"Job {job.id} does not say its key in meta.{META_KEY_ID}.")
        bound_to = job.meta.get(BOUND_TO, "nothing")
        codec = self._codec(job, bound_to if isinstance(bound_to, str) else "")
        payload = codec.decode(Payload(data, {"encoding": ENCODING, KEY_ID: key_id}))
        try:
            text = payload.content().decode("utf-8", "surrogatepass")
            plain = decode(text, max_depth=MAX_NATIVE_DEPTH)
        except Exception:  # noqa: BLE001 - its message may hold plain text
            plain = None
        if not isinstance(plain, list):
            raise DecryptionError(f"The decrypted arguments of job {job.id} are no JSON array.")
        return plain

    # ------------------------------------------------------------------ both
    def _codec(self, job: Job, bound_to: str) -> EncryptionCodec:
        match bound_to:
            case "nothing":
                associated = ""
            case "type":
                associated = f"ojs:type:{job.type}"
            case "id":
                associated = f"ojs:id:{job.id}:{job.type}"
            case _:
                raise DecryptionError(f"Job {job.id} is bound to an unknown {bound_to[:40]!r}.")
        return EncryptionCodec(self.keys, job.type, associated=associated.encode())

    def _is_meant(self, job: Job) -> bool:
        return self.types is None or self.types(job.type)

    async def _away(self, function: Callable[[], R]) -> R:
        """Call a function; in a thread if the keys come over a network."""
        if not self._waits:
            return function()
        import asyncio  # PUSH does without it

        return await asyncio.to_thread(function)


def encoded(job: Job) -> str | None:
    """Return the encoded arguments of a job, in base64; None if they are plain."""
    args = job.args
    if len(args) != 1 or not isinstance(args[0], dict) or args[0].get(MARKER) is not True:
        return None
    data = args[0].get("data")
    return data if isinstance(data, str) else None


def _plain_text(job: Job) -> bytes:
    """Return the JSON text of the arguments, as the client wrote it."""
    return job.members().get("args", "[]").encode("utf-8", "surrogatepass")
