"""Carry out the client's requests in this process, for callers inside AWS.

The handlers of the HTTP API answer here too, so that both transports say the same. There are
no credentials to check: the caller's AWS permissions decide. Operations on single jobs call the
services directly. Everything runs in threads, since botocore blocks.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, ParamSpec, Self, TypeVar

from ojs_aws.client.results import Stored, error_in
from ojs_aws.client.transports.requests import Answer, RouteRequest
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError, TransactAction
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import ANY_DEPTH, parse_object
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.build import check_envelope_size
from ojs_aws.services.jobs.render import PushResult, render_job
from ojs_aws.services.stored_jobs.change import JobChange

if TYPE_CHECKING:
    from ojs_aws.transport.http.calls import Call, Server

_SERVER_ERROR: Final = 500

P = ParamSpec("P")
R = TypeVar("R")


class InProcessTransport:
    """Reaches the backend without a server between."""

    max_wait_s = 0.0
    """The client's own pauses between two requests cost nothing."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._backend_of: Callable[[int], Backend] = lambda _pid: backend

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        endpoint_url: str | None = None,
        region: str | None = None,
    ) -> Self:
        """Make the AWS clients and the services.

        :param settings: of the deployment; default: the environment.
        """
        from ojs_aws.bootstrap import aws_clients, build_backend  # imports botocore

        chosen = settings or Settings.from_env(os.environ)

        @cache
        def backend_of(_pid: int) -> Backend:
            return build_backend(chosen, aws_clients(endpoint_url, region))

        opened = cls(backend_of(os.getpid()))
        opened._backend_of = backend_of
        return opened

    @property
    def _backend(self) -> Backend:
        """Return the services; a forked process has AWS connections of its own."""
        return self._backend_of(os.getpid())

    async def _run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the services in a thread."""
        return await asyncio.to_thread(call, *args, **kwargs)

    async def ask(self, request: RouteRequest) -> Answer:
        """Call the handler of the operation."""
        return await self._run(self._answer, request)

    async def push(self, job: Job) -> Stored:
        """Store one job."""
        self._check_size(job)
        return stored_of(await self._run(self._backend.jobs.push, job))

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none."""
        for job in jobs:
            self._check_size(job)
        return [stored_of(one) for one in await self._run(self._backend.jobs.push.all, jobs)]

    async def transact(self, job: Job) -> tuple[Stored, list[TransactAction]]:
        """Prepare one job for a transaction of the caller's."""
        self._check_size(job)
        prepared = await self._run(self._backend.jobs.transact, job)
        return stored_of(prepared.pushed), prepared.actions

    async def get(self, job_id: str) -> Job:
        """Read a job."""
        return _job_of(await self._run(self._backend.jobs.info, job_id))

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job."""
        return await self._change(self._backend.jobs.changes.cancel, job_id)

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available."""
        return await self._change(self._backend.jobs.changes.activate, job_id)

    async def _change(self, change: Callable[[str], JobChange], job_id: str) -> Job:
        """Change a job, then read it: the change itself does not read large documents."""
        changed = await self._run(change, job_id)
        job = await self.get(job_id)
        job["previous_state"] = str(changed.before.state)
        return job

    async def close(self) -> None:
        """Do nothing: botocore's connections end with the process."""

    @property
    def _server(self) -> Server:
        from ojs_aws.transport.http.calls import Server  # producers need no handler

        return Server(self._backend, self._backend.clock.now())

    def _answer(self, request: RouteRequest) -> Answer:
        from ojs_aws.transport.http.errors import answer_error
        from ojs_aws.transport.http.routes import handler_of

        call = self._call(request)
        try:
            answer = handler_of(request.route)(call)
        except OjsError as problem:
            return Answer(problem.status, error=problem)
        except Exception as problem:
            # What a model of the body refused is the caller's mistake, as it is over HTTP.
            answer = answer_error(problem, call.request.id)
            if answer.status >= _SERVER_ERROR:
                raise
        members = parse_object(answer.text, max_depth=ANY_DEPTH)
        return Answer(answer.status, members, error_in(answer.status, members))

    def _call(self, request: RouteRequest) -> Call:
        from ojs_aws.transport.http.calls import Call, Request

        received = Request(
            method=request.route.method,
            path=request.url_path,
            headers={},
            query=request.given_query,
            body=(request.text or "").encode(),
            id=self._backend.ids.request_id(),
        )
        # As a gateway hands on the parameters of a path: decoded, but for a slash.
        parameters = {name: text.replace("/", "%2F") for name, text in request.path.items()}
        return Call(self._server, received, parameters)

    def _check_size(self, job: Job) -> None:
        """Refuse an envelope that is too large, by the size in which it was given."""
        size = len(job.to_json().encode("utf-8", "surrogatepass"))
        check_envelope_size(size, self._backend.settings.max_envelope_bytes)


def _job_of(record: JobRecord) -> Job:
    """Return the job as callers see it; its documents must have been filled in."""
    return Job.from_members(render_job(record))


def stored_of(pushed: PushResult) -> Stored:
    """Return what became of a job that was pushed, as callers see it."""
    job = None if pushed.record is None else _job_of(pushed.record)
    return Stored(job, pushed.is_new, pushed.dropped_by)
