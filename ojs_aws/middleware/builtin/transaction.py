"""Run the handler in a transaction (middleware specification, section 4.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import KW_ONLY, dataclass
from types import TracebackType
from typing import Final, TypeAlias, TypeVar

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import ExecutionNext

DEFAULT_KEY: Final = "transaction"

R = TypeVar("R")

Transaction: TypeAlias = AbstractContextManager[object] | AbstractAsyncContextManager[object]
"""Commits when it is left normally, and rolls back when it is left by an exception."""


@dataclass(eq=False, repr=False)
class TransactionMiddleware:
    """Enters a context manager before the handler, and leaves it as the handler ends.

    A result commits; an error, a timeout and a cancellation roll back. An error of the commit fails
    the job. A transaction never turns an error into a success, even if its ``__exit__`` says so; an
    error while rolling back becomes a note of the one that caused it.

    Committed is not acknowledged: when the worker dies between the two, the job runs again. Put it
    outside of the timeout, so that a commit is not cut off.

    :param begin: makes the context manager of an execution, synchronous or asynchronous; it does
        not wait.
    :param key: where the handler finds what the context manager gave: ``ctx.metadata[key]``.
    :param in_thread: enter and leave synchronous context managers in threads, so that other jobs go
        on meanwhile; False for those that are bound to one thread, which is then that of the event
        loop.
    """

    begin: Callable[[Job, JobContext], Transaction]
    _: KW_ONLY
    key: str = DEFAULT_KEY
    in_thread: bool = True

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Execute the job inside the transaction.

        :raises Exception: what beginning or committing raises; and what the handler raised.
        """
        around = self._asynchronous(self.begin(job, ctx))
        had_value, earlier = self.key in ctx.metadata, ctx.metadata.get(self.key)
        ctx.metadata[self.key] = await around.__aenter__()
        try:
            try:
                result = await call_next()
            finally:
                if had_value:
                    ctx.metadata[self.key] = earlier
                else:
                    ctx.metadata.pop(self.key, None)
        except BaseException as problem:
            await _roll_back(around, problem)
            raise
        await around.__aexit__(None, None, None)
        return result

    def _asynchronous(self, transaction: Transaction) -> AbstractAsyncContextManager[object]:
        if isinstance(transaction, AbstractAsyncContextManager):
            return transaction
        if isinstance(transaction, AbstractContextManager):
            return _Synchronous(transaction, in_thread=self.in_thread)
        raise TypeError(
            f"The transaction must be a context manager, and is a {type(transaction).__name__}."
        )


async def _roll_back(around: AbstractAsyncContextManager[object], problem: BaseException) -> None:
    try:
        await around.__aexit__(type(problem), problem, problem.__traceback__)
    except Exception as second:  # noqa: BLE001 - the first one is what happened to the job
        if second is not problem:
            problem.add_note(f"The rollback failed: {type(second).__name__}: {second}")


class _Synchronous(AbstractAsyncContextManager[object]):
    """Enters and leaves a synchronous context manager, in threads or in that of the event loop."""

    def __init__(self, inner: AbstractContextManager[object], *, in_thread: bool) -> None:
        self._inner = inner
        self._in_thread = in_thread

    async def __aenter__(self) -> object:
        if not self._in_thread:
            return self._inner.__enter__()
        value, cancelled = await _whole(self._inner.__enter__)
        if cancelled is not None:  # it was entered, so it has to be left
            await _whole(
                lambda: self._inner.__exit__(type(cancelled), cancelled, cancelled.__traceback__)
            )
            raise cancelled
        return value

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if not self._in_thread:
            return self._inner.__exit__(kind, problem, trace)
        value, cancelled = await _whole(lambda: self._inner.__exit__(kind, problem, trace))
        if cancelled is not None:
            raise cancelled
        return value


async def _whole(function: Callable[[], R]) -> tuple[R, asyncio.CancelledError | None]:
    """Call a function in a thread and wait for its end, cancelled or not."""
    work = asyncio.ensure_future(asyncio.to_thread(function))
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as stop:
            cancelled = stop
    return work.result(), cancelled
