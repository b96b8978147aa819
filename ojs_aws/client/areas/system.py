"""Read statistics and settings of the whole deployment (ojs-admin-api, 10 and 12)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ojs_aws.client.areas.area import Area, moment_text
from ojs_aws.client.transports.requests import entry_of, object_in, objects_in, text_in, texts_in
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Describes one thing that needs attention.

    :ivar code: names it for programs, such as ``sweep_late``.
    :ivar severity: ``warning`` or ``error``.
    :ivar check: what was looked at when it was found.
    :ivar message: one or two sentences for people.
    :ivar hint: what to do: a command or a sentence.
    :ivar data: the values that the message was made of.
    """

    code: str
    severity: str
    check: str
    message: str
    hint: str
    data: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsReport:
    """Holds what the server found, the most severe findings first.

    :ivar as_of: the server's time (RFC 3339).
    :ivar checks: what was looked at, by name, with a sentence about its state.
    """

    as_of: str
    findings: Sequence[Finding]
    checks: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """Counts the failures of one error type and one kind of message.

    :ivar message: with ``*`` for values such as numbers, ids and quoted texts.
    :ivar example: the message of the last failure, cut.
    :ivar count: at least so many.
    :ivar first_seen: RFC 3339, as ``last_seen`` is.
    :ivar queues: those in which it occurred.
    :ivar job_ids: of one of the first and one of the last jobs that failed so.
    """

    type: str
    message: str
    example: str
    count: int
    first_seen: str
    last_seen: str
    queues: Sequence[str]
    job_ids: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """Says how jobs failed, the largest group first.

    :ivar since: when the first hour began that is counted (RFC 3339).
    :ivar ungrouped: failures that belong to none of the groups; at least so many.
    :ivar has_more: there are more groups, or older ones.
    """

    since: str
    until: str
    groups: Sequence[ErrorGroup]
    ungrouped: int
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyEntry:
    """Describes an API key; its secret is known to nobody but its owner.

    :ivar state: ``valid``, ``expired`` or ``revoked``.
    :ivar queues: names of queues, or prefixes that end in ``*``; empty for all.
    :ivar types: the same for job types.
    :ivar expires_at: RFC 3339, as all instants here; empty for never.
    :ivar revoked_at: empty if it is not revoked.
    """

    id: str
    name: str
    state: str
    scopes: Sequence[str]
    queues: Sequence[str]
    types: Sequence[str]
    created_at: str
    expires_at: str = ""
    revoked_at: str = ""


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
        available jobs, each with ``counts``, ``depth`` and ``throughput``; ``sweep`` its health,
        and ``events`` how late changes are counted. ``latency_ms`` and ``duration_ms`` have
        percentiles of how long jobs waited and ran in the last five to ten minutes, of all queues
        and of each. ``oldest_available_at`` is the longest wait that the last sweep found.
        """
        return (await self._ask("show_overview")).values

    async def findings(self, *, advice: bool = False) -> FindingsReport:
        """Ask what needs attention: late sweeps, old jobs, failures, silent workers.

        :param advice: ask which wide queues have far more lines than they need, too: the check
            ``lines``.
        """
        query = {"advice": "true" if advice else ""}
        values = (await self._ask("show_findings", query=query)).values
        checks = objects_in(values, "checks")
        return FindingsReport(
            as_of=text_in(values, "as_of"),
            findings=[entry_of(Finding, each) for each in objects_in(values, "findings")],
            checks={text_in(each, "name"): text_in(each, "message") for each in checks},
        )

    async def errors(
        self, *, queue: str = "", since: datetime | None = None, limit: int = 50
    ) -> ErrorReport:
        """Group the failures of jobs by error type and kind of message.

        :param since: counted from the begin of its hour; an hour ago by default, at most a week.
        :raises InvalidRequestError: it is longer ago.
        """
        query = {"queue": queue, "since": moment_text(since), "limit": str(limit)}
        values = (await self._ask("show_errors", query=query)).values
        groups = [entry_of(ErrorGroup, each) for each in objects_in(values, "groups")]
        return entry_of(ErrorReport, values, groups=groups)

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

    async def api_keys(self) -> Sequence[ApiKeyEntry]:
        """List the API keys by id; needs an administrator's key.

        :raises NotFoundError: the deployment finds its callers in another way.
        """
        found = await self._ask_all("list_api_keys", "api_keys")
        return [entry_of(ApiKeyEntry, each) for each in found]

    async def revoke_api_key(self, key_id: str) -> ApiKeyEntry:
        """Revoke an API key; the gateway may accept it for some minutes more.

        :raises NotFoundError: there is no such key.
        :raises ConflictError: somebody else changed it at the same time.
        """
        values = (await self._ask("revoke_api_key", key_id=key_id)).values
        return entry_of(ApiKeyEntry, object_in(values, "api_key"))

    async def repair(self, *, dry_run: bool = False) -> AsyncIterator[RepairPart]:
        """Send the messages again that SQS lost, after a restore; the outcome of each is yielded.

        Needs an administrator's key. Doing it again is harmless.
        """
        async for values in self._parts("repair", {"dry_run": dry_run}):
            yield entry_of(RepairPart, values)
