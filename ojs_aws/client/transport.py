"""How a client reaches the backend: over HTTPS, or straight to DynamoDB and SQS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ojs_aws.client.cron import CronTransport
from ojs_aws.client.dead_letter import DeadLetterTransport
from ojs_aws.client.operators import OperatorTransport
from ojs_aws.client.outcomes import OutcomesTransport
from ojs_aws.client.queues import QueuesTransport
from ojs_aws.client.results import DeadLetters, Stored
from ojs_aws.client.schemas import SchemasTransport
from ojs_aws.client.workers import WorkersTransport
from ojs_aws.client.workflows import WorkflowsTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.ports import TransactAction


class Transport(Protocol):
    """The operations of the backend that a client needs.

    Every method raises the errors of :mod:`ojs_aws.domain.errors`. Methods may be repeated after
    a :class:`~ojs_aws.domain.errors.BackendError`: storing finds the job that it stored before.
    """

    async def push(self, job: Job) -> Stored:
        """Store one job, which has an id."""

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none; the outcomes are in the same order."""

    async def get(self, job_id: str) -> Job:
        """Read a job."""

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job.

        :raises ConflictError: it is in a terminal state, which the details name.
        """

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available."""

    async def dead_letters(self, queue: str | None, limit: int, cursor: str) -> DeadLetters:
        """List a page of dead letters."""

    async def retry_dead_letter(self, job_id: str) -> Job:
        """Make a discarded job available again."""

    async def delete_dead_letter(self, job_id: str) -> None:
        """Remove a discarded job for good."""

    async def queues(self) -> list[dict[str, JsonValue]]:
        """List the queues."""

    async def health(self) -> dict[str, JsonValue]:
        """What the backend says of its health."""

    def workers(self) -> WorkersTransport:
        """The operations on workers."""

    def dead_letter(self) -> DeadLetterTransport:
        """The operations on dead letters."""

    def queue_operations(self) -> QueuesTransport:
        """The operations on queues."""

    def workflows(self) -> WorkflowsTransport:
        """The operations on workflows."""

    def outcomes(self) -> OutcomesTransport:
        """The operations on results, progress and checkpoints."""

    def schemas(self) -> SchemasTransport:
        """The operations on schemas."""

    def cron(self) -> CronTransport:
        """The operations on cron jobs."""

    def operators(self) -> OperatorTransport:
        """The operators' API, by its paths."""

    async def close(self) -> None:
        """Let go of connections."""


@runtime_checkable
class Transacting(Protocol):
    """A transport to a table that takes part in the caller's own transactions."""

    async def transact(self, job: Job) -> tuple[Stored, list[TransactAction]]:
        """What would become of one job, which has an id, and what is to be written for that."""
