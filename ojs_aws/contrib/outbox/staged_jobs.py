"""Bring jobs through enqueue middleware into rows, and read them back (framework adapters, 6.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, TypeAlias

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.insertion import AsJob
from ojs_aws.client.results import PreparedJob
from ojs_aws.client.transports.substitute import (
    ReplaceableTransport,
    bound_client,
    current_substitute,
)
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.jobs.validation import read_envelope
from ojs_aws.domain.json_text import RawJson, assemble, encode, stored_texts
from ojs_aws.domain.timestamps import format_instant, instant_of
from ojs_aws.middleware import EnqueueChain, Hooks
from ojs_aws.typed_jobs.calls import JobCall
from ojs_aws.typed_jobs.clients import FROM_ENVIRONMENT, Clients

DEFAULT_TABLE: Final = "ojs_outbox"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}(\.[A-Za-z_][A-Za-z0-9_]{0,40})?")
_OF_COLUMNS: Final = frozenset({"id", "type", "args"})
AnyJob: TypeAlias = Job | AsJob
"""What an outbox takes: a call of a typed job, or a whole :class:`~ojs_aws.Job`."""
Clock: TypeAlias = Callable[[], datetime]


class OutboxStatus(StrEnum):
    """Says what became of a row (framework adapters, 6.4).

    ``parked`` is ours: the relay has given up, and an operator decides.
    """

    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"
    PARKED = "parked"


@dataclass(frozen=True, slots=True)
class NewRow:
    """Holds what is written for one job; the rest of the row has its defaults.

    :ivar job_args: JSON text of the arguments, as it goes over the wire.
    :ivar job_options: JSON text of the envelope's other attributes.
    """

    job_id: str
    job_type: str
    job_args: str
    job_options: str

    def values(self) -> dict[str, str]:
        """Return the values by column."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """Holds a row that is to be sent.

    :ivar id: its place in the order of insertion.
    :ivar attempts: how often the backend refused it by itself.
    :ivar first_try_at: when it was first sent, or about to be; None if it never was.
    """

    id: int
    written: NewRow
    attempts: int
    first_try_at: datetime | None

    def job(self) -> Job:
        """Return the job as it was written."""
        written = self.written
        members: dict[str, RawJson] = {
            "id": encode(written.job_id),
            "type": encode(written.job_type),
            **stored_texts(written.job_options),
            "args": RawJson(written.job_args),
        }
        return Job.from_members(members)


def row_of(job: Job) -> NewRow:
    """Return the row of a job that has come through the middleware."""
    members: Mapping[str, RawJson] = job.members()
    options = {name: raw for name, raw in members.items() if name not in _OF_COLUMNS}
    return NewRow(job.id, job.type, members["args"], assemble(options))


def checked_table(name: str) -> str:
    """Return the name of a table, which becomes part of statements.

    :raises ValueError: it is no plain name, with or without a schema before it.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot be the outbox's table: expected a name of letters, digits and _, "
            "such as ojs_outbox or shop.ojs_outbox."
        )
    return name


def index_name(table: str, purpose: str) -> str:
    """Return the name of an index of the table: ``idx_ojs_outbox_pending``."""
    return f"idx_{table.rpartition('.')[2]}_{purpose}"


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
        return self._check(self._sync_client(self._clients_of(job)).prepare(job))

    async def astage(self, job: AnyJob) -> StagedJob:
        """Return the job as it is to be sent; see :meth:`stage`."""
        return self._check(await self._client(self._clients_of(job)).prepare(job))

    def _check(self, prepared: PreparedJob) -> StagedJob:
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
