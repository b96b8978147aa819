"""Declare jobs as typed functions, once for those who send them and for the worker."""

from __future__ import annotations

import asyncio
import inspect
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, Unpack, overload

from ojs_aws.domain.jobs.versions import ANY
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.typed_jobs.clients import (
    FROM_ENVIRONMENT,
    Clients,
    sending_client,
    sending_sync_client,
)
from ojs_aws.typed_jobs.declarations import JobDeclaration, Resource, declared
from ojs_aws.typed_jobs.options import JobOptions
from ojs_aws.typed_jobs.senders import (
    Declare,
    DeclareRemote,
    DeclareWithContext,
    RemoteJob,
    TypedJob,
)
from ojs_aws.typed_jobs.signature import read_signature

if TYPE_CHECKING:
    from ojs_aws.client import Client, SyncClient

T = TypeVar("T")


class Jobs:
    """Holds declarations of jobs, for those who send them and for the worker that runs them.

    It needs no URL, and imports no worker: a web application and its worker import one module.

    Example::

        jobs = Jobs()

        @jobs.job("email.send", queue="email")
        async def send_email(to: str, *, urgent: bool = False) -> str: ...

        await send_email.enqueue("ada@example.com", urgent=True)
    """

    def __init__(self) -> None:
        """Start without jobs."""
        self._declared: list[JobDeclaration] = []
        self._resources: list[Resource[Any]] = []
        self._listeners: list[Callable[[JobDeclaration], None]] = []
        self._clients = FROM_ENVIRONMENT
        self._included: list[Jobs] = []
        _ALL.add(self)

    # --------------------------------------------------------------------------- declaring
    @overload
    def job(
        self,
        job_type: str,
        *,
        context: Literal[False] = False,
        versions: str = ANY,
        **options: Unpack[JobOptions],
    ) -> Declare: ...
    @overload
    def job(
        self,
        job_type: str,
        *,
        context: Literal[True],
        versions: str = ANY,
        **options: Unpack[JobOptions],
    ) -> DeclareWithContext: ...
    def job(
        self,
        job_type: str,
        *,
        context: bool = False,
        versions: str = ANY,
        **options: Unpack[JobOptions],
    ) -> Declare | DeclareWithContext:
        """Declare the decorated function as a job. It can still be called like before.

        :param context: the function takes a :class:`~ojs_aws.JobContext` first, or without
            ``async`` a :class:`~ojs_aws.SyncJobContext`.
        :param versions: of jobs that the function takes; see :meth:`Worker.handler`.
        :param options: of every job of the type, such as ``queue``, ``retry`` and ``unique``; see
            :class:`JobOptions`.
        :raises RegistrationError: the type is taken or invalid, arguments on the wire cannot have
            the function's parameters, or the context is not where the flag says.
        :raises TypeError: a job has no such attribute, or it is of another type.
        """
        _check_named(job_type)

        def declare(function: Callable[..., Any]) -> Any:
            signature = read_signature(function, has_context=context)
            made = declared(job_type, signature, options, lambda: self._clients, versions=versions)
            self._add(made)
            return TypedJob(made, made.options)

        return declare

    def remote(self, job_type: str, **options: Unpack[JobOptions]) -> DeclareRemote:
        """Declare a job that a worker elsewhere runs; the function is never called.

        Example::

            @jobs.remote("video.encode", queue="media")
            def encode(path: str, *, crf: int = 23) -> dict[str, int]:
                raise NotImplementedError

        :raises RegistrationError: as :meth:`job`.
        """
        _check_named(job_type)

        def declare(function: Callable[..., Any]) -> Any:
            signature = read_signature(function, has_context=False)
            made = declared(job_type, signature, options, lambda: self._clients, is_remote=True)
            self._add(made)
            return RemoteJob(made, made.options)

        return declare

    def _add(self, made: JobDeclaration) -> None:
        for known in self._declared:
            if (known.type, known.versions) == (made.type, made.versions):
                raise RegistrationError(
                    f"The job {made.type!r} is declared already: {known.signature.name} in "
                    f"{known.function.__module__}."
                )
        for listener in self._listeners:
            listener(made)
        self._declared.append(made)

    def on_declared(self, listener: Callable[[JobDeclaration], None]) -> None:
        """Pass each declaration to a listener: those that there are, and later ones.

        Workers register the jobs so.
        """
        for each in self._declared:
            listener(each)
        self._listeners.append(listener)

    def __iter__(self) -> Iterator[JobDeclaration]:
        """Yield what is declared, in order."""
        return iter(list(self._declared))

    def __len__(self) -> int:
        """Return how many jobs are declared."""
        return len(self._declared)

    def resource(self, make: Callable[[], AsyncIterator[T]]) -> Resource[T]:
        """Declare what the jobs share while a worker runs, such as a database pool.

        The worker opens its resources before its first job, in the order of their declaration, and
        closes them after its last. In a Lambda function they stay open from batch to batch.

        Example::

            @jobs.resource
            async def pool() -> AsyncIterator[Pool]:
                async with create_pool() as opened:
                    yield opened

            @jobs.job("user.delete")
            async def delete_user(number: int) -> None:
                await pool.get().execute("DELETE FROM users WHERE id = $1", number)

        :raises RegistrationError: the function does not yield the value.
        """
        if not inspect.isasyncgenfunction(make):
            raise RegistrationError(
                "A resource is an asynchronous generator function that yields its value once: "
                "async def pool() -> AsyncIterator[Pool]: ..."
            )
        made = Resource(make)
        self._resources.append(made)
        return made

    @property
    def resources(self) -> tuple[Resource[Any], ...]:
        """Return the resources, in the order of their declaration; workers open them."""
        included = (each for jobs in self._included for each in jobs.resources)
        return (*included, *self._resources)

    def include(self, jobs: Jobs) -> None:
        """Let the workers of these jobs run those of another collection, and open its resources.

        The included jobs are sent by the clients of their own collection.

        :raises RegistrationError: both declare a job of the same type for the same versions.
        """
        jobs.on_declared(self._add)
        self._included.append(jobs)

    # ----------------------------------------------------------------------------- sending
    def configure(self, make_client: Callable[[], Client]) -> None:
        """Send these jobs by clients that a function makes, one for each event loop.

        Without this they go to the server that ``OJS_URL`` names.

        Example::

            jobs.configure(lambda: Client("https://jobs.example.com", api_key=key))
        """
        if not callable(make_client):
            raise TypeError("configure() takes a function that makes a client: lambda: Client(url)")
        self._clients = Clients(make_client)

    def client(self) -> Client:
        """Return the client by which a coroutine sends these jobs, to ask for what it did.

        :raises RuntimeError: a synchronous client is in use here.
        :raises ValueError: nothing says where the server is.
        """
        return sending_client(self._clients)

    def sync_client(self) -> SyncClient:
        """Return the client by which code that is not asynchronous sends these jobs.

        :raises RuntimeError: an asynchronous client is in use here.
        :raises ValueError: nothing says where the server is.
        """
        return sending_sync_client(self._clients)

    @asynccontextmanager
    async def open(self, *middleware: object) -> AsyncIterator[Client]:
        """Open clients of these jobs with an application, and close them with it.

        Example::

            async with jobs.open():
                yield  # the application runs

        :param middleware: enqueue middleware, added innermost to what the clients have.
        :raises ValueError: nothing says where the server is.
        """
        before = self._clients
        opened = self._clients = before.with_middleware(middleware)
        try:
            yield opened.for_loop()
        finally:
            self._clients = before
            await opened.close()
            await asyncio.to_thread(opened.close_sync)

    async def close(self) -> None:
        """Close the client of the running event loop; an application does so when it ends."""
        await self._clients.close()

    def close_sync(self) -> None:
        """Close the client of synchronous code; an application does so when it ends."""
        self._clients.close_sync()

    @property
    def clients(self) -> Clients:
        """Return what makes the clients that send these jobs."""
        return self._clients


_ALL: Final[weakref.WeakSet[Jobs]] = weakref.WeakSet()


def all_jobs() -> list[Jobs]:
    """Return every collection of declarations in this process, for tests."""
    return list(_ALL)


def _check_named(job_type: object) -> None:
    """Refuse a decorator that stands alone, and so has a function where the type belongs."""
    if not isinstance(job_type, str):
        raise RegistrationError('name the job type: @jobs.job("email.send")')
