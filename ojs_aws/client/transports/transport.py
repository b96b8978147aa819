"""Define the interface of the client's transports: over HTTPS, and in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ojs_aws.client.results import Stored
from ojs_aws.client.transports.answers import Answer
from ojs_aws.client.transports.requests import RouteRequest
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError
from ojs_aws.ports import TransactAction


class Transport(Protocol):
    """Carries the client's requests to the backend, and its answers back.

    Every method but :meth:`ask` raises the errors of :mod:`ojs_aws.domain.errors`. Methods may be
    repeated after a :class:`~ojs_aws.domain.errors.BackendError`: storing finds the job that it
    stored before.
    """

    @property
    def max_wait_s(self) -> float:
        """Return the longest wait for a result that one request may ask for."""

    async def ask(self, request: RouteRequest) -> Answer:
        """Ask for an operation of the route table, and return its answer.

        An error of the backend is part of the answer; :meth:`Answer.or_raise` raises it.
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

    async def close(self) -> None:
        """Close the connections."""


@runtime_checkable
class Transacting(Protocol):
    """A transport to a table that takes part in the caller's own transactions."""

    async def transact(self, job: Job) -> tuple[Stored, list[TransactAction]]:
        """Return what would become of one job, which has an id, and what to write for that."""


async def ask_to_change(transport: Transport, request: RouteRequest, needed: str) -> Job:
    """Ask for a change of a job's state that a second send would find already made.

    :param needed: the state that the job must be in before.
    :raises ConflictError: the job was in another state at the first send.
    """
    answer = await transport.ask(request)
    conflict = answer.error if isinstance(answer.error, ConflictError) else None
    if conflict and answer.sends > 1 and conflict.details.get("current_state") != needed:
        return await transport.get(request.path["job_id"])
    return answer.or_raise().job
