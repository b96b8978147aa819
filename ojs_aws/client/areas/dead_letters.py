"""Find and retry dead letters: discarded jobs that their retry policy kept (ojs-dead-letter).

Read and retry dead letters, list queues, and read health: what operators ask first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, Unpack

from ojs_aws.client.areas.area import Area, filter_texts, given
from ojs_aws.client.areas.entries import BulkOutcome
from ojs_aws.client.areas.queues import Queues
from ojs_aws.client.results import DeadLetters
from ojs_aws.client.transports.requests import (
    RouteRequest,
    ask_to_change,
    objects_in,
    page_of,
    text_in,
)
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobState


class DeadLetterFilter(TypedDict, total=False):
    """Which dead letters are meant: those that match all that is said; all without anything.

    ``error_type`` is the type of the latest error. They were discarded ``since`` an instant or
    later, and before ``until``: aware datetimes.
    """

    queue: str
    type: str
    error_type: str
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class BulkResult:
    """Holds the outcome of a bulk operation: at most a hundred jobs at a time.

    :ivar cursor: where to go on; empty when no more dead letters match.
    :ivar as_of: of a dry run: the instant whose dead letters it counted (RFC 3339).
    """

    outcomes: Sequence[BulkOutcome]
    cursor: str = ""
    as_of: str = ""

    @property
    def done(self) -> int:
        """Return how many jobs were changed."""
        return sum(outcome.status == "done" for outcome in self.outcomes)

    @property
    def matched(self) -> int:
        """Return how many jobs a dry run would change."""
        return sum(outcome.status == "matched" for outcome in self.outcomes)


class DeadLetterJobs(Area):
    """Inspects, retries and removes dead letters: ``client.dead_letter``."""

    async def list(
        self, *, limit: int = 50, cursor: str = "", **chosen: Unpack[DeadLetterFilter]
    ) -> DeadLetters:
        """List a page of dead letters, newest first within a queue.

        :param cursor: from the page before. A page may be short, or empty, and yet have one.
        :param chosen: ``queue``, ``type``, ``error_type``, ``since``, ``until``: see
            :class:`DeadLetterFilter`.
        """
        wanted = filter_texts(DeadLetterFilter, chosen)
        query = {**wanted, "limit": str(limit), "cursor": cursor}
        answer = await self._ask("list_dead_letters", query=query)
        return page_of(DeadLetters, answer.values, answer.jobs)

    async def get(self, job_id: str) -> Job:
        """Read a discarded job with its whole history.

        :raises NotFoundError: there is no such job, or it is not discarded.
        """
        return (await self._ask("get_dead_letter", job_id=job_id)).job

    async def stats(self) -> Mapping[str, JsonValue]:
        """Count the dead letters: ``total``, ``by_queue``, ``by_error_type`` and more."""
        return (await self._ask("dead_letter_stats")).values

    async def retry(self, job_id: str, override: Mapping[str, JsonValue] | None = None) -> Job:
        """Make a discarded job available again: attempt 0, its errors cleared.

        :param override: changes to its envelope: ``queue``, ``args``, ``priority``; ``meta`` and
            ``retry`` are merged.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        body: dict[str, JsonValue] = {"override": {**override}} if override else {}
        return (await self._ask("retry_dead_letter", job_id=job_id, body=body)).job

    async def delete(self, job_id: str) -> None:
        """Remove a discarded job for good.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        await self._ask("delete_dead_letter", job_id=job_id)

    async def retry_many(
        self,
        *,
        ids: Sequence[str] = (),
        limit: int = 100,
        cursor: str = "",
        dry_run: bool = False,
        as_of: str = "",
        **chosen: Unpack[DeadLetterFilter],
    ) -> BulkResult:
        """Enqueue many dead letters again, at most 100: the named ones, else those that match.

        With neither ids nor filter: all, step by step.

        :param dry_run: change nothing, and say what would be changed; up to a thousand jobs.
        :param as_of: of the dry run: jobs that were discarded after it are left alone.
        :param chosen: as for :meth:`list`.
        """
        body = _bulk_body(ids, limit, cursor, chosen, as_of, dry_run=dry_run)
        return await self._change_many("retry_dead_letters", "retried", body)

    async def delete_many(
        self,
        *,
        ids: Sequence[str] = (),
        limit: int = 100,
        cursor: str = "",
        dry_run: bool = False,
        as_of: str = "",
        **chosen: Unpack[DeadLetterFilter],
    ) -> BulkResult:
        """Remove many dead letters for good, chosen like those of :meth:`retry_many`."""
        body = _bulk_body(ids, limit, cursor, chosen, as_of, dry_run=dry_run)
        return await self._change_many("purge_dead_letters", "deleted", body)

    async def _change_many(
        self, operation: str, done: str, body: Mapping[str, JsonValue]
    ) -> BulkResult:
        """Change many jobs.

        :param done: the status of a job that was changed.
        """
        # A dry run changes nothing, so that it may be sent again.
        is_dry = "dry_run" in body
        values = (await self._ask(operation, body=body, repeatable=is_dry)).values
        outcomes = [
            BulkOutcome(
                text_in(each, "id"),
                "done" if each.get("status") == done else text_in(each, "status"),
                text_in(each, "reason"),
            )
            for each in objects_in(values, "results")
        ]
        return BulkResult(outcomes, text_in(values, "next_cursor"), text_in(values, "as_of"))


def _bulk_body(
    ids: Sequence[str],
    limit: int,
    cursor: str,
    chosen: DeadLetterFilter,
    as_of: str,
    *,
    dry_run: bool,
) -> dict[str, JsonValue]:
    """Return the body of a bulk operation."""
    wanted = filter_texts(DeadLetterFilter, chosen)
    body: dict[str, JsonValue] = {"ids": [*ids]} if ids else {"filter": {**wanted}}
    body["dry_run" if dry_run else "confirm"] = True
    return {**body, "limit": limit, **given(cursor=cursor, as_of=as_of)}


class Admin(Area):
    """Reads and retries dead letters, lists and pauses queues, and reads health."""

    async def dead_letters(
        self, queue: str | None = None, *, limit: int = 50, cursor: str = ""
    ) -> DeadLetters:
        """List a page of discarded jobs that their retry policy kept.

        :param cursor: from the page before.
        """
        letters = DeadLetterJobs(self._transport, self._timer)
        return await letters.list(queue=queue or "", limit=limit, cursor=cursor)

    async def retry_dead_letter(self, job_id: str) -> Job:
        """Make a discarded job available again: attempt 0, its errors cleared.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        request = RouteRequest(
            operation="retry_dead_letter", path={"job_id": job_id}, repeatable=True
        )
        return await ask_to_change(self._transport, request, JobState.DISCARDED)

    async def delete_dead_letter(self, job_id: str) -> None:
        """Remove a discarded job for good.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        await DeadLetterJobs(self._transport, self._timer).delete(job_id)

    async def queues(self) -> list[dict[str, JsonValue]]:
        """List the queues with all that the backend says of each; ``name`` is always there."""
        return [{**each.described} for each in await Queues(self._transport, self._timer).list()]

    async def health(self) -> dict[str, JsonValue]:
        """Return the health of the backend; ``status`` is always there.

        :raises BackendError: it could not be reached.
        """
        # What is asked for is how the server is now: it is not asked again.
        answer = await self._transport.ask(RouteRequest(operation="health", repeatable=False))
        return answer.values if "status" in answer.members else answer.or_raise().values
