"""Watch Django's database connections: close those of jobs, and act when they commit."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections

from ojs_aws.client.transports.substitute import current_substitute
from ojs_aws.domain.envelope import Job


def with_own_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that closes the connections of its thread when it ends."""

    @functools.wraps(function)
    def run(*args: Any, **keywords: Any) -> object:
        try:
            return function(*args, **keywords)
        finally:
            connections.close_all()

    return run


def with_fresh_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function that closes broken and old connections before and after."""

    @functools.wraps(function)
    async def run(*args: Any, **keywords: Any) -> object:
        await sync_to_async(close_old_connections)()
        try:
            return await function(*args, **keywords)
        finally:
            await sync_to_async(close_old_connections)()

    return run


class AfterCommit:
    """Does something with jobs when Django calls it: their transaction has committed.

    In a test the kit counts the jobs as ones that wait, until then, or until Django forgets them,
    as it does when a transaction or savepoint rolls back.
    """

    def __init__(self, jobs: Sequence[Job], act: Callable[[Sequence[Job]], None]) -> None:
        """Do this with these jobs."""
        self._jobs, self._act = jobs, act
        self._ids = [job.id for job in jobs]
        substitute = current_substitute()
        if substitute is not None:
            substitute.waiting.update(self._ids)
            forget = substitute.waiting.difference_update
            weakref.finalize(self, forget, self._ids).atexit = False
        # Django's log names it.
        self.__qualname__ = f"enqueue_after_commit of {', '.join(job.type for job in jobs[:3])}"

    def __call__(self) -> None:
        """Act: the transaction has committed."""
        substitute = current_substitute()
        if substitute is not None:
            substitute.waiting.difference_update(self._ids)
        self._act(self._jobs)
