"""Wait for results of jobs, and read progress and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.client.areas.area import Area
from ojs_aws.client.results import (
    JobCancelledError,
    JobExpiredError,
    JobFailedError,
    WaitTimeoutError,
)
from ojs_aws.client.timer import Waiting
from ojs_aws.client.transports.requests import (
    RouteRequest,
    Values,
    entry_of,
    object_in,
    unwrapped,
)
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue, NotFoundError, ResultPendingError
from ojs_aws.domain.job import JobState

_PENDING: Final = 408


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """Holds the outcome of one job.

    :ivar result: None until it has completed, and where none is kept.
    :ivar error: of a discarded job.
    :ivar attributes: everything that the backend says of it.
    """

    job_id: str
    state: str
    result: JsonValue = None
    error: Mapping[str, JsonValue] | None = None
    attributes: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)

    @property
    def is_over(self) -> bool:
        """Return True if it is in a terminal state."""
        return self.state in {JobState.COMPLETED, JobState.CANCELLED, JobState.DISCARDED}

    @property
    def job(self) -> Job:
        """Return the job, as far as it is known."""
        known = {"type": "", **self.attributes, "id": self.job_id, "state": self.state}
        made = Job(str(known.pop("type") or "unknown"), id=self.job_id)
        for name in ("state", "result", "error", "queue", "attempt"):
            if known.get(name) is not None:
                made[name] = known[name]
        return made


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Holds the latest progress of an execution.

    :ivar fraction: from 0.0 to 1.0; None where no number was reported.
    :ivar data: values that the handler reported.
    :ivar updated_at: RFC 3339; None where nothing was reported.
    """

    job_id: str
    state: str
    fraction: float | None = None
    data: Mapping[str, JsonValue] | None = None
    message: str | None = None
    updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class JobCheckpoint:
    """The checkpoint that the next attempt of a job starts from."""

    job_id: str
    state: JsonValue
    sequence: int
    created_at: str


class Outcomes(Area):
    """Reads and waits for outcomes, for the methods of the client."""

    async def wait(self, job_id: str, timeout_s: float | None, poll_s: float) -> JsonValue:
        """See :meth:`ojs_aws.client.Client.result`."""
        waiting = Waiting(self._timer, timeout_s, poll_s)
        while True:
            outcome = await self._look(job_id, waiting.left_s)
            if outcome.is_over:
                return result_or_raise(outcome)
            if not await waiting.pause():
                raise WaitTimeoutError(outcome.job, waiting.timeout_s)

    async def _look(self, job_id: str, left_s: float) -> JobOutcome:
        """Send one request; a server without results is asked for the job itself."""
        try:
            return outcome_of(job_id, await self._result(job_id, max(0.0, left_s)))
        except NotFoundError:
            job = await self._transport.get(job_id)
            return outcome_of(job_id, {name: job[name] for name in job})

    async def _result(self, job_id: str, left_s: float) -> Values:
        """Read the outcome of a job; the backend may wait for its end.

        :returns: at least ``state``, also of a job that is not over.
        :raises ResultPrunedError: it is over, and so is the time of its outcome.
        """
        # A transport that does not wait is asked how the job is, which says more of it.
        most_s = self._transport.max_wait_s
        query = {"wait": "true", "timeout": str(int(min(left_s, most_s)))} if most_s > 0 else {}
        request = RouteRequest(
            operation="get_result", path={"job_id": job_id}, query=query, within_s=left_s
        )
        answer = await self._transport.ask(request)
        if answer.status == _PENDING or isinstance(answer.error, ResultPendingError):
            details = answer.error.details if answer.error else {}
            return {"state": details.get("current_state", "active")}
        return answer.or_raise().values

    async def many(self, job_ids: Sequence[str]) -> dict[str, JobOutcome | None]:
        """See :meth:`ojs_aws.client.Client.results`."""
        answer = await self._ask("get_results", body={"ids": [*job_ids]})
        found = object_in(answer.values, "results")
        return {
            job_id: outcome_of(job_id, values) if isinstance(values, dict) else None
            for job_id, values in ((each, found.get(each)) for each in job_ids)
        }

    async def progress(self, job_id: str) -> JobProgress:
        """See :meth:`ojs_aws.client.Client.progress`."""
        values = (await self._ask("get_progress", job_id=job_id)).values
        fraction, data = values.get("progress"), values.get("data")
        return entry_of(
            JobProgress,
            values,
            job_id=job_id,
            fraction=float(fraction) if isinstance(fraction, (int, float)) else None,
            data=data if isinstance(data, dict) else None,
        )

    async def checkpoint(self, job_id: str) -> JobCheckpoint | None:
        """See :meth:`ojs_aws.client.Client.checkpoint`."""
        try:
            answer = await self._ask("get_checkpoint", job_id=job_id)
        except NotFoundError:
            await self._transport.get(job_id)  # raises where there is no such job
            return None
        values = unwrapped(answer.values, "checkpoint")
        return entry_of(JobCheckpoint, values, job_id=job_id, state=values.get("state"))

    async def clear_checkpoint(self, job_id: str) -> None:
        """See :meth:`ojs_aws.client.Client.clear_checkpoint`."""
        await self._ask("delete_checkpoint", job_id=job_id)


def outcome_of(job_id: str, values: Values) -> JobOutcome:
    """Return the outcome of an answer, flat or in the wrapper of a job."""
    described = unwrapped(values, "job")
    error = described.get("error")
    return entry_of(
        JobOutcome,
        described,
        job_id=job_id,
        result=described.get("result"),
        error=error if isinstance(error, dict) else None,
        attributes=described,
    )


def result_or_raise(outcome: JobOutcome) -> JsonValue:
    """Return the result of a job that is over.

    :raises JobFailedError: it was discarded.
    :raises JobExpiredError: it was discarded before any worker executed it.
    :raises JobCancelledError: it was cancelled.
    """
    if outcome.state == JobState.COMPLETED:
        return outcome.result
    if outcome.state == JobState.CANCELLED:
        raise JobCancelledError(outcome.job)
    if not outcome.error and not outcome.attributes.get("attempt"):
        raise JobExpiredError(outcome.job)
    raise JobFailedError(outcome.job)
