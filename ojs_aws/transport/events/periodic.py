"""Registers the cron jobs of the hooks ``periodic_start`` in the backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from ojs_aws.domain.cron.bodies import CronOptions, registration_body
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.transport.http.cron.wire import read_registration

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
        self._backend.cron.service.register(read_registration(members, depth))
