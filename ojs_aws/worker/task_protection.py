"""Keeps ECS from ending a task that runs jobs, when the service scales in."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.client.timer import Timer
from ojs_aws.topology import TASK_PROTECTION

if TYPE_CHECKING:
    import httpx

AGENT: Final = "ECS_AGENT_URI"
"""The variable by which ECS names the endpoint of its agent in a task."""

LOOK_S: Final = 5.0
"""How often the number of jobs is looked at, in seconds. A task that is ended meanwhile drains."""
EXPIRES_MINUTES: Final = 60
"""After a crash of the worker the protection ends by itself."""
RENEW_S: Final = 600.0
_TIMEOUT_S: Final = 5.0
_OK: Final = 200

_log = logging.getLogger(__name__)

Send = Callable[[Mapping[str, object]], Awaitable[str]]
"""Sends a request to the agent, and returns why it was refused; empty: it was accepted."""


@dataclass(slots=True)
class TaskProtection:
    """Protects the task while the worker holds jobs, and no longer.

    :ivar active: the jobs that the worker holds.
    """

    active: Sized
    timer: Timer
    send: Send
    _until: float | None = None

    async def watch(self) -> None:
        """Follow the number of jobs until it is cancelled."""
        while True:
            await self.follow()
            await self.timer.sleep(LOOK_S)

    async def follow(self) -> None:
        """Protect the task, or end that, if the number of jobs asks for it. Never raises."""
        now = self.timer.monotonic()
        is_due = self._until is None or now >= self._until - EXPIRES_MINUTES * 60 + RENEW_S
        if self.active:
            wanted = {"ProtectionEnabled": True, "ExpiresInMinutes": EXPIRES_MINUTES}
            if is_due and await self._say(wanted):
                self._until = now + EXPIRES_MINUTES * 60
        elif self._until is not None and await self._say({"ProtectionEnabled": False}):
            self._until = None

    async def _say(self, body: Mapping[str, object]) -> bool:
        """Return whether the agent accepted the request; else it is sent again at the next look."""
        import httpx

        try:
            refusal = await self.send(body)
        except httpx.HTTPError as problem:
            _log.warning("The ECS agent did not answer: %s", type(problem).__name__)
            return False
        if refusal:
            _log.warning(
                "The ECS agent refused: %s. Does the task's role allow ecs:UpdateTaskProtection?",
                refusal,
            )
        return not refusal


def _refusal(answer: httpx.Response) -> str:
    """Return why the agent did not do it; ECS's own refusals come with status 200, too."""
    try:
        said = answer.json()
    except ValueError:
        said = None
    members = said if isinstance(said, dict) else {}
    for name, reason in (("failure", "Reason"), ("error", "Code")):
        if isinstance(found := members.get(name), dict):
            return (
                f"{found.get(reason)} {found.get('Detail') or found.get('Message') or ''}".strip()
            )
    return "" if answer.status_code == _OK else f"HTTP {answer.status_code}"


@asynccontextmanager
async def task_protection(
    active: Sized, timer: Timer, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[None]:
    """Protect the ECS task of this process while it holds jobs, where the environment asks for it.

    :param active: the jobs that it holds.
    """
    agent = environ.get(AGENT, "")
    if not agent or environ.get(TASK_PROTECTION) != "1":
        yield
        return
    import httpx

    # The agent is on the task's own network: never by way of a proxy.
    async with httpx.AsyncClient(timeout=_TIMEOUT_S, trust_env=False) as client:

        async def send(body: Mapping[str, object]) -> str:
            answer = await client.put(f"{agent}/task-protection/v1/state", json=dict(body))
            return _refusal(answer)

        watching = asyncio.ensure_future(TaskProtection(active, timer, send).watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
