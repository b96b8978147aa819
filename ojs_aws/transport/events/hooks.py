"""Calls users' hooks in the backend's functions: with lifecycle events, and before cron begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.events import Event
from ojs_aws.domain.jobs.deadlines import VISIBILITY_TIMEOUT, WORKER_DEATH
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.timestamps import datetime_of
from ojs_aws.middleware.chain.base import run_coroutine
from ojs_aws.middleware.hooks.registry import Hooks
from ojs_aws.middleware.hooks.values import HookEvent

if TYPE_CHECKING:
    from ojs_aws.services.backend import Backend

_MAX_DEPTH: Final = 1000

_NAMES: Final[Mapping[str, str]] = {
    "job.retrying": "retry_scheduled",
    "job.discarded": "discarded",
    "job.expired": "discarded",
    "job.cancelled": "cancelled",
    "worker.started": "worker_state",
    "worker.quiet": "worker_state",
    "worker.stopped": "worker_state",
    "cron.triggered": "cron_fire",
    "cron.skipped": "cron_skip",
    "queue.paused": "queue_paused",
}
"""The hook of each type of event."""

_LOST: Final = (VISIBILITY_TIMEOUT, WORKER_DEATH)
"""Types of the failure of an attempt whose reservation ended before its outcome came."""


def event_hooks(hooks: Hooks) -> Callable[[Event], None] | None:
    """Return what the stream's consumer calls with each event; None if no hook wants any."""
    wanted = hooks.events()
    if not wanted:
        return None

    def call(event: Event) -> None:
        name = hook_of(event)
        if name in wanted:
            run_coroutine(hooks.event(name, _shown(event)), never_waits=hooks.never_wait(name))

    return call


def hook_of(event: Event) -> str:
    """Return the name of the hook that is called with an event; empty for none."""
    if event.type != "job.failed":
        return _NAMES.get(event.type, "")
    if not any(name in event.data for name in _LOST):
        return ""
    error = _data(event).get("error")
    names = (error.get("type"), error.get("code")) if isinstance(error, dict) else ()
    return "reservation_lost" if any(name in _LOST for name in names) else ""


def start_periodic(hooks: Hooks, backend: Backend) -> None:
    """Call the hooks ``periodic_start``, which may register cron jobs.

    :raises Exception: whatever a hook raised.
    """
    if hooks.table("periodic_start"):
        from ojs_aws.transport.events.periodic import PeriodicJobs  # few have any

        never_waits = hooks.never_wait("periodic_start")
        run_coroutine(hooks.periodic_start(PeriodicJobs(backend)), never_waits=never_waits)


def _shown(event: Event) -> HookEvent:
    return HookEvent(
        id=event.id,
        type=event.type,
        time=datetime_of(event.time),
        subject=event.subject,
        data=_data(event),
        queue=event.queue,
        job_type=event.job_type,
    )


def _data(event: Event) -> Mapping[str, JsonValue]:
    decoded = decode(event.data, max_depth=_MAX_DEPTH)
    return decoded if isinstance(decoded, dict) else {}
