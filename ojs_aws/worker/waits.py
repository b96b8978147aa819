"""Waits for several things at once, and for one thing for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from ojs_aws.client.timer import Timer


async def first_of(*waits: Awaitable[object]) -> None:
    """Wait for whichever ends first; the others are cancelled."""
    tasks = {asyncio.ensure_future(wait) for wait in waits}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def within(timer: Timer, seconds: float, work: Awaitable[object]) -> None:
    """Give a task a little time, and ignore it if it does not finish."""
    task = asyncio.ensure_future(work)
    await first_of(task, timer.sleep(seconds))
    with suppress(Exception, asyncio.CancelledError):
        await task
