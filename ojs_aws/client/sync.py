"""The synchronous face of the client: the same methods, run on a private event loop.

Nothing is implemented here. Each method is the asynchronous one, wrapped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from ojs_aws.client.admin import Admin
from ojs_aws.client.client import Client
from ojs_aws.client.credentials import Credentials
from ojs_aws.client.cron import CronJobs
from ojs_aws.client.dead_letter import DeadLetterJobs
from ojs_aws.client.events import Events
from ojs_aws.client.handles import JobHandle
from ojs_aws.client.jobs import Jobs
from ojs_aws.client.loop_thread import LoopThread
from ojs_aws.client.queues import Queues
from ojs_aws.client.schemas import Schemas
from ojs_aws.client.system import System
from ojs_aws.client.workers import Workers
from ojs_aws.client.workflows import WorkflowOperations

if TYPE_CHECKING:
    from ojs_aws.client.connection import Resends
    from ojs_aws.client.results import EnqueueResult
    from ojs_aws.config import Settings
    from ojs_aws.domain.envelope import Job
    from ojs_aws.middleware.enqueue_chain import EnqueueChain
    from ojs_aws.middleware.hooks import Hooks
    from ojs_aws.services.backend import Backend

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


class _Face(Generic[A]):
    """An object whose coroutines are run by a loop thread."""

    def __init__(self, target: A, loop: LoopThread) -> None:
        self._target = target
        self._loop = loop


def _face(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[_Face[A], P], R]:
    """A method that runs the asynchronous one to its end."""

    def run(self: _Face[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(method(self._target, *args, **kwargs))

    functools.update_wrapper(run, method)
    return run


class SyncAdmin(_Face[Admin]):
    """:class:`Admin` for code that is not asynchronous."""

    dead_letters = _face(Admin.dead_letters)
    retry_dead_letter = _face(Admin.retry_dead_letter)
    delete_dead_letter = _face(Admin.delete_dead_letter)
    queues = _face(Admin.queues)
    health = _face(Admin.health)


class SyncCronJobs(_Face[CronJobs]):
    """:class:`CronJobs` for code that is not asynchronous."""

    register = _face(CronJobs.register)
    get = _face(CronJobs.get)
    list = _face(CronJobs.list)
    pause = _face(CronJobs.pause)
    resume = _face(CronJobs.resume)
    delete = _face(CronJobs.delete)
    trigger = _face(CronJobs.trigger)


class SyncWorkers(_Face[Workers]):
    """:class:`Workers` for code that is not asynchronous."""

    list = _face(Workers.list)
    get = _face(Workers.get)
    quiet = _face(Workers.quiet)
    terminate = _face(Workers.terminate)
    resume = _face(Workers.resume)
    quiet_all = _face(Workers.quiet_all)
    terminate_all = _face(Workers.terminate_all)
    resume_all = _face(Workers.resume_all)
    deregister = _face(Workers.deregister)


class SyncDeadLetterJobs(_Face[DeadLetterJobs]):
    """:class:`DeadLetterJobs` for code that is not asynchronous."""

    list = _face(DeadLetterJobs.list)
    get = _face(DeadLetterJobs.get)
    stats = _face(DeadLetterJobs.stats)
    retry = _face(DeadLetterJobs.retry)
    delete = _face(DeadLetterJobs.delete)
    retry_many = _face(DeadLetterJobs.retry_many)
    delete_many = _face(DeadLetterJobs.delete_many)


class SyncWorkflows(_Face[WorkflowOperations]):
    """:class:`WorkflowOperations` for code that is not asynchronous."""

    create = _face(WorkflowOperations.create)
    get = _face(WorkflowOperations.get)
    list = _face(WorkflowOperations.list)
    cancel = _face(WorkflowOperations.cancel)
    wait = _face(WorkflowOperations.wait)


class SyncSchemas(_Face[Schemas]):
    """:class:`Schemas` for code that is not asynchronous."""

    register = _face(Schemas.register)
    get = _face(Schemas.get)
    by_uri = _face(Schemas.by_uri)
    versions = _face(Schemas.versions)
    list = _face(Schemas.list)
    delete = _face(Schemas.delete)


class SyncQueues(_Face[Queues]):
    """:class:`Queues` for code that is not asynchronous."""

    list = _face(Queues.list)
    stats = _face(Queues.stats)
    priorities = _face(Queues.priorities)
    pause = _face(Queues.pause)
    resume = _face(Queues.resume)
    purge = _face(Queues.purge)
    create = _face(Queues.create)
    settings = _face(Queues.settings)
    configure = _face(Queues.configure)
    drain = _face(Queues.drain)
    delete = _face(Queues.delete)
    limit = _face(Queues.limit)


class SyncJobs(_Face[Jobs]):
    """:class:`Jobs` for code that is not asynchronous; bulk changes go on by their cursor."""

    list = _face(Jobs.list)
    detail = _face(Jobs.detail)
    cancel = _face(Jobs.cancel)
    retry = _face(Jobs.retry)
    reprioritise = _face(Jobs.reprioritise)
    change_some = _face(Jobs.change_some)


class SyncEvents(_Face[Events]):
    """:class:`Events` for code that is not asynchronous."""

    read = _face(Events.read)


class SyncSystem(_Face[System]):
    """:class:`System` for code that is not asynchronous."""

    stats = _face(System.stats)
    history = _face(System.history)
    config = _face(System.config)


class SyncJobHandle(_Face[JobHandle]):
    """:class:`JobHandle` for code that is not asynchronous."""

    get = _face(JobHandle.get)
    result = _face(JobHandle.result)
    progress = _face(JobHandle.progress)
    cancel = _face(JobHandle.cancel)

    @property
    def id(self) -> str:
        """Id of the job."""
        return self._target.id


class SyncClient(_Face[Client]):
    """:class:`Client` for code that is not asynchronous: the same methods without ``await``.

    May be shared by threads, and used where an event loop is running (which it then blocks).

    Example::

        with SyncClient("https://jobs.example.com") as client:
            client.enqueue("email.send", ["user@example.com", "welcome"])
    """

    admin: SyncAdmin
    """Operations for operators: dead letters, queues, health."""

    def __init__(  # noqa: PLR0913 - each of them is optional and named
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        credentials: Credentials | None = None,
        headers: Mapping[str, str] | None = None,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        timeout_s: float = 15.0,
        resends: Resends | None = None,
        client: Client | None = None,
    ) -> None:
        """Describe the client as :class:`Client` does, or wrap one that is used nowhere else.

        :raises ValueError: not exactly one of ``url`` and ``client``, or no usable URL.
        """
        if client is not None and url is not None:
            raise ValueError("a synchronous client takes a URL or a client, and not both")
        target = client or Client(
            url,
            api_key=api_key,
            credentials=credentials,
            headers=headers,
            middleware=middleware,
            hooks=hooks,
            timeout_s=timeout_s,
            resends=resends,
        )
        super().__init__(target, LoopThread("ojs-client"))
        self.admin = SyncAdmin(target.admin, self._loop)

    @cached_property
    def cron(self) -> SyncCronJobs:
        """Cron jobs."""
        return SyncCronJobs(self._target.cron, self._loop)

    @cached_property
    def workflows(self) -> SyncWorkflows:
        """Workflows: to read, list, cancel and wait for."""
        return SyncWorkflows(self._target.workflows, self._loop)

    @cached_property
    def schemas(self) -> SyncSchemas:
        """Schemas of job types: to register, read and remove."""
        return SyncSchemas(self._target.schemas, self._loop)

    @cached_property
    def queues(self) -> SyncQueues:
        """Queues: what they hold, pausing and resuming."""
        return SyncQueues(self._target.queues, self._loop)

    @cached_property
    def workers(self) -> SyncWorkers:
        """Workers: who beats, and what each is told to be."""
        return SyncWorkers(self._target.workers, self._loop)

    @cached_property
    def dead_letter(self) -> SyncDeadLetterJobs:
        """Dead letters: to inspect, retry and remove."""
        return SyncDeadLetterJobs(self._target.dead_letter, self._loop)

    @cached_property
    def jobs(self) -> SyncJobs:
        """Jobs: to find, to read with their history, to retry, cancel and delete in bulk."""
        return SyncJobs(self._target.jobs, self._loop)

    @cached_property
    def events(self) -> SyncEvents:
        """The log of lifecycle events."""
        return SyncEvents(self._target.events, self._loop)

    @cached_property
    def system(self) -> SyncSystem:
        """The deployment as a whole: statistics and settings."""
        return SyncSystem(self._target.system, self._loop)

    @classmethod
    def direct(
        cls,
        *,
        settings: Settings | None = None,
        endpoint_url: str | None = None,
        region: str | None = None,
        backend: Backend | None = None,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
    ) -> Self:
        """See :meth:`Client.direct`."""
        return cls(
            client=Client.direct(
                settings=settings,
                endpoint_url=endpoint_url,
                region=region,
                backend=backend,
                middleware=middleware,
                hooks=hooks,
            )
        )

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
    ) -> Self:
        """See :meth:`Client.from_env`."""
        return cls(client=Client.from_env(environ, middleware=middleware, hooks=hooks))

    @property
    def middleware(self) -> EnqueueChain:
        """The enqueue chain; another one can be assigned until it freezes."""
        return self._target.middleware

    @middleware.setter
    def middleware(self, chain: EnqueueChain) -> None:
        self._target.middleware = chain

    @property
    def hooks(self) -> Hooks:
        """The hooks, which freeze with the chain; others can be assigned until then."""
        return self._target.hooks

    @hooks.setter
    def hooks(self, hooks: Hooks) -> None:
        self._target.hooks = hooks

    enqueue = _face(Client.enqueue)
    enqueue_many = _face(Client.enqueue_many)
    transact_item = _face(Client.transact_item)
    get = _face(Client.get)
    cancel = _face(Client.cancel)
    workflow = _face(Client.workflow)
    activate = _face(Client.activate)
    result = _face(Client.result)
    wait = _face(Client.wait)
    results = _face(Client.results)
    progress = _face(Client.progress)
    checkpoint = _face(Client.checkpoint)
    clear_checkpoint = _face(Client.clear_checkpoint)

    def job(self, job: Job | EnqueueResult | str) -> SyncJobHandle:
        """A job to hold on to: ``client.job(client.enqueue(...)).result()``."""
        return SyncJobHandle(self._target.job(job), self._loop)

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the client."""
        self.close()

    def close(self) -> None:
        """Let go of connections and end the private event loop."""
        self._loop.run(self._target.close())
        self._loop.close()
