"""Cron jobs over the HTTP binding (section 13; ojs-cron, section 8)."""

from __future__ import annotations

from collections.abc import Mapping

from ojs_aws.client.connection import HttpConnection, segment
from ojs_aws.client.cron import CronTrigger, cron_trigger
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import Member, encode


class HttpCronTransport:
    """The port CronTransport over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use the transport's connection."""
        self._connection = connection

    async def register(self, body: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """POST /cron: sending it again changes nothing."""
        answer = await self._connection.request("POST", "/cron", encode({**body}))
        return _entry(answer.members)

    async def get(self, name: str) -> Mapping[str, JsonValue]:
        """GET /cron/:name."""
        return _entry((await self._connection.request("GET", _path(name))).members)

    async def list(self, *, enabled: bool | None) -> list[Mapping[str, JsonValue]]:
        """GET /cron, page by page."""
        query = {"limit": "200"}
        query |= {} if enabled is None else {"enabled": str(enabled).lower()}
        entries: list[Mapping[str, JsonValue]] = []
        while True:
            members = (await self._connection.request("GET", "/cron", query=query)).members
            listed = _value(members, "cron_jobs") or _value(members, "entries")
            items = listed if isinstance(listed, list) else []
            entries += [item for item in items if isinstance(item, dict)]
            page = _value(members, "pagination")
            following = page.get("next_cursor") if isinstance(page, dict) else None
            if not isinstance(following, str) or not following:
                return entries
            query["cursor"] = following

    async def set_enabled(self, name: str, *, enabled: bool) -> Mapping[str, JsonValue]:
        """PATCH /cron/:name."""
        body = encode({"enabled": enabled})
        return _entry((await self._connection.request("PATCH", _path(name), body)).members)

    async def delete(self, name: str) -> None:
        """DELETE /cron/:name."""
        await self._connection.request("DELETE", _path(name), repeatable=False)

    async def trigger(self, name: str) -> CronTrigger:
        """POST /cron/:name/trigger."""
        path = _path(name) + "/trigger"
        answer = await self._connection.request("POST", path, encode({}), repeatable=False)
        return cron_trigger({key: member.value for key, member in answer.members.items()})


def _path(name: str) -> str:
    return f"/cron/{segment(name)}"


def _value(members: Mapping[str, Member], name: str) -> JsonValue:
    return members[name].value if name in members else None


def _entry(members: Mapping[str, Member]) -> Mapping[str, JsonValue]:
    """The cron job of an answer."""
    for name in ("cron_job", "cron"):
        value = _value(members, name)
        if isinstance(value, dict):
            return value
    return {name: member.value for name, member in members.items()}
