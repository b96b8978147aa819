"""The synchronous client runs the same methods on a private event loop.

Nothing is implemented here. Each method runs the asynchronous one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ojs_aws.client.client import Client
from ojs_aws.client.loop_thread import LoopThread
from ojs_aws.client.sync_areas import (
    SyncAdmin,
    SyncCronJobs,
    SyncDeadLetterJobs,
    SyncEvents,
    Synchronous,
    SyncJobHandle,
    SyncJobs,
    SyncQueues,
    SyncSchemas,
    SyncSystem,
    SyncWorkers,
    SyncWorkflows,
    area,
    synchronous,
)
from ojs_aws.client.transports.credentials import Credentials

if TYPE_CHECKING:
    from ojs_aws.client.results import EnqueueResult
    from ojs_aws.client.transports.connection import Resends
    from ojs_aws.config import Settings
    from ojs_aws.domain.envelope import Job
    from ojs_aws.middleware.chain.enqueue import EnqueueChain
    from ojs_aws.middleware.hooks.registry import Hooks
    from ojs_aws.services.backend import Backend


class SyncClient(Synchronous[Client]):
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

    cron = area(SyncCronJobs, lambda client: client.cron)
    """Register, read, pause, trigger and remove cron jobs."""
    workflows = area(SyncWorkflows, lambda client: client.workflows)
    """Read, list, cancel and wait for workflows."""
    schemas = area(SyncSchemas, lambda client: client.schemas)
    """Register, read and remove the schemas of job types."""
    queues = area(SyncQueues, lambda client: client.queues)
    """Read, create, configure, pause, drain and purge queues."""
    workers = area(SyncWorkers, lambda client: client.workers)
    """List workers, and send them directives."""
    dead_letter = area(SyncDeadLetterJobs, lambda client: client.dead_letter)
    """Inspect, retry and remove dead letters."""
    jobs = area(SyncJobs, lambda client: client.jobs)
    """Find jobs, read their history, and retry, cancel and delete them in bulk."""
    events = area(SyncEvents, lambda client: client.events)
    """Read and follow the log of lifecycle events."""
    system = area(SyncSystem, lambda client: client.system)
    """Read the statistics and settings of the whole deployment."""

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
        """Return the enqueue chain; another one can be assigned until it freezes."""
        return self._target.middleware

    @middleware.setter
    def middleware(self, chain: EnqueueChain) -> None:
        self._target.middleware = chain

    @property
    def hooks(self) -> Hooks:
        """Return the hooks, which freeze with the chain; others can be assigned until then."""
        return self._target.hooks

    @hooks.setter
    def hooks(self, hooks: Hooks) -> None:
        self._target.hooks = hooks

    enqueue = synchronous(Client.enqueue)
    enqueue_many = synchronous(Client.enqueue_many)
    transact_item = synchronous(Client.transact_item)
    get = synchronous(Client.get)
    cancel = synchronous(Client.cancel)
    workflow = synchronous(Client.workflow)
    activate = synchronous(Client.activate)
    result = synchronous(Client.result)
    wait = synchronous(Client.wait)
    results = synchronous(Client.results)
    progress = synchronous(Client.progress)
    checkpoint = synchronous(Client.checkpoint)
    clear_checkpoint = synchronous(Client.clear_checkpoint)

    def job(self, job: Job | EnqueueResult | str) -> SyncJobHandle:
        """Return a handle of a job: ``client.job(client.enqueue(...)).result()``."""
        return SyncJobHandle(self._target.job(job), self._loop)

    def __enter__(self) -> Self:
        """Return the client itself."""
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
        """Close the connections and end the private event loop."""
        self._loop.run(self._target.close())
        self._loop.close()
