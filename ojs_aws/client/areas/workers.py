"""List and direct workers as an operator (ojs-admin-api, section 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ojs_aws.client.areas.area import Area, given
from ojs_aws.client.transports.requests import (
    Values,
    entry_of,
    next_cursor,
    object_in,
    objects_in,
    text_in,
    texts_in,
)
from ojs_aws.domain.errors import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEntry:
    """Describes a worker as its last heartbeat did.

    :ivar state: ``running``, ``quiet``, ``terminate``, or ``stale`` after three missed heartbeats.
    :ivar directive: the state that its next heartbeat asks it for.
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
        """Return True if it missed its heartbeats; its jobs go to other workers."""
        return self.state == "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerList:
    """Holds a page of workers by id.

    :ivar cursor: where the next page starts; empty on the last one.
    :ivar summary: how many there are in all (``total``), and in each state.
    """

    workers: Sequence[WorkerEntry]
    cursor: str
    summary: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectedWorkers:
    """Names the workers that a directive reached.

    :ivar directed: ids of those that get it with their next heartbeat.
    :ivar refused: ids of those that terminate already.
    """

    directed: Sequence[str]
    refused: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """Describes a worker pool (docs/workers.md).

    :ivar strategy: ``strict``, ``round-robin``, ``weighted`` or ``least-loaded``.
    :ivar weights: of the queues, where the strategy is ``weighted``.
    :ivar active_workers: workers that name the pool in their heartbeats.
    :ivar active_jobs: jobs that they say they have.
    :ivar described: everything that the backend says of it.
    """

    name: str
    queues: tuple[str, ...]
    strategy: str
    active_workers: int = 0
    active_jobs: int = 0
    weights: Mapping[str, JsonValue] = field(default_factory=dict)
    described: Mapping[str, JsonValue] = field(default_factory=dict)


class Workers(Area):
    """Lists and directs workers: ``client.workers``.

    Example of a deployment that loses nothing (docs/operations-deploys.md)::

        await client.workers.quiet_all(label="v1")  # the old ones finish what they have
        ...  # start the new ones, wait until the old ones have no jobs
        await client.workers.terminate_all(label="v1")
    """

    async def list(self, *, limit: int = 50, cursor: str = "") -> WorkerList:
        """List a page of the workers with a heartbeat within the last hour.

        :param cursor: from the page before.
        """
        query = {"limit": str(limit), "cursor": cursor}
        values = (await self._ask("list_workers", query=query)).values
        summary = object_in(values, "summary")
        return WorkerList(
            workers=[_entry(each) for each in objects_in(values, "items")],
            cursor=next_cursor(values),
            summary={
                name: count
                for name, count in summary.items()
                if isinstance(count, int) and not isinstance(count, bool)
            },
        )

    async def get(self, worker_id: str) -> WorkerEntry:
        """Read a worker.

        :raises NotFoundError: it is not known.
        """
        return _entry((await self._ask("get_worker", worker_id=worker_id)).values)

    async def quiet(self, worker_id: str) -> None:
        """Ask a worker to finish its jobs and fetch no more.

        :raises NotFoundError: it is not known.
        :raises ConflictError: it terminates already.
        """
        await self._ask("quiet_worker", worker_id=worker_id)

    async def terminate(self, worker_id: str) -> None:
        """Ask a worker to end within its grace period.

        :raises NotFoundError: it is not known.
        """
        await self._ask("terminate_worker", worker_id=worker_id)

    async def resume(self, worker_id: str) -> None:
        """Ask a quiet worker to fetch again.

        :raises NotFoundError: it is not known.
        :raises ConflictError: it terminates already.
        """
        await self._ask("resume_worker", worker_id=worker_id)

    async def quiet_all(self, *, queue: str = "", label: str = "") -> DirectedWorkers:
        """Quiet the workers that are there now: all, those of a queue, those with a label."""
        return await self._direct_all("quiet_workers", queue, label)

    async def terminate_all(self, *, queue: str = "", label: str = "") -> DirectedWorkers:
        """Terminate the workers that are there now: all, those of a queue, those with a label."""
        return await self._direct_all("terminate_workers", queue, label)

    async def resume_all(self, *, queue: str = "", label: str = "") -> DirectedWorkers:
        """Resume the workers that are there now: all, those of a queue, those with a label."""
        return await self._direct_all("resume_workers", queue, label)

    async def _direct_all(self, operation: str, queue: str, label: str) -> DirectedWorkers:
        directed: list[str] = []
        refused: list[str] = []
        async for values in self._parts(
            operation, {"all": True, **given(queue=queue, label=label)}
        ):
            directed += texts_in(values, "workers")
            refused += texts_in(values, "refused")
        return DirectedWorkers(directed=directed, refused=refused)

    async def deregister(self, worker_id: str) -> Sequence[str]:
        """Remove a worker that missed its heartbeats.

        :returns: ids of the jobs that went back to their queues.
        :raises NotFoundError: it is not known.
        :raises ConflictError: it still beats.
        """
        answer = await self._ask("deregister_worker", worker_id=worker_id)
        return texts_in(answer.values, "jobs_requeued")

    async def pools(self) -> Sequence[PoolEntry]:
        """List the worker pools by name."""
        values = (await self._ask("list_pools")).values
        return [entry_of(PoolEntry, each) for each in objects_in(values, "items")]

    async def pool(self, name: str) -> PoolEntry:
        """Read a worker pool.

        :raises NotFoundError: there is none of this name.
        """
        return entry_of(PoolEntry, (await self._ask("get_pool", name=name)).values)

    async def set_pool(
        self,
        name: str,
        queues: Sequence[str] | Mapping[str, int],
        *,
        strategy: str = "",
        concurrency: int | None = None,
    ) -> PoolEntry:
        """Create a worker pool, or replace it.

        :param queues: names; or their weights, by which each comes first in its share.
        :param strategy: default: ``weighted`` for weights, else ``round-robin``.
        :param concurrency: jobs that its workers may run at a time; shown, not enforced.
        """
        names: list[JsonValue] = [*queues]
        body: dict[str, JsonValue] = {"queues": names, **given(strategy=strategy)}
        if isinstance(queues, Mapping):
            body["weights"] = {**queues}
        if concurrency is not None:
            body["concurrency"] = concurrency
        return entry_of(PoolEntry, (await self._ask("put_pool", name=name, body=body)).values)

    async def delete_pool(self, name: str) -> None:
        """Delete a worker pool; its workers fetch from the queues that they name themselves.

        :raises NotFoundError: there is none of this name.
        """
        await self._ask("delete_pool", name=name)


def _entry(values: Values) -> WorkerEntry:
    """Return a worker; that it missed its heartbeats outweighs the state that it reported."""
    state = "stale" if values.get("stale") is True else text_in(values, "state")
    return entry_of(WorkerEntry, values, state=state)
