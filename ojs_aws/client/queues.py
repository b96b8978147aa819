"""Queues, for operators: what they hold, pausing and resuming (HTTP binding, section 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from ojs_aws.client.connection import segment
from ojs_aws.client.operators import number_in, text_in
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import format_instant, instant_of


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """A queue.

    :ivar paused_at: RFC 3339; None while it is not paused.
    :ivar described: everything that the backend says of it.
    """

    name: str
    paused: bool
    paused_at: str | None = None
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNumbers:
    """What a queue holds, and what it did in the last hour.

    :ivar depth: jobs that have not ended.
    :ivar estimated: names of the numbers that are at least what is said, not exact.
    :ivar described: everything that the backend says, durations and throughput among it.
    """

    name: str
    paused: bool
    available: int
    active: int
    scheduled: int
    retryable: int
    completed: int
    discarded: int
    depth: int
    estimated: Sequence[str] = ()
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Purged:
    """What one call of a purge did.

    :ivar deleted: jobs that had ended, which are gone.
    :ivar cancelled: the others, which are cancelled now.
    :ivar cursor: where to go on; empty when the purge is over.
    """

    deleted: int
    cancelled: int
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """A queue with its settings (ojs-queue-config, section 6).

    :ivar state: ``active``, ``paused`` or ``draining``.
    :ivar config: what holds: its own settings over the default policy's and the deployment's.
    :ivar own: what was set for this very queue.
    :ivar described: everything that the backend says of it.
    """

    name: str
    state: str
    config: Mapping[str, JsonValue]
    own: Mapping[str, JsonValue]
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


class QueuesTransport(Protocol):
    """How a client reaches the operations on queues; answers are as the binding has them."""

    async def list(self) -> Sequence[Mapping[str, JsonValue]]:
        """All queues."""

    async def stats(self, name: str) -> Mapping[str, JsonValue]:
        """What one holds."""

    async def pause(self, name: str) -> Mapping[str, JsonValue]:
        """Pause one."""

    async def resume(self, name: str) -> Mapping[str, JsonValue]:
        """Resume one."""

    async def ask(
        self, method: str, path: str, body: Mapping[str, JsonValue] | None = None
    ) -> Mapping[str, JsonValue]:
        """Any other operation on a queue, by its method and its path below the base."""

    async def purge(self, name: str, body: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Purge a part of one."""


class Queues:
    """Queues of the backend; every method raises the errors of ``ojs_aws.domain.errors``."""

    def __init__(self, transport: QueuesTransport) -> None:
        """Use the client's transport."""
        self._transport = transport

    async def list(self) -> list[QueueEntry]:
        """All queues that are declared or were used, by name."""
        return [_entry(described) for described in await self._transport.list()]

    async def stats(self, name: str) -> QueueNumbers:
        """Count the jobs of a queue.

        :raises NotFoundError: there is no such queue.
        """
        described = await self._transport.stats(name)

        def count(key: str) -> int:
            value = described.get(key)
            return value if isinstance(value, int) else 0

        estimated = described.get("estimated")
        return QueueNumbers(
            name=name,
            paused=described.get("paused") is True,
            available=count("available"),
            active=count("active"),
            scheduled=count("scheduled"),
            retryable=count("retryable"),
            completed=count("completed"),
            discarded=count("discarded"),
            depth=count("depth"),
            estimated=[str(each) for each in estimated] if isinstance(estimated, list) else (),
            described=described,
        )

    async def priorities(self, name: str) -> Mapping[int, int]:
        """How many jobs of a queue are available in each priority, the highest first.

        :raises NotFoundError: there is no such queue.
        """
        answer = await self._transport.ask("GET", f"/queues/{segment(name)}/priority-stats")
        counts = answer.get("counts_by_priority")
        found = counts if isinstance(counts, dict) else {}
        return {int(each): n for each, n in found.items() if isinstance(n, int)}

    async def pause(self, name: str) -> QueueEntry:
        """Let nobody fetch from a queue; active jobs go on, and jobs may still be enqueued."""
        return _entry(await self._transport.pause(name))

    async def resume(self, name: str) -> QueueEntry:
        """Let workers fetch from a queue again.

        :raises NotFoundError: there is no such queue.
        """
        return _entry(await self._transport.resume(name))

    async def create(
        self, name: str, config: Mapping[str, JsonValue] | None = None
    ) -> QueueSettings:
        """Create a queue with settings of its own; a queue needs none to be used.

        :param config: such as ``{"max_size": 1000, "visibility_timeout": 60}``.
        :raises ConflictError: there is such a queue, maybe made by a call whose answer was lost.
        :raises InvalidRequestError: a setting that cannot be; nothing is created.
        """
        body: dict[str, JsonValue] = {"name": name, "config": {**(config or {})}}
        return _settings(await self._transport.ask("POST", "/queues", body))

    async def settings(self, name: str) -> QueueSettings:
        """The settings of a queue; ``_default`` is the policy for queues that say nothing.

        :raises NotFoundError: there is no such queue.
        """
        return _settings(await self._transport.ask("GET", f"/queues/{segment(name)}/config"))

    async def configure(self, name: str, changes: Mapping[str, JsonValue]) -> QueueSettings:
        """Change settings: those that are named are set, ``None`` takes one away.

        :raises InvalidRequestError: one that cannot be; nothing is changed.
        """
        path = f"/queues/{segment(name)}/config"
        return _settings(await self._transport.ask("PUT", path, changes))

    async def drain(self, name: str) -> QueueSettings:
        """Take no new jobs; workers go on with those that are there. A resume ends it.

        :raises NotFoundError: there is no such queue.
        """
        return _settings(await self._transport.ask("POST", f"/queues/{segment(name)}/drain", {}))

    async def delete(self, name: str) -> None:
        """Delete a queue that has no jobs left to run, with its settings.

        :raises ConflictError: there are jobs left, or the deployment declares the queue.
        :raises NotFoundError: there is no such queue.
        """
        body: dict[str, JsonValue] = {"strategy": "reject"}
        await self._transport.ask("DELETE", f"/queues/{segment(name)}", body)

    async def limit(
        self, name: str, policy: Mapping[str, JsonValue] | None
    ) -> Mapping[str, JsonValue]:
        """Limit how the jobs of a queue begin, or no more.

        :param policy: such as ``{"concurrency": 5, "rate": {"limit": 100, "period": "PT1M"}}``;
            None ends the limit.
        :returns: the limit and what it counts, as the backend describes it.
        :raises InvalidRequestError: a policy that cannot be followed.
        """
        path = f"/queues/{segment(name)}/rate-limit"
        if policy is None:
            return await self._transport.ask("DELETE", path)
        return await self._transport.ask("PUT", path, policy)

    async def purge(
        self,
        name: str,
        states: Sequence[str],
        *,
        older_than: datetime | None = None,
        dry_run: bool = False,
        cursor: str = "",
    ) -> Purged:
        """Purge the next jobs of a queue: those that ended are deleted, others cancelled.

        :param states: which jobs; active ones cannot be purged.
        :param older_than: only jobs that ended before; an aware datetime.
        :param dry_run: change nothing, and count what would be changed.
        :param cursor: of the call before; go on until it is empty.
        :raises NotFoundError: there is no such queue.
        """
        # Never both: a server that does not know dry_run must refuse the request, not purge.
        body: dict[str, JsonValue] = {"states": [*states]}
        body["dry_run" if dry_run else "confirm"] = True
        if older_than is not None:
            body["older_than"] = format_instant(instant_of(older_than))
        body |= {"cursor": cursor} if cursor else {}
        answer = await self._transport.purge(name, body)
        return Purged(
            number_in(answer, "deleted"),
            number_in(answer, "cancelled"),
            text_in(answer, "next_cursor"),
        )


def _settings(described: Mapping[str, JsonValue]) -> QueueSettings:
    config, own = described.get("config"), described.get("set")
    return QueueSettings(
        name=text_in(described, "name"),
        state=text_in(described, "state") or "active",
        config=config if isinstance(config, dict) else {},
        own=own if isinstance(own, dict) else {},
        described=described,
    )


def _entry(described: Mapping[str, JsonValue]) -> QueueEntry:
    paused_at = described.get("paused_at")
    return QueueEntry(
        name=str(described.get("name", "")),
        paused=described.get("paused") is True,
        paused_at=paused_at if isinstance(paused_at, str) else None,
        described=described,
    )
