"""Workers and dead letters over HTTP (ojs-admin-api, 9; ojs-dead-letter, 10)."""

from __future__ import annotations

from collections.abc import Mapping

from ojs_aws.client.connection import Answer, HttpConnection, segment
from ojs_aws.client.dead_letter import BulkOutcome, BulkResult, Chosen
from ojs_aws.client.results import DeadLetters
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import ANY_DEPTH, encode, parse_object

WORKERS = "/admin/workers"
DEAD_LETTER = "/dead-letter"


class HttpWorkers:
    """The port WorkersTransport over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use the transport's connection."""
        self._connection = connection

    async def list(self, limit: int, cursor: str) -> Mapping[str, JsonValue]:
        """GET /admin/workers."""
        query = {"limit": str(limit)} | ({"cursor": cursor} if cursor else {})
        return _values(await self._connection.request("GET", WORKERS, query=query))

    async def get(self, worker_id: str) -> Mapping[str, JsonValue]:
        """GET /admin/workers/:id."""
        return _values(await self._connection.request("GET", f"{WORKERS}/{segment(worker_id)}"))

    async def direct(self, worker_id: str, action: str) -> Mapping[str, JsonValue]:
        """POST /admin/workers/:id/:action; twice is the same as once."""
        path = f"{WORKERS}/{segment(worker_id)}/{action}"
        return _values(await self._connection.request("POST", path, encode({})))

    async def direct_all(
        self, action: str, chosen: Mapping[str, JsonValue]
    ) -> Mapping[str, JsonValue]:
        """POST /admin/workers/:action; twice is the same as once."""
        path = f"{WORKERS}/{action}"
        return _values(await self._connection.request("POST", path, encode({**chosen})))

    async def deregister(self, worker_id: str) -> Mapping[str, JsonValue]:
        """DELETE /admin/workers/:id."""
        path = f"{WORKERS}/{segment(worker_id)}"
        return _values(await self._connection.request("DELETE", path, repeatable=False))


class HttpDeadLetters:
    """The port DeadLetterTransport over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use the transport's connection."""
        self._connection = connection

    async def list(self, wanted: Mapping[str, str], limit: int, cursor: str) -> DeadLetters:
        """GET /dead-letter."""
        query = {**wanted, "limit": str(limit)} | ({"cursor": cursor} if cursor else {})
        answer = await self._connection.request("GET", DEAD_LETTER, query=query)
        values = _values(answer)
        page, listed = values.get("pagination"), values.get("jobs")
        described = page if isinstance(page, dict) else {}
        following, total = described.get("next_cursor"), described.get("total")
        items = listed if isinstance(listed, list) else []
        return DeadLetters(
            [
                Job.from_members({name: encode(value) for name, value in item.items()})
                for item in items
                if isinstance(item, dict)
            ],
            following if isinstance(following, str) else "",
            total if isinstance(total, int) else 0,
            described.get("total_is_exact") is not False,
        )

    async def get(self, job_id: str) -> Job:
        """GET /dead-letter/:id."""
        path = f"{DEAD_LETTER}/{segment(job_id)}"
        return _job(await self._connection.request("GET", path))

    async def stats(self) -> Mapping[str, JsonValue]:
        """GET /dead-letter/stats."""
        return _values(await self._connection.request("GET", f"{DEAD_LETTER}/stats"))

    async def retry(self, job_id: str, override: Mapping[str, JsonValue]) -> Job:
        """POST /dead-letter/:id/retry. Not sent twice: the job may have run and died again."""
        path = f"{DEAD_LETTER}/{segment(job_id)}/retry"
        body = encode({"override": {**override}} if override else {})
        return _job(await self._connection.request("POST", path, body, repeatable=False))

    async def delete(self, job_id: str) -> None:
        """DELETE /dead-letter/:id."""
        path = f"{DEAD_LETTER}/{segment(job_id)}"
        await self._connection.request("DELETE", path, repeatable=False)

    async def retry_many(self, chosen: Chosen, limit: int, cursor: str) -> BulkResult:
        """POST /dead-letter/retry."""
        return await self._many("retry", "retried", chosen, limit, cursor)

    async def delete_many(self, chosen: Chosen, limit: int, cursor: str) -> BulkResult:
        """POST /dead-letter/delete."""
        return await self._many("delete", "deleted", chosen, limit, cursor)

    async def _many(
        self, action: str, done: str, chosen: Chosen, limit: int, cursor: str
    ) -> BulkResult:
        body: dict[str, JsonValue] = {**chosen, "limit": limit, "confirm": True}
        body |= {"cursor": cursor} if cursor else {}
        path = f"{DEAD_LETTER}/{action}"
        answer = await self._connection.request("POST", path, encode(body), repeatable=False)
        values = _values(answer)
        results, following = values.get("results"), values.get("next_cursor")
        return BulkResult(
            [
                BulkOutcome(
                    str(item.get("id", "")),
                    "done" if item.get("status") == done else str(item.get("status", "")),
                    str(item.get("reason", "")),
                )
                for item in (results if isinstance(results, list) else [])
                if isinstance(item, dict)
            ],
            following if isinstance(following, str) else "",
        )


def _values(answer: Answer) -> dict[str, JsonValue]:
    return {name: member.value for name, member in answer.members.items()}


def _job(answer: Answer) -> Job:
    """The job of an answer: wrapped, or flat; with its members' own text."""
    wrapped = answer.members.get("job")
    if wrapped is not None and isinstance(wrapped.value, dict):
        return Job.from_parsed(parse_object(wrapped.raw, max_depth=ANY_DEPTH))
    return Job.from_parsed(answer.members)
