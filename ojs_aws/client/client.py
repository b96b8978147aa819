"""Enqueue jobs through the enqueue middleware, and read and cancel them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Self, Unpack

from ojs_aws.client.insertion import AsJob, Insertion
from ojs_aws.client.keywords import checks_keywords
from ojs_aws.client.results import NEEDS_URL, EnqueueResult, PreparedJob, Stored, TransactItems
from ojs_aws.client.single_jobs import SingleJobs
from ojs_aws.client.timer import SystemTimer, Timer, UuidV7
from ojs_aws.client.transports.connection import HttpConnection, HttpTransport, Resends
from ojs_aws.client.transports.credentials import Credentials
from ojs_aws.client.transports.requests import Transport
from ojs_aws.client.transports.substitute import (
    NO_SERVER,
    ReplaceableTransport,
    current_substitute,
    transacting,
    using,
)
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue, TransactAction
from ojs_aws.domain.jobs.attributes import JobAttributes
from ojs_aws.domain.runtime import IdGenerator
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.middleware.members import given_or_made

if TYPE_CHECKING:
    from ojs_aws.client.areas.workflow_parts import AsWorkflow, WorkflowParts
    from ojs_aws.client.areas.workflows import WorkflowStatus
    from ojs_aws.config import Settings
    from ojs_aws.services.backend import Backend


@checks_keywords
class Client(SingleJobs):
    """Enqueues jobs and looks after them. It is asynchronous; :class:`SyncClient` is not.

    Every job passes the enqueue middleware, ``client.middleware``, before it is sent. Set the chain
    up first: it freezes with the first job. One client may be used by many tasks of one event loop.

    Example::

        async with Client("https://jobs.example.com") as client:
            enqueued = await client.enqueue("email.send", ["user@example.com", "welcome"])
            print(await client.wait(enqueued.id))
    """

    def __init__(
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
        transport: Transport | None = None,
        ids: IdGenerator | None = None,
        timer: Timer | None = None,
    ) -> None:
        """Describe the client; nothing is opened yet.

        :param url: of the OJS server, with or without ``/ojs/v1``.
        :param api_key: of ``ojs-aws keys``, or a token; default: ``OJS_API_KEY``, where it is set.
        :param credentials: another way to authenticate, such as ``SigV4()`` for IAM.
        :param headers: sent with every request.
        :param middleware: the enqueue chain, or its middleware; the default chain logs. An empty
            list switches middleware off.
        :param hooks: called right before and after each job is stored.
        :param timeout_s: for each send of a request, in seconds.
        :param resends: when requests are sent again.
        :param transport: another way to the backend than HTTP; excludes ``url``.
        :raises ValueError: not exactly one of ``url`` and ``transport``, or no usable URL.
        """
        timer = timer or SystemTimer()
        if (url is None) == (transport is None):
            raise ValueError(NEEDS_URL)
        if transport is None:
            connection = HttpConnection(
                url or "",
                headers=headers,
                api_key=api_key,
                credentials=credentials,
                timeout_s=timeout_s,
                resends=resends,
                timer=timer,
            )
            transport = ReplaceableTransport(HttpTransport(connection))
        super().__init__(transport, timer)
        self._ids = ids or UuidV7()
        chosen = EnqueueChain.default() if middleware is None else middleware
        chain = given_or_made(EnqueueChain, chosen)
        self._insertion = Insertion(Enqueuer(chain, given_or_made(Hooks, hooks)), self._ids)

    @classmethod
    def direct(
        cls,
        *,
        backend: Backend | None = None,
        settings: Settings | None = None,
        endpoint_url: str | None = None,
        region: str | None = None,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
    ) -> Self:
        """Make a client that goes straight to DynamoDB and SQS, for producers inside AWS.

        API keys and their bounds do not apply: the caller's AWS permissions decide.

        :param settings: of the deployment (table, queue prefix ...); default: the environment.
        :param endpoint_url: another AWS endpoint, such as an emulator's.
        :param backend: a backend that is there already, instead of all these.
        """
        if backend is None and current_substitute() is not None:  # a test, which needs no AWS
            return cls(transport=ReplaceableTransport(), middleware=middleware, hooks=hooks)
        from ojs_aws.client.transports.in_process import InProcessTransport  # imports botocore

        if backend is not None:
            transport = InProcessTransport(backend)
        else:
            transport = InProcessTransport.open(settings, endpoint_url=endpoint_url, region=region)
        return cls(transport=ReplaceableTransport(transport), middleware=middleware, hooks=hooks)

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
    ) -> Self:
        """Make a client for the server that ``OJS_URL`` names, else for the table in ``OJS_TABLE``.

        ``OJS_TOKEN`` is sent as a bearer token.

        :raises ValueError: the environment names neither.
        """
        env = os.environ if environ is None else environ
        if url := env.get("OJS_URL"):
            token = env.get("OJS_TOKEN")
            headers = {"Authorization": f"Bearer {token}"} if token else None
            return cls(url, headers=headers, middleware=middleware, hooks=hooks)
        if "OJS_TABLE" in env:
            from ojs_aws.config import Settings

            return cls.direct(settings=Settings.from_env(env), middleware=middleware, hooks=hooks)
        if current_substitute() is None:
            raise ValueError(NO_SERVER)
        return cls(transport=ReplaceableTransport(), middleware=middleware, hooks=hooks)  # a test

    @property
    def middleware(self) -> EnqueueChain:
        """Return the enqueue chain; another one can be assigned until it freezes."""
        return self._insertion.enqueuing.chain

    @middleware.setter
    def middleware(self, chain: EnqueueChain) -> None:
        self.middleware.refuse_when_frozen()
        self._insertion.enqueuing = Enqueuer(chain, self.hooks)

    @property
    def hooks(self) -> Hooks:
        """Return the hooks, which freeze with the chain; others can be assigned until then."""
        return self._insertion.enqueuing.hooks

    @hooks.setter
    def hooks(self, hooks: Hooks) -> None:
        self.hooks.refuse_when_frozen()
        self._insertion.enqueuing = Enqueuer(self.middleware, hooks)

    async def enqueue(
        self,
        job: Job | AsJob | str,
        args: Sequence[JsonValue] = (),
        **attributes: Unpack[JobAttributes],
    ) -> EnqueueResult:
        """Enqueue one job: ``enqueue("email.send", ["user@example.com"], queue="email")``.

        The id is made here, so that a job which is sent again after a lost answer exists once.

        :param job: type of the job, or a whole job or call (then without ``args`` and attributes).
        :returns: whether it was enqueued, or which middleware dropped it.
        :raises InvalidRequestError: a constraint of the envelope is broken.
        :raises OjsError: the backend refused the job, or could not be reached.
        :raises Exception: whatever a middleware raised; nothing was enqueued.
        """
        prepared = self._insertion.prepared(job, args, attributes)
        return await self._insertion.one(prepared, self._transport.push)

    async def enqueue_many(
        self, jobs: Iterable[Job | AsJob], *, atomic: bool = False
    ) -> list[EnqueueResult]:
        """Enqueue several jobs, or some thousands, each through its own run of the middleware.

        Jobs that come through go to the backend as one atomic batch, in one request; it is never
        split, so that it is stored whole or not at all. Of the others, the results
        say what happened; with ``atomic=True`` one such job stops the whole batch.

        :returns: the outcome of each job, in the order of the jobs.
        :raises BatchRejectedError: atomic, and the middleware dropped or failed a job.
        :raises OjsError: the backend refused the batch (``details["index"]`` names the job);
            nothing was enqueued.
        :raises PayloadTooLargeError: more jobs, or bytes, than one batch may have; the details say
            how many it may. Nothing was enqueued: send several batches.
        """
        prepared = self._insertion.prepared_all(jobs)
        return await self._insertion.many(prepared, self._transport.push_all, is_atomic=atomic)

    async def transact_item(
        self,
        job: Job | AsJob | str,
        args: Sequence[JsonValue] = (),
        **attributes: Unpack[JobAttributes],
    ) -> TransactItems:
        """Prepare one job for a DynamoDB transaction of your own, beside your own writes.

        The job exists exactly if the transaction commits; its message follows by itself. The
        enqueue middleware and the hooks run here, before the transaction.

        :returns: the entries to add to ``TransactItems`` of TransactWriteItems, and the job.
        :raises RuntimeError: the client goes over HTTP; transactions need :meth:`direct`.
        :raises PayloadTooLargeError: the job does not fit into the table.
        :raises OjsError: as :meth:`enqueue`.
        """
        transport = transacting(self._transport)
        prepared = self._insertion.prepared(job, args, attributes)
        items: list[TransactAction] = []

        async def store(final: Job) -> Stored:
            stored, actions = await transport.transact(final)
            items.extend(actions)
            return stored

        result = await self._insertion.one(prepared, store)
        return TransactItems(result.job, items, result.dropped_by)

    async def prepare(
        self,
        job: Job | AsJob | str,
        args: Sequence[JsonValue] = (),
        **attributes: Unpack[JobAttributes],
    ) -> PreparedJob:
        """Bring one job through the enqueue middleware and the hooks, and send nothing.

        An outbox keeps such a job, and sends it later as it is, past the middleware.

        :raises Exception: as :meth:`enqueue`, but for what the backend refuses.
        """
        prepared = self._insertion.prepared(job, args, attributes)
        result = await self._insertion.one(prepared, _keep)
        return PreparedJob(result.job, result.dropped_by)

    async def enqueue_prepared(self, jobs: Iterable[Job]) -> list[EnqueueResult]:
        """Enqueue jobs that :meth:`prepare` returned, past the middleware and the hooks.

        :raises OjsError: as :meth:`enqueue_many`; nothing was enqueued.
        """
        past = Insertion(Enqueuer(EnqueueChain([])), self._ids)
        return await past.many(past.prepared_all(jobs), self._transport.push_all, is_atomic=False)

    async def workflow(
        self,
        parts: WorkflowParts | AsWorkflow,
        *,
        id: str | None = None,  # noqa: A002
    ) -> WorkflowStatus:
        """Start a workflow: ``workflow(chain(a, group(b, c), d))``.

        Every job passes the enqueue middleware now, also those that begin later.

        :param id: of the workflow; made here when it is left out, so that a workflow which is
            sent again after a lost answer exists once.
        :raises BatchRejectedError: a middleware dropped or failed a job; nothing was started.
        :raises InvalidWorkflowError: the backend cannot follow it; the details say why.
        """
        from ojs_aws.client.areas.workflow_parts import parts_of, start

        workflow_id = id or self._ids.job_id()
        return await start(parts_of(parts), workflow_id, self._insertion, self.workflows.create)

    def use(self) -> AbstractContextManager[Self]:
        """Send the typed jobs of this task by this client: ``with client.use(): ...``."""
        return using(self)


async def _keep(final: Job) -> Stored:
    return Stored(final)
