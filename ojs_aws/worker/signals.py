"""Connects the operating system's signals to a worker's lifecycle (worker protocol, section 9)."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ojs_aws.worker.lifecycle import Lifecycle

_log = logging.getLogger(__name__)


def reactions(lifecycle: Lifecycle) -> dict[str, Callable[[], None]]:
    """Return what each signal does, by its name.

    SIGINT is treated as SIGTERM (ojs-graceful-shutdown, section 4.1): Ctrl-C drains, and pressed
    again ends at once.
    """
    return {
        "SIGTERM": lambda: lifecycle.terminate("SIGTERM"),
        "SIGINT": lambda: lifecycle.terminate("SIGINT"),
        "SIGTSTP": lambda: lifecycle.quiet("SIGTSTP"),
        "SIGCONT": lambda: lifecycle.resume("SIGCONT"),
    }


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
            _log.warning("%s cannot be handled here", name)
        else:
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            with suppress(RuntimeError):
                loop.remove_signal_handler(number)
