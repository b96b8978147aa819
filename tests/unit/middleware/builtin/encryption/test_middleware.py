"""Arguments are encrypted behind the client, and plain only where the handler runs."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.unique.keys import UniquePolicy, fingerprint
from ojs_aws.middleware import (
    DecryptionError,
    EncryptionCodec,
    EncryptionKey,
    EncryptionMiddleware,
    EnqueueChain,
    ErrorReport,
    ErrorReportingMiddleware,
    ExecutionChain,
    JobContext,
    Payload,
    PlainArgsError,
    StaticKeys,
    UnknownKeyError,
)
from ojs_aws.middleware.protocols import EnqueueSide, ExecutionSide
from tests.unit.middleware.doubles import context, enqueue_sync, job, store

OLD, NEW = b"o" * 32, b"n" * 32
KEYS = StaticKeys({"key-2026-02": OLD})
CARD = "4111111111111111"

_enqueues: EnqueueSide = EncryptionMiddleware(KEYS)
_executes: ExecutionSide = EncryptionMiddleware(KEYS)


async def sealed(given: Job, middleware: EncryptionMiddleware | None = None) -> Job:
    """The job as it is stored, read from its text as a worker reads it."""
    stored = await EnqueueChain([middleware or EncryptionMiddleware(KEYS)]).run(given, store)
    assert stored is not None
    return Job.from_json(stored.to_json())


async def opened(stored: Job, middleware: EncryptionMiddleware | None = None) -> list[Any]:
    """What a handler sees."""
    seen: list[Any] = []

    def handler(executed: Job, ctx: JobContext) -> None:
        assert executed.args == ctx.job.args
        seen.extend(executed.args)

    chain = ExecutionChain([middleware or EncryptionMiddleware(KEYS)])
    await chain.run(stored, context(stored), handler)
    return seen


async def test_mw_enq_013_enc_004_only_the_handler_sees_plain_arguments() -> None:
    """ENC-004: transparent; the job that the caller holds stays plain, the stored one is not."""
    args = [CARD, {"a": [1, 2.5, None, "\u00fc\U0001f600"]}, True]
    given = job(*args, meta={"tenant": "acme"})
    stored = await sealed(given)
    assert CARD not in stored.to_json()
    assert given.args == args
    assert given.meta == {"tenant": "acme"}
    assert await opened(stored) == args
    assert CARD not in stored.to_json()  # sealed again behind the handler


async def test_enc_003_enc_005_the_envelope_is_as_the_specification_has_it() -> None:
    """Sections 5.2, 5.3 and 6.2, decrypted by hand."""
    stored = await sealed(job(CARD, meta={"tenant": "acme"}))
    assert stored.meta == {
        "tenant": "acme",
        "ojs.codec.encodings": ["binary/encrypted"],
        "ojs.codec.key_id": "key-2026-02",
    }
    (only,) = stored.args
    assert isinstance(only, dict)
    assert {**only, "data": ""} == {"ojs_encoded": True, "encoding": "binary/encrypted", "data": ""}
    content = base64.b64decode(str(only["data"]), validate=True)
    plain = AESGCM(OLD).decrypt(content[1:13], content[13:], None)
    assert content[:1] == b"\x01"
    assert json.loads(plain) == [CARD]
    assert len(content) == 1 + 12 + len(plain) + 16


async def test_enc_002_each_job_has_a_nonce_of_its_own() -> None:
    """The same arguments give another ciphertext each time."""
    texts = {str((await sealed(job(CARD))).args) for _ in range(50)}
    assert len(texts) == 50


def test_enc_001_the_codec_transforms_payloads_and_back() -> None:
    """Sections 5.1 and 9.2: the form in which a codec server answers."""
    codec = EncryptionCodec(KEYS)
    payload = codec.encode(Payload.of(b'["x"]'))
    assert payload.metadata == {
        "encoding": "binary/encrypted",
        "encryption_key_id": "key-2026-02",
    }
    decoded = codec.decode(payload)
    assert decoded.content() == b'["x"]'
    assert decoded.metadata == {"encoding": "json/plain"}
    with pytest.raises(DecryptionError, match="Only"):
        codec.decode(decoded)


async def test_mw_enq_024_the_uniqueness_key_is_made_from_the_plain_arguments() -> None:
    """Two jobs with the same arguments have one key, whatever their nonces."""
    unique = {"keys": ["type", "args"]}
    first, second = [await sealed(job(CARD, unique=unique)) for _ in range(2)]
    assert first.args != second.args
    assert first["unique_key"] == second["unique_key"]
    assert first["unique_key"] == fingerprint(job(CARD), UniquePolicy.by("type", "args"))
    assert "unique_key" not in await sealed(job(CARD))
    kept = await sealed(job(CARD, unique=unique, unique_key="mine"))
    assert kept["unique_key"] == "mine"


async def test_an_invalid_unique_policy_is_refused_before_anything_is_stored() -> None:
    """The key could not be made from the ciphertext later."""
    with pytest.raises(InvalidRequestError, match=r"unique\.keys"):
        await sealed(job(CARD, unique={"keys": ["nothing"]}))


async def test_arguments_of_one_id_are_not_given_to_the_job_of_another() -> None:
    """A scheduled job that took them over could not decrypt them."""
    unique = {"keys": ["type"], "on_conflict": "replace_except_schedule"}
    with pytest.raises(InvalidRequestError, match="bound to the id"):
        await sealed(job(CARD, unique=unique), EncryptionMiddleware(KEYS, bind_to="id"))
    assert await opened(await sealed(job(CARD, unique=unique))) == [CARD]
    replaces = {"keys": ["type"], "on_conflict": "replace"}
    bound = await sealed(job(CARD, unique=replaces), EncryptionMiddleware(KEYS, bind_to="id"))
    assert await opened(bound) == [CARD]


# ---------------------------------------------------------------------------------- rotation
async def test_a_job_of_the_old_key_is_read_after_the_rotation() -> None:
    """Section 10.1: the current key encrypts, any key decrypts."""
    before = await sealed(job(CARD))
    both = EncryptionMiddleware(StaticKeys({"key-2026-02": OLD, "key-2026-08": NEW}))
    after = await sealed(job(CARD), both)
    assert after.meta["ojs.codec.key_id"] == "key-2026-08"
    assert await opened(before, both) == await opened(after, both) == [CARD]


async def test_a_missing_key_is_named_and_the_handler_is_not_called() -> None:
    """The message says which one, and which ones are there."""
    stored = await sealed(job(CARD), EncryptionMiddleware(StaticKeys({"other": NEW})))
    with pytest.raises(UnknownKeyError, match=r"'other'.*key-2026-02"):
        await opened(stored)


def test_keys_are_checked_when_they_are_given_and_never_shown() -> None:
    """256 bits, and a current one that is there."""
    with pytest.raises(ValueError, match="32 bytes"):
        StaticKeys({"short": b"x"})
    with pytest.raises(ValueError, match="at least one"):
        StaticKeys({})
    with pytest.raises(ValueError, match="none of a"):
        StaticKeys({"a": OLD}, current="b")
    with pytest.raises(ValueError, match="needs an id"):
        EncryptionKey("", OLD)
    assert "oooo" not in repr(EncryptionKey("a", OLD)) + repr(StaticKeys({"a": OLD}))


# ---------------------------------------------------------------------------------- tampering
@pytest.mark.parametrize("position", [0, 1, 13, -1])
async def test_changed_data_is_refused(position: int) -> None:
    """Version, nonce, ciphertext and tag: each of them is authenticated or checked."""
    stored = await sealed(job(CARD))
    (only,) = stored.args
    assert isinstance(only, dict)
    content = bytearray(base64.b64decode(str(only["data"])))
    content[position] ^= 1
    only["data"] = base64.b64encode(content).decode()
    with pytest.raises(DecryptionError):
        await opened(stored)


@pytest.mark.parametrize(("data", "said"), [("AQ==", "cut off"), ("?", "base64"), ("AQ", "base64")])
async def test_data_that_is_none_is_refused(data: str, said: str) -> None:
    """With an error that says what is wrong with it."""
    stored = await sealed(job(CARD))
    stored.args = [{"ojs_encoded": True, "encoding": "binary/encrypted", "data": data}]
    with pytest.raises(DecryptionError, match=said):
        await opened(stored)


async def test_other_encodings_and_a_missing_key_id_are_named() -> None:
    """Another SDK may compress first."""
    stored = await sealed(job(CARD))
    stored.meta["ojs.codec.encodings"] = ["zstd/plain", "binary/encrypted"]
    with pytest.raises(DecryptionError, match="zstd/plain"):
        await opened(stored)
    stored = await sealed(job(CARD))
    del stored.meta["ojs.codec.key_id"]
    with pytest.raises(DecryptionError, match=r"meta\.ojs\.codec\.key_id"):
        await opened(stored)


@pytest.mark.parametrize(("bound", "moved"), [("id", {"id": "other"}), ("type", {"type": "c.d"})])
async def test_a_bound_ciphertext_cannot_be_moved(bound: Any, moved: Any) -> None:
    """Nor can the mark be taken off it."""
    stored = await sealed(job(CARD), EncryptionMiddleware(KEYS, bind_to=bound))
    assert await opened(stored) == [CARD]
    with pytest.raises(DecryptionError, match="another job"):
        await opened(stored.copy(**moved))
    stripped = stored.copy()
    del stripped.meta["ojs.codec.bound_to"]
    with pytest.raises(DecryptionError, match="do not verify"):
        await opened(stripped)
    with pytest.raises(DecryptionError, match="unknown 'x'"):
        await opened(stored.copy(meta={**stored.meta, "ojs.codec.bound_to": "x"}))


async def test_what_is_no_json_array_is_refused_without_showing_it() -> None:
    """A decoder's message may quote what it could not read."""
    codec = EncryptionCodec(KEYS)
    for plain in (CARD.encode() + b"x", b'{"a":1}', b"\xff"):
        stored = await sealed(job(CARD))
        stored.args = [{"ojs_encoded": True, "data": codec.encode(Payload.of(plain)).data}]
        with pytest.raises(DecryptionError, match="no JSON array") as raised:
            await opened(stored)
        assert CARD not in str(raised.value)


# ---------------------------------------------------------------------------------- plain jobs
async def test_plain_jobs_pass_unless_they_are_refused() -> None:
    """While clients are changed one after the other, both kinds arrive."""
    assert await opened(job(1)) == [1]
    strict = EncryptionMiddleware(KEYS, refuse_plain=True)
    with pytest.raises(PlainArgsError, match="are not encrypted"):
        await opened(job(1), strict)
    assert await opened(await sealed(job(1)), strict) == [1]


async def test_only_the_chosen_types_are_encrypted() -> None:
    """And only they have to be."""
    some = EncryptionMiddleware(KEYS, types=lambda name: name == "pay", refuse_plain=True)
    assert (await sealed(job(1), some)).args == [1]
    assert await opened(job(1), some) == [1]
    assert (await sealed(job(1, type="pay"), some)).args != [1]


async def test_what_is_encrypted_already_is_not_encrypted_twice() -> None:
    """A job that was read back and enqueued again."""
    once = await sealed(job(CARD))
    again = await sealed(once)
    assert again.args == once.args


def test_a_chain_with_static_keys_needs_no_event_loop() -> None:
    """PUSH, and synchronous clients."""
    stored, _ = enqueue_sync(EnqueueChain([EncryptionMiddleware(KEYS)]), job(CARD), lambda it: it)
    assert stored is not None
    assert CARD not in stored.to_json()


# ---------------------------------------------------------------------------------- secrecy
async def test_nothing_further_out_sees_plain_arguments(caplog: pytest.LogCaptureFixture) -> None:
    """Neither the error report, which carries the arguments, nor any log."""
    reports: list[ErrorReport] = []
    stored = await sealed(job(CARD))

    def broken(executed: Job, ctx: JobContext) -> None:
        raise OSError("no")

    chain = ExecutionChain([ErrorReportingMiddleware(reports.append), EncryptionMiddleware(KEYS)])
    with caplog.at_level(logging.DEBUG), pytest.raises(OSError, match="no"):
        await chain.run(stored, context(stored), broken)
    assert len(reports) == 1
    assert CARD not in repr(reports)
    assert CARD not in caplog.text


async def test_a_context_with_a_job_object_of_its_own_is_decrypted_as_well() -> None:
    """Handlers are called with the arguments of ``ctx.job``."""
    stored = await sealed(job(CARD))
    ctx = context(stored.copy())
    seen = await ExecutionChain([EncryptionMiddleware(KEYS)]).run(
        stored, ctx, lambda it, inner: (it.args, inner.job.args)
    )
    assert seen == ([CARD], [CARD])
    assert CARD not in ctx.job.to_json()


async def test_fifty_jobs_at_once_keep_their_own_arguments() -> None:
    """One instance for all of them; keys that wait are asked in threads."""

    class Waiting(StaticKeys):
        waits = True

    middleware = EncryptionMiddleware(Waiting({"a": OLD}))

    async def there_and_back(n: int) -> list[Any]:
        stored = await sealed(job(n, id=f"job-{n}"), middleware)
        seen: list[Any] = []

        async def handler(executed: Job, ctx: JobContext) -> None:
            await asyncio.sleep(0)
            seen.extend(executed.args)

        await ExecutionChain([middleware]).run(stored, context(stored), handler)
        return seen

    assert await asyncio.gather(*map(there_and_back, range(50))) == [[n] for n in range(50)]


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When the middleware is made, not when the first job comes."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(ImportError, match=r"ojs-aws\[encryption\]"):
        EncryptionMiddleware(KEYS)


def test_an_unknown_binding_is_refused() -> None:
    """When the middleware is made."""
    with pytest.raises(ValueError, match="bind_to"):
        EncryptionMiddleware(KEYS, bind_to="queue")  # type: ignore[arg-type]
