"""Call hooks at moments of a job's life.

A hook wraps nothing, so it takes no frame in a stack trace and cannot forget to go on. It sees one
job at a time, and can be bound to some job types. Prefer hooks. Use middleware for what spans an
operation, or sets context variables for what runs inside: one that a hook sets is gone when the
hook returns.

==================  =============================================  ===============================
hook                called                                         may
==================  =============================================  ===============================
insert_begin        with each job, right before it is stored       change the job; abort by raising
insert_end          with each job and the error or None            report it
work_begin          before each execution                          abort by raising
work_end            after each execution, with its outcome         return another outcome
periodic_start      once per process, before cron first looks      register cron jobs
metric_emit         with each metric                               report it; must not be async
retry_scheduled ... by the backend, with the event, at least once  report it; repeats have one id
==================  =============================================  ===============================
"""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.hook_values import HookEvent, Metric, Periodic, WorkOutcome
from ojs_aws.middleware.members import Member, Members
from ojs_aws.middleware.protocols import (
    EVENT_HOOKS,
    HOOKS,
    Call,
    marked_methods,
)
from ojs_aws.middleware.results import InvalidMiddlewareError, check_id


@dataclass(frozen=True, slots=True)
class _Bound:
    """Holds one hook as it is called."""

    name: str
    call: Call
    job_types: frozenset[str] | None

    def concerns(self, job_type: str) -> bool:
        return self.job_types is None or job_type in self.job_types


class Hooks(Members):
    """Keeps hooks in registration order; those of an operation are looked up once.

    A hook is an object with one or more of the methods above, or a function marked with
    :func:`~ojs_aws.middleware.hook_values.hook`. An object's attribute ``job_types`` binds all
    its hooks to these types.
    """

    interfaces: ClassVar = HOOKS

    def __init__(self, hooks: Iterable[object] = ()) -> None:
        """Register these hooks, in this order."""
        self._types: dict[str, tuple[str, ...]] = {}
        self._tables: dict[str, tuple[_Bound, ...]] = {}
        super().__init__(hooks)

    def add(
        self, middleware: object, *, name: str = "", job_type: str | Sequence[str] = ()
    ) -> Self:
        """Append a hook.

        :param job_type: the job types it is called for, if not for all; of those that the hook
            itself names, where it does.
        :raises InvalidMiddlewareError: it has no method of a hook, or one with a wrong signature.
        :raises ChainFrozenError: jobs are processed already.
        """
        super().add(middleware, name=name)
        types = (job_type,) if isinstance(job_type, str) else tuple(job_type)
        if types:
            self._types[self.names()[-1]] = types
        return self

    def remove(self, middleware: object) -> Self:
        """Remove a hook, and the job types it was bound to; raises as a chain does."""
        super().remove(middleware)
        names = {*self.names()}
        self._types = {name: types for name, types in self._types.items() if name in names}
        return self

    def table(self, name: str) -> tuple[_Bound, ...]:
        """Return the hooks of one operation; the first use of any freezes them."""
        found = self._tables.get(name)
        if found is None:
            self.freeze("the first hook was looked up")
            found = tuple(
                _Bound(member.name, call, self._bound_to(member, call))
                for member in self._members
                if name in member.calls
                for call in _calls(member, name)
            )
            self._tables[name] = found
        return found

    def _bound_to(self, member: Member, call: Call) -> frozenset[str] | None:
        """Return the job types that a hook names and its registration allows; None for all."""
        own = frozenset(_job_types(member.middleware, call))
        allowed = frozenset(self._types.get(member.name, ()))
        return (own & allowed if own and allowed else own | allowed) or None

    @property
    def never_waits(self) -> bool:
        """Return True if none of the hooks of insertion is asynchronous."""
        return self.never_wait("insert_begin", "insert_end")

    def never_wait(self, *names: str) -> bool:
        """Return True if none of these hooks is asynchronous."""
        return not any(
            inspect.iscoroutinefunction(bound.call) for name in names for bound in self.table(name)
        )

    # ------------------------------------------------------------------ insertion
    def has_insertion(self) -> bool:
        """Return True if any hook is called around the storing of a job."""
        return bool(self._members) and bool(self.table("insert_begin") or self.table("insert_end"))

    async def insert_begin(self, job: Job) -> Job:
        """Call the hooks before a job is stored, and return the job as they left it.

        :raises IdChangedError: a hook changed the job's id.
        :raises InvalidMiddlewareError: a hook returned something that is no job.
        :raises Exception: whatever a hook raised; the job must not be stored then.
        """
        job_id = job.id
        for bound in self.table("insert_begin"):
            if not bound.concerns(job.type):
                continue
            changed = await _call_isolated(bound.call, job)
            check_id(job, job_id, f"Hook {bound.name!r}")
            _check_return(bound.name, "insert_begin", changed, Job)
            if isinstance(changed, Job):
                job = changed
                check_id(job, job_id, f"Hook {bound.name!r}")
        return job

    async def insert_end(self, job: Job, error: Exception | None) -> None:
        """Call the hooks after a job was stored, or was refused.

        :raises Exception: whatever a hook raised.
        """
        job_id = job.id
        for bound in self.table("insert_end"):
            if bound.concerns(job.type):
                await _call_isolated(bound.call, job, error)
                check_id(job, job_id, f"Hook {bound.name!r}")

    # ------------------------------------------------------------------ execution
    def has_execution(self) -> bool:
        """Return True if any hook is called around an execution."""
        return bool(self.table("work_begin") or self.table("work_end"))

    async def work_begin(self, job: Job, ctx: JobContext) -> None:
        """Call the hooks before an execution.

        :raises Exception: whatever a hook raised; it is the failure of this execution.
        """
        for bound in self.table("work_begin"):
            if bound.concerns(job.type):
                try:
                    await _call_isolated(bound.call, job, ctx)
                except Exception as problem:
                    ctx.note_origin(problem, f"hook:{bound.name}")
                    raise

    async def work_end(self, job: Job, ctx: JobContext, outcome: WorkOutcome) -> WorkOutcome:
        """Call the hooks after an execution, and return the outcome as they left it.

        A hook that raises makes the execution a failed one; the hooks behind it see that.
        """
        for bound in self.table("work_end"):
            if not bound.concerns(job.type):
                continue
            try:
                changed = await _call_isolated(bound.call, job, ctx, outcome)
                _check_return(bound.name, "work_end", changed, WorkOutcome)
            except Exception as problem:  # noqa: BLE001 - it is the outcome now
                ctx.note_origin(problem, f"hook:{bound.name}")
                if outcome.error is not None and problem.__cause__ is None:
                    problem.__cause__ = outcome.error
                outcome = WorkOutcome(error=problem)
            else:
                outcome = changed if isinstance(changed, WorkOutcome) else outcome
        return outcome

    # ------------------------------------------------------------------ the others
    def metric_emit(self, metric: Metric) -> None:
        """Call all the hooks with a metric.

        :raises Exception: what the first of them raised that failed; it is the caller's to log.
        """
        problems: list[Exception] = []
        for bound in self.table("metric_emit"):
            try:
                contextvars.copy_context().run(bound.call, metric)
            except Exception as problem:  # noqa: BLE001 - the others are no part of it
                problems.append(problem)
        if problems:
            raise problems[0]

    def listen_to(self, chain: Members) -> None:
        """Have the ``metric_emit`` hooks called with each metric of a chain's middleware.

        They are those that have a method ``listen(listener)``; without such hooks nothing is done.
        """
        if self.table("metric_emit"):
            for middleware in chain:
                listen = getattr(middleware, "listen", None)
                if callable(listen):
                    listen(self.metric_emit)

    async def periodic_start(self, periodic: Periodic) -> None:
        """Call the hooks before cron first looks for what is due."""
        for bound in self.table("periodic_start"):
            await _call_isolated(bound.call, periodic)

    async def event(self, name: str, event: HookEvent) -> None:
        """Call the hooks of an event of the backend.

        :param name: one of the event hooks.
        """
        for bound in self.table(name):
            if bound.concerns(event.job_type):
                await _call_isolated(bound.call, event)

    def events(self) -> frozenset[str]:
        """Return the names of the backend's events that have a hook."""
        return frozenset(name for name in EVENT_HOOKS if self.table(name))


def _check_return(name: str, method: str, returned: object, kind: type) -> None:
    if returned is not None and not isinstance(returned, kind):
        raise InvalidMiddlewareError(
            f"Hook {name!r} returned a {type(returned).__name__} from {method}: return a "
            f"{kind.__name__}, or None to leave it as it is."
        )


async def _call_isolated(call: Call, *given: object) -> object:
    """Call a hook so that what it does to context variables stays with it."""
    context = contextvars.copy_context()
    result: object = context.run(call, *given)
    if not inspect.isawaitable(result):
        return result
    import asyncio  # hooks that never wait need none of it

    if asyncio._get_running_loop() is None:  # noqa: SLF001 - get_running_loop raises where none is
        from ojs_aws.middleware.synchronous import run_in_loop

        return context.run(run_in_loop, _wait(result))
    return await asyncio.get_running_loop().create_task(_wait(result), context=context)


async def _wait(result: Awaitable[object]) -> object:
    return await result


def _calls(member: Member, name: str) -> list[Call]:
    """Return the method of the hook's own name, and all methods that are marked as it."""
    first = member.calls[name]
    marked = marked_methods(member.middleware, name)
    return [first, *(call for call in marked.values() if call != first)]


def _job_types(member: object, call: Call) -> tuple[str, ...]:
    own = getattr(call, "hook_job_types", ())
    types = own or getattr(member, "job_types", ())
    return (types,) if isinstance(types, str) else tuple(types)
