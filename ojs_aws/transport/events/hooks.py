"""Calls users' hooks in the backend's functions: with lifecycle events, and before cron begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Unpack

from ojs_aws.domain.cron import CronOptions, registration_body
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.events import Event
from ojs_aws.domain.jobs.deadlines import VISIBILITY_TIMEOUT, WORKER_DEATH
from ojs_aws.domain.json_text import decode, encode, parse_object
from ojs_aws.domain.timestamps import datetime_of
from ojs_aws.middleware.chain import run_coroutine
from ojs_aws.middleware.hook_values import HookEvent
from ojs_aws.middleware.hooks import Hooks

if TYPE_CHECKING:
    from ojs_aws.services.backend import Backend


class PeriodicJobs:
    """Registers cron jobs in the backend's own function, checked like those of a request."""

    def __init__(self, backend: Backend) -> None:
        """Register with a backend's service."""
        self._backend = backend

    def register(
        self,
        name: str,
        cron: str,
        job: Job | str,
        args: Sequence[JsonValue] = (),
        **options: Unpack[CronOptions],
    ) -> None:
        """Register a cron job, like :meth:`ojs_aws.middleware.Periodic.register`."""
        whole = job if isinstance(job, Job) else Job(job, args)
        body = registration_body(name, cron, whole, **options)
        depth = self._backend.settings.max_depth
        members = parse_object(encode(body), max_depth=depth)
        from ojs_aws.transport.http.cron.serializers import read_registration  # used by few

        self._backend.cron.service.register(read_registration(members, depth))


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
