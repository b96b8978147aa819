"""What the jobs of a worker share: opened before the first job, closed after the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ojs_aws import Job, Jobs, LambdaWorker, Worker
from ojs_aws.domain.json_text import RawJson
from ojs_aws.worker import RegistrationError
from tests.simulation.world import World
from tests.unit.typed_jobs.conftest import execute
from tests.unit.worker.doubles import FakeSource, StillTimer, settle

jobs = Jobs()
happened: list[str] = []


@jobs.resource
async def settings() -> AsyncIterator[dict[str, str]]:
    happened.append("settings opened")
    yield {"name": "db"}
    happened.append("settings closed")


@jobs.resource
async def pool() -> AsyncIterator[list[str]]:
    opened = [settings.get()["name"]]
    happened.append("pool opened")
    try:
        yield opened
    finally:
        happened.append("pool closed")


@jobs.job("a.b")
async def run(name: str) -> str:
    return helper(name)


@jobs.job("in.thread")
def in_thread(name: str) -> str:
    return helper(name)


def helper(name: str) -> str:
    happened.append(name)
    return pool.get()[0]


@pytest.fixture(autouse=True)
def _nothing_yet() -> None:
    happened.clear()


async def test_a_worker_opens_them_in_order_and_closes_them_in_turn() -> None:
    """Handlers in threads have them, too."""
    source = FakeSource(
        ready=[
            Job("a.b", ["one"], id="01900000-0000-7000-8000-000000000001"),
            Job("in.thread", ["two"], id="01900000-0000-7000-8000-000000000002"),
        ]
    )
    worker = Worker(jobs, source=source, timer=StillTimer(), middleware=[])
    served = asyncio.ensure_future(worker.serve())
    while len(source.acked) < 2:
        await settle()
    worker.lifecycle.terminate("test")
    await served
    assert set(source.acked.values()) == {RawJson('"db"')}
    assert happened[:2] == ["settings opened", "pool opened"]
    assert sorted(happened[2:4]) == ["one", "two"]
    assert happened[4:] == ["pool closed", "settings closed"]


def test_a_lambda_worker_opens_them_once() -> None:
    """They stay open from batch to batch: the next one comes soon."""
    worker = LambdaWorker(jobs, backend=World().backend)
    for _ in range(2):
        assert worker.lambda_handler({"Records": []}) == {"batchItemFailures": []}
    assert happened == ["settings opened", "pool opened"]


async def test_what_cannot_be_opened_ends_the_worker_and_closes_the_rest() -> None:
    own = Jobs()

    @own.resource
    async def first() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            happened.append("first closed")

    @own.resource
    async def broken() -> AsyncIterator[int]:
        if jobs:
            raise OSError("no database")
        yield 2

    @own.job("a.b")
    async def work() -> None: ...

    worker = Worker(own, source=FakeSource(), timer=StillTimer())
    with pytest.raises(OSError, match="no database"):
        await worker.serve()
    assert happened == ["first closed"]
    backend = World().backend
    for _ in range(2):  # the second batch tries again
        with pytest.raises(OSError, match="no database"):
            LambdaWorker(own, backend=backend).lambda_handler({"Records": []})


async def test_a_test_gives_a_value_of_its_own() -> None:
    with pool.use(["fake"]):
        assert await run("x") == "fake"
        assert (await execute(jobs, run.call("y").to_job())).result == '"fake"'  # type: ignore[union-attr]
    with pytest.raises(RuntimeError, match=r"In a test: with pool.use\(value\)"):
        pool.get()


def test_a_resource_yields_its_value() -> None:
    with pytest.raises(RegistrationError, match="yields its value once"):

        @Jobs().resource  # type: ignore[arg-type]
        async def wrong() -> int:
            return 5
