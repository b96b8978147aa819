"""Connects a worker to the HTTP binding, section 10."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Final

from ojs_aws.client.transports.connection import HttpConnection
from ojs_aws.client.transports.requests import segment
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError, JsonValue
from ojs_aws.domain.json_text import Member, RawJson, assemble, encode
from ojs_aws.worker.reservations import NO_IDS, Pulse

_CANCELLED: Final = ("cancelled", "jobs_cancelled")
_LOST: Final = ("lost", "jobs_lost")


class HttpJobSource:
    """Fetches, acknowledges, fails and extends jobs over HTTP(S)."""

    def __init__(
        self,
        connection: HttpConnection,
        worker_id: str,
        *,
        visibility_timeout_ms: int | None = None,
        heartbeat_interval_ms: int | None = None,
        about: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Act for one worker.

        :param visibility_timeout_ms: reservation length for jobs that have none of their own.
        :param heartbeat_interval_ms: how often the worker will beat; the backend finds it dead
            after three missed heartbeats.
        :param about: what each heartbeat reports of the worker (queues, concurrency, labels ...).
        """
        self._connection = connection
        self._worker_id = worker_id
        self._terms: dict[str, JsonValue] = {"worker_id": worker_id}
        if visibility_timeout_ms is not None:
            self._terms["visibility_timeout_ms"] = visibility_timeout_ms
        if heartbeat_interval_ms is not None:
            self._terms["heartbeat_interval_ms"] = heartbeat_interval_ms
        self._about = {"hostname": platform.node(), "pid": os.getpid(), **(about or {})}

    async def fetch(self, queues: Sequence[str], count: int) -> list[Job]:
        """Send POST /workers/fetch. Never repeated: a claim whose answer is lost comes back."""
        body = encode({**self._terms, "queues": list(queues), "count": count})
        answer = await self._connection.request("POST", "/workers/fetch", body, repeatable=False)
        return answer.jobs

    async def ack(self, job_id: str, result: RawJson | None, *, reservation_id: str = "") -> None:
        """Send POST /workers/ack; a repeat that finds the job completed is a success."""
        reporter = self._reporter(reservation_id).items()
        members = {"job_id": encode(job_id), **{name: encode(value) for name, value in reporter}}
        if result is not None:
            members["result"] = result
        await self._report("/workers/ack", assemble(members), frozenset({"completed"}))

    async def fail(
        self, job_id: str, error: dict[str, JsonValue], *, reservation_id: str = ""
    ) -> None:
        """Send POST /workers/nack; a repeat that finds the failure recorded is a success."""
        body = encode({"job_id": job_id, **self._reporter(reservation_id), "error": error})
        done = frozenset({"retryable", "discarded", "available"})
        await self._report("/workers/nack", body, done)

    async def requeue(
        self, job_id: str, error: dict[str, JsonValue], *, reservation_id: str = ""
    ) -> None:
        """Send POST /workers/nack with ``requeue``; a repeat that finds it available is a success.

        A server that knows nothing of it takes it for a failure.
        """
        reporter = self._reporter(reservation_id)
        body = encode({"job_id": job_id, **reporter, "requeue": True, "error": error})
        await self._report("/workers/nack", body, frozenset({"available"}))

    async def progress(
        self, job_id: str, said: Mapping[str, JsonValue], *, reservation_id: str = ""
    ) -> bool:
        """Send PUT /jobs/:id/progress; never repeated, the next report says more."""
        body = encode({**said, **self._reporter(reservation_id)})
        path = f"/jobs/{segment(job_id)}/progress"
        answer = await self._connection.request("PUT", path, body, repeatable=False)
        accepted = answer.members.get("accepted")
        return accepted is None or accepted.value is not False

    async def checkpoint(self, job_id: str, state: RawJson, *, reservation_id: str = "") -> None:
        """Send POST /jobs/:id/checkpoint; a repeat saves the same."""
        reporter = self._reporter(reservation_id).items()
        body = assemble({"state": state, **{name: encode(value) for name, value in reporter}})
        await self._connection.request("POST", f"/jobs/{segment(job_id)}/checkpoint", body)

    async def heartbeat(
        self, job_ids: Sequence[str], state: str, *, reservation_ids: Mapping[str, str] = NO_IDS
    ) -> Pulse:
        """Send POST /workers/heartbeat."""
        ids: list[JsonValue] = list(job_ids)
        body: dict[str, JsonValue] = {
            **self._about,
            **self._terms,
            "state": state,
            "active_jobs": ids,
            "active_job_ids": ids,
        }
        if reservation_ids:
            body["reservation_ids"] = dict(reservation_ids)
        answer = await self._connection.exchange("POST", "/workers/heartbeat", encode(body))
        if isinstance(answer.error, ConflictError):
            # A backend up to 0.1 refuses a heartbeat whose jobs are all lost, and gives no
            # directive then: the worker stays what it is.
            return Pulse(state, lost=frozenset(job_ids))
        if answer.error is not None:
            raise answer.error
        directive = answer.members.get("state")
        return Pulse(
            str(directive.value) if directive else "running",
            _ids(answer.members, _CANCELLED),
            _ids(answer.members, _LOST),
        )

    def _reporter(self, reservation_id: str) -> dict[str, JsonValue]:
        """Return who reports, and for which reservation if known."""
        known: dict[str, JsonValue] = {"worker_id": self._worker_id}
        return known | {"reservation_id": reservation_id} if reservation_id else known

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()

    async def _report(self, path: str, body: RawJson, done: frozenset[str]) -> None:
        answer = await self._connection.exchange("POST", path, body)
        is_repeated = isinstance(answer.error, ConflictError) and answer.sends > 1
        if answer.error is None:
            return
        if not (is_repeated and answer.error.details.get("current_state") in done):
            raise answer.error


def _ids(members: Mapping[str, Member], names: Sequence[str]) -> frozenset[str]:
    listed = [members[name].value for name in names if name in members]
    return frozenset(
        item
        for value in listed
        if isinstance(value, list)
        for item in value
        if isinstance(item, str)
    )
