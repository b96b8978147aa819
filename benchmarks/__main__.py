"""Every benchmark, one after the other: ``python -m benchmarks``, or ``make bench``.

    QUICK=1 python -m benchmarks         # minutes: everything once, with small numbers
    python -m benchmarks growth load     # only those

What each printed, and its tables and plots, are in build/benchmarks.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.deployed import SHARED, deployed
from benchmarks.local_server import ROOT, end_by_sigterm
from benchmarks.results import FOLDER

SKIPPED: Final = 77
WIDTH: Final = "120"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A module of this package.

    :ivar arguments: of its command.
    :ivar quick: the same when it must be quick.
    :ivar minutes: that it takes, not quick, on two processors that do nothing else.
    :ivar is_deployed: it needs the CDK, and so Node, and the emulator.
    """

    name: str
    arguments: Sequence[str] = ()
    quick: Sequence[str] = ()
    is_deployed: bool = False
    minutes: float = 0.5


ALL: Final = (
    Benchmark("costs"),
    Benchmark("batch_costs"),
    Benchmark("flow_costs"),
    Benchmark("lives"),
    Benchmark("paths"),
    Benchmark("targets"),
    Benchmark("compare"),
    Benchmark("sequences", minutes=10),
    Benchmark("fairness", quick=("--starts", "1000", "--flood", "5000")),
    Benchmark("latency", quick=("--jobs", "500")),
    Benchmark("capacity"),
    Benchmark("sweep_costs", quick=("--waiting", "500"), minutes=1),
    Benchmark("growth", minutes=4),
    Benchmark("overhead", quick=("--rounds", "20")),
    Benchmark("middleware", quick=("--quick",)),
    Benchmark("testing_kit", quick=("--tests", "200")),
    Benchmark("typed_jobs", quick=("--quick",)),
    Benchmark("outbox", quick=("--quick",)),
    Benchmark("startup", quick=("--rounds", "3"), minutes=1),
    Benchmark("imports"),
    Benchmark("partial_batches"),
    Benchmark("bundles"),
    Benchmark("idle", quick=("--quick",), minutes=1.5),
    Benchmark("lateness", quick=("--timers", "60", "--window", "6"), minutes=1.5),
    Benchmark("soak", quick=("--jobs", "100"), minutes=2.5),
    Benchmark("crash", quick=("--jobs", "60"), minutes=20),
    Benchmark("large_group", quick=("--jobs", "200"), minutes=8),
    Benchmark("load", quick=("--quick",), minutes=8),
    Benchmark("crash_deployed", quick=("--jobs", "20"), is_deployed=True, minutes=8),
    Benchmark(
        "load", ("--on", "emulator"), ("--on", "emulator", "--quick"), is_deployed=True, minutes=18
    ),
)
"""What counts comes first, what takes long last."""


@dataclass(frozen=True, slots=True)
class Run:
    """How one ended.

    :ivar cpu_seconds: processor time of its processes, without what it talked to.
    :ivar code: its exit status; ``SKIPPED`` where what it needs is missing.
    :ivar log: the file with what it printed.
    """

    title: str
    code: int
    seconds: float
    cpu_seconds: float
    log: str


def run(benchmark: Benchmark, environ: Mapping[str, str], console: Console) -> Run:
    """Run one in a process of its own, keep what it prints, and print it."""
    arguments = benchmark.quick if environ.get("QUICK") else benchmark.arguments
    title = " ".join((benchmark.name, *arguments))
    if benchmark.is_deployed and not can_deploy(environ):
        return Run(title, SKIPPED, 0.0, 0.0, "")
    suffix = "-deployed" if "emulator" in arguments else ""
    log = FOLDER / f"{benchmark.name}{suffix}.txt"
    began, used = time.monotonic(), _cpu_seconds()
    with log.open("w", encoding="utf-8") as output:
        code = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{benchmark.name}", *arguments],
            cwd=ROOT,
            env={**environ, "COLUMNS": WIDTH, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    console.print(f"--- {title}", markup=False)
    console.print(log.read_text("utf-8", "replace"), markup=False, highlight=False)
    took = time.monotonic() - began
    return Run(title, code, took, _cpu_seconds() - used, str(log.relative_to(ROOT)))


def _cpu_seconds() -> float:
    """Processor time of the children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class Stack:
    """The deployment that benchmarks share, made with the first that needs it."""

    environ: Mapping[str, str]
    console: Console
    _open: ExitStack = field(default_factory=ExitStack)
    _shared: str = ""

    def __enter__(self) -> Self:
        """Deploy nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the emulator, if there is one."""
        self._open.close()

    def environment(self) -> Mapping[str, str]:
        """The environment of a benchmark that needs the deployment; as it is where none can be."""
        if not self._shared and can_deploy(self.environ):
            began = time.monotonic()
            found = deployed(self.environ, lambda line: self.console.print(line, markup=False))
            try:
                self._shared = str(self._open.enter_context(found))
            except (OSError, RuntimeError) as problem:
                self.console.print(f"Not deployed: {problem}", markup=False)
                return self.environ
            self.console.print(f"deployed in {time.monotonic() - began:.0f} s")
        return {**self.environ, SHARED: self._shared} if self._shared else self.environ


def can_deploy(environ: Mapping[str, str]) -> bool:
    """Whether the CDK and the emulator are installed."""
    from infra.deployment import DeploymentError, find_cdk  # noqa: PLC0415 - not for all
    from infra.emulator import EmulatorError, find_ministack  # noqa: PLC0415

    try:
        find_cdk(environ)
        find_ministack(environ)
    except (DeploymentError, EmulatorError):
        return False
    return True


def described(benchmark: Benchmark) -> str:
    """What is shown while it runs."""
    is_long = benchmark.minutes > 1 and not os.environ.get("QUICK")
    return f"{benchmark.name}, {benchmark.minutes:g} min" if is_long else benchmark.name


def show(runs: Sequence[Run], console: Console) -> None:
    """Print how each ended, and where everything is."""
    table = Table("benchmark", "ended", "seconds", "of a processor", "what it printed")
    for each in runs:
        ended = {0: "well", SKIPPED: "skipped"}.get(each.code, f"BADLY ({each.code})")
        table.add_row(each.title, ended, f"{each.seconds:.0f}", f"{each.cpu_seconds:.0f}", each.log)
    console.print(table)
    console.print(f"in all {sum(each.seconds for each in runs):.0f} s")
    if any(each.code == SKIPPED for each in runs):
        console.print("Skipped: what needs the CDK (`make node`) and the emulator.")
    console.print(f"Tables and plots: {FOLDER.relative_to(ROOT)}")
    if any(each.title.startswith("targets") for each in runs):
        console.print(f"Figures and their targets: {(FOLDER / 'targets.md').relative_to(ROOT)}")


def main(wanted: Sequence[str]) -> int:
    """Run the benchmarks of these names, or all; 1 when one ended badly, 2 for a wrong name."""
    if unknown := set(wanted) - {each.name for each in ALL}:
        print(f"No such benchmark: {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    end_by_sigterm()
    FOLDER.mkdir(parents=True, exist_ok=True)
    chosen = [each for each in ALL if not wanted or each.name in wanted]
    console, runs = Console(), list[Run]()
    if not os.environ.get("QUICK"):
        minutes = sum(each.minutes for each in chosen)
        console.print(f"{len(chosen)} benchmarks, about {minutes:.0f} minutes if nothing else runs")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=len(chosen))
        with Stack(os.environ, console) as stack:
            for benchmark in chosen:
                progress.update(task, description=described(benchmark))
                environ = stack.environment() if benchmark.is_deployed else os.environ
                runs.append(run(benchmark, environ, console))
                progress.advance(task)
    show(runs, console)
    return int(any(each.code not in {0, SKIPPED} for each in runs))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
