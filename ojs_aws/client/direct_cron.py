"""Cron jobs straight on DynamoDB, for producers inside AWS."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

from ojs_aws.client.cron import CronTrigger
from ojs_aws.domain.cron.entry import CronEntry, Outcome
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import ANY_DEPTH, assemble, decode, encode, parse_object
from ojs_aws.services.backend import Backend
from ojs_aws.transport.http.dialects.cron import read_registration, render_entry


class DirectCronTransport:
    """The port CronTransport over the services, called in threads."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._backend = backend

    async def register(self, body: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Register a cron job."""
        max_depth = self._backend.settings.max_depth
        wanted = read_registration(parse_object(encode({**body}), max_depth=max_depth), max_depth)
        entry, _ = await asyncio.to_thread(self._backend.cron.register, wanted)
        return _described(entry)

    async def get(self, name: str) -> Mapping[str, JsonValue]:
        """Read a cron job."""
        return _described(await asyncio.to_thread(self._backend.cron.get, name))

    async def list(self, *, enabled: bool | None) -> list[Mapping[str, JsonValue]]:
        """List the cron jobs."""
        entries = await asyncio.to_thread(self._backend.cron.list, is_enabled=enabled)
        return [_described(entry) for entry in entries]

    async def set_enabled(self, name: str, *, enabled: bool) -> Mapping[str, JsonValue]:
        """Enable or disable a cron job."""
        change = self._backend.cron.set_enabled
        return _described(await asyncio.to_thread(change, name, is_enabled=enabled))

    async def delete(self, name: str) -> None:
        """Remove a cron job."""
        await asyncio.to_thread(self._backend.cron.delete, name)

    async def trigger(self, name: str) -> CronTrigger:
        """Run a cron job now."""
        _, occurrence = await asyncio.to_thread(self._backend.cron.trigger, name)
        is_triggered = occurrence.outcome is Outcome.TRIGGERED
        return CronTrigger(occurrence.job_id if is_triggered else None, occurrence.reason or None)


def _described(entry: CronEntry) -> Mapping[str, JsonValue]:
    text = assemble(render_entry(entry))
    return cast("dict[str, JsonValue]", decode(text, max_depth=ANY_DEPTH))
