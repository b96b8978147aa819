"""Workers and dead letters straight on DynamoDB, for operators inside AWS.

The services are called in threads, since botocore blocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from ojs_aws.client.dead_letter import BulkOutcome, BulkResult, Chosen
from ojs_aws.client.results import DeadLetters
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import Instant, format_instant, parse_timestamp
from ojs_aws.services.backend import Backend
from ojs_aws.services.dead_letters.bulk import BulkReport
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.jobs.render import render_job
from ojs_aws.services.workers.service import Selection, directive_of, render_worker


class DirectWorkers:
    """The port WorkersTransport over the services."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._backend = backend

    async def list(self, limit: int, cursor: str) -> Mapping[str, JsonValue]:
        """List a page."""
        page = await asyncio.to_thread(self._backend.workers.list, limit, cursor)
        now = self._backend.clock.now()
        items: list[JsonValue] = [{**render_worker(worker, now)} for worker in page.workers]
        return {
            "items": items,
            "summary": {**page.summary},
            "pagination": {"next_cursor": page.cursor},
        }

    async def get(self, worker_id: str) -> Mapping[str, JsonValue]:
        """Read one."""
        worker = await asyncio.to_thread(self._backend.workers.get, worker_id)
        return render_worker(worker, self._backend.clock.now())

    async def direct(self, worker_id: str, action: str) -> Mapping[str, JsonValue]:
        """Direct one."""
        directive = directive_of(action)
        worker = await asyncio.to_thread(self._backend.workers.direct, worker_id, directive)
        return render_worker(worker, self._backend.clock.now()) | {"directive": str(directive)}

    async def direct_all(
        self, action: str, chosen: Mapping[str, JsonValue]
    ) -> Mapping[str, JsonValue]:
        """Direct several."""
        done = await asyncio.to_thread(
            self._backend.workers.direct_all,
            Selection(queue=str(chosen.get("queue", "")), label=str(chosen.get("label", ""))),
            directive_of(action),
            str(chosen.get("cursor", "")),
        )
        return {
            "workers": list(done.told),
            "refused": list(done.refused),
            "next_cursor": done.cursor,
        }

    async def deregister(self, worker_id: str) -> Mapping[str, JsonValue]:
        """Remove one."""
        jobs = await asyncio.to_thread(self._backend.workers.deregister, worker_id)
        return {"jobs_requeued": list(jobs)}


class DirectDeadLetters:
    """The port DeadLetterTransport over the services."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._backend = backend

    async def list(self, wanted: Mapping[str, str], limit: int, cursor: str) -> DeadLetters:
        """List a page."""
        page = await asyncio.to_thread(
            self._backend.dead_letters.list, _filter(wanted), limit, cursor
        )
        jobs = [_job(record) for record in page.jobs]
        return DeadLetters(jobs, page.cursor, page.total, page.is_exact)

    async def get(self, job_id: str) -> Job:
        """Read one."""
        return _job(await asyncio.to_thread(self._backend.dead_letters.get, job_id))

    async def stats(self) -> Mapping[str, JsonValue]:
        """Count them."""
        stats = await asyncio.to_thread(self._backend.dead_letters.stats)
        return {
            "total": stats.total,
            "total_is_exact": stats.is_exact,
            "by_queue": {**stats.by_queue},
            "by_error_type": {**stats.by_error_type},
            "sampled": stats.sampled,
            "oldest_at": None if stats.oldest_at is None else format_instant(stats.oldest_at),
            "newest_at": None if stats.newest_at is None else format_instant(stats.newest_at),
        }

    async def retry(self, job_id: str, override: Mapping[str, JsonValue]) -> Job:
        """Enqueue one again."""
        retry = self._backend.dead_letters.retry
        return _job(await asyncio.to_thread(retry, job_id, override or None))

    async def delete(self, job_id: str) -> None:
        """Remove one."""
        await asyncio.to_thread(self._backend.dead_letters.delete, job_id)

    async def retry_many(self, chosen: Chosen, limit: int, cursor: str) -> BulkResult:
        """Enqueue many again."""
        return await _many(self._backend.dead_letter_bulk.retry, chosen, limit, cursor)

    async def delete_many(self, chosen: Chosen, limit: int, cursor: str) -> BulkResult:
        """Remove many."""
        return await _many(self._backend.dead_letter_bulk.delete, chosen, limit, cursor)


async def _many(
    change: Callable[[DeadLetterFilter | list[str], int, str], BulkReport],
    chosen: Chosen,
    limit: int,
    cursor: str,
) -> BulkResult:
    ids, wanted = chosen.get("ids"), chosen.get("filter")
    texts = {name: str(value) for name, value in wanted.items()} if isinstance(wanted, dict) else {}
    which = [str(item) for item in ids] if isinstance(ids, list) else _filter(texts)
    report = await asyncio.to_thread(change, which, limit, cursor)
    outcomes = [BulkOutcome(o.job_id, str(o.status), o.reason) for o in report.outcomes]
    return BulkResult(outcomes, report.cursor)


def _filter(wanted: Mapping[str, str]) -> DeadLetterFilter:
    def instant(name: str) -> Instant | None:
        return parse_timestamp(wanted[name], name) if name in wanted else None

    return DeadLetterFilter(
        queue=wanted.get("queue", ""),
        type=wanted.get("type", ""),
        error_type=wanted.get("error_type", ""),
        since=instant("since"),
        until=instant("until"),
    )


def _job(record: JobRecord) -> Job:
    return Job.from_members(render_job(record))
