"""Count, pause and configure queues as an operator (HTTP binding, section 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from ojs_aws.client.areas.area import Area, given, moment_text
from ojs_aws.client.areas.entries import (
    BindingEntry,
    Purged,
    QueueDetail,
    QueueEntry,
    QueueNumbers,
    QueueSettings,
)
from ojs_aws.client.transports.requests import Values, entry_of, object_in, objects_in, text_in
from ojs_aws.domain.errors import JsonValue


class Queues(Area):
    """Looks after queues; every method raises the errors of ``ojs_aws.domain.errors``."""

    async def list(self) -> list[QueueEntry]:
        """List all queues that are declared or were used, by name."""
        return [entry_of(QueueEntry, each) for each in await self._ask_all("list_queues", "queues")]

    async def get(self, name: str) -> QueueDetail:
        """Read a queue: what it holds, how long its jobs wait, and what it did in the last hour.

        :raises NotFoundError: there is no such queue.
        """
        values = (await self._ask("get_queue", queue=name)).values
        counts, throughput = object_in(values, "counts"), object_in(values, "throughput")
        return entry_of(QueueDetail, values, counts=counts, throughput=throughput)

    async def stats(self, name: str) -> QueueNumbers:
        """Count the jobs of a queue.

        :raises NotFoundError: there is no such queue.
        """
        values = (await self._ask("queue_stats", queue=name)).values
        described = {**values, **object_in(values, "stats")}
        return entry_of(QueueNumbers, described, name=name)

    async def priorities(self, name: str) -> Mapping[int, int]:
        """Count the available jobs of a queue in each priority, the highest first.

        :raises NotFoundError: there is no such queue.
        """
        values = (await self._ask("priority_stats", queue=name)).values
        counts = object_in(values, "counts_by_priority")
        return {int(each): count for each, count in counts.items() if isinstance(count, int)}

    async def pause(self, name: str) -> QueueEntry:
        """Stop fetches from a queue; active jobs go on, and jobs may still be enqueued."""
        return entry_of(QueueEntry, (await self._ask("pause_queue", queue=name)).values)

    async def resume(self, name: str) -> QueueEntry:
        """Allow fetches from a queue again.

        :raises NotFoundError: there is no such queue.
        """
        return entry_of(QueueEntry, (await self._ask("resume_queue", queue=name)).values)

    async def create(
        self, name: str, config: Mapping[str, JsonValue] | None = None
    ) -> QueueSettings:
        """Create a queue with settings of its own; a queue needs none to be used.

        :param config: such as ``{"max_size": 1000, "visibility_timeout": 60}``.
        :raises ConflictError: there is such a queue, maybe made by a call whose answer was lost.
        :raises InvalidRequestError: an invalid setting; nothing is created.
        """
        body: dict[str, JsonValue] = {"name": name, "config": {**(config or {})}}
        return _settings((await self._ask("create_queue", body=body)).values)

    async def settings(self, name: str) -> QueueSettings:
        """Read the settings of a queue; ``_default`` is the policy for queues without their own.

        :raises NotFoundError: there is no such queue.
        """
        return _settings((await self._ask("get_queue_config", queue=name)).values)

    async def configure(self, name: str, changes: Mapping[str, JsonValue]) -> QueueSettings:
        """Change settings: those that are named are set, ``None`` removes one.

        :raises InvalidRequestError: an invalid setting; nothing is changed.
        """
        answer = await self._ask("change_queue_config", queue=name, body=changes)
        return _settings(answer.values)

    async def drain(self, name: str) -> QueueSettings:
        """Refuse new jobs; workers go on with those that are there. A resume ends it.

        :raises NotFoundError: there is no such queue.
        """
        return _settings((await self._ask("drain_queue", queue=name)).values)

    async def delete(self, name: str) -> None:
        """Delete a queue that has no jobs left to run, with its settings.

        :raises ConflictError: there are jobs left, or the deployment declares the queue.
        :raises NotFoundError: there is no such queue.
        """
        body: dict[str, JsonValue] = {"strategy": "reject"}
        await self._ask("delete_queue", queue=name, body=body)

    async def limit(
        self, name: str, policy: Mapping[str, JsonValue] | None
    ) -> Mapping[str, JsonValue]:
        """Limit how the jobs of a queue start, or end the limit.

        :param policy: such as ``{"concurrency": 5, "rate": {"limit": 100, "period": "PT1M"}}``;
            None ends the limit.
        :returns: the limit and what it counts, as the backend describes it.
        :raises InvalidRequestError: an invalid policy.
        """
        if policy is None:
            return (await self._ask("unlimit_queue", queue=name)).values
        return (await self._ask("limit_queue", queue=name, body=policy)).values

    async def bindings(self, name: str) -> Sequence[BindingEntry]:
        """List the bindings that a queue has, or may have.

        :raises NotFoundError: there is no such queue.
        """
        values = (await self._ask("list_bindings", queue=name)).values
        return [entry_of(BindingEntry, each) for each in objects_in(values, "items")]

    async def binding(self, name: str, binding: str) -> BindingEntry:
        """Read a binding of a queue.

        :raises NotFoundError: the stack allows the queue no such binding.
        """
        return await self._binding("get_binding", name, binding)

    async def set_binding(
        self,
        name: str,
        binding: str,
        job_types: Sequence[str],
        *,
        endpoint: str | None = None,
        config: Mapping[str, JsonValue] | None = None,
    ) -> BindingEntry:
        """Register the job types that a binding runs, if the stack allows it.

        :param job_types: ``"email.send"``, ``"email.*"``, or ``"*"`` for all.
        :param endpoint: the URL that gets the jobs, below a prefix that the stack allows; None for
            a function or a task.
        :param config: how its jobs run, such as ``{"timeout_ms": 30000, "retry":
            {"non_retryable_errors": ["exit.3"]}}``; None for as the stack says.
        :raises NotFoundError: the stack allows the queue no such binding.
        :raises ConflictError: another binding of the queue serves one of them.
        :raises InvalidRequestError: the stack does not allow the URL, or it is no config.
        """
        body: dict[str, JsonValue] = {"job_types": [*job_types]}
        if endpoint is not None:
            body["endpoint"] = endpoint
        if config is not None:
            body["config"] = {**config}
        return await self._binding("put_binding", name, binding, body)

    async def delete_binding(self, name: str, binding: str) -> BindingEntry:
        """Forget what was registered for a binding: what the stack says holds again.

        :raises NotFoundError: the stack allows the queue no such binding, or none are registered.
        """
        return await self._binding("delete_binding", name, binding)

    async def suspend_binding(self, name: str, binding: str) -> BindingEntry:
        """Suspend a binding: its jobs wait until it is resumed.

        :raises NotFoundError: the stack allows the queue no such binding.
        """
        return await self._binding("suspend_binding", name, binding)

    async def resume_binding(self, name: str, binding: str) -> BindingEntry:
        """Resume a binding: new jobs are dispatched at once, those that waited within minutes.

        :raises NotFoundError: the stack allows the queue no such binding.
        """
        return await self._binding("resume_binding", name, binding)

    async def _binding(
        self,
        operation: str,
        queue: str,
        name: str,
        body: dict[str, JsonValue] | None = None,
    ) -> BindingEntry:
        answer = await self._ask(operation, queue=queue, name=name, body=body)
        return entry_of(BindingEntry, answer.values)

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
        body |= given(older_than=moment_text(older_than), cursor=cursor)
        values = (await self._ask("purge_queue", queue=name, body=body)).values
        return entry_of(Purged, values, cursor=text_in(values, "next_cursor"))


def _settings(values: Values) -> QueueSettings:
    state = text_in(values, "state") or "active"
    return entry_of(QueueSettings, values, state=state, own=object_in(values, "set"))
