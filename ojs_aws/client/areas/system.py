"""Read statistics and settings of the whole deployment (ojs-admin-api, 10 and 12)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ojs_aws.client.areas.area import Area, moment_text
from ojs_aws.client.transports.answers import entry_of, objects_in, texts_in
from ojs_aws.domain.errors import JsonValue


@dataclass(frozen=True, slots=True)
class RepairPart:
    """Holds the outcome of one request of a repair, or of its dry run.

    :ivar queues: queues that are done with it.
    :ivar ready: messages for jobs that may run now.
    :ivar waiting: delayed messages for jobs that are due within 15 minutes.
    :ivar paused: ready jobs of paused queues: they get messages when the queue is resumed.
    :ivar workflows: running workflows that were looked at.
    """

    queues: Sequence[str]
    ready: int
    waiting: int
    paused: int
    workflows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Describes the caller as the server knows it.

    :ivar id: of the credential; empty where access is open.
    :ivar scopes: what it may do, such as ``producer``.
    :ivar queues: names of queues, or prefixes that end in ``*``; empty for all.
    :ivar types: the same for job types.
    """

    id: str
    name: str
    scopes: Sequence[str]
    queues: Sequence[str]
    types: Sequence[str]


class System(Area):
    """Reads statistics and settings of the backend: ``client.system``."""

    async def stats(self) -> Mapping[str, JsonValue]:
        """Count all jobs (``jobs``, by state), ``workers``, ``throughput`` and more.

        ``is_exact`` is False where a number is at least what is said.
        """
        return (await self._ask("show_stats")).values

    async def overview(self) -> Mapping[str, JsonValue]:
        """Read what operators look at first, in a few calls whatever the number of queues.

        ``totals`` is what :meth:`stats` answers; ``queues`` has the hundred queues with the most
        available jobs, each with ``counts``, ``depth`` and ``throughput``; ``sweep`` its health.
        """
        return (await self._ask("show_overview")).values

    async def history(
        self,
        period: str = "5m",
        *,
        queue: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Sequence[Mapping[str, JsonValue]]:
        """Count the jobs ``completed`` and ``failed`` in each period, the oldest one first.

        :param period: ``1m``, ``5m``, ``1h`` or ``1d``.
        :param since: an hour ago by default.
        :raises InvalidRequestError: too many points for one request.
        """
        query = {"period": period, "queue": queue}
        query |= {"since": moment_text(since), "until": moment_text(until)}
        return objects_in((await self._ask("show_stats_history", query=query)).values, "data")

    async def config(self) -> Mapping[str, JsonValue]:
        """Read the ``settings`` of the backend and its ``implementation``; no secrets."""
        return (await self._ask("show_config")).values

    async def whoami(self) -> Caller:
        """Read what the server knows of the caller: name, scopes and bounds."""
        values = (await self._ask("whoami")).values
        lists = {name: texts_in(values, name) for name in ("scopes", "queues", "types")}
        return entry_of(Caller, values, **lists)

    async def repair(self, *, dry_run: bool = False) -> AsyncIterator[RepairPart]:
        """Send the messages again that SQS lost, after a restore; the outcome of each is yielded.

        Needs an administrator's key. Doing it again is harmless.
        """
        async for values in self._parts("repair", {"dry_run": dry_run}):
            yield entry_of(RepairPart, values)
