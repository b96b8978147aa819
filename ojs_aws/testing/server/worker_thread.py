"""Runs a worker in a thread of the tests' process, where handlers can be patched and debugged."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Final, TypeAlias

from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.polling import Worker
from ojs_aws.worker.polls import Polls
from ojs_aws.worker.registry import HandlerRegistry

Handlers: TypeAlias = Jobs | BaseWorker | HandlerRegistry
"""What has the handlers: typed jobs, the application's worker of either kind, or a registry."""

POLLS: Final = Polls(first_s=0.02, longest_s=0.1)
"""The server is on this machine, and tests wait."""
GRACE_S: Final = 5.0
END_S: Final = 15.0


def worker_for(url: str, handlers: Handlers, queues: Sequence[str] = (), **options: Any) -> Worker:
    """Return a new worker with the handlers, middleware and hooks of the application's own.

    :param queues: default: those of the application's worker, else of the typed jobs.
    """
    options = {"polls": POLLS, "grace_s": GRACE_S, "queues": queues or None, **options}
    if isinstance(handlers, Jobs):
        return Worker(handlers, url=url, **options)
    if isinstance(handlers, HandlerRegistry):
        return Worker(url=url, registry=handlers, **options)
    options = {
        "registry": handlers.registry,
        "middleware": handlers.middleware,
        "hooks": handlers.hooks,
        **options,
        "queues": queues or handlers.queues,
    }
    worker = Worker(url=url, **options)
    worker.jobs = handlers.jobs  # their handlers are in the registry, and their resources are here
    return worker


class WorkerThread:
    """Runs one worker until it is stopped."""

    def __init__(self, worker: Worker) -> None:
        """Start the thread. It sees the context variables of its maker, such as the client."""
        self.worker = worker
        self._loop: asyncio.AbstractEventLoop | None = None
        self._problem: BaseException | None = None
        self._started = threading.Event()
        run = copy_context().run
        self._thread = threading.Thread(
            target=lambda: run(self._run), name="ojs-worker", daemon=True
        )
        self._thread.start()
        self._started.wait()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:  # noqa: BLE001 - the test's own thread raises it
            self._problem = problem
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._started.set()
        await self.worker.serve()

    def check(self) -> None:
        """Raise what ended the worker, such as a resource that could not be opened."""
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def stop(self) -> None:
        """Let running jobs finish within the grace period, and end the thread.

        :raises BaseException: whatever ended the worker before.
        """
        if self._loop is not None and self._thread.is_alive():
            with suppress(RuntimeError):  # the loop was closed just now
                self._loop.call_soon_threadsafe(self.worker.lifecycle.terminate, "the test is over")
        self._thread.join(END_S)
        if self._thread.is_alive():
            raise RuntimeError(f"The worker of the test did not end within {END_S:g} s.")
        self.check()
