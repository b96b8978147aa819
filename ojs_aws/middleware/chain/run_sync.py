"""Run asynchronous code from synchronous code, with an event loop only where one is needed."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")


def drive(coroutine: Coroutine[Any, Any, T], *, never_waits: bool) -> T:
    """Run a coroutine to its end.

    One that never waits runs right here, which saves a cold start the import of asyncio. Any other
    runs from its start in the loop of a thread, which stays: a coroutine cannot move into a loop
    later, and connections that a middleware keeps belong to one loop.

    :raises RuntimeError: it was declared never to wait, and has waited.
    """
    if not never_waits:
        from ojs_aws.middleware.event_loop import run_in_loop  # imports asyncio

        return run_in_loop(coroutine)
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    coroutine.close()
    raise RuntimeError("A middleware that says it never waits has waited.")
