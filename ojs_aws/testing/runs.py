"""Runs the jobs of a test, and single handlers."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypedDict, TypeVar, Unpack, overload

from ojs_aws.client.insertion import whole_job
from ojs_aws.client.loop_thread import LoopThread
from ojs_aws.client.timer import UuidV7
from ojs_aws.client.transports.substitute import acting
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.retry import RetryPolicy
from ojs_aws.testing import reports
from ojs_aws.testing.drain import DEFAULT_TIMEOUT, Drain, DrainReport, timeout_of
from ojs_aws.testing.executions import open_resources
from ojs_aws.testing.jobs import Captured, capturing
from ojs_aws.testing.kit import Kit
from ojs_aws.testing.mistakes import hint_of, nearest, noted
from ojs_aws.testing.perform import Performed, perform
from ojs_aws.typed_jobs.calls import JobCall
from ojs_aws.typed_jobs.senders import Sender

R = TypeVar("R")

_LOOP: Final = LoopThread("ojs-testing")
"""Runs jobs for callers that are not asynchronous."""


class Runs(Kit):
    """Runs the jobs of a test, and single handlers."""

    @noted
    async def drain(
        self,
        queue: str = "",
        *,
        max_jobs: int | None = None,
        timeout: str | timedelta | None = DEFAULT_TIMEOUT,
        with_scheduled: bool = False,
        raise_errors: bool = True,
    ) -> DrainReport:
        """Run the jobs that can run, also those that they enqueue, until none is left.

        Each runs in the execution middleware. One that fails follows its retry policy: it is
        ``retryable``, and runs again once the clock is moved, or with ``with_scheduled``.

        Example::

            await ojs.drain()
            report = await ojs.drain("email", with_scheduled=True, raise_errors=False)
            assert len(report.failures) == 1

        :param queue: the only one to drain; default: all, the longest waiting job first.
        :param max_jobs: executions after which it ends; default: until nothing is left.
        :param timeout: how long it may take, such as ``"10s"`` or a timedelta; None: for ever.
        :param with_scheduled: move the clock on to jobs that are scheduled, or are to be retried.
        :param raise_errors: raise an error if jobs failed in the end. Failures by
            :meth:`fail_next` and :meth:`fail_all` are no errors.
        :raises DrainError: naming each failed job with its traceback; or it took too long, or has
            no end, since a job enqueues itself or is snoozed each time.
        """
        __tracebackhide__ = True
        drain = Drain(
            backend=self._backend,
            run=self._runner.run,
            queue=queue,
            max_jobs=max_jobs,
            timeout_s=timeout_of(timeout),
            with_scheduled=with_scheduled,
        )
        self._check_queue(queue)
        with acting(self._place), self._backend.draining():
            report = await drain()
        if raise_errors:
            report.raise_errors()
        return report

    def drain_sync(
        self,
        queue: str = "",
        *,
        max_jobs: int | None = None,
        timeout: str | timedelta | None = DEFAULT_TIMEOUT,
        with_scheduled: bool = False,
        raise_errors: bool = True,
    ) -> DrainReport:
        """Do what :meth:`drain` does, without ``await``; also where an event loop runs."""
        __tracebackhide__ = True
        report = _LOOP.run(
            self.drain(
                queue,
                max_jobs=max_jobs,
                timeout=timeout,
                with_scheduled=with_scheduled,
                raise_errors=False,
            )
        )
        if raise_errors:
            report.raise_errors()
        return report

    @overload
    async def perform(
        self, job: JobCall[R], /, **options: Unpack[PerformOptions]
    ) -> Performed[R]: ...
    @overload
    async def perform(self, job: Job, /, **options: Unpack[PerformOptions]) -> Performed[Any]: ...
    @noted
    async def perform(
        self, job: JobCall[Any] | Job, /, *more: object, **options: Unpack[PerformOptions]
    ) -> Performed[Any]:
        """Run one handler in the execution middleware, as a worker would; nothing is stored.

        Example::

            done = await ojs.perform(build_report.call("d"), attempt=2, checkpoint={"page": 3})
            assert done.result.pages == 7
            assert done.checkpoints == [{"page": 5}, {"page": 7}]

        :param job: a call of a typed job, or a job.
        :param options: see :class:`PerformOptions`.
        :returns: what it did. An error of the handler is in ``error``; ``result`` raises it.
        :raises AssertionError: it takes too long.
        :raises TypeError: neither a call nor a job, or there is no such option.
        """
        __tracebackhide__ = True
        check_performed(job, more, options)
        timeout = options.pop("timeout", DEFAULT_TIMEOUT)
        declaration = job.declaration if isinstance(job, JobCall) else None
        with acting(self._place), self.capture() as new:
            made = prepared_job(job, options)
            async with AsyncExitStack() as opened:
                await open_resources(self._handlers, made.type, opened)
                executor = self._handlers.executor()
                done = await perform(made, executor, declaration, timeout_of(timeout))
        return replace(done, enqueued=[*new])

    @overload
    def perform_sync(
        self, job: JobCall[R], /, **options: Unpack[PerformOptions]
    ) -> Performed[R]: ...
    @overload
    def perform_sync(self, job: Job, /, **options: Unpack[PerformOptions]) -> Performed[Any]: ...
    def perform_sync(
        self, job: JobCall[Any] | Job, /, *more: object, **options: Unpack[PerformOptions]
    ) -> Performed[Any]:
        """Do what :meth:`perform` does, without ``await``; also where an event loop runs."""
        __tracebackhide__ = True
        check_performed(job, more, options)
        return _LOOP.run(self.perform(job, **options))

    def _check_queue(self, queue: str) -> None:
        """Refuse to drain a queue that nothing is ever in.

        :raises ValueError: no job was in it, and none is declared for it.
        """
        known = {*self._backend.queues(), *self._handlers.queues()}
        if queue and queue not in known:
            raise ValueError(
                f"No job was in the queue {queue!r}, and none is declared for it."
                f"{nearest(queue, known)}"
            )

    def _hint(self) -> str:
        waiting = len(self._place.waiting)
        held = reports.held_back(waiting) if waiting else ""
        return hint_of(self._unawaited) + held

    def capture(self) -> AbstractContextManager[Captured]:
        """Collect the jobs that a block enqueues.

        Example::

            with ojs.capture() as new:
                await signup("a@b.c")
            assert [job.type for job in new] == ["email.send"]
        """
        return capturing(self._jobs)


class PerformOptions(TypedDict, total=False):
    """Lists how a handler is run, beside its job.

    :ivar attempt: the number of the attempt; default: 1.
    :ivar max_attempts: how many there may be; default: as the job's retry policy says.
    :ivar checkpoint: what an earlier attempt saved last.
    :ivar meta: members of the job's metadata.
    :ivar attributes: other attributes of the job, such as ``parent_results``.
    :ivar timeout: how long it may take, such as ``"10s"`` or a timedelta; default: ``"30s"``.
    """

    attempt: int
    max_attempts: int
    checkpoint: Any
    meta: Mapping[str, Any]
    attributes: Mapping[str, Any]
    timeout: str | timedelta | None


def check_performed(job: object, more: Sequence[object], options: Mapping[str, object]) -> None:
    """Refuse what is no call of a typed job.

    :raises TypeError: saying how to write it.
    """
    if more or not isinstance(job, (JobCall, Job)):
        name = "typed_job"
        if isinstance(job, Coroutine):
            name = getattr(job, "__name__", name)
            job.close()  # it was never meant to run
        elif isinstance(job, (Sender, JobCall)):
            name = job.declaration.function.__name__
        shown = f"{1 + len(more)} values" if more else f"a value of type {type(job).__name__}"
        raise TypeError(
            f"perform() takes one call of a job, not {shown}: perform({name}.call(...))."
        )
    known = PerformOptions.__annotations__
    for option in options.keys() - known.keys():
        raise TypeError(
            f"perform() has no option {option!r}.{nearest(option, known)} Its options are "
            f"{', '.join(known)}."
        )


def prepared_job(given: JobCall[Any] | Job, options: PerformOptions) -> Job:
    """Return the job that a handler gets, as it would come from the backend.

    :raises TypeError: neither a call nor a job.
    """
    job = whole_job(given, (), {}).copy()
    if not job.id:
        job.id = UuidV7().job_id()
    job["state"] = "active"
    job["attempt"] = options.get("attempt", 1)
    retry = job.retry or {}
    job["max_attempts"] = options.get(
        "max_attempts", retry.get("max_attempts", RetryPolicy().max_attempts)
    )
    if "checkpoint" in options:
        job["checkpoint"] = {"state": options["checkpoint"]}
    for name, value in options.get("meta", {}).items():
        job.meta[name] = value
    for name, value in options.get("attributes", {}).items():
        job[name] = value
    return Job.from_json(job.to_json())
