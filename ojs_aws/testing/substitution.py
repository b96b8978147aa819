"""Takes the place of the backend for the clients and the jobs of an application."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ojs_aws.client.client import Client
from ojs_aws.client.sync import SyncClient
from ojs_aws.client.transports.substitute import activate
from ojs_aws.middleware.extensions import find, search_here
from ojs_aws.testing.jobs import CallPattern, has_any
from ojs_aws.testing.server.processes import Handlers
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import BaseWorker

if TYPE_CHECKING:
    from ojs_aws.client.transports.requests import Transport
    from ojs_aws.client.transports.substitute import Substitute
    from ojs_aws.testing.handlers import JobHandlers
    from ojs_aws.typed_jobs.declarations import JobDeclaration


class Place:
    """Is the substitute of one test.

    :ivar is_active: false once the test has ended.
    :ivar outer: the substitute in whose scope it began.
    :ivar waiting: ids of jobs in an outbox, whose transaction has not committed.
    :ivar has_block: whether the end of a ``with`` block ends it.
    :ivar begun_at: the file and line of the test that began it.
    :ivar thread: the thread that began it.
    """

    def __init__(
        self, transport: Transport, handlers: JobHandlers, make_client: Callable[[], Client]
    ) -> None:
        """Lead to a transport, by clients that are made like this."""
        self.is_active = False
        self.outer: Substitute | None = None
        self.waiting: set[str] = set()
        self.has_block = False
        self.begun_at = ""
        self.thread = 0
        self.transport = transport
        self._handlers = handlers
        self._make_client = make_client

    @cached_property
    def client(self) -> Client:
        """Return a client that enqueues here, whatever else is active."""
        return self._make_client()

    @cached_property
    def sync_client(self) -> SyncClient:
        """Return a client for code that is not asynchronous."""
        return SyncClient(client=self._make_client())

    def begin(self) -> None:
        """Take the place of the backend from now on, for whoever called :class:`Ojs`."""
        caller = sys._getframe(2)  # noqa: SLF001 - as warnings.warn finds its caller
        self.begun_at = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        self.thread = threading.get_ident()
        activate(self)

    def close(self) -> None:
        """Close the clients."""
        if (client := self.__dict__.pop("sync_client", None)) is not None:
            client.close()

    def note_declaration(self, declaration: object) -> None:
        """Remember by which declaration a job is sent: a drain runs that one."""
        self._handlers.note(cast("JobDeclaration", declaration))

    def pattern_of(
        self, declaration: object, args: Sequence[object], keywords: Mapping[str, object]
    ) -> CallPattern[Any] | None:
        """Return what stands for all calls that are like this one; None without ANY."""
        if not any(map(has_any, (*args, *keywords.values()))):
            return None
        return CallPattern(cast("JobDeclaration", declaration), args, keywords)


def load_handlers(path: str) -> Handlers:
    """Return the worker or Jobs at ``module:attribute``.

    :raises TypeError: something else is there.
    """
    search_here()
    found: object = find(path, "worker")
    if not isinstance(found, (BaseWorker, Jobs)):
        raise TypeError(
            f"{path!r} is a {type(found).__name__}, and no worker or Jobs: name one of them, such "
            "as shop.jobs:worker."
        )
    return found


def handlers_of(handlers: Handlers | None) -> dict[str, Any]:
    """Return the parameter by which ``Ojs`` takes handlers.

    :raises TypeError: they are none.
    """
    if handlers is None:
        return {}
    if isinstance(handlers, Jobs):
        return {"jobs": handlers}
    if isinstance(handlers, BaseWorker):
        return {"worker": handlers}
    raise TypeError(f"The fixture ojs_worker is a worker or Jobs, not {type(handlers).__name__}.")
