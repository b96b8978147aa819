"""Cron jobs, as the client registers and looks after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ojs_aws.client.insertion import whole_job
from ojs_aws.domain.cron.bodies import OverlapPolicy, registration_body
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue


@dataclass(frozen=True, slots=True)
class CronJob:
    """A registered cron job.

    :ivar cron: the expression.
    :ivar next_run_at: RFC 3339; None while it is disabled.
    :ivar last_run_at: RFC 3339; None if it has never run.
    :ivar attributes: everything that the backend says of it.
    """

    name: str
    cron: str
    type: str
    timezone: str
    overlap_policy: str
    enabled: bool
    run_count: int
    next_run_at: str | None = None
    last_run_at: str | None = None
    description: str | None = None
    attributes: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """What became of a trigger by hand.

    :ivar job_id: the job that was enqueued; None when the overlap policy skipped it.
    :ivar reason: why it was skipped.
    """

    job_id: str | None
    reason: str | None = None


class CronTransport(Protocol):
    """The operations on cron jobs that a transport offers; entries as the backend answers them."""

    async def register(self, body: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Register a cron job, or change the one of this name."""

    async def get(self, name: str) -> Mapping[str, JsonValue]:
        """Read a cron job."""

    async def list(self, *, enabled: bool | None) -> Sequence[Mapping[str, JsonValue]]:
        """List all cron jobs by name."""

    async def set_enabled(self, name: str, *, enabled: bool) -> Mapping[str, JsonValue]:
        """Enable or disable a cron job."""

    async def delete(self, name: str) -> None:
        """Remove a cron job."""

    async def trigger(self, name: str) -> CronTrigger:
        """Run a cron job now."""


class CronJobs:
    """Cron jobs of the backend; every method raises the errors of ``ojs_aws.domain.errors``."""

    def __init__(self, transport: CronTransport) -> None:
        """Use the client's transport."""
        self._transport = transport

    async def register(  # noqa: PLR0913 - each of them is named
        self,
        name: str,
        cron: str,
        job: Job | str,
        args: Sequence[JsonValue] = (),
        *,
        timezone: str = "UTC",
        overlap_policy: OverlapPolicy = "skip",
        enabled: bool = True,
        description: str | None = None,
    ) -> CronJob:
        """Register a cron job, or change the one of this name. Applications do so at each start.

        :param cron: such as ``0 9 * * MON-FRI``, ``@hourly`` or ``@every 30m``.
        :param job: what is enqueued: a job, whose id does not matter, or a type with ``args``.
        :param timezone: an IANA name; the expression is read in local time.
        :param overlap_policy: what happens when the run before is still active.
        :raises InvalidRequestError: naming what is at fault, and the field of the expression.
        :raises TypeError: neither a job nor a type, or ``args`` beside a job.

        Example::

            await client.cron.register("report", "0 9 * * *", Job("report.make", ["daily"]))
        """
        body = registration_body(
            name,
            cron,
            whole_job(job, args, {}),
            timezone=timezone,
            overlap_policy=overlap_policy,
            enabled=enabled,
            description=description,
        )
        return cron_job(await self._transport.register(body))

    async def get(self, name: str) -> CronJob:
        """Read a cron job.

        :raises NotFoundError: there is none of this name.
        """
        return cron_job(await self._transport.get(name))

    async def list(self, *, enabled: bool | None = None) -> list[CronJob]:
        """All cron jobs by name.

        :param enabled: only those that are, or are not.
        """
        return [cron_job(entry) for entry in await self._transport.list(enabled=enabled)]

    async def pause(self, name: str) -> CronJob:
        """Disable a cron job; what it would have run meanwhile is not caught up.

        :raises NotFoundError: there is none of this name.
        """
        return cron_job(await self._transport.set_enabled(name, enabled=False))

    async def resume(self, name: str) -> CronJob:
        """Enable a cron job.

        :raises NotFoundError: there is none of this name.
        """
        return cron_job(await self._transport.set_enabled(name, enabled=True))

    async def delete(self, name: str) -> None:
        """Remove a cron job; its jobs stay.

        :raises NotFoundError: there is none of this name.
        """
        await self._transport.delete(name)

    async def trigger(self, name: str) -> CronTrigger:
        """Run a cron job now, under its overlap policy, also while it is disabled.

        Not sent again when the answer is lost: it would run twice.

        :raises NotFoundError: there is none of this name.
        """
        return await self._transport.trigger(name)


def cron_job(entry: Mapping[str, JsonValue]) -> CronJob:
    """A cron job from what the backend answers."""

    def text(name: str) -> str | None:
        value = entry.get(name)
        return value if isinstance(value, str) else None

    count = entry.get("run_count")
    return CronJob(
        name=text("name") or "",
        cron=text("cron") or text("expression") or "",
        type=text("type") or "",
        timezone=text("timezone") or "UTC",
        overlap_policy=text("overlap_policy") or "skip",
        enabled=entry.get("enabled") is True,
        run_count=count if isinstance(count, int) else 0,
        next_run_at=text("next_run_at"),
        last_run_at=text("last_run_at"),
        description=text("description"),
        attributes=dict(entry),
    )


def cron_trigger(answer: Mapping[str, JsonValue]) -> CronTrigger:
    """What a trigger's answer says."""
    job_id, reason = answer.get("job_id"), answer.get("reason")
    return CronTrigger(
        job_id if isinstance(job_id, str) else None, reason if isinstance(reason, str) else None
    )
