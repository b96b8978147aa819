"""Runs a chain of middleware around one job, without a server, and records what each layer did.

For authors of middleware::

    trace = await run_execution([Outer(), Inner()], send_email.call("ada@example.com"))
    assert trace.order == ["enter outer", "enter inner", "handler", "leave inner", "leave outer"]
    assert trace.layer("outer").changed == {"metadata": ({}, {"tenant": "t1"})}

The chains are those of client and worker, with all of their rules: a middleware that calls
``call_next`` twice, or does not await it, is refused by name.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, Final, TypeAlias

from ojs_aws.client.insertion import AsJob
from ojs_aws.client.timer import UuidV7
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.chain import Chain
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.context import CURRENT_JOB, JobContext
from ojs_aws.middleware.members import Member
from ojs_aws.middleware.protocols import ENQUEUE, EXECUTE, Interface
from ojs_aws.middleware.synchronous import in_thread
from ojs_aws.testing.chain_trace import ChainTrace, EnqueueTrace, ExecutionTrace, LayerRecord
from ojs_aws.typed_jobs.calls import JobCall
from ojs_aws.typed_jobs.senders import TypedJob
from ojs_aws.worker.registry import Handler, HandlerRegistry
from ojs_aws.worker.typed_handlers import typed_handler

Middleware: TypeAlias = "Chain | Iterable[object]"
AnyJob: TypeAlias = "Job | AsJob | str"
Values: TypeAlias = dict[str, Any]

STORE: Final = "store"
HANDLER: Final = "handler"
JOB_TYPE: Final = "test.job"


async def run_enqueue(
    middleware: Middleware, job: AnyJob = JOB_TYPE, *, store: Callable[[Job], Any] | None = None
) -> EnqueueTrace:
    """Run an enqueue chain around the storing of a job; nothing is stored.

    :param middleware: the first is outermost; a chain, or what one is made of.
    :param store: takes the place of the backend, to return another job or to fail.
    :returns: the record; an error of the chain is in it.
    """
    trace = EnqueueTrace(_with_id(job))

    async def innermost(given: Job) -> Job | None:
        trace.order.append(STORE)
        trace.job = given
        kept = given if store is None else store(given)
        trace.stored = await kept if inspect.isawaitable(kept) else kept
        return trace.stored

    chain = EnqueueChain()
    for member in _members(middleware, EnqueueChain, ENQUEUE):
        chain.add(_EnqueueLayer(trace, member), name=member.name)
    try:
        trace._result, trace.dropped_by = await chain.run_tracked(trace.job, innermost)  # noqa: SLF001 - of this module
    except Exception as problem:  # noqa: BLE001 - the test looks at it
        trace.error = problem
    return trace


async def run_execution(
    middleware: Middleware,
    job: AnyJob = JOB_TYPE,
    handler: Callable[..., object] | None = None,
    *,
    attempt: int = 1,
) -> ExecutionTrace:
    """Run an execution chain around a handler.

    :param middleware: the first is outermost; a chain, or what one is made of.
    :param job: a job, its type, or a call of a typed job.
    :param handler: as a worker takes it: ``handler(ctx, *args)``, or a typed job. By default the
        function of a typed job's call, else one that returns None.
    :returns: the record; an error of the chain is in it.
    """
    executed = _with_id(job)
    executed["attempt"], executed["state"] = attempt, "active"
    trace = ExecutionTrace(executed, context=JobContext(executed))
    found = _handler_of(executed.type, job, handler)

    async def innermost(_: Job, ctx: JobContext) -> object:
        trace.order.append(HANDLER)
        call = found.bound_to(ctx)
        returned = call() if found.is_async else await in_thread("ojs-test", call)
        return await returned if inspect.isawaitable(returned) else returned

    chain = ExecutionChain()
    for member in _members(middleware, ExecutionChain, EXECUTE):
        chain.add(_ExecutionLayer(trace, member), name=member.name)
    current = CURRENT_JOB.set(trace.context)
    try:
        trace._result = await chain.run(executed, trace.context, innermost)  # noqa: SLF001 - of this module
    except Exception as problem:  # noqa: BLE001 - the test looks at it
        trace.error = problem
    finally:
        CURRENT_JOB.reset(current)
    return trace


def run_enqueue_sync(
    middleware: Middleware, job: AnyJob = JOB_TYPE, *, store: Callable[[Job], Any] | None = None
) -> EnqueueTrace:
    """Do as :func:`run_enqueue`, for tests without ``async``."""
    return asyncio.run(run_enqueue(middleware, job, store=store))


def run_execution_sync(
    middleware: Middleware,
    job: AnyJob = JOB_TYPE,
    handler: Callable[..., object] | None = None,
    *,
    attempt: int = 1,
) -> ExecutionTrace:
    """Do as :func:`run_execution`, for tests without ``async``."""
    return asyncio.run(run_execution(middleware, job, handler, attempt=attempt))


# ---------------------------------------------------------------------------------- the layers


class _Recorded:
    """Stands for a middleware in the chain, and records what it does."""

    def __init__(self, trace: ChainTrace, member: Member) -> None:
        self.trace = trace
        self.member = member
        self.interrupts = getattr(member.middleware, "interrupts", False)

    async def _run(
        self, call: Callable[..., Any], given: Sequence[Any], call_next: Callable[..., Any]
    ) -> Any:
        record = LayerRecord(self.member.name)
        self.trace.layers.append(record)
        self.trace.order.append(f"enter {record.name}")
        before = self._values(given[0])

        def go_on(*passed: Any) -> Any:
            if not record.has_gone_on:
                record.changed = _changes(before, self._values((passed or given)[0]))
            record.has_gone_on = True
            return call_next(*passed)

        try:
            result = call(*given, go_on)
            record.returned = await result if inspect.isawaitable(result) else result
        except BaseException as problem:
            record.error = problem
            raise
        finally:
            self.trace.order.append(f"leave {record.name}")
        self._note_end(record, before)
        return record.returned

    def _values(self, job: object) -> Values:
        """Return what a layer may change, as it is now."""
        return _snapshot(job) if isinstance(job, Job) else {}

    def _note_end(self, record: LayerRecord, before: Values) -> None:
        """Note what can be said only when the middleware has returned."""


class _EnqueueLayer(_Recorded):
    """Stands for an enqueue middleware."""

    async def enqueue(self, job: Job, call_next: Callable[..., Any]) -> Job | None:
        returned: Job | None = await self._run(self.member.calls[ENQUEUE.name], (job,), call_next)
        return returned

    def _note_end(self, record: LayerRecord, before: Values) -> None:
        if not record.has_gone_on and isinstance(record.returned, Job):
            record.has_gone_on = True  # returning the job passes it on
            record.changed = _changes(before, _snapshot(record.returned))


class _ExecutionLayer(_Recorded):
    """Stands for an execution middleware."""

    async def execute(self, job: Job, ctx: JobContext, call_next: Callable[..., Any]) -> object:
        return await self._run(self.member.calls[EXECUTE.name], (job, ctx), call_next)

    def _values(self, job: object) -> Values:
        context = self.trace.context if isinstance(self.trace, ExecutionTrace) else None
        return {**super()._values(job), "metadata": _copied(context.metadata) if context else {}}


def _members(middleware: Middleware, kind: type[Chain], interface: Interface) -> Iterable[Member]:
    chain = middleware if isinstance(middleware, Chain) else kind(middleware)
    return [member for member in chain.members() if interface.name in member.calls]


def _handler_of(job_type: str, job: AnyJob, given: Callable[..., object] | None) -> Handler:
    if given is None and isinstance(job, JobCall):
        return typed_handler(job.declaration)
    if isinstance(given, TypedJob):
        return typed_handler(given.declaration)
    registry = HandlerRegistry()
    registry.add(job_type, given or _nothing)
    return registry.find(job_type)


async def _nothing(_ctx: JobContext, *_args: JsonValue) -> None:
    """Handle a job by doing nothing."""


def _with_id(given: AnyJob) -> Job:
    job = (
        given
        if isinstance(given, Job)
        else Job(given)
        if isinstance(given, str)
        else given.to_job()
    )
    if not job.id:
        job.id = UuidV7().job_id()
    return job


def _snapshot(job: Job) -> Values:
    return {name: _copied(job[name]) for name in job}


def _copied(value: Any) -> Any:
    with suppress(Exception):  # a lock or a connection in the metadata is compared by identity
        return deepcopy(value)
    return dict(value) if isinstance(value, dict) else value


def _changes(before: Values, after: Values) -> dict[str, tuple[Any, Any]]:
    return {
        name: (before.get(name), after.get(name))
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    }
