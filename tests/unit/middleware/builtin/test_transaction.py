"""A transaction commits with the handler's result and rolls back with anything else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    ExecutionChain,
    JobContext,
    JobTimeoutError,
    TimeoutMiddleware,
    TransactionMiddleware,
)
from ojs_aws.middleware.protocols import ExecutionSide
from tests.load import HUNG_S
from tests.unit.middleware.doubles import context, job
from tests.unit.worker.doubles import settle, until


class Database:
    """Writes down what happens to its transactions."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.threads: set[int] = set()
        self.problem: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()

    @contextmanager
    def sync(self, executed: Job, ctx: JobContext) -> Iterator[str]:
        self._note("begin")
        self.gate.wait(HUNG_S)
        try:
            yield f"tx of {executed.id}"
        except BaseException:
            self._note("rollback")
            self._fail()
            raise
        self._fail()
        self._note("commit")

    @asynccontextmanager
    async def asynchronous(self, executed: Job, ctx: JobContext) -> AsyncIterator[str]:
        with self.sync(executed, ctx) as transaction:
            yield transaction

    def _note(self, what: str) -> None:
        self.log.append(what)
        self.threads.add(threading.get_ident())

    def _fail(self) -> None:
        if self.problem is not None:
            raise self.problem


_executes: ExecutionSide = TransactionMiddleware(Database().sync)


@pytest.fixture(params=["sync", "asynchronous"])
def begin(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_mw_exe_018_a_result_commits(begin: str) -> None:
    """And the handler finds the transaction in its context, until it has ended."""
    database, ctx = Database(), context()

    def handler(executed: Job, inner: JobContext) -> object:
        database.log.append("handler")
        return inner.metadata["transaction"]

    chain = ExecutionChain([TransactionMiddleware(getattr(database, begin))])
    assert await chain.run(job(), ctx, handler) == f"tx of {job().id}"
    assert database.log == ["begin", "handler", "commit"]
    assert "transaction" not in ctx.metadata


async def test_mw_exe_018_an_error_rolls_back_and_stays_what_it_is(begin: str) -> None:
    """The worker sees the handler's own error."""
    database = Database()

    def handler(*_: object) -> None:
        raise OSError("no")

    chain = ExecutionChain([TransactionMiddleware(getattr(database, begin))])
    with pytest.raises(OSError, match="no"):
        await chain.run(job(), context(), handler)
    assert database.log == ["begin", "rollback"]


async def test_a_rollback_that_fails_is_a_note_of_the_error(begin: str) -> None:
    """What happened to the job comes first."""
    database = Database()
    database.problem = ConnectionError("gone")

    def handler(*_: object) -> None:
        raise OSError("no")

    chain = ExecutionChain([TransactionMiddleware(getattr(database, begin))])
    with pytest.raises(OSError, match="no") as raised:
        await chain.run(job(), context(), handler)
    assert raised.value.__notes__ == ["The rollback failed: ConnectionError: gone"]


async def test_a_commit_that_fails_fails_the_job(begin: str) -> None:
    """And it is the middleware's error, not the handler's."""
    database, ctx = Database(), context()
    database.problem = ConnectionError("gone")
    chain = ExecutionChain([TransactionMiddleware(getattr(database, begin))])
    with pytest.raises(ConnectionError, match="gone") as raised:
        await chain.run(job(), ctx, lambda *_: 1)
    assert ctx.failure_origin(raised.value) == "middleware:transaction"


@pytest.mark.parametrize("is_inside", [True, False])
async def test_a_timeout_rolls_back(begin: str, is_inside: bool) -> None:
    """Wherever the timeout is in the chain."""
    database = Database()
    parts: list[object] = [
        TransactionMiddleware(getattr(database, begin)),
        TimeoutMiddleware(0.05),
    ]

    async def endless(*_: object) -> None:
        await asyncio.sleep(60)

    with pytest.raises(JobTimeoutError):
        await ExecutionChain(parts if is_inside else parts[::-1]).run(job(), context(), endless)
    assert database.log == ["begin", "rollback"]


async def test_a_job_that_is_given_up_rolls_back_also_while_it_begins() -> None:
    """What was entered in a thread is left again, and the handler is not called."""
    database = Database()
    chain = ExecutionChain([TransactionMiddleware(database.sync)])
    database.gate.clear()
    work = asyncio.ensure_future(chain.run(job(), context(), lambda *_: database.log.append("no")))
    await until(lambda: bool(database.log))
    work.cancel()
    await settle()
    assert not work.done()
    database.gate.set()
    await asyncio.wait({work})
    assert work.cancelled()
    assert database.log == ["begin", "rollback"]


async def test_a_transaction_does_not_swallow_errors() -> None:
    """Whatever its exit says: only mark_handled turns an error into a success."""

    @contextmanager
    def swallowing(*_: object) -> Iterator[None]:
        try:
            yield
        except OSError:
            return

    def handler(*_: object) -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await ExecutionChain([TransactionMiddleware(swallowing)]).run(job(), context(), handler)


async def test_where_synchronous_ones_run_can_be_chosen() -> None:
    """In other threads, so that they block nobody; or in that of the loop."""
    mine, database = threading.get_ident(), Database()
    await ExecutionChain([TransactionMiddleware(database.sync)]).run(job(), context(), lambda *_: 1)
    assert mine not in database.threads
    bound = Database()
    chain = ExecutionChain([TransactionMiddleware(bound.sync, in_thread=False)])
    await chain.run(job(), context(), lambda *_: 1)
    assert bound.threads == {mine}


async def test_two_transactions_have_two_names_and_what_was_there_comes_back() -> None:
    """Nested ones of one name hide each other."""
    outer, inner, ctx = Database(), Database(), context()
    ctx.metadata["b"] = "mine"
    chain = ExecutionChain(
        [
            TransactionMiddleware(outer.sync, key="a"),
            TransactionMiddleware(inner.sync, key="b"),
        ]
    )
    await chain.run(job(), ctx, lambda *_: None)
    assert ctx.metadata == {"b": "mine"}


async def test_fifty_jobs_at_once_have_fifty_transactions() -> None:
    """Nothing is shared between them."""
    database = Database()
    chain = ExecutionChain([TransactionMiddleware(database.sync)])

    async def handler(executed: Job, ctx: JobContext) -> Any:
        await asyncio.sleep(0)
        return ctx.metadata["transaction"]

    async def one(n: int) -> object:
        executed = job(id=f"job-{n}")
        return await chain.run(executed, context(executed), handler)

    assert await asyncio.gather(*map(one, range(50))) == [f"tx of job-{n}" for n in range(50)]
    assert database.log.count("commit") == 50


async def test_what_is_no_context_manager_is_refused() -> None:
    """A coroutine, say, of a factory that was meant to be awaited."""
    chain = ExecutionChain([TransactionMiddleware(lambda *_: 3)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is a int"):
        await chain.run(job(), context(), lambda *_: 1)


async def test_a_handler_may_take_the_transaction_out_of_the_context() -> None:
    """To use it by itself; that is no reason to roll back."""
    database = Database()

    def takes(job: Job, ctx: JobContext) -> str:
        return str(ctx.metadata.pop("transaction"))

    chain = ExecutionChain([TransactionMiddleware(database.sync)])
    assert await chain.run(job(), context(), takes)
    assert database.log == ["begin", "commit"]
