"""Find, read and change jobs as an operator (ojs-admin-api, 7 and 8)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, Literal, TypeAlias, Unpack

from ojs_aws.client.areas.area import Area, filter_texts, given
from ojs_aws.client.areas.entries import (
    BulkOutcome,
    JobBulkResult,
    JobDiagnosis,
    JobEntry,
    JobFilter,
    JobPage,
    JobReason,
)
from ojs_aws.client.transports.requests import (
    Values,
    entry_of,
    objects_in,
    page_of,
    text_in,
    texts_in,
    unwrapped,
)
from ojs_aws.domain.errors import JsonValue

BulkAction: TypeAlias = Literal["retry", "cancel", "delete"]

_BULK: Final[Mapping[BulkAction, str]] = {
    "retry": "bulk_retry_jobs",
    "cancel": "bulk_cancel_jobs",
    "delete": "bulk_delete_jobs",
}


class Jobs(Area):
    """Finds and changes jobs; every method raises the errors of ``ojs_aws.domain.errors``."""

    async def list(
        self,
        *,
        oldest_first: bool = False,
        limit: int = 50,
        cursor: str = "",
        **chosen: Unpack[JobFilter],
    ) -> JobPage:
        """List a page of jobs, queue by queue and list by list.

        :param cursor: from the page before, for the same filter.
        :param chosen: ``queue``, ``states``, ``type``, ``since``, ``until``, ``tag``, ``error``:
            see :class:`JobFilter`.
        """
        texts = filter_texts(JobFilter, chosen)
        query = {
            "state": texts.pop("states", ""),
            **texts,
            "order": "asc" if oldest_first else "",
            "limit": str(limit),
            "cursor": cursor,
        }
        values = (await self._ask("list_jobs", query=query)).values
        jobs = [entry_of(JobEntry, each) for each in objects_in(values, "items")]
        return page_of(JobPage, values, jobs)

    async def detail(self, job_id: str, *, events: bool = False) -> Mapping[str, JsonValue]:
        """Read everything that is known of a job: its members, and ``history``.

        :param events: its events from the log as well, as ``events``.
        :raises NotFoundError: there is no such job.
        """
        query = {"events": "true"} if events else {}
        values = (await self._ask("get_job_detail", job_id=job_id, query=query)).values
        return {**unwrapped(values, "job")}

    async def why(self, job_id: str) -> JobDiagnosis:
        """Ask why a job does not run now: what holds it back, and until when.

        :raises NotFoundError: there is no such job.
        """
        values = (await self._ask("why", job_id=job_id)).values
        return JobDiagnosis(
            state=text_in(values, "state"),
            reasons=[entry_of(JobReason, each) for each in objects_in(values, "reasons")],
            checked=texts_in(values, "checked"),
        )

    async def cancel(self, job_id: str) -> JobEntry:
        """Cancel a job.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it has ended.
        """
        return entry_of(JobEntry, (await self._ask("cancel_job", job_id=job_id)).values)

    async def retry(self, job_id: str) -> JobEntry:
        """Make a discarded job available again, with attempt 0; a retryable one at once.

        Not sent twice: it may have died again meanwhile.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is in another state.
        """
        return entry_of(JobEntry, (await self._ask("retry_job", job_id=job_id)).values)

    async def reprioritise(self, job_id: str, priority: int) -> JobEntry:
        """Change the priority of a job that is available, scheduled or pending.

        :param priority: -100 to 100; the higher is served first.
        :raises InvalidRequestError: another priority.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is in another state.
        """
        body: Mapping[str, JsonValue] = {"priority": priority}
        return entry_of(JobEntry, (await self._ask("change_job", job_id=job_id, body=body)).values)

    async def change_some(
        self,
        action: BulkAction,
        *,
        dry_run: bool = False,
        limit: int = 100,
        cursor: str = "",
        as_of: str = "",
        **chosen: Unpack[JobFilter],
    ) -> JobBulkResult:
        """Retry, cancel or delete the next jobs of a filter, at most a hundred; go on by cursor.

        :param dry_run: change nothing, and say what would be changed; up to a thousand jobs.
        :param as_of: of the dry run: jobs that came into their state after it are left alone.
        :param chosen: as for :meth:`list`.
        :raises InvalidRequestError: no filter, or a state that the action is impossible in.
        """
        return await self._changed_some(
            _BULK[action],
            {},
            dry_run=dry_run,
            limit=limit,
            cursor=cursor,
            as_of=as_of,
            chosen=chosen,
        )

    async def change_named(self, action: BulkAction, job_ids: Sequence[str]) -> JobBulkResult:
        """Retry, cancel or delete the jobs with these ids: as far as their states allow it.

        So exactly the jobs of a dry run are changed, even those that began another attempt since.

        :param job_ids: up to a hundred.
        :raises InvalidRequestError: no ids, or one that is named twice.
        """
        body: Mapping[str, JsonValue] = {"job_ids": [*job_ids], "confirm": True}
        return _result_of((await self._ask(_BULK[action], body=body)).values)

    async def reprioritise_some(
        self,
        priority: int,
        *,
        dry_run: bool = False,
        limit: int = 100,
        cursor: str = "",
        as_of: str = "",
        **chosen: Unpack[JobFilter],
    ) -> JobBulkResult:
        """Give the next jobs of a filter that wait to begin a priority; go on by cursor.

        Jobs that have it already are left out. Parameters as of :meth:`change_some`.

        :param priority: -100 to 100; the higher is served first.
        :raises InvalidRequestError: another priority, no filter, or another state.
        """
        return await self._changed_some(
            "bulk_reprioritise_jobs",
            {"priority": priority},
            dry_run=dry_run,
            limit=limit,
            cursor=cursor,
            as_of=as_of,
            chosen=chosen,
        )

    async def _changed_some(
        self,
        operation: str,
        more: Mapping[str, JsonValue],
        *,
        dry_run: bool,
        limit: int,
        cursor: str,
        as_of: str,
        chosen: JobFilter,
    ) -> JobBulkResult:
        states = [*chosen.pop("states", ())]
        wanted: dict[str, JsonValue] = {**filter_texts(JobFilter, chosen), **given(state=[*states])}
        body: dict[str, JsonValue] = {"filter": wanted, "limit": limit, **given(cursor=cursor)}
        body |= {"dry_run" if dry_run else "confirm": True, **given(as_of=as_of), **more}
        # A dry run changes nothing, so that it may be sent again; a priority is what it is.
        again = dry_run or None
        values = (await self._ask(operation, body=body, repeatable=again)).values
        return _result_of(values)

    async def reprioritise_all(
        self,
        priority: int,
        *,
        dry_run: bool = False,
        as_of: str = "",
        **chosen: Unpack[JobFilter],
    ) -> AsyncIterator[JobBulkResult]:
        """Give all jobs of a filter a priority, request by request, as :meth:`change_all` does."""
        change = partial(self.reprioritise_some, priority)
        async for part in _in_parts(change, chosen, dry_run=dry_run, as_of=as_of):
            yield part

    async def change_all(
        self,
        action: BulkAction,
        *,
        dry_run: bool = False,
        as_of: str = "",
        **chosen: Unpack[JobFilter],
    ) -> AsyncIterator[JobBulkResult]:
        """Change all jobs of a filter, request by request; the outcome of each is yielded.

        To change the jobs that a dry run counted and no others, pass its ``as_of``. Without it,
        jobs that come into their state meanwhile may be met or not.

        :param chosen: as for :meth:`list`.
        """
        change = partial(self.change_some, action)
        async for part in _in_parts(change, chosen, dry_run=dry_run, as_of=as_of):
            yield part


def _result_of(values: Values) -> JobBulkResult:
    """Return what became of each job of a bulk change."""
    return entry_of(
        JobBulkResult,
        values,
        succeeded=texts_in(values, "job_ids"),
        failed=[
            entry_of(BulkOutcome, each, reason=text_in(each, "error"))
            for each in objects_in(values, "errors")
        ],
        cursor=text_in(values, "next_cursor"),
    )


async def _in_parts(
    change: Callable[..., Awaitable[JobBulkResult]],
    chosen: JobFilter,
    *,
    dry_run: bool,
    as_of: str,
) -> AsyncIterator[JobBulkResult]:
    """Change the jobs of a filter request by request, all as of the first one's instant."""
    chosen["states"] = [*chosen.get("states", ())]
    limit, cursor = 1000 if dry_run else 100, ""
    while True:
        result = await change(dry_run=dry_run, limit=limit, cursor=cursor, as_of=as_of, **chosen)
        yield result
        cursor, as_of = result.cursor, as_of or result.as_of
        if not cursor:
            return
