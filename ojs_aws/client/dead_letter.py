"""Dead letters, for operators: discarded jobs that their retry policy kept (ojs-dead-letter)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ojs_aws.client.results import DeadLetters
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import format_instant, instant_of

Chosen = Mapping[str, JsonValue]
"""A filter (``queue``, ``type``, ``error_type``, ``since``, ``until``), or ``ids``."""


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """What became of one job.

    :ivar status: ``done``, ``skipped`` (no longer discarded), ``not_found``, or ``failed`` (whether
        it took effect may be unknown).
    """

    job_id: str
    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What a bulk operation did, at most a hundred jobs at a time.

    :ivar cursor: where to go on; empty when no more dead letters match.
    """

    outcomes: Sequence[BulkOutcome]
    cursor: str = ""

    @property
    def done(self) -> int:
        """How many jobs were changed."""
        return sum(outcome.status == "done" for outcome in self.outcomes)


class DeadLetterTransport(Protocol):
    """How a client reaches the operations on dead letters."""

    async def list(self, wanted: Mapping[str, str], limit: int, cursor: str) -> DeadLetters:
        """A page."""

    async def get(self, job_id: str) -> Job:
        """One dead letter."""

    async def stats(self) -> Mapping[str, JsonValue]:
        """Counts by queue and by error."""

    async def retry(self, job_id: str, override: Mapping[str, JsonValue]) -> Job:
        """Enqueue one again."""

    async def delete(self, job_id: str) -> None:
        """Remove one."""

    async def retry_many(self, chosen: Chosen, limit: int, cursor: str) -> BulkResult:
        """Enqueue many again."""

    async def delete_many(self, chosen: Chosen, limit: int, cursor: str) -> BulkResult:
        """Remove many."""


class DeadLetterJobs:
    """Inspects, retries and removes dead letters: ``client.dead_letter``."""

    def __init__(self, transport: DeadLetterTransport) -> None:
        """Use the client's transport."""
        self._transport = transport

    async def list(  # noqa: PLR0913 - each of them is optional and named
        self,
        *,
        queue: str = "",
        type: str = "",  # noqa: A002 - the specification's name
        error_type: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str = "",
    ) -> DeadLetters:
        """List a page of dead letters, newest first within a queue.

        :param error_type: type of the latest error.
        :param since: discarded at this instant or later; an aware datetime.
        :param cursor: from the page before. A page may be short, or empty, and yet have one.
        """
        wanted = _filter(queue, type, error_type, since, until)
        return await self._transport.list(wanted, limit, cursor)

    async def get(self, job_id: str) -> Job:
        """Read a discarded job with its whole history.

        :raises NotFoundError: there is no such job, or it is not discarded.
        """
        return await self._transport.get(job_id)

    async def stats(self) -> Mapping[str, JsonValue]:
        """Count the dead letters: ``total``, ``by_queue``, ``by_error_type`` and more."""
        return await self._transport.stats()

    async def retry(self, job_id: str, override: Mapping[str, JsonValue] | None = None) -> Job:
        """Make a discarded job available again: attempt 0, its errors cleared.

        :param override: changes to its envelope: ``queue``, ``args``, ``priority``; ``meta`` and
            ``retry`` are merged.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        return await self._transport.retry(job_id, override or {})

    async def delete(self, job_id: str) -> None:
        """Remove a discarded job for good.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        await self._transport.delete(job_id)

    async def retry_many(  # noqa: PLR0913 - each of them is optional and named
        self,
        *,
        ids: Sequence[str] = (),
        queue: str = "",
        type: str = "",  # noqa: A002
        error_type: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        cursor: str = "",
    ) -> BulkResult:
        """Enqueue many dead letters again, at most 100: the named ones, else those that match.

        With neither ids nor filter: all, step by step.
        """
        chosen = _chosen(ids, _filter(queue, type, error_type, since, until))
        return await self._transport.retry_many(chosen, limit, cursor)

    async def delete_many(  # noqa: PLR0913 - each of them is optional and named
        self,
        *,
        ids: Sequence[str] = (),
        queue: str = "",
        type: str = "",  # noqa: A002
        error_type: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        cursor: str = "",
    ) -> BulkResult:
        """Remove many dead letters for good, chosen like those of :meth:`retry_many`."""
        chosen = _chosen(ids, _filter(queue, type, error_type, since, until))
        return await self._transport.delete_many(chosen, limit, cursor)


def _filter(
    queue: str, kind: str, error_type: str, since: datetime | None, until: datetime | None
) -> dict[str, str]:
    wanted = {"queue": queue, "type": kind, "error_type": error_type}
    for name, moment in (("since", since), ("until", until)):
        if moment is not None:
            wanted[name] = format_instant(instant_of(moment))
    return {name: value for name, value in wanted.items() if value}


def _chosen(ids: Sequence[str], wanted: Mapping[str, str]) -> Chosen:
    return {"ids": list(ids)} if ids else {"filter": {**wanted}}
