"""Encrypted jobs from the client to the handlers: nothing in AWS holds their arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from ojs_aws import Client, Job, JobContext
from ojs_aws.config import Settings
from ojs_aws.middleware import EncryptionMiddleware, StaticKeys
from tests.aws import embedded
from tests.functions.test_lambda_worker import Deployment
from tests.load import HUNG_S

OLD, NEW = {"key-1": b"1" * 32}, {"key-2": b"2" * 32}
SECRET = "4111-1111-1111-1111"


class Encrypted(Deployment):
    """A deployment whose worker knows both keys; what it was sent is kept to be looked at."""

    def __init__(self, aws: Any) -> None:
        super().__init__(aws)
        self.aws = aws
        self.sent: list[str] = []
        self.sqs.meta.events.register("before-parameter-build", self._note)
        self.worker.middleware.prepend(EncryptionMiddleware(StaticKeys(OLD | NEW)))

    def _note(self, params: dict[str, Any], **_: Any) -> None:
        self.sent.append(repr(params))

    def producer(self, keys: dict[str, bytes]) -> Client:
        return Client.direct(
            backend=self.backend, middleware=[EncryptionMiddleware(StaticKeys(keys))]
        )

    def everything_in_aws(self) -> str:
        items = self.aws.clients.dynamodb.scan(TableName=self.aws.settings.table)["Items"]
        s3 = self.aws.clients.s3()
        bucket = self.aws.settings.bucket
        objects = s3.list_objects_v2(Bucket=bucket).get("Contents", [])
        bodies = [s3.get_object(Bucket=bucket, Key=o["Key"])["Body"].read() for o in objects]
        return repr([items, bodies, self.sent])


@pytest.fixture
def deployed() -> Iterator[Encrypted]:
    with embedded(Settings()) as aws:
        deployment = Encrypted(aws)
        yield deployment
        deployment.worker._loop.close()


async def test_mw_enq_013_only_the_handler_sees_arguments_even_after_rotation(
    deployed: Encrypted,
) -> None:
    """The raw items and messages are looked at before and after; results are not encrypted."""
    seen: list[Any] = []

    @deployed.worker.handler("pay")
    def pay(ctx: JobContext, card: str, options: dict[str, Any]) -> str:
        seen.append((card, options))
        return "paid"

    unique: Any = {"keys": ["type", "args"]}
    first = await deployed.producer(OLD).enqueue("pay", [SECRET, {"n": 1}], unique=unique)
    second = await deployed.producer(OLD | NEW).enqueue("pay", [SECRET, {"n": 2}])
    large = await deployed.producer(NEW).enqueue("pay", [SECRET * 20_000, {"n": 3}])
    stored = deployed.everything_in_aws()
    assert first.id in stored
    assert "binary/encrypted" in stored
    assert SECRET not in stored
    read = await deployed.client.get(first.id)
    assert read.meta["ojs.codec.key_id"] == "key-1"
    assert isinstance(read["unique_key"], str)
    assert SECRET not in Job.to_json(read)

    await asyncio.to_thread(deployed.deliver)
    assert sorted(options["n"] for _, options in seen) == [1, 2, 3]
    assert {card.replace(SECRET, "") for card, _ in seen} == {""}
    for one in (first, second, large):
        assert await deployed.client.wait(one.id, timeout_s=HUNG_S) == "paid"
    assert SECRET not in deployed.everything_in_aws()


async def test_a_key_that_was_taken_away_too_early_fails_the_attempt(deployed: Encrypted) -> None:
    """It is retried, so the key can be given back; the error says which one is missing."""

    @deployed.worker.handler("pay")
    def pay(ctx: JobContext, card: str) -> None: ...

    stored = await deployed.producer({"lost": b"3" * 32}).enqueue("pay", [SECRET])
    await asyncio.to_thread(deployed.deliver)
    job = await deployed.client.get(stored.id)
    assert job.state == "retryable"
    assert job.error is not None
    assert job.error["type"] == "UnknownKeyError"
    assert "'lost'" in str(job.error["message"])
    assert SECRET not in deployed.everything_in_aws()
