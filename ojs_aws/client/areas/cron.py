"""Register, list, pause and trigger cron jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Unpack

from ojs_aws.client.areas.area import Area
from ojs_aws.client.insertion import AsJob, whole_job
from ojs_aws.client.transports.requests import Answer, Values, entry_of, text_in, unwrapped
from ojs_aws.domain.cron import CronOptions, registration_body
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue


@dataclass(frozen=True, slots=True)
class CronJob:
    """Represents a registered cron job.

    :ivar cron: the expression.
    :ivar next_run_at: RFC 3339; None while it is disabled.
    :ivar last_run_at: RFC 3339; None if it has never run.
    :ivar next_runs: the next five runs, from :meth:`CronJobs.get` only.
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
    next_runs: Sequence[str] = ()
    attributes: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """Holds the outcome of a trigger by hand.

    :ivar job_id: the job that was enqueued; None when the overlap policy skipped it.
    :ivar reason: why it was skipped.
    """

    job_id: str | None
    reason: str | None = None


class CronJobs(Area):
    """Looks after cron jobs; every method raises the errors of ``ojs_aws.domain.errors``."""

    async def register(
        self,
        name: str,
        cron: str,
        job: Job | AsJob | str,
        args: Sequence[JsonValue] = (),
        **options: Unpack[CronOptions],
    ) -> CronJob:
        """Register a cron job, or change the one of this name. Applications do so at each start.

        :param cron: such as ``0 9 * * MON-FRI``, ``@hourly`` or ``@every 30m``.
        :param job: what is enqueued: a job, whose id does not matter, a call of a typed job, or a
            type with ``args``.
        :param options: ``timezone`` (an IANA name, UTC by default; the expression is read in local
            time), ``overlap_policy`` (what happens when the run before is still active),
            ``enabled`` and ``description``.
        :raises InvalidRequestError: naming what is at fault, and the field of the expression.
        :raises TypeError: neither a job nor a type, or ``args`` beside a job.

        Example::

            await client.cron.register("report", "0 9 * * *", Job("report.make", ["daily"]))
        """
        body = registration_body(name, cron, whole_job(job, args, {}), **options)
        return _entry(await self._ask("register_cron", body=body))

    async def get(self, name: str) -> CronJob:
        """Read a cron job.

        :raises NotFoundError: there is none of this name.
        """
        return _entry(await self._ask("get_cron", name=name))

    async def list(self, *, enabled: bool | None = None) -> list[CronJob]:
        """List all cron jobs by name.

        :param enabled: only those that are, or are not.
        """
        query = {"enabled": "" if enabled is None else str(enabled).lower()}
        listed = await self._ask_all("list_crons", "cron_jobs", "entries", query=query)
        return [cron_job(each) for each in listed]

    async def pause(self, name: str) -> CronJob:
        """Disable a cron job; the runs that it misses are not made up for.

        :raises NotFoundError: there is none of this name.
        """
        return _entry(await self._ask("change_cron", name=name, body={"enabled": False}))

    async def resume(self, name: str) -> CronJob:
        """Enable a cron job.

        :raises NotFoundError: there is none of this name.
        """
        return _entry(await self._ask("change_cron", name=name, body={"enabled": True}))

    async def delete(self, name: str) -> None:
        """Remove a cron job; its jobs stay.

        :raises NotFoundError: there is none of this name.
        """
        await self._ask("delete_cron", name=name)

    async def trigger(self, name: str) -> CronTrigger:
        """Run a cron job now, under its overlap policy, also while it is disabled.

        Not sent again when the answer is lost: it would run twice.

        :raises NotFoundError: there is none of this name.
        """
        return entry_of(CronTrigger, (await self._ask("trigger_cron", name=name)).values)


def cron_job(values: Values) -> CronJob:
    """Return a cron job from what the backend says of it."""
    return entry_of(
        CronJob,
        values,
        cron=text_in(values, "cron") or text_in(values, "expression"),
        timezone=text_in(values, "timezone") or "UTC",
        overlap_policy=text_in(values, "overlap_policy") or "skip",
        attributes=dict(values),
    )


def _entry(answer: Answer) -> CronJob:
    return cron_job(unwrapped(answer.values, "cron_job", "cron"))
