"""Carry the client's requests over HTTPS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ojs_aws.client.results import Stored
from ojs_aws.client.transports.answers import Answer, objects_in, text_in
from ojs_aws.client.transports.connection import HttpConnection
from ojs_aws.client.transports.requests import RouteRequest, ask_to_change
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.json_text import assemble, assemble_array

MAX_WAIT_S: Final = 10.0

_CREATED: Final = 201


class HttpTransport:
    """Carries requests to a server over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use a connection, which :meth:`close` closes; waits stay well below its own timeout."""
        self._connection = connection
        self.max_wait_s = min(MAX_WAIT_S, connection.timeout_s / 2)

    async def ask(self, request: RouteRequest) -> Answer:
        """Send the request, again where that may help."""
        return await self._connection.exchange(request)

    async def push(self, job: Job) -> Stored:
        """Store one job; sent again when the answer was lost: the id makes that harmless."""
        answer = await self.ask(RouteRequest(operation="push", body=job.to_json()))
        if isinstance(answer.error, DuplicateError) and _is_own(answer, job):
            # The first send was stored, and a middleware of the backend made the second one differ.
            return Stored(await self.get(job.id), is_new=False)
        dropped_by = text_in(answer.or_raise().values, "dropped_by")
        if dropped_by:
            return Stored(None, is_new=False, dropped_by=dropped_by)
        return Stored(answer.job, is_new=answer.status == _CREATED)

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs as one atomic batch."""
        body = assemble({"jobs": assemble_array(job.to_json() for job in jobs)})
        answer = (await self.ask(RouteRequest(operation="push_batch", body=body))).or_raise()
        by_id = {str(job.get("requested_id") or job.id): job for job in answer.jobs}
        dropped = {
            text_in(each, "id"): text_in(each, "dropped_by")
            for each in objects_in(answer.values, "dropped")
        }
        is_new = answer.status == _CREATED
        return [
            Stored(by_id[job.id], is_new=is_new)
            if job.id in by_id
            else Stored(None, is_new=False, dropped_by=dropped.get(job.id) or "the backend")
            for job in jobs
        ]

    async def get(self, job_id: str) -> Job:
        """Read a job."""
        return (await self.ask(_of_job("info", job_id))).or_raise().job

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job."""
        return (await self.ask(_of_job("cancel", job_id))).or_raise().job

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available."""
        return await ask_to_change(self, _of_job("activate", job_id), "pending")

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()


def _of_job(operation: str, job_id: str) -> RouteRequest:
    return RouteRequest(operation=operation, path={"job_id": job_id})


def _is_own(answer: Answer, job: Job) -> bool:
    """Return True if the id was taken by an earlier send of the same request."""
    taken_by = answer.error.details.get("existing_job_id") if answer.error else None
    return answer.sends > 1 and taken_by in {None, job.id}
