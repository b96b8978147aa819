"""Runs what a test with a real server needs: the server's process, and a worker in a thread."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any, Final, TypeAlias

from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.lifecycle import Polls
from ojs_aws.worker.polling import Worker
from ojs_aws.worker.registry import HandlerRegistry

START_S: Final = 60.0
"""The longest start: seconds on a machine that does much else."""
ANSWER_S: Final = 30.0
STOP_S: Final = 5.0


class ServerError(Exception):
    """Reports that the local server did not start, or ended; the message has its output."""


class ServerChild:
    """Holds one process of the local server.

    :ivar url: where it answers.
    """

    def __init__(self, workers: Sequence[str], settings: Mapping[str, str]) -> None:
        """Start the process and wait until it answers.

        :param workers: Lambda workers, as ``module:attribute``.
        :param settings: its environment variables, beside those of this process. Of these it gets
            none that begins with ``OJS_``.
        :raises ServerError: it does not start.
        """
        self._log = tempfile.NamedTemporaryFile(prefix="ojs-server-", suffix=".log")  # noqa: SIM115
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        own = {name: text for name, text in os.environ.items() if not name.startswith("OJS_")}
        paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 - as Python has it
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "ojs_aws.testing.server.process",
                json.dumps({"workers": [*workers]}),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
            env={**own, "PYTHONPATH": os.pathsep.join(paths), **settings},
        )
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.url = self._answer(START_S)["url"]
        except ServerError:
            self.close()
            raise

    def _read(self) -> None:
        """Pass on each line of the process, and an empty one when it has ended."""
        assert self._process.stdout is not None  # noqa: S101 - it was opened as a pipe
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def _answer(self, timeout_s: float) -> dict[str, str]:
        """Return the next answer.

        :raises ServerError: it reports a problem, has ended, or does not answer in time.
        """
        try:
            line = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            raise ServerError(f"The local server gave no answer in {timeout_s:g} s.") from None
        answer: dict[str, str] = json.loads(line) if line else {}
        if not answer:
            raise ServerError(f"The local server has ended. Its output:\n{self.log}")
        if "error" in answer:
            raise ServerError(f"{answer['error']}\n{self.log}".strip())
        return answer

    def reset(self) -> None:
        """Let the server forget everything.

        :raises ServerError: a Lambda worker still executes jobs, or the server has ended.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was opened as a pipe
        try:
            self._process.stdin.write("reset\n")
            self._process.stdin.flush()
        except OSError:
            raise ServerError(f"The local server has ended. Its output:\n{self.log}") from None
        self._answer(ANSWER_S)

    @property
    def log(self) -> str:
        """Return what the server, its functions and its Lambda workers have printed."""
        if self._log.closed:
            return ""
        return Path(self._log.name).read_text("utf-8", "replace")

    def close(self, wait_s: float = STOP_S) -> None:
        """End the process: in order, or by force after so many seconds."""
        if self._process.stdin is not None:
            with suppress(OSError):  # it has ended, and has not taken all of its input
                self._process.stdin.close()
        try:
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()


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
        """Start the thread. It sees the context variables of its maker, such as the client.

        The thread's first import is made before: pytest parses our modules as they are imported,
        and Python 3.11 fails now and then when two threads parse at the same time.
        """
        importlib.import_module("ojs_aws.worker.console")
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
