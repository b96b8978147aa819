"""Runs a long-lived worker that asks for its jobs (core, section 10; worker protocol)."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from ojs_aws.client.keywords import checks_keywords
from ojs_aws.client.timer import SystemTimer, Timer, UuidV7, first_of, within
from ojs_aws.client.transports.credentials import Credentials
from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.typed_jobs.declarations import all_open
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import NO_HANDLERS, BaseWorker
from ojs_aws.worker.event_loop import run_to_end, signals_to
from ojs_aws.worker.executor import ActiveJob, ActiveJobs, Executor, about
from ojs_aws.worker.failure import WAIT_S
from ojs_aws.worker.job_logs import JobLines
from ojs_aws.worker.lifecycle import LAST_WORDS_S, MAX_FETCH, Lifecycle, Polls, Turns, drain
from ojs_aws.worker.over_http import ServerAccess, about_worker, jobs_and_url, url_of
from ojs_aws.worker.registry import HandlerRegistry
from ojs_aws.worker.reports import Heartbeats, Reporter, check_seconds
from ojs_aws.worker.reservations import JobSource, WorkerContext
from ojs_aws.worker.task_protection import task_protection

_logger = logging.getLogger(__name__)


@checks_keywords
class Worker(BaseWorker):
    """Fetches jobs over HTTPS and executes several at once.

    It beats every ``heartbeat_s`` seconds and obeys the directives in the answers. SIGTERM and
    SIGINT end it within the grace period (a second one at once), SIGTSTP quiets it and SIGCONT
    wakes it again.

    Example::

        worker = Worker("https://jobs.example.com", queues=["email"], concurrency=10)

        @worker.handler("email.send")
        def send(ctx: JobContext, to: str, template: str) -> None: ...

        worker.run()

    :ivar job_lines: logs a line for each job while the worker speaks to people, else None.
    """

    job_lines: JobLines | None = None

    def __init__(
        self,
        jobs: Jobs | str | None = None,
        *,
        url: str | None = None,
        queues: Sequence[str] | Mapping[str, int] | None = None,
        concurrency: int = 10,
        api_key: str | None = None,
        credentials: Credentials | None = None,
        headers: Mapping[str, str] | None = None,
        middleware: ExecutionChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        registry: HandlerRegistry | None = None,
        heartbeat_s: float = 15.0,
        grace_s: float = 25.0,
        visibility_timeout_s: float | None = None,
        missing_handler_wait_s: float = WAIT_S,
        polls: Polls | None = None,
        labels: Sequence[str] = (),
        pool: str = "",
        worker_id: str | None = None,
        source: JobSource | None = None,
        timer: Timer | None = None,
    ) -> None:
        """Describe the worker; nothing is opened yet.

        :param jobs: the typed jobs that it runs; or the URL of the OJS server.
        :param url: of the OJS server; with typed jobs it may be left to ``OJS_URL``.
        :param queues: emptied strictly from left to right; or the weights of queues, by which each
            comes first in its share of the fetches: ``{"critical": 5, "default": 2, "low": 1}``.
            Default: those that the typed jobs name, else ``default``.
        :param concurrency: jobs executed at the same time at most.
        :param api_key: of ``ojs-aws keys``, or a token; default: ``OJS_API_KEY``, where it is set.
        :param credentials: another way to authenticate, such as ``SigV4()`` for IAM.
        :param headers: sent with every request.
        :param registry: handlers of another worker, to serve them here too.
        :param heartbeat_s: seconds between heartbeats, at most an hour; the backend gives the jobs
            of a worker that missed three of them to others.
        :param grace_s: seconds that jobs get to finish when the worker ends.
        :param visibility_timeout_s: reservation of jobs that have none of their own; default: four
            heartbeats, so that the jobs of a worker that died come back within a minute.
        :param missing_handler_wait_s: seconds that jobs of unknown types wait; 0 discards them.
        :param polls: how often an idle worker asks.
        :param pool: the worker pool of ``ojs-aws pools`` whose queues it empties, in its order.
        :param worker_id: unique to this process; default: a new one.
        :param source: where jobs come from, if not by HTTP; excludes ``url``.
        :raises ValueError: no usable URL, queue or number.
        """
        jobs, url = jobs_and_url(jobs, url, source)
        super().__init__(
            jobs=jobs,
            queues=tuple(queues) if isinstance(queues, Mapping) else queues,
            middleware=middleware,
            hooks=hooks,
            registry=registry,
            missing_handler_wait_s=missing_handler_wait_s,
        )
        if concurrency < 1:
            raise ValueError(f"concurrency must be positive; got {concurrency}")
        check_seconds(heartbeat_s, grace_s, visibility_timeout_s)
        self._weights = queues if isinstance(queues, Mapping) else None
        self._turns = Turns(self._weights or ())
        self.concurrency, self.grace_s = concurrency, grace_s
        self.worker_id = worker_id or f"worker_{UuidV7().job_id()}"
        self._polls, self._timer = polls or Polls(), timer or SystemTimer()
        self._heartbeat_s, self._visibility_timeout_s = heartbeat_s, visibility_timeout_s
        self._labels, self._pool = labels, pool
        if source is not None:
            self._source = source
        self._access = ServerAccess(
            url=url, headers=headers, api_key=api_key, credentials=credentials, timer=self._timer
        )
        self.lifecycle = Lifecycle(self._timer.monotonic)
        self._active, self._work = ActiveJobs(), set[asyncio.Task[None]]()
        self._woken = asyncio.Event()

    @functools.cached_property
    def _source(self) -> JobSource:
        """Return where the jobs come from; it is asked for when the worker starts."""
        return self._access.jobs_of(
            self.worker_id,
            heartbeat_s=self._heartbeat_s,
            visibility_timeout_s=self._visibility_timeout_s,
            about=about_worker(self.queues, self.concurrency, self._labels, self._pool),
        )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **given: Any) -> Self:
        """Make a worker for the server that ``OJS_URL`` names; ``OJS_API_KEY`` is its key.

        :param given: the other parameters of a worker, such as ``jobs`` and ``queues``.
        :raises ValueError: ``OJS_URL`` is not set.
        """
        env = os.environ if environ is None else environ
        key = {"api_key": env["OJS_API_KEY"]} if env.get("OJS_API_KEY") else {}
        return cls(url=url_of(env), **(key | given))

    def override(self, *, queues: Sequence[str] = (), concurrency: int | None = None) -> None:
        """Replace what the worker was made with; only before it starts.

        :raises InvalidRequestError: a name that no queue can have.
        :raises ValueError: a concurrency that is not positive.
        """
        if concurrency is not None and concurrency < 1:
            raise ValueError("concurrency must be positive")
        self.concurrency = concurrency or self.concurrency
        if queues:
            self._queues = tuple(check_queue(queue) for queue in queues)
            self._weights = None

    @property
    def active_jobs(self) -> int:
        """Return how many jobs the worker holds."""
        return len(self._active)

    @property
    def server(self) -> str:
        """Return the URL of the server, or what kind of source stands for it."""
        return getattr(self._source, "url", "") or f"a {type(self._source).__name__}"

    def run(self) -> None:
        """Work until a signal or the server ends it. Blocks, and handles the signals.

        Reports on stderr what it does, unless the application has configured logging.
        """
        from ojs_aws.worker.console import for_process

        async def main() -> None:
            with signals_to(self.lifecycle):
                async with task_protection(self._active, self._timer):
                    await self.serve()

        with for_process(self):
            run_to_end(main())

    async def serve(self) -> None:
        """Work until the lifecycle ends: fetch and execute, then drain. Ignores signals.

        May be called once.

        :raises RuntimeError: no handler is registered.
        """
        if not self.registry:
            raise RuntimeError(NO_HANDLERS)
        executor = replace(self.freeze(), obeys_interrupt=self._obey_interrupt)
        self._turns = Turns(self._weights or self.queues)
        async with all_open(self.jobs.resources):
            await self._serve(executor)

    def _obey_interrupt(self) -> bool:
        """End gracefully after an interrupt that a handler got in place of the process."""
        if not self.lifecycle.is_ending:
            self.lifecycle.terminate("a handler was interrupted")
        return True

    async def _serve(self, executor: Executor) -> None:
        from ojs_aws.worker.console import announce

        beats = Heartbeats(self._source, self._active, self._heartbeat_s, self.lifecycle.obey)
        beating = asyncio.ensure_future(beats.beat_on(self.lifecycle, self._timer, self._woken))
        announce(self)
        try:
            await self._fetch_on(executor)
            await drain(self._source, self._active, self.lifecycle, self._timer, self.grace_s)
        finally:
            beating.cancel()
            for work in self._work:
                work.cancel()
            await asyncio.gather(beating, *self._work, return_exceptions=True)
            if not self.lifecycle.is_forced:
                await within(self._timer, LAST_WORDS_S, beats.beat(self.lifecycle.state))
            await self._source.close()

    async def _fetch_on(self, executor: Executor) -> None:
        """Fetch while the state allows it and there is room."""
        polls = self._polls.start(self._timer)
        while not self.lifecycle.is_ending:
            if not self.lifecycle.is_running:
                await self.lifecycle.changed()
                continue
            room = self.concurrency - len(self._active)
            if room <= 0:
                await first_of(self._active.one_left(), self.lifecycle.changed())
                continue
            jobs = await self._fetch(min(room, MAX_FETCH))
            for job in jobs or ():
                self._start(job, executor)
            pause_s = polls.pause_s(found=bool(jobs), failed=jobs is None)
            if pause_s and not self.lifecycle.is_ending:
                await first_of(self._timer.sleep(pause_s), self.lifecycle.changed())

    async def _fetch(self, count: int) -> list[Job] | None:
        """Return jobs, or None if the backend could not be asked.

        Waits for the answer also in the grace period of a worker that ends: it may contain jobs.
        """
        asked = asyncio.ensure_future(self._source.fetch(self._turns.next(), count))
        await first_of(asyncio.shield(asked), self.lifecycle.over(self._timer, self.grace_s))
        if not asked.done():
            asked.cancel()
            return None
        try:
            return asked.result()
        except OjsError as problem:
            _logger.warning("Fetching failed: %s", problem)
            return None

    def _start(self, job: Job, executor: Executor) -> None:
        reservation_id = str(job.get("reservation_id") or "")
        extend, held = functools.partial(self._extend, reservation_id), self._source
        ctx = WorkerContext(
            job, extend=extend, held=held, reservation_id=reservation_id, timer=self._timer
        )
        active = ActiveJob(ctx, reservation_id)
        self._active.add(active)
        self._woken.set()
        work = asyncio.ensure_future(self._work_on(active, executor))
        self._work.add(work)
        work.add_done_callback(self._work.discard)

    async def _work_on(self, active: ActiveJob, executor: Executor) -> None:
        """Execute a job and report its outcome."""
        started_at = self._timer.monotonic()
        try:
            outcome = await active.execute(executor)
            if (lines := self.job_lines) is not None:
                lines.ended(active, outcome, self._timer.monotonic() - started_at)
            if outcome is not None:
                reporter = Reporter(self._timer)
                await reporter.report(self._source, active.job, outcome, active.reservation_id)
        except Exception:  # a bug must not end the worker; the job comes back
            _logger.exception("Job %s was abandoned", active.job.id, extra=about(active.job))
        finally:
            self._active.remove(active)

    async def _extend(self, reservation_id: str, job_id: str) -> bool:
        """Send a handler's own heartbeat; return False if the job must no longer be executed."""
        known = {job_id: reservation_id} if reservation_id else {}
        reply = await self._source.heartbeat([job_id], self.lifecycle.state, reservation_ids=known)
        self.lifecycle.obey(reply.directive)
        return reply.keeps(job_id)
