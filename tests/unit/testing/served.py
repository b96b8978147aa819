"""A Lambda worker that the server of the tests runs."""

from __future__ import annotations

import asyncio

from ojs_aws import Jobs, LambdaWorker

jobs = Jobs()


@jobs.job("served.upper", queue="served")
async def upper(text: str) -> str:
    """Return a text in capitals."""
    return text.upper()


@jobs.job("served.more", queue="served")
async def more() -> str:
    """Send another job."""
    return (await upper.enqueue("x")).id


@jobs.job("served.slow", queue="served")
async def slow(text: str) -> str:
    """Send another job, late."""
    await asyncio.sleep(0.5)
    return (await upper.enqueue(text)).id


@jobs.job("served.hangs", queue="served")
async def hangs() -> None:
    """Take longer than a test."""
    await asyncio.sleep(600)


worker = LambdaWorker(jobs)
