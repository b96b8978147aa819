"""Runs the event loop of a worker process: its signals, and its end."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ojs_aws.worker.lifecycle import LAST_WORDS_S, Lifecycle, reactions

_logger = logging.getLogger(__name__)


def run_to_end(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine as ``asyncio.run`` does, but never wait for what ignores its cancellation.

    Such handlers are left behind. They do nothing any more, since their loop has stopped.
    """
    runner = asyncio.Runner()
    try:
        runner.run(main)
    finally:
        loop = runner.get_loop()
        left = asyncio.all_tasks(loop)
        for each in left:
            each.cancel()
        if left and loop.run_until_complete(asyncio.wait(left, timeout=LAST_WORDS_S))[1]:
            _logger.error("A handler that ignores its cancellation is left behind")
        else:
            runner.close()


@contextmanager
def signals_to(lifecycle: Lifecycle) -> Iterator[None]:
    """Let this process's signals change a lifecycle of the running event loop.

    Where signals cannot be handled (Windows, or another than the main thread) the directives of
    heartbeats remain.
    """
    loop = asyncio.get_running_loop()
    handled: list[int] = []
    for name, react in reactions(lifecycle).items():
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, react)
        except (NotImplementedError, RuntimeError, ValueError):
            _logger.warning("%s cannot be handled here", name)
        else:
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            with suppress(RuntimeError):
                loop.remove_signal_handler(number)
