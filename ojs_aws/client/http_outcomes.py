"""Outcomes over HTTP (ojs-results, 10; ojs-progress, 10; ojs-durable-execution, 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ojs_aws.client.connection import Answer, HttpConnection, segment
from ojs_aws.domain.errors import JsonValue, ResultPendingError
from ojs_aws.domain.json_text import encode

MAX_WAIT_S: Final = 10.0
_PENDING: Final = 408


class HttpOutcomes:
    """The port OutcomesTransport over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use the transport's connection; waits stay well below its own timeout."""
        self._connection = connection
        self.max_wait_s = min(MAX_WAIT_S, connection.timeout_s / 2)

    async def result(self, job_id: str, wait_s: float) -> Mapping[str, JsonValue]:
        """GET /jobs/:id/result."""
        query = {"wait": "true", "timeout": str(int(wait_s))}
        path = f"/jobs/{segment(job_id)}/result"
        answer = await self._connection.exchange("GET", path, query=query)
        if answer.status == _PENDING or isinstance(answer.error, ResultPendingError):
            details = answer.error.details if answer.error else {}
            return {"state": details.get("current_state", "active")}
        if answer.error is not None:
            raise answer.error
        return _values(answer)

    async def results(self, job_ids: Sequence[str]) -> Mapping[str, JsonValue]:
        """POST /jobs/results."""
        ids: list[JsonValue] = list(job_ids)
        answer = await self._connection.request("POST", "/jobs/results", encode({"ids": ids}))
        found = _values(answer).get("results")
        return found if isinstance(found, dict) else {}

    async def progress(self, job_id: str) -> Mapping[str, JsonValue]:
        """GET /jobs/:id/progress."""
        path = f"/jobs/{segment(job_id)}/progress"
        return _values(await self._connection.request("GET", path))

    async def checkpoint(self, job_id: str) -> Mapping[str, JsonValue]:
        """GET /jobs/:id/checkpoint."""
        values = _values(await self._connection.request("GET", _checkpoint(job_id)))
        wrapped = values.get("checkpoint")
        return wrapped if isinstance(wrapped, dict) else values

    async def clear_checkpoint(self, job_id: str) -> None:
        """DELETE /jobs/:id/checkpoint."""
        await self._connection.request("DELETE", _checkpoint(job_id))


def _checkpoint(job_id: str) -> str:
    return f"/jobs/{segment(job_id)}/checkpoint"


def _values(answer: Answer) -> dict[str, JsonValue]:
    return {name: member.value for name, member in answer.members.items()}
