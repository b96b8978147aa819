"""Many small interfaces, looked up once; and the built-ins that must be there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from ojs_aws import middleware
from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    EnqueueChain,
    ExecutionChain,
    HookDefaults,
    Hooks,
    JobContext,
    MiddlewareDefaults,
    StaticKeys,
    check,
    protocols,
)
from ojs_aws.middleware.protocols import HOOKS, MIDDLEWARE
from tests.unit.middleware.doubles import context, job, store


class Watched:
    """Serves both chains, and counts how often anything of it is looked up."""

    looked = 0

    def __getattribute__(self, name: str) -> Any:
        type(self).looked += 1
        return super().__getattribute__(name)

    async def enqueue(self, job: Job, call_next: Any) -> Any:
        return await call_next(job)

    async def execute(self, job: Job, ctx: JobContext, call_next: Any) -> Any:
        return await call_next()


async def test_river_009_middleware_is_inspected_once_when_it_is_added() -> None:
    watched = Watched()
    enqueuing, execution = EnqueueChain([watched]), ExecutionChain([watched])

    async def both() -> None:
        await enqueuing.run(job(), store)
        await execution.run(job(), context(), lambda *_: None)

    await both()  # the first job freezes the chains
    before = Watched.looked
    assert before > 0
    for _ in range(10):
        await both()
    assert Watched.looked == before


@pytest.mark.parametrize("name", [n for n in dir(protocols) if n.endswith(("Middleware", "Side"))])
def test_river_012_each_interface_is_one_method(name: str) -> None:
    """A new operation is a new interface: none of them can grow a method that others lack."""
    protocol = getattr(protocols, name)
    methods = [member for member in vars(protocol) if not member.startswith("_")]
    assert len(methods) == 1
    assert [base.__name__ for base in protocol.__bases__] == ["Protocol"]


@pytest.mark.parametrize("interface", [*MIDDLEWARE, *HOOKS], ids=lambda one: one.name)
def test_river_012_who_implements_one_operation_need_not_know_the_others(interface: Any) -> None:
    """An object with this one method is complete, and so is one that inherits the defaults."""

    def method(self: object, *given: object) -> None: ...

    for base in (object, HookDefaults if interface in HOOKS else MiddlewareDefaults):
        made = type("Only", (base,), {interface.name: method})()
        found = check(made)
        assert (found.implements, found.problems) == ((interface.name,), ())


def test_river_011_defaults_implement_nothing_by_themselves() -> None:
    """What they do not override is not called, today or after an upgrade."""

    class Nothing(MiddlewareDefaults): ...

    class NoHook(HookDefaults): ...

    assert check(Nothing()).problems == check(NoHook()).problems == ()
    assert len(EnqueueChain([Nothing()])) == len(ExecutionChain([Nothing()])) == 1
    hooks = Hooks([NoHook()])
    assert not any(hooks.table(interface.name) for interface in HOOKS)


@pytest.mark.parametrize(
    ("name", "enqueues", "executes"),
    [
        ("LoggingMiddleware", True, True),
        ("MetricsMiddleware", True, True),
        ("TimeoutMiddleware", False, True),
        ("ErrorReportingMiddleware", False, True),
        ("TraceContextMiddleware", True, True),
    ],
)
async def test_mw_builtin_001_009_the_recommended_five_are_usable_alone(
    name: str, enqueues: bool, executes: bool
) -> None:
    """Without options, each by itself; and each can be taken out and replaced again."""
    made = getattr(middleware, name)
    if enqueues:
        chain = EnqueueChain([made])
        assert await chain.run(job(), store) is not None
    if executes:
        execution = ExecutionChain([made]).remove(made).add(made)
        assert await execution.run(job(), context(), lambda *_: 7) == 7


BUILT_INS: dict[str, Callable[[], object]] = {
    "CircuitBreakerMiddleware": middleware.CircuitBreakerMiddleware,
    "ConcurrencyLimitMiddleware": lambda: middleware.ConcurrencyLimitMiddleware(1),
    "ContextPropagationMiddleware": lambda: middleware.ContextPropagationMiddleware({}),
    "EncryptionMiddleware": lambda: middleware.EncryptionMiddleware(StaticKeys({"k": b"k" * 32})),
    "ErrorReportingMiddleware": middleware.ErrorReportingMiddleware,
    "LocaleMiddleware": middleware.LocaleMiddleware,
    "LoggingMiddleware": middleware.LoggingMiddleware,
    "MetricsMiddleware": middleware.MetricsMiddleware,
    "RetryLoggingMiddleware": middleware.RetryLoggingMiddleware,
    "TimeoutMiddleware": middleware.TimeoutMiddleware,
    "TraceContextMiddleware": lambda: middleware.TraceContextMiddleware(environ={}),
    "TransactionMiddleware": lambda: middleware.TransactionMiddleware(lambda *_: nullcontext()),
}


@pytest.mark.parametrize("name", BUILT_INS)
async def test_mw_exe_021_no_built_in_swallows_an_error(name: str) -> None:
    """The very error of the handler comes out, and nothing warns of a swallowed one."""
    problem = ValueError("the handler's")

    def fails(*_: object) -> None:
        raise problem

    ctx = context()
    with pytest.raises(ValueError, match="the handler's") as raised:
        await ExecutionChain([BUILT_INS[name]()]).run(ctx.job, ctx, fails)
    assert raised.value is problem
    assert ctx.failure_origin(problem) == "handler"


def test_mw_exe_021_every_built_in_of_the_execution_is_tried() -> None:
    """One that is added must be added here."""
    exported = {
        name
        for name in importlib.import_module("ojs_aws.middleware").__all__
        if name.endswith("Middleware")
    }
    assert {name for name in exported if hasattr(getattr(middleware, name), "execute")} == {
        *BUILT_INS
    }


async def test_mw_chain_021_error_reporting_may_be_moved_outermost() -> None:
    """There it reports the errors of every other middleware too, the default ones among them."""
    reports: list[str] = []
    reporting = middleware.ErrorReportingMiddleware(lambda report: reports.append(report.type))

    async def broken(job: Job, ctx: JobContext, call_next: Any) -> Any:
        raise OSError("a middleware's own")

    chain = ExecutionChain.default().remove("error_reporting").prepend(reporting)
    chain.insert_after("logging", broken)
    assert chain.names() == ["error_reporting", "logging", "broken", "metrics", "timeout"]
    with pytest.raises(OSError, match="own"):
        await chain.run(job(), context(), lambda *_: None)
    assert reports == ["OSError"]
