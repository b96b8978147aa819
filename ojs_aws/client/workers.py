"""Workers, for operators: who beats, and what each is told to be (ojs-admin-api, section 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ojs_aws.domain.errors import JsonValue

QUIET = "quiet"
TERMINATE = "terminate"
RESUME = "resume"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEntry:
    """A worker as its last heartbeat described it.

    :ivar state: ``running``, ``quiet``, ``terminate``, or ``stale`` after three missed heartbeats.
    :ivar directive: what it is told to be with its next heartbeat.
    :ivar last_heartbeat_at: RFC 3339.
    :ivar described: everything that the backend says of it.
    """

    id: str
    state: str
    directive: str
    active_jobs: int
    last_heartbeat_at: str
    queues: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    hostname: str = ""
    described: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def is_stale(self) -> bool:
        """Whether it missed its heartbeats; its jobs are, or will at once be, others'."""
        return self.state == "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerList:
    """A page of workers by id.

    :ivar cursor: where the next page starts; empty on the last one.
    :ivar summary: how many there are in all (``total``), and in each state.
    """

    workers: Sequence[WorkerEntry]
    cursor: str
    summary: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectedWorkers:
    """Whom a directive for several workers reached.

    :ivar told: ids of those that are told with their next heartbeat.
    :ivar refused: ids of those that terminate already.
    """

    told: Sequence[str]
    refused: Sequence[str]


class WorkersTransport(Protocol):
    """How a client reaches the operations on workers. Answers are those of the admin API."""

    async def list(self, limit: int, cursor: str) -> Mapping[str, JsonValue]:
        """A page."""

    async def get(self, worker_id: str) -> Mapping[str, JsonValue]:
        """One worker."""

    async def direct(self, worker_id: str, action: str) -> Mapping[str, JsonValue]:
        """Direct one worker."""

    async def direct_all(
        self, action: str, chosen: Mapping[str, JsonValue]
    ) -> Mapping[str, JsonValue]:
        """Direct those that are chosen, or the first thousand of them."""

    async def deregister(self, worker_id: str) -> Mapping[str, JsonValue]:
        """Remove a worker that missed its heartbeats."""


class Workers:
    """Lists and directs workers: ``client.workers``.

    Example of a deployment that loses nothing (docs/operations-deploys.md)::

        await client.workers.quiet_all(label="v1")  # the old ones finish what they have
        ...  # start the new ones, wait until the old ones have no jobs
        await client.workers.terminate_all(label="v1")
    """

    def __init__(self, transport: WorkersTransport) -> None:
        """Use the client's transport."""
        self._transport = transport

    async def list(self, *, limit: int = 50, cursor: str = "") -> WorkerList:
        """List a page of the workers that beat within the last hour.

        :param cursor: from the page before.
        """
        answer = await self._transport.list(limit, cursor)
        items, page, summary = (answer.get(name) for name in ("items", "pagination", "summary"))
        following = page.get("next_cursor") if isinstance(page, dict) else ""
        counts = summary if isinstance(summary, dict) else {}
        return WorkerList(
            workers=[_entry(item) for item in items or () if isinstance(item, dict)]
            if isinstance(items, list)
            else [],
            cursor=following if isinstance(following, str) else "",
            summary={
                name: count
                for name, count in counts.items()
                if isinstance(count, int) and not isinstance(count, bool)
            },
        )

    async def get(self, worker_id: str) -> WorkerEntry:
        """Read a worker.

        :raises NotFoundError: it is not known.
        """
        return _entry(await self._transport.get(worker_id))

    async def quiet(self, worker_id: str) -> None:
        """Let a worker finish its jobs and fetch no more.

        :raises NotFoundError: it is not known.
        :raises ConflictError: it terminates already.
        """
        await self._transport.direct(worker_id, QUIET)

    async def terminate(self, worker_id: str) -> None:
        """Let a worker end within its grace period.

        :raises NotFoundError: it is not known.
        """
        await self._transport.direct(worker_id, TERMINATE)

    async def resume(self, worker_id: str) -> None:
        """Let a quiet worker fetch again.

        :raises NotFoundError: it is not known.
        :raises ConflictError: it terminates already.
        """
        await self._transport.direct(worker_id, RESUME)

    async def quiet_all(self, *, queue: str = "", label: str = "") -> DirectedWorkers:
        """Quiet the workers that are there now: all, those of a queue, those with a label."""
        return await self._direct_all(QUIET, queue, label)

    async def terminate_all(self, *, queue: str = "", label: str = "") -> DirectedWorkers:
        """Terminate the workers that are there now: all, those of a queue, those with a label."""
        return await self._direct_all(TERMINATE, queue, label)

    async def resume_all(self, *, queue: str = "", label: str = "") -> DirectedWorkers:
        """Resume the workers that are there now: all, those of a queue, those with a label."""
        return await self._direct_all(RESUME, queue, label)

    async def _direct_all(self, action: str, queue: str, label: str) -> DirectedWorkers:
        chosen: dict[str, JsonValue] = {"all": True}
        chosen |= {"queue": queue} if queue else {}
        chosen |= {"label": label} if label else {}
        told: list[str] = []
        refused: list[str] = []
        while True:
            answer = await self._transport.direct_all(action, chosen)
            told += texts(answer.get("workers"))
            refused += texts(answer.get("refused"))
            following = answer.get("next_cursor")
            if not isinstance(following, str) or not following:
                return DirectedWorkers(told=told, refused=refused)
            chosen["cursor"] = following

    async def deregister(self, worker_id: str) -> Sequence[str]:
        """Remove a worker that missed its heartbeats.

        :returns: ids of the jobs that it held no more.
        :raises NotFoundError: it is not known.
        :raises ConflictError: it still beats.
        """
        return texts((await self._transport.deregister(worker_id)).get("jobs_requeued"))


def texts(value: JsonValue) -> list[str]:
    """The texts of a list; none of anything else."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _entry(described: Mapping[str, JsonValue]) -> WorkerEntry:
    jobs = described.get("active_jobs")
    return WorkerEntry(
        id=str(described.get("id", "")),
        state=str(described.get("state", "")),
        directive=str(described.get("directive", "")),
        active_jobs=jobs if isinstance(jobs, int) else 0,
        last_heartbeat_at=str(described.get("last_heartbeat_at", "")),
        queues=tuple(texts(described.get("queues"))),
        labels=tuple(texts(described.get("labels"))),
        hostname=str(described.get("hostname", "")),
        described=dict(described),
    )
