"""Find the client that a typed job is sent by.

It is the one of ``with client.use():``, else one that ``Jobs.configure`` describes, else that of a
test, else one for the server that the environment names. An event loop keeps its own, and a forked
process makes new ones: connections belong to the loop and the process that opened them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.client.transports.substitute import bound_client, current_substitute

if TYPE_CHECKING:
    from ojs_aws.client import Client, SyncClient


class Clients:
    """Makes one client for each event loop, and one for synchronous code, when first needed."""

    def __init__(self, make: Callable[[], Client]) -> None:
        """Make clients like this."""
        self._make = make
        self._lock = threading.Lock()
        self._forget()
        _ALL.add(self)

    def _forget(self) -> None:
        """Start without clients. Those of a parent process are left to it, not closed."""
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Client]
        self._by_loop = weakref.WeakKeyDictionary()
        self._sync: SyncClient | None = None
        self._lock = threading.Lock()

    def for_loop(self) -> Client:
        """Return the client of the running event loop.

        :raises ValueError: nothing says where the server is.
        """
        loop = asyncio.get_running_loop()
        client = self._by_loop.get(loop)
        if client is None:
            client = self._by_loop[loop] = self._make()
        return client

    def for_threads(self) -> SyncClient:
        """Return the client of all synchronous code.

        :raises ValueError: nothing says where the server is.
        """
        with self._lock:
            if self._sync is None:
                from ojs_aws.client import SyncClient  # asynchronous code does not need it

                self._sync = SyncClient(client=self._make())
            return self._sync

    def with_middleware(self, middleware: Iterable[object]) -> Clients:
        """Return other clients that are made the same way, with more enqueue middleware."""
        added = [*middleware]

        def make() -> Client:
            client = self._make()
            for each in added:
                client.middleware.add(each)
            return client

        return Clients(make)

    async def close(self) -> None:
        """Close the client of the running event loop; the next job makes a new one."""
        client = self._by_loop.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def close_sync(self) -> None:
        """Close the client of synchronous code; the next job makes a new one."""
        with self._lock:
            client, self._sync = self._sync, None
        if client is not None:
            client.close()


def _from_env() -> Client:
    from ojs_aws.client import Client  # loaded with the first job

    return Client.from_env()


def sending_client(clients: Clients) -> Client:
    """Return the client that a coroutine sends jobs by.

    :raises RuntimeError: a synchronous client is in use here.
    :raises ValueError: nothing says where the server is.
    """
    bound = bound_client()
    if bound is None:
        substitute = current_substitute() if clients is FROM_ENVIRONMENT else None
        return clients.for_loop() if substitute is None else cast("Client", substitute.client)
    from ojs_aws.client.client import Client

    if isinstance(bound, Client):
        return bound
    raise RuntimeError("A SyncClient is in use here: send by enqueue_sync(), or use a Client.")


def sending_sync_client(clients: Clients) -> SyncClient:
    """Return the client that synchronous code sends jobs by.

    :raises RuntimeError: an asynchronous client is in use here.
    :raises ValueError: nothing says where the server is.
    """
    bound = bound_client()
    if bound is None:
        substitute = current_substitute() if clients is FROM_ENVIRONMENT else None
        if substitute is not None:
            return cast("SyncClient", substitute.sync_client)
        client = clients.for_threads()
        _warn_in_event_loop()
        return client
    from ojs_aws.client.sync import SyncClient

    if isinstance(bound, SyncClient):
        _warn_in_event_loop()
        return bound
    raise RuntimeError("A Client is in use here: send by await enqueue(), or use a SyncClient.")


def _warn_in_event_loop() -> None:
    """Warn who sends without ``await`` where an event loop runs: it stands still meanwhile."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - the caller's line, as warnings count it
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(
        "enqueue_sync() waits for the server inside an event loop, which stands still until then: "
        "write await enqueue(...).",
        RuntimeWarning,
        stacklevel=level,
    )


_PACKAGE: Final = str(Path(__file__).parents[1]) + os.sep

_ALL: Final[weakref.WeakSet[Clients]] = weakref.WeakSet()
"""Every holder of clients in this process."""


def _forget_all() -> None:
    for clients in _ALL:
        clients._forget()  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)

FROM_ENVIRONMENT: Final = Clients(_from_env)
"""Makes the clients of all typed jobs that nobody configured."""
