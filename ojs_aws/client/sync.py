"""Offer the client, its areas and its handles of jobs without ``await``.

Nothing is implemented here. Each method runs the asynchronous one on a private event loop. Type
checkers and editors read ``sync.pyi``, which ``python scripts/sync_stub.py`` derives from the
asynchronous classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

from ojs_aws.client.areas.cron import CronJobs
from ojs_aws.client.areas.dead_letters import Admin, DeadLetterJobs
from ojs_aws.client.areas.events import Events
from ojs_aws.client.areas.jobs import Jobs
from ojs_aws.client.areas.limits import RateLimits
from ojs_aws.client.areas.queues import Queues
from ojs_aws.client.areas.schemas import Schemas
from ojs_aws.client.areas.sequences import Sequences
from ojs_aws.client.areas.system import System
from ojs_aws.client.areas.tenants import Tenants
from ojs_aws.client.areas.workers import Workers
from ojs_aws.client.areas.workflows import WorkflowOperations
from ojs_aws.client.client import Client
from ojs_aws.client.loop_thread import LoopThread, Synchronous
from ojs_aws.client.single_jobs import JobHandle
from ojs_aws.client.transports.substitute import using

if TYPE_CHECKING:
    from ojs_aws.domain.envelope import Job
    from ojs_aws.middleware.results import EnqueueResult


class SyncAdmin(Synchronous, of=Admin):
    """:class:`Admin` for code that is not asynchronous."""


class SyncCronJobs(Synchronous, of=CronJobs):
    """:class:`CronJobs` for code that is not asynchronous."""


class SyncWorkers(Synchronous, of=Workers):
    """:class:`Workers` for code that is not asynchronous."""


class SyncDeadLetterJobs(Synchronous, of=DeadLetterJobs):
    """:class:`DeadLetterJobs` for code that is not asynchronous."""


class SyncWorkflows(Synchronous, of=WorkflowOperations):
    """:class:`WorkflowOperations` for code that is not asynchronous."""


class SyncSchemas(Synchronous, of=Schemas):
    """:class:`Schemas` for code that is not asynchronous."""


class SyncSequences(Synchronous, of=Sequences):
    """:class:`Sequences` for code that is not asynchronous."""


class SyncTenants(Synchronous, of=Tenants):
    """:class:`Tenants` for code that is not asynchronous."""


class SyncRateLimits(Synchronous, of=RateLimits):
    """:class:`RateLimits` for code that is not asynchronous."""


class SyncQueues(Synchronous, of=Queues):
    """:class:`Queues` for code that is not asynchronous."""


class SyncJobs(Synchronous, of=Jobs):
    """:class:`Jobs` for code that is not asynchronous; bulk changes go on by their cursor."""


class SyncEvents(Synchronous, of=Events):
    """:class:`Events` for code that is not asynchronous."""


class SyncSystem(Synchronous, of=System):
    """:class:`System` for code that is not asynchronous."""


class SyncJobHandle(Synchronous, of=JobHandle):
    """:class:`JobHandle` for code that is not asynchronous."""

    @property
    def id(self) -> str:
        """Return the id of the job."""
        return str(self._target.id)


class SyncClient(Synchronous, of=Client):
    """:class:`Client` for code that is not asynchronous: the same methods without ``await``.

    May be shared by threads, and used where an event loop is running (which it then blocks).

    Example::

        with SyncClient("https://jobs.example.com") as client:
            client.enqueue("email.send", ["user@example.com", "welcome"])
    """

    def __init__(
        self, url: str | None = None, *, client: Client | None = None, **options: Any
    ) -> None:
        """Describe the client as :class:`Client` does, or wrap one that is used nowhere else.

        :raises ValueError: not exactly one of ``url`` and ``client``, or no usable URL.
        """
        if client is not None and url is not None:
            raise ValueError("a synchronous client takes a URL or a client, and not both")
        super().__init__(client or Client(url, **options), LoopThread("ojs-client"))

    @classmethod
    def direct(cls, **options: Any) -> Self:
        """See :meth:`Client.direct`."""
        return cls(client=Client.direct(**options))

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **options: Any) -> Self:
        """See :meth:`Client.from_env`."""
        return cls(client=Client.from_env(environ, **options))

    def job(self, job: Job | EnqueueResult | str) -> SyncJobHandle:
        """Return a handle of a job: ``client.job(client.enqueue(...)).result()``."""
        return SyncJobHandle(self._target.job(job), self._loop)

    def use(self) -> AbstractContextManager[Self]:
        """Send the typed jobs of this thread by this client: ``with client.use(): ...``."""
        return using(self)

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the client."""
        self.close()

    def close(self) -> None:
        """Close the connections and end the private event loop."""
        self._loop.run(self._target.close())
        self._loop.close()
