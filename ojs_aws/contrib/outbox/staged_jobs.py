"""Bring a job through validation and enqueue middleware before its row is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeAlias

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.insertion import AsJob
from ojs_aws.client.results import PreparedJob
from ojs_aws.client.transports.substitute import (
    ReplaceableTransport,
    bound_client,
    current_substitute,
)
from ojs_aws.contrib.outbox.rows import NewRow, row_of
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.jobs.validation import read_envelope
from ojs_aws.domain.timestamps import format_instant, instant_of
from ojs_aws.middleware import EnqueueChain, Hooks
from ojs_aws.typed_jobs.calls import JobCall
from ojs_aws.typed_jobs.clients import FROM_ENVIRONMENT, Clients

AnyJob: TypeAlias = Job | AsJob
"""What an outbox takes: a call of a typed job, or a whole :class:`~ojs_aws.Job`."""
Clock: TypeAlias = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class StagedJob:
    """Says what became of a job that was given to the outbox.

    :ivar id: of the job, known before it is sent: ``send_email.handle_sync(staged.id)``.
    :ivar job: as it is to be sent.
    :ivar dropped_by: name of the enqueue middleware that dropped it, or empty; then there is no
        row.
    """

    job: Job
    dropped_by: str = ""

    @property
    def id(self) -> str:
        """Return the id of the job."""
        return self.job.id

    @property
    def row(self) -> NewRow:
        """Return what is to be written."""
        return row_of(self.job)


def system_clock() -> datetime:
    """Return the time of this machine."""
    return datetime.now(UTC)


class Staging:
    """Prepares jobs for the outbox by the middleware of the client that would send them.

    It is the client of ``with client.use():``, else the one that ``jobs.configure`` describes, else
    the adapter's own, else that of a test, else one with the outbox's own middleware. No server is
    asked.
    """

    def __init__(
        self,
        *,
        clients: Clients = FROM_ENVIRONMENT,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        clock: Clock = system_clock,
    ) -> None:
        """Use this middleware where no client says otherwise; default: the default chain.

        :param clients: of jobs whose collection has no client of its own.
        """
        self._clients = clients
        self._middleware = middleware
        self._hooks = hooks
        self._clock = clock

    def stage(self, job: AnyJob) -> StagedJob:
        """Return the job as it is to be sent.

        :raises InvalidRequestError: the job breaks a constraint of the envelope.
        :raises RuntimeError: an asynchronous client is in use here.
        :raises Exception: whatever a middleware raised.
        """
        return self._checked(self._sync_client(self._clients_of(job)).prepare(job))

    async def astage(self, job: AnyJob) -> StagedJob:
        """Return the job as it is to be sent; see :meth:`stage`."""
        return self._checked(await self._client(self._clients_of(job)).prepare(job))

    def _checked(self, prepared: PreparedJob) -> StagedJob:
        """Check the job as the backend would, and make its relative times absolute."""
        job = prepared.job
        if prepared.dropped_by:
            return StagedJob(job, prepared.dropped_by)
        with_absolute_times(job, self._clock())
        return StagedJob(job)

    def _sync_client(self, clients: Clients) -> SyncClient:
        bound = bound_client()
        if isinstance(bound, SyncClient):
            return bound
        if bound is not None:
            raise RuntimeError("A Client is in use here: enqueue with await, or use a SyncClient.")
        if clients is not FROM_ENVIRONMENT:
            return clients.for_threads()
        substitute = current_substitute()
        if substitute is not None and isinstance(substitute.sync_client, SyncClient):
            return substitute.sync_client
        return self._own.for_threads()

    def _client(self, clients: Clients) -> Client:
        bound = bound_client()
        if isinstance(bound, Client):
            return bound
        if bound is not None:
            raise RuntimeError("A SyncClient is in use here: enqueue without await, or a Client.")
        if clients is not FROM_ENVIRONMENT:
            return clients.for_loop()
        substitute = current_substitute()
        if substitute is not None and isinstance(substitute.client, Client):
            return substitute.client
        return self._own.for_loop()

    @cached_property
    def _own(self) -> Clients:
        """Return clients that prepare jobs, and reach no server."""
        return Clients(
            lambda: Client(
                transport=ReplaceableTransport(), middleware=self._middleware, hooks=self._hooks
            )
        )

    def _clients_of(self, job: AnyJob) -> Clients:
        found = job.declaration.clients() if isinstance(job, JobCall) else FROM_ENVIRONMENT
        return self._clients if found is FROM_ENVIRONMENT else found


def with_absolute_times(job: Job, now: datetime) -> None:
    """Check a job as the backend would, and let its relative times count from now.

    :raises InvalidRequestError: the job breaks a constraint of the envelope.
    """
    envelope = read_envelope(job, instant_of(now))
    for name in ("scheduled_at", "expires_at"):
        instant = getattr(envelope, name)
        if instant is not None and str(job.get(name)).startswith("+"):
            job[name] = format_instant(instant)
