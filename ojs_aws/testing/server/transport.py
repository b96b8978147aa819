"""Carries the requests of a test's client in a thread of its own.

The connections belong to that thread, so the client may be used by any event loop and any thread,
and closed by synchronous code when the test is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from ojs_aws.client.loop_thread import LoopThread
from ojs_aws.client.results import Stored
from ojs_aws.client.transports.answers import Answer
from ojs_aws.client.transports.requests import RouteRequest, Transport
from ojs_aws.domain.envelope import Job

R = TypeVar("R")


class ThreadedTransport:
    """Carries requests by another transport, in a thread."""

    def __init__(self, transport: Transport) -> None:
        """Use a transport; the thread starts with the first request."""
        self._transport = transport
        self._loop = LoopThread("ojs-server-client")
        self.max_wait_s = transport.max_wait_s

    async def _run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        return await asyncio.wrap_future(self._loop.submit(coroutine))

    async def ask(self, request: RouteRequest) -> Answer:
        """Ask for an operation of the route table, and return its answer."""
        return await self._run(self._transport.ask(request))

    async def push(self, job: Job) -> Stored:
        """Store one job, which has an id."""
        return await self._run(self._transport.push(job))

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none."""
        return await self._run(self._transport.push_all(jobs))

    async def get(self, job_id: str) -> Job:
        """Read a job."""
        return await self._run(self._transport.get(job_id))

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job."""
        return await self._run(self._transport.cancel(job_id))

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available."""
        return await self._run(self._transport.activate(job_id))

    async def close(self) -> None:
        """Keep the connections: :meth:`end` closes them with the server."""

    def end(self) -> None:
        """Close the connections, and end the thread."""
        self._loop.run(self._transport.close())
        self._loop.close()
