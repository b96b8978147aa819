"""How long from push to start when deployed, simulated over what AWS and others publish.

    python -m benchmarks.latency [--jobs 5000] [--seed 1]

The emulators' times say nothing of AWS. So this adds up samples of the figures in
``benchmarks.latency_figures``, in the order in which the code makes its calls, and with the pace at
which a worker polls. The network between a client and its region is not in it: add it, once for a
push, and once for each poll.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from rich.console import Console

from benchmarks.latency_figures import FIGURES, code_ms
from benchmarks.results import show_table
from ojs_aws.worker.lifecycle import Polls

if TYPE_CHECKING:
    from ojs_aws.client.timer import Timer

JOBS: Final = 5_000
SEED: Final = 1
WARM_UP_S: Final = 12.0
"""How long an idle worker has polled before its job comes: its pauses are the longest by then."""

COLUMNS: Final = (
    "path",
    "push answered, p50 ms",
    "p99",
    "push to start, p50 ms",
    "p99",
)


class Chance:
    """Draws the figures of one run.

    :ivar random: where they come from.
    """

    def __init__(self, seed: int) -> None:
        """Start with a seed."""
        self.random = random.Random(seed)

    def chance(self) -> float:
        """Return a number from 0 to 1, as a timer of the client does."""
        return self.random.random()

    def ms(self, name: str) -> float:
        """Return how long a part takes this time."""
        return FIGURES[name].sample(self.random)

    def both(self, *names: str) -> float:
        """Return how long parts take that run side by side."""
        return max(map(self.ms, names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Describes how a job is pushed and executed.

    :ivar is_direct: the client enqueues with AWS credentials, without the API.
    :ivar uses_lambda: SQS invokes the worker; otherwise it polls the API.
    :ivar uses_gateway: requests go through API Gateway; otherwise to the job endpoint.
    :ivar start: the figure for functions that are not warm; empty if they are warm.
    :ivar memory_mb: memory of all functions.
    :ivar polls: the pace of polling workers.
    :ivar workers: how many of them wait.
    :ivar is_busy: a polling worker has just found a job, and asks again at once.
    :ivar wait_s: how long FETCH waits inside the function.
    """

    is_direct: bool = False
    uses_lambda: bool = False
    uses_gateway: bool = True
    start: str = ""
    memory_mb: int = 512
    polls: Polls = field(default_factory=Polls)
    workers: int = 1
    is_busy: bool = False
    wait_s: float = 0.0


PATHS: Final[Mapping[str, Path]] = {
    "Lambda worker": Path(uses_lambda=True),
    "the same, all functions cold": Path(uses_lambda=True, start="cold start"),
    "the same, cold, with SnapStart": Path(uses_lambda=True, start="restore"),
    "Lambda worker, functions of 1,769 MB": Path(uses_lambda=True, memory_mb=1769),
    "Lambda worker, pushed directly": Path(uses_lambda=True, is_direct=True),
    "Lambda worker, at the job endpoint": Path(uses_lambda=True, uses_gateway=False),
    "all functions cold, at the job endpoint": Path(
        uses_lambda=True, uses_gateway=False, start="cold start"
    ),
    "HTTP worker, idle": Path(),
    "HTTP worker, producer cold": Path(start="cold start"),
    "two idle HTTP workers": Path(workers=2),
    "ten idle HTTP workers": Path(workers=10),
    "HTTP worker, polls twice a second": Path(polls=Polls(longest_s=0.65)),
    "HTTP worker, FETCH waits 2 s": Path(wait_s=2.0),
    "HTTP worker, busy": Path(is_busy=True),
}
"""The paths, and the levers that a user has. Everything is warm that does not say otherwise, and
requests go through API Gateway, as they do by default."""


@dataclass(frozen=True, slots=True)
class Push:
    """Says when something of a push happened, in milliseconds after its call.

    :ivar stored: the job is in the table.
    :ivar answered: the caller has its answer.
    """

    stored: float
    answered: float


def request_ms(path: Path, chance: Chance, *, is_warm: bool) -> float:
    """Return how long a request takes until our code has read it.

    A cold function has forgotten the key of its caller, and reads it. The gateway has that read by
    an authorizer, which is as cold, and then invokes the function.
    """
    entry = "gateway" if path.uses_gateway else "function URL"
    taken = chance.ms(entry) + chance.ms("invocation") + code_ms(chance.random, path.memory_mb)
    if path.start and not is_warm:
        taken += chance.ms(path.start) + chance.ms("read")
        if path.uses_gateway:
            taken += chance.ms(path.start)
    return taken


def push(path: Path, chance: Chance) -> Push:
    """Push a job: a write, then a message."""
    if path.is_direct:
        began = FIGURES["code"].sample(chance.random)
    else:
        began = request_ms(path, chance, is_warm=False)
    stored = began + chance.ms("write")
    return Push(stored, stored + chance.ms("send"))


def start_by_lambda(path: Path, chance: Chance, pushed: Push) -> float:
    """Return when SQS has invoked the worker, and it has claimed the job."""
    began = pushed.stored + chance.ms("trigger")
    if path.start:
        began += chance.ms(path.start)
    return (
        began
        + code_ms(chance.random, path.memory_mb)
        + chance.both("read", "read")
        + chance.ms("write")
    )


def start_by_poll(path: Path, chance: Chance, pushed: Push) -> float:
    """Return when the first of the waiting workers has claimed the job."""
    visible = pushed.stored + chance.ms("index")
    sent = pushed.answered
    return min(_found(path, chance, visible, sent) for _ in range(path.workers))


def _found(path: Path, chance: Chance, visible: float, sent: float) -> float:
    """Return when this worker has the job, if no other takes it.

    :param visible: when the head of the queue has the job.
    :param sent: when its message is there.
    """
    pace = path.polls.start(cast("Timer", chance))  # it only asks for chances
    at = -(WARM_UP_S + 4 * chance.chance() + path.wait_s * (8 + 4 * chance.chance())) * 1000
    if path.is_busy:
        at = -200.0 * chance.chance()
    while True:
        looked = at + request_ms(path, chance, is_warm=True)
        read = looked + chance.both("read", "read", "receive")
        if looked < visible and path.wait_s and sent < read + path.wait_s * 1000:
            read = max(read, sent) + chance.ms("receive") + chance.both("read", "read")
            return read + chance.ms("write")
        if looked >= visible:
            return read + chance.ms("write")
        answered = read + path.wait_s * 1000
        at = answered + 1000 * pace.pause_s(found=path.is_busy, failed=False)


def next_step(window_s: float) -> Callable[[Chance], float]:
    """Return how long from the end of a workflow's step to the start of the next one.

    :param window_s: the batching window of the stream; a change comes anywhere in it.
    """
    path = Path(uses_lambda=True)

    def run(chance: Chance) -> float:
        published = chance.ms("stream") + window_s * 1000 * chance.chance()
        stored = published + code_ms(chance.random, path.memory_mb) + chance.ms("read")
        stored += chance.ms("transaction")
        return start_by_lambda(path, chance, Push(stored, stored))

    return run


STEPS: Final = {
    "end of a step to the next one, Lambda worker": next_step(1.0),
    "the same, without a batching window": next_step(0.0),
}


def percentiles(times: Sequence[float]) -> tuple[str, str]:
    """Return the median and the 99th percentile, to two digits."""
    cuts = statistics.quantiles(times, n=100)
    return tuple(f"{float(f'{cuts[at]:.2g}'):,.0f}" for at in (49, 98))  # type: ignore[return-value]


def row(name: str, jobs: int = JOBS, seed: int = SEED) -> tuple[str, ...]:
    """Simulate a path; return its line of the table."""
    chance = Chance(seed)
    if name in STEPS:
        return name, "", "", *percentiles([STEPS[name](chance) for _ in range(jobs)])
    path = PATHS[name]
    begin = start_by_lambda if path.uses_lambda else start_by_poll
    pushes = [push(path, chance) for _ in range(jobs)]
    starts = [begin(path, chance, each) for each in pushes]
    return name, *percentiles([each.answered for each in pushes]), *percentiles(starts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args(arguments)
    console = Console()
    rows = [row(name, given.jobs, given.seed) for name in (*PATHS, *STEPS)]
    show_table("latency", "From push to start when deployed, simulated", COLUMNS, rows, console)
    figures = [
        (name, f"{each.p50_ms:g}", f"{each.p99_ms:g}", each.source)
        for name, each in FIGURES.items()
    ]
    columns = ("part", "p50 ms", "p99 ms", "source")
    show_table("latency-figures", "What the simulation takes", columns, figures, console)


if __name__ == "__main__":
    main()
