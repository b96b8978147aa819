"""Define what middleware and hooks are, for type checkers, and check them for the chains.

Nothing has to inherit from these: an object takes part in an operation by having that operation's
method; it may have several (specification, sections 3.3 and 4.3). Which ones it has is found out
once, when it is added to a chain. To have a type checker confirm it, assign one:
``_: ExecutionMiddleware = MyMiddleware()``. An object that serves both chains has the methods
``enqueue`` and ``execute`` in place of ``call``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import EnqueueResult

EnqueueNext: TypeAlias = Callable[[Job], Awaitable[Job | None]]
"""Passes the job on; gives the stored job, or None when a middleware further in dropped it."""

BatchNext: TypeAlias = Callable[[Sequence[Job]], Awaitable[list[EnqueueResult]]]
"""Passes the jobs on to the chain of each; gives the outcome of each, in order."""

ExecutionNext: TypeAlias = Callable[[], Awaitable[object]]
"""Runs the rest of the chain and the handler; gives the result, and raises what they raise."""


class EnqueueMiddleware(Protocol):
    """Wraps the enqueueing of one job. One instance serves every job, several at a time.

    With the attribute ``never_waits = True`` it says that it waits for nothing but ``call_next``:
    PUSH then needs no event loop.
    """

    async def call(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on, drop it, or raise an error, so that nothing is stored.

        To drop it, return None without ``call_next``.
        """


class ExecutionMiddleware(Protocol):
    """Wraps the execution of one job. One instance serves every job, several at a time."""

    async def call(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Call ``call_next`` at most once, and return the result.

        An error of ``call_next`` is raised again, or named in ``ctx.mark_handled(error)``.
        """


class BatchMiddleware(Protocol):
    """Wraps the insertion of several jobs at once; a single job is a batch of one."""

    async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> list[EnqueueResult]:
        """Call ``call_next`` once with the jobs that shall go on, and return the outcomes.

        Jobs may be changed, and left out (they count as dropped); none may be added.
        """


class EnqueueSide(Protocol):
    """Wraps enqueueing, in an object that serves both chains."""

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Enqueue as :meth:`EnqueueMiddleware.call` does."""


class ExecutionSide(Protocol):
    """Wraps execution, in an object that serves both chains."""

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Execute as :meth:`ExecutionMiddleware.call` does."""


Call = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Interface:
    """Describes one operation that middleware or hooks can take part in.

    :ivar name: the method's name.
    :ivar parameters: what it is called with, besides itself.
    :ivar aliases: other names under which it is found, after ``name``.
    :ivar is_synchronous: whether it must not be ``async def``.
    """

    name: str
    parameters: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    is_synchronous: bool = False

    @property
    def shown(self) -> str:
        """Return how it is written: ``enqueue(job, call_next)``."""
        return f"{self.name}({', '.join(self.parameters)})"


ENQUEUE: Final = Interface("enqueue", ("job", "call_next"), ("call",))
ENQUEUE_MANY: Final = Interface("enqueue_many", ("jobs", "call_next"))
EXECUTE: Final = Interface("execute", ("job", "ctx", "call_next"), ("call",))
MIDDLEWARE: Final = (ENQUEUE, ENQUEUE_MANY, EXECUTE)

EVENT_HOOKS: Final = (
    "retry_scheduled",
    "discarded",
    "cancelled",
    "worker_state",
    "reservation_lost",
    "cron_fire",
    "cron_skip",
    "queue_paused",
)
"""Hooks that the backend calls with an event, at least once for each."""

HOOKS: Final = (
    Interface("insert_begin", ("job",)),
    Interface("insert_end", ("job", "error")),
    Interface("work_begin", ("job", "ctx")),
    Interface("work_end", ("job", "ctx", "outcome")),
    Interface("periodic_start", ("periodic",)),
    Interface("metric_emit", ("metric",), is_synchronous=True),
    *(Interface(name, ("event",)) for name in EVENT_HOOKS),
)

_OTHER_NAMES: Final = {
    "enque": "enqueue",
    "enquemany": "enqueue_many",
    "enqueuebatch": "enqueue_many",
    "enqueueall": "enqueue_many",
    "insert": "enqueue",
    "insertmany": "enqueue_many",
    "work": "execute",
    "process": "execute",
    "begininsert": "insert_begin",
    "endinsert": "insert_end",
    "beginwork": "work_begin",
    "endwork": "work_end",
}
"""Names that other systems use for them, without underscores."""

_CLOSE: Final = 0.85
"""A method's name that is at least this similar (0 to 1) counts as misspelt."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Says what an object can be used for.

    :ivar implements: names of the interfaces it implements properly.
    :ivar problems: what looks like an interface but is none, one sentence each.
    """

    implements: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return True if it implements something and nothing looks wrong."""
        return bool(self.implements) and not self.problems


class MiddlewareDefaults:
    """Marks the base classes of middleware that implement only some of the methods."""


class HookDefaults:
    """Marks the base classes of hooks that implement only some of the methods."""


def check(member: object) -> Checked:
    """Find out which interfaces of middleware and hooks an object implements, and near misses.

    A near miss is a method whose name is almost one of theirs, or has their name and cannot be
    called as they are. Adding such an object to a chain warns, or is refused if nothing remains.
    Put it into a test of yours: ``assert check(MyMiddleware())``.
    """
    implements: list[str] = []
    problems: list[str] = []
    hook_name = hook_name_of(member)
    for interface in (*MIDDLEWARE, *HOOKS):
        found, name = method_of(member, interface)
        if found is None:
            continue
        problem = problem_of(found, interface, name)
        if not problem:
            implements.append(interface.name)
        elif interface.name in (name, hook_name):
            problems.append(problem)
    if not any(name in implements for name in ("enqueue", "execute")) and _own(member, "call"):
        problems.append(
            f"call{_signature(member.call)} fits neither "  # type: ignore[attr-defined]
            "call(job, call_next) nor call(job, ctx, call_next)."
        )
    problems += _near_misses(member)
    is_base = isinstance(member, MiddlewareDefaults | HookDefaults)
    if not implements and not problems and not is_base:
        problems.append(f"{member!r} has none of the methods of middleware or hooks.")
    return Checked(tuple(implements), tuple(problems))


def method_of(member: object, interface: Interface) -> tuple[Call | None, str]:
    """Return the method or function that implements an interface, and its name."""
    wanted = hook_name_of(member)
    if inspect.isroutine(member) or wanted:
        is_hook = interface not in MIDDLEWARE
        fits = wanted == interface.name if is_hook else not wanted
        name = str(getattr(member, "__name__", "function"))
        return (member if fits and callable(member) and interface != ENQUEUE_MANY else None), name
    for name in (interface.name, *interface.aliases):
        found = getattr(member, name, None)
        if callable(found):
            return found, name
    if interface in (ENQUEUE, EXECUTE) and callable(member) and not _has_any(member):
        return member, type(member).__name__
    marked = marked_methods(member, interface.name).items()
    return next(((call, name) for name, call in marked), (None, ""))


def hook_name_of(member: object) -> str:
    """Return the hook that a function is marked as; empty for what is not marked."""
    name = getattr(member, "hook_name", None)
    return name if isinstance(name, str) else ""  # a mock has every attribute


def marked_methods(member: object, hook_name: str) -> dict[str, Call]:
    """Return the methods of an object that are marked as one hook, by their own names."""
    kind: Any = type(member)
    return {
        name: getattr(member, name)
        for name, marked in _marked_functions(kind)
        if marked == hook_name
    }


@functools.lru_cache(maxsize=128)
def _marked_functions(kind: type) -> tuple[tuple[str, str], ...]:
    """Return the functions of a class that are marked as hooks, each with its hook."""
    functions = inspect.getmembers(kind, inspect.isfunction)
    return tuple((name, marked) for name, each in functions if (marked := hook_name_of(each)))


def problem_of(call: Call, interface: Interface, name: str) -> str:
    """Return why something cannot be called as its interface is; empty if it can."""
    if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
        return f"{name} is a generator; {interface.shown} returns once."
    if interface.is_synchronous and inspect.iscoroutinefunction(call):
        return f"{name} is `async def`; {interface.shown} is called where nothing can wait."
    try:
        signature = inspect.signature(call, follow_wrapped=False)  # as it will be called
    except (ValueError, TypeError):  # a builtin without a signature
        return ""
    try:
        signature.bind(*interface.parameters)
    except TypeError:
        return f"{name}{signature} cannot be called as {interface.shown} is."
    return ""


def _near_misses(member: object) -> list[str]:
    """Return a sentence for each method whose name is almost that of an interface."""
    if inspect.isroutine(member) or hook_name_of(member):
        return []
    from difflib import get_close_matches

    known = {interface.name: interface for interface in (*MIDDLEWARE, *HOOKS)}
    plain = {name.replace("_", ""): name for name in known}
    found = []
    for name in dir(type(member)):
        if name.startswith("_") or name in known or not callable(getattr(member, name, None)):
            continue
        squeezed = name.replace("_", "").lower().removeprefix("on")
        close = get_close_matches(squeezed, plain, n=1, cutoff=_CLOSE)
        meant = _OTHER_NAMES.get(squeezed) or (plain[close[0]] if close else None)
        if meant is not None and not callable(getattr(member, meant, None)):
            found.append(f"{name}() is never called; was {known[meant].shown} meant?")
    return found


def _has_any(member: object) -> bool:
    return any(
        callable(getattr(member, name, None))
        for interface in (*MIDDLEWARE, *HOOKS)
        for name in (interface.name, *interface.aliases)
    )


def _own(member: object, name: str) -> bool:
    return not inspect.isroutine(member) and callable(getattr(member, name, None))


def _signature(call: Call) -> str:
    try:
        return str(inspect.signature(call))
    except (ValueError, TypeError):
        return "(...)"
