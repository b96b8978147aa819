"""Reports the progress of one execution: the latest report counts, and few are sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from ojs_aws.client.timer import Timer
from ojs_aws.domain.errors import JsonValue, OjsError

EVERY_S: Final = 1.0
"""Between two reports that are sent (ojs-progress, section 6.2)."""

LAST_WORDS_S: Final = 2.0
"""For the report that is pending when the handler ends."""

_log = logging.getLogger(__name__)

Send = Callable[[Mapping[str, JsonValue]], Awaitable[None]]


class ProgressReports:
    """Sends a handler's reports: the first at once, then at most one a second.

    Belongs to the event loop of the worker; :meth:`report` may be called from any thread. What
    cannot be sent is not sent again: the next report says more (section 4).
    """

    def __init__(self, send: Send, timer: Timer) -> None:
        """Report by ``send``; nothing is started yet."""
        self._send = send
        self._timer = timer
        self._loop = asyncio.get_running_loop()
        self._pending: dict[str, JsonValue] = {}
        self._sending: asyncio.Task[None] | None = None
        self._next_at = 0.0

    def report(self, said: Mapping[str, JsonValue]) -> None:
        """Replace a report that has not been sent; returns at once."""
        self._loop.call_soon_threadsafe(self._take, dict(said))

    def _take(self, said: dict[str, JsonValue]) -> None:
        number, earlier = said.get("progress"), self._pending.get("progress")
        self._pending |= said
        if isinstance(number, float) and isinstance(earlier, float):
            self._pending["progress"] = max(number, earlier)
        if self._sending is None or self._sending.done():
            self._sending = self._loop.create_task(self._send_on())

    async def _send_on(self) -> None:
        while self._pending:
            pause_s = self._next_at - self._timer.monotonic()
            if pause_s > 0:
                await self._timer.sleep(pause_s)
            await self._send_pending()

    async def _send_pending(self) -> None:
        said, self._pending = self._pending, {}
        if not said:
            return
        self._next_at = self._timer.monotonic() + EVERY_S
        try:
            await self._send(said)
        except OjsError as problem:
            _log.warning("Progress was not reported: %s", problem)

    async def finish(self) -> None:
        """Send the pending report within two seconds; the handler has ended."""
        await asyncio.sleep(0)  # what another thread reported last is still on its way
        self.stop()
        if self._pending:
            task = self._loop.create_task(self._send_pending())
            await asyncio.wait({task}, timeout=LAST_WORDS_S)
            task.cancel()

    def stop(self) -> None:
        """Stop sending reports."""
        if self._sending is not None:
            self._sending.cancel()
