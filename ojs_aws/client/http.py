"""The client's operations over the HTTP binding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ojs_aws.client.connection import Answer, HttpConnection, segment
from ojs_aws.client.cron import CronTransport
from ojs_aws.client.dead_letter import DeadLetterTransport
from ojs_aws.client.http_cron import HttpCronTransport
from ojs_aws.client.http_operators import HttpDeadLetters, HttpWorkers
from ojs_aws.client.http_queues import HttpQueues
from ojs_aws.client.operators import OperatorTransport
from ojs_aws.client.outcomes import OutcomesTransport
from ojs_aws.client.queues import QueuesTransport
from ojs_aws.client.results import DeadLetters, Stored
from ojs_aws.client.schemas import SchemasTransport
from ojs_aws.client.workers import WorkersTransport
from ojs_aws.client.workflows import WorkflowsTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError, DuplicateError, JsonValue
from ojs_aws.domain.json_text import (
    ANY_DEPTH,
    Member,
    RawJson,
    assemble,
    assemble_array,
    encode,
    parse_object,
)

_CREATED: Final = 201
_EMPTY: Final = RawJson("{}")


class HttpTransport:
    """Reaches the backend over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use a connection, which :meth:`close` closes."""
        self._connection = connection

    async def push(self, job: Job) -> Stored:
        """POST /jobs, sent again when the answer was lost: the id makes that harmless."""
        answer = await self._connection.exchange("POST", "/jobs", job.to_json())
        if isinstance(answer.error, DuplicateError) and _is_own(answer, job):
            # The first send was stored, and a middleware of the backend made the second one differ.
            return Stored(await self.get(job.id), is_new=False)
        if answer.error is not None:
            raise answer.error
        return _stored(answer.members, is_new=answer.status == _CREATED)

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """POST /jobs/batch: one atomic batch."""
        body = assemble({"jobs": assemble_array(job.to_json() for job in jobs)})
        answer = await self._connection.request("POST", "/jobs/batch", body)
        listed = jobs_of(answer.members)
        by_id = {str(job.get("requested_id") or job.id): job for job in listed}
        dropped = _dropped(answer.members)
        is_new = answer.status == _CREATED
        return [
            Stored(by_id[job.id], is_new=is_new)
            if job.id in by_id
            else Stored(None, is_new=False, dropped_by=dropped.get(job.id, "the backend"))
            for job in jobs
        ]

    async def get(self, job_id: str) -> Job:
        """GET /jobs/:id."""
        return _job((await self._connection.request("GET", f"/jobs/{segment(job_id)}")).members)

    async def cancel(self, job_id: str) -> Job:
        """DELETE /jobs/:id."""
        return _job((await self._connection.request("DELETE", f"/jobs/{segment(job_id)}")).members)

    async def activate(self, job_id: str) -> Job:
        """POST /jobs/:id/activate."""
        return await self._change(f"/jobs/{segment(job_id)}/activate", job_id, "pending")

    async def dead_letters(self, queue: str | None, limit: int, cursor: str) -> DeadLetters:
        """GET /dead-letter."""
        query = {"limit": str(limit)}
        query |= {"queue": queue} if queue else {}
        query |= {"cursor": cursor} if cursor else {}
        answer = await self._connection.request("GET", "/dead-letter", query=query)
        page = _object(answer.members, "pagination")
        following, total = page.get("next_cursor"), page.get("total")
        return DeadLetters(
            jobs_of(answer.members),
            following if isinstance(following, str) else "",
            total if isinstance(total, int) else 0,
        )

    async def retry_dead_letter(self, job_id: str) -> Job:
        """POST /dead-letter/:id/retry."""
        return await self._change(f"/dead-letter/{segment(job_id)}/retry", job_id, "discarded")

    async def delete_dead_letter(self, job_id: str) -> None:
        """DELETE /dead-letter/:id."""
        path = f"/dead-letter/{segment(job_id)}"
        await self._connection.request("DELETE", path, repeatable=False)

    async def queues(self) -> list[dict[str, JsonValue]]:
        """GET /queues."""
        members = (await self._connection.request("GET", "/queues")).members
        return _objects(members, "queues")

    async def health(self) -> dict[str, JsonValue]:
        """GET /health, also when the server is not healthy."""
        answer = await self._connection.exchange("GET", "/health", repeatable=False)
        if answer.error is not None and "status" not in answer.members:
            raise answer.error
        return {name: member.value for name, member in answer.members.items()}

    def workers(self) -> WorkersTransport:
        """The operations on workers."""
        return HttpWorkers(self._connection)

    def dead_letter(self) -> DeadLetterTransport:
        """The operations on dead letters."""
        return HttpDeadLetters(self._connection)

    def queue_operations(self) -> QueuesTransport:
        """The operations on queues."""
        return HttpQueues(self._connection)

    def workflows(self) -> WorkflowsTransport:
        """The operations on workflows."""
        from ojs_aws.client.http_workflows import HttpWorkflows  # noqa: PLC0415

        return HttpWorkflows(self._connection)

    def outcomes(self) -> OutcomesTransport:
        """The operations on results, progress and checkpoints."""
        from ojs_aws.client.http_outcomes import HttpOutcomes  # noqa: PLC0415

        return HttpOutcomes(self._connection)

    def schemas(self) -> SchemasTransport:
        """The operations on schemas."""
        from ojs_aws.client.http_schemas import HttpSchemas  # noqa: PLC0415

        return HttpSchemas(self._connection)

    def cron(self) -> CronTransport:
        """The operations on cron jobs."""
        return HttpCronTransport(self._connection)

    def operators(self) -> OperatorTransport:
        """The operators' API."""
        from ojs_aws.client.http_admin import HttpOperators  # noqa: PLC0415 - few need it

        return HttpOperators(self._connection)

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()

    async def _change(self, path: str, job_id: str, needed: str) -> Job:
        """A transition that a second send would find already made."""
        answer = await self._connection.exchange("POST", path, _EMPTY)
        left = isinstance(answer.error, ConflictError) and (
            answer.error.details.get("current_state") != needed
        )
        if left and answer.sends > 1:
            return await self.get(job_id)
        if answer.error is not None:
            raise answer.error
        return _job(answer.members)


def job_of(members: Mapping[str, JsonValue]) -> Job:
    """A job that was answered inside a list."""
    return Job.from_members({name: encode(value) for name, value in members.items()})


def _is_own(answer: Answer, job: Job) -> bool:
    taken_by = answer.error.details.get("existing_job_id") if answer.error else None
    return answer.sends > 1 and taken_by in {None, job.id}


def _stored(members: Mapping[str, Member], *, is_new: bool) -> Stored:
    dropped_by = members.get("dropped_by")
    if dropped_by is not None and isinstance(dropped_by.value, str) and dropped_by.value:
        return Stored(None, is_new=False, dropped_by=dropped_by.value)
    return Stored(_job(members), is_new=is_new)


def _job(members: Mapping[str, Member]) -> Job:
    """The job of an answer: wrapped, or flat; with its members' own text."""
    wrapped = members.get("job")
    if wrapped is not None and isinstance(wrapped.value, dict):
        return Job.from_parsed(parse_object(wrapped.raw, max_depth=ANY_DEPTH))
    return Job.from_parsed(members)


def _objects(members: Mapping[str, Member], name: str) -> list[dict[str, JsonValue]]:
    listed = members.get(name)
    items = listed.value if listed and isinstance(listed.value, list) else []
    return [item for item in items if isinstance(item, dict)]


def _object(members: Mapping[str, Member], name: str) -> dict[str, JsonValue]:
    member = members.get(name)
    return member.value if member and isinstance(member.value, dict) else {}


def jobs_of(members: Mapping[str, Member]) -> list[Job]:
    """The jobs that an answer lists."""
    return [job_of(item) for item in _objects(members, "jobs")]


def _dropped(members: Mapping[str, Member]) -> dict[str, str]:
    """Ids of a batch's jobs that the backend's middleware dropped, with its name."""
    dropped = _objects(members, "dropped")
    return {str(item.get("id")): str(item.get("dropped_by") or "the backend") for item in dropped}
