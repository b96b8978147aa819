"""The client's operations straight on DynamoDB and SQS, for producers inside AWS.

The services are called in threads, since botocore blocks.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Self

from ojs_aws.bootstrap import aws_clients, build_backend
from ojs_aws.client.cron import CronTransport
from ojs_aws.client.dead_letter import DeadLetterTransport
from ojs_aws.client.operators import OperatorTransport
from ojs_aws.client.outcomes import OutcomesTransport
from ojs_aws.client.queues import QueuesTransport
from ojs_aws.client.results import DeadLetters, Stored
from ojs_aws.client.schemas import SchemasTransport
from ojs_aws.client.workers import WorkersTransport
from ojs_aws.client.workflows import WorkflowsTransport
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.ports import QueueInfo, TransactAction
from ojs_aws.services.backend import Backend
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.jobs.build import check_envelope_size
from ojs_aws.services.jobs.push_result import PushResult
from ojs_aws.services.jobs.render import render_job


class DirectTransport:
    """Reaches the backend without a server between."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._backend = backend

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        endpoint_url: str | None = None,
        region: str | None = None,
    ) -> Self:
        """Make the AWS clients and the services.

        :param settings: of the deployment; default: the environment.
        """
        chosen = settings or Settings.from_env(os.environ)
        return cls(build_backend(chosen, aws_clients(endpoint_url, region)))

    async def push(self, job: Job) -> Stored:
        """Store one job."""
        self._check_size(job)
        return _stored(await asyncio.to_thread(self._backend.push, job))

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none."""
        for job in jobs:
            self._check_size(job)
        return [_stored(one) for one in await asyncio.to_thread(self._backend.push.all, jobs)]

    async def transact(self, job: Job) -> tuple[Stored, list[TransactAction]]:
        """Prepare one job for a transaction of the caller's."""
        self._check_size(job)
        prepared = await asyncio.to_thread(self._backend.transacting, job)
        return _stored(prepared.pushed), prepared.actions

    def _check_size(self, job: Job) -> None:
        """Refuse an envelope that is too large as the HTTP API does: by what was given."""
        size = len(job.to_json().encode("utf-8", "surrogatepass"))
        check_envelope_size(size, self._backend.settings.max_envelope_bytes)

    async def get(self, job_id: str) -> Job:
        """Read a job."""
        return job_of_record(await asyncio.to_thread(self._backend.info, job_id))

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job."""
        await asyncio.to_thread(self._backend.cancel, job_id)
        return await self.get(job_id)

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available."""
        await asyncio.to_thread(self._backend.activate, job_id)
        return await self.get(job_id)

    async def dead_letters(self, queue: str | None, limit: int, cursor: str) -> DeadLetters:
        """List a page of dead letters."""
        wanted = DeadLetterFilter(queue=queue or "")
        page = await asyncio.to_thread(self._backend.dead_letters.list, wanted, limit, cursor)
        return DeadLetters([job_of_record(job) for job in page.jobs], page.cursor, page.total)

    async def retry_dead_letter(self, job_id: str) -> Job:
        """Make a discarded job available again."""
        return job_of_record(await asyncio.to_thread(self._backend.dead_letters.retry, job_id))

    async def delete_dead_letter(self, job_id: str) -> None:
        """Remove a discarded job for good."""
        await asyncio.to_thread(self._backend.dead_letters.delete, job_id)

    async def queues(self) -> list[dict[str, JsonValue]]:
        """List the queues."""
        return [_described(queue) for queue in await asyncio.to_thread(self._backend.queues.list)]

    async def health(self) -> dict[str, JsonValue]:
        """Look at the table; it answers or raises."""
        await asyncio.to_thread(self._backend.queues.list)
        return {"status": "ok"}

    def workers(self) -> WorkersTransport:
        """The operations on workers."""
        from ojs_aws.client.direct_operators import DirectWorkers  # noqa: PLC0415 - few need it

        return DirectWorkers(self._backend)

    def dead_letter(self) -> DeadLetterTransport:
        """The operations on dead letters."""
        from ojs_aws.client.direct_operators import DirectDeadLetters  # noqa: PLC0415

        return DirectDeadLetters(self._backend)

    def queue_operations(self) -> QueuesTransport:
        """The operations on queues."""
        from ojs_aws.client.direct_queues import DirectQueues  # noqa: PLC0415 - few need it

        return DirectQueues(self._backend)

    def workflows(self) -> WorkflowsTransport:
        """The operations on workflows."""
        from ojs_aws.client.direct_workflows import DirectWorkflows  # noqa: PLC0415 - few need it

        return DirectWorkflows(self._backend)

    def outcomes(self) -> OutcomesTransport:
        """The operations on results, progress and checkpoints."""
        from ojs_aws.client.direct_outcomes import DirectOutcomes  # noqa: PLC0415 - few need it

        return DirectOutcomes(self._backend)

    def schemas(self) -> SchemasTransport:
        """The operations on schemas."""
        from ojs_aws.client.direct_schemas import DirectSchemas  # noqa: PLC0415 - few need it

        return DirectSchemas(self._backend)

    def cron(self) -> CronTransport:
        """The operations on cron jobs."""
        from ojs_aws.client.direct_cron import DirectCronTransport  # noqa: PLC0415 - few need it

        return DirectCronTransport(self._backend)

    def operators(self) -> OperatorTransport:
        """The operators' API."""
        from ojs_aws.client.direct_admin import DirectOperators  # noqa: PLC0415 - few need it

        return DirectOperators(self._backend)

    async def close(self) -> None:
        """Nothing to let go of: botocore's connections end with the process."""


def job_of_record(record: JobRecord) -> Job:
    """The job as callers see it; its documents must have been filled in."""
    return Job.from_members(render_job(record))


def _stored(pushed: PushResult) -> Stored:
    job = None if pushed.record is None else job_of_record(pushed.record)
    return Stored(job, pushed.is_new, pushed.dropped_by)


def _described(queue: QueueInfo) -> dict[str, JsonValue]:
    is_paused = queue.paused_at is not None
    described: dict[str, JsonValue] = {
        "name": queue.name,
        "status": "paused" if is_paused else "active",
        "paused": is_paused,
    }
    if queue.created_at is not None:
        described["created_at"] = format_instant(queue.created_at)
    return described
