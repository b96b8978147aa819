"""What a layer of middleware costs per job, against a direct call of the handler and others.

    python -m benchmarks.middleware              # a table; exit 1 above the budget
    python -m benchmarks.middleware --quick --json middleware.json

Every stack does nothing but pass on. Its cost per layer is the time of twenty layers less that of
none, divided by twenty, so that entering the stack is not counted; it has a column of its own.
The stacks take turns, in short bursts, and the best burst counts: what else runs on the machine
only adds time, and interrupts long measurements more often than short ones.

The reference style builds its closures again for each job, as the sketches of middleware
specifications do, and guards nothing: a second `call_next` runs the handler again. Taskiq calls
two hooks per middleware, before and after; they cannot wrap the handler.
"""

# ruff: noqa: ARG001 - middleware that only pass on use little of what they get
from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import EnqueueChain, ExecutionChain, JobContext

LAYERS: Final = 20
SYNC_BUDGET_US: Final = 1.0
ASYNC_BUDGET_US: Final = 2.0

Once = Callable[[], Awaitable[object]]

JOB: Final = Job("bench.noop", [1], id="01900000-0000-7000-8000-000000000001")
CTX: Final = JobContext(JOB)


async def handler(job: Job, ctx: JobContext) -> object:
    """The handler: nothing."""
    return job


async def keep(job: Job) -> Job:
    """The storing: nothing."""
    return job


# ------------------------------------------------------------------------------ the middleware
async def execute_async(job: Job, ctx: JobContext, call_next: Any) -> object:
    return await call_next()


def execute_sync(job: Job, ctx: JobContext, call_next: Any) -> object:
    return call_next()


async def enqueue_async(job: Job, call_next: Any) -> object:
    return await call_next(job)


def enqueue_sync(job: Job, call_next: Any) -> object:
    return call_next(job)


def enqueue_return(job: Job, call_next: Any) -> object:
    return job


# ----------------------------------------------------------------------------------- the stacks
def direct(_: int) -> Once:
    """No stack at all."""
    return lambda: handler(JOB, CTX)


def executing(middleware: object) -> Callable[[int], Once]:
    """Our execution chain."""

    def stack(layers: int) -> Once:
        chain = ExecutionChain([middleware] * layers)
        return lambda: chain.run(JOB, CTX, handler)

    return stack


def enqueuing(middleware: object) -> Callable[[int], Once]:
    """Our enqueue chain."""

    def stack(layers: int) -> Once:
        chain = EnqueueChain([middleware] * layers)
        return lambda: chain.run(JOB, keep)

    return stack


def closures(middleware: Any) -> Callable[[int], Once]:
    """The reference style: a closure per layer, made for each job."""

    def stack(layers: int) -> Once:
        members = [middleware] * layers

        def once() -> Awaitable[object]:
            def innermost() -> Awaitable[object]:
                return handler(JOB, CTX)

            call_next = innermost
            for member in reversed(members):

                def around(member: Any = member, inner: Any = call_next) -> Awaitable[object]:
                    going: Awaitable[object] = member(JOB, CTX, inner)
                    return going

                call_next = around
            return call_next()

        return once

    return stack


def taskiq(layers: int) -> Once:
    """Taskiq's receiver: the hooks of each middleware, and the function between."""
    from taskiq import InMemoryBroker, TaskiqMessage, TaskiqMiddleware  # noqa: PLC0415
    from taskiq.receiver import Receiver  # noqa: PLC0415

    class Passes(TaskiqMiddleware):
        async def pre_execute(self, message: TaskiqMessage) -> TaskiqMessage:
            return message

        async def post_execute(self, message: TaskiqMessage, result: Any) -> None: ...

    broker = InMemoryBroker().with_middlewares(*(Passes() for _ in range(layers)))

    async def noop() -> int:
        return 1

    broker.register_task(noop, task_name="noop")
    receiver = Receiver(broker, max_async_tasks=1)
    body = TaskiqMessage(task_id="1", task_name="noop", labels={}, args=[], kwargs={})
    packed = broker.formatter.dumps(body).message
    return lambda: receiver.callback(packed)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table, in microseconds."""

    stack: str
    empty: float
    per_layer: float
    budget: float | None = None

    @property
    def is_within(self) -> bool:
        return self.budget is None or self.per_layer <= self.budget


MORE_TRIES: Final = 5
"""What else runs on the machine only adds: what seems too slow is measured again."""

STACKS: Final[tuple[tuple[str, Callable[[int], Once], float | None], ...]] = (
    ("handler called directly", direct, None),
    ("execution, async middleware", executing(execute_async), ASYNC_BUDGET_US),
    ("execution, sync middleware", executing(execute_sync), SYNC_BUDGET_US),
    ("enqueue, async middleware", enqueuing(enqueue_async), ASYNC_BUDGET_US),
    ("enqueue, sync middleware", enqueuing(enqueue_sync), SYNC_BUDGET_US),
    ("enqueue, sync, returns the job", enqueuing(enqueue_return), SYNC_BUDGET_US),
    ("closures per job, async", closures(execute_async), None),
    ("closures per job, sync", closures(execute_sync), None),
    ("taskiq, pre- and post-execute", taskiq, None),
)


async def microseconds(once: Once, calls: int) -> float:
    """One call, in microseconds."""
    began = time.perf_counter()
    for _ in range(calls):
        await once()
    return (time.perf_counter() - began) / calls * 1e6


async def measure(rounds: int, calls: int, best: dict[tuple[str, int], float]) -> list[Line]:
    """Every stack, empty and with twenty layers.

    :param best: the fastest of each so far, which it goes on from.
    """
    made = [(name, stack(0), stack(LAYERS), budget) for name, stack, budget in STACKS]
    for _ in track(range(rounds), description="Passing jobs through"):
        for name, empty, full, _budget in made:
            for layers, once in ((0, empty), (LAYERS, full)):
                taken = await microseconds(once, calls)
                best[name, layers] = min(taken, best.get((name, layers), taken))
    return [
        Line(name, best[name, 0], (best[name, LAYERS] - best[name, 0]) / LAYERS, budget)
        for name, _, _, budget in made
    ]


def show(lines: list[Line]) -> None:
    """Print the table."""
    table = Table("Stack", title="Middleware, microseconds per job")
    for column in ("no layers", "per layer", "budget"):
        table.add_column(column, justify="right")
    for line in lines:
        budget = "" if line.budget is None else f"{line.budget:.1f}"
        style = "" if line.is_within else "red"
        table.add_row(line.stack, f"{line.empty:.2f}", f"{line.per_layer:.3f}", budget, style=style)
    Console().print(table)


def main() -> int:
    """Measure, print, and say whether the budget holds."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--quick", action="store_true", help="fewer rounds and calls")
    options.add_argument("--json", type=Path, help="write the lines to this file, too")
    given = options.parse_args()
    rounds, calls = (50, 50) if given.quick else (500, 50)
    fastest: dict[tuple[str, int], float] = {}
    lines = asyncio.run(measure(rounds, calls, fastest))
    for _ in range(MORE_TRIES):
        if all(line.is_within for line in lines):
            break
        lines = asyncio.run(measure(rounds, calls, fastest))
    show(lines)
    if given.json:
        given.json.write_text(json.dumps([asdict(line) for line in lines], indent=2))
    return 0 if all(line.is_within for line in lines) else 1


if __name__ == "__main__":
    raise SystemExit(main())
