"""The synchronous face of the client: the same methods, run on a private event loop.

Nothing is implemented here. Each method is the asynchronous one, wrapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ojs_aws.client.client import Client
from ojs_aws.client.credentials import Credentials
from ojs_aws.client.loop_thread import LoopThread
from ojs_aws.client.sync_areas import (
    Face,
    SyncAdmin,
    SyncCronJobs,
    SyncDeadLetterJobs,
    SyncEvents,
    SyncJobHandle,
    SyncJobs,
    SyncQueues,
    SyncSchemas,
    SyncSystem,
    SyncWorkers,
    SyncWorkflows,
    face,
)

if TYPE_CHECKING:
    from ojs_aws.client.connection import Resends
    from ojs_aws.client.results import EnqueueResult
    from ojs_aws.config import Settings
    from ojs_aws.domain.envelope import Job
    from ojs_aws.middleware.chain.enqueue import EnqueueChain
    from ojs_aws.middleware.hooks.registry import Hooks
    from ojs_aws.services.backend import Backend


class SyncClient(Face[Client]):
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

    enqueue = face(Client.enqueue)
    enqueue_many = face(Client.enqueue_many)
    transact_item = face(Client.transact_item)
    get = face(Client.get)
    cancel = face(Client.cancel)
    workflow = face(Client.workflow)
    activate = face(Client.activate)
    result = face(Client.result)
    wait = face(Client.wait)
    results = face(Client.results)
    progress = face(Client.progress)
    checkpoint = face(Client.checkpoint)
    clear_checkpoint = face(Client.clear_checkpoint)

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
