"""Defines a worker to try things with; the local server runs it on the queue ``demo``.

demo.echo   returns its arguments
demo.sleep  sleeps for its first argument, in seconds
demo.fail   raises its first argument as an error
"""

from __future__ import annotations

import asyncio

from ojs_aws import JobContext, LambdaWorker

worker = LambdaWorker(queues=["demo"])


@worker.handler("demo.echo")
async def echo(ctx: JobContext, *args: object) -> list[object]:
    """Return the arguments."""
    ctx.log("info", "echo", count=len(args))
    return list(args)


@worker.handler("demo.sleep")
async def sleep(_: JobContext, seconds: float = 1.0) -> float:
    """Sleep, and return how long."""
    await asyncio.sleep(seconds)
    return seconds


@worker.handler("demo.fail")
async def fail(_: JobContext, message: str = "failed on purpose") -> None:
    """Fail with an error."""
    raise RuntimeError(message)


handler = worker.lambda_handler
