"""Crashes of a deployment: Lambda processes are killed with SIGKILL while jobs run.

    python -m benchmarks.crash_deployed [--jobs 400] [--seed 1]          QUICK=1: 60 jobs

The stack, deployed by the real CDK to the emulator, which runs each function as processes. Any of
them may die in the middle of anything: those behind the API, the worker, the stream's, the tick's.
Half of the jobs are for HTTP workers, which are killed, too, the others for a Lambda worker.
Afterwards each must have ended by the rules, as in ``benchmarks.soak``. Needs Node, for the CDK.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks import crash
from benchmarks.deployed import deployed
from benchmarks.local_server import end_by_sigterm, http_client
from benchmarks.progress import progress_of
from benchmarks.results import show_table
from benchmarks.soak import MAX_SHOWN, Log
from benchmarks.soak_checks import problems
from benchmarks.soak_worker import Diary

LAMBDA_QUEUE: Final = "demo"
RESERVE_MS: Final = 4000
BETWEEN_S: Final = (0.5, 5.0)
"""Shortest and longest time between two deaths of functions, in seconds."""

QUIET_START_S: Final = 2.0
"""How long a function takes to start on a machine that does nothing else. Where it takes longer,
deaths are as much rarer, or nothing would ever get done."""

NEWBORN: Final = 0.2
"""Share of the deaths that may meet a function while it starts. The others spare it so long: a
start takes seconds here, and nothing would ever get done."""


@dataclass
class Functions:
    """The processes in which the emulator runs functions.

    :ivar start_s: how long a function takes to start here.
    :ivar killed: how many of each function were killed.
    """

    emulator_pid: int
    start_s: float
    killed: Counter[str] = field(default_factory=Counter)

    def kill(self, chance: random.Random) -> None:
        """SIGKILL one of them; the emulator starts another when there is something to do."""
        is_any = chance.random() < NEWBORN
        if not (alive := self._alive(0.0 if is_any else self.start_s)):
            return
        victim = chance.choice(alive)
        name = _function_of(victim)
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
            self.killed[name] += 1

    def _alive(self, age_s: float) -> list[int]:
        """Those of at least this age."""
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,stat=,etimes="],  # noqa: S607 - wherever it is
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        rows = [line.split() for line in listed.splitlines()]
        parent = str(self.emulator_pid)
        return [
            int(pid)
            for pid, ppid, state, age in rows
            if ppid == parent and state[0] != "Z" and int(age) >= age_s
        ]


def _function_of(pid: int) -> str:
    """The name of the function that a process runs, where the system knows it."""
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            name, _, value = entry.partition(b"=")
            if name == b"POWERTOOLS_SERVICE_NAME":
                return value.decode()
    return "a function"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it."""

    seconds: float
    states: Counter[tuple[str, str]]
    attempts: int
    killed: Counter[str]
    worker_kills: int
    diary: Diary
    problems: list[str]


def run(plan: crash.Plan, say: Callable[[str], None], progress: Callable[[int], None]) -> Result:
    """Deploy, run the plan, and check everything."""
    with deployed(os.environ, say) as stack, tempfile.TemporaryDirectory() as folder:
        workers = crash.Workers(stack.url, Path(folder), plan.seed)
        try:
            functions = Functions(stack.emulator_pid, _start_s(stack.url))
            return _run(plan, functions, workers, progress)
        finally:
            workers.end()


def _start_s(url: str) -> float:
    """How long the first request to a function takes."""
    began = time.monotonic()
    with http_client(url, 1) as http:
        crash.persist(lambda: http.get("events", params={"limit": "1"}).raise_for_status())
    return time.monotonic() - began


def _run(
    plan: crash.Plan, functions: Functions, workers: crash.Workers, progress: Callable[[int], None]
) -> Result:
    began, chance, over = time.monotonic(), random.Random(plan.seed), threading.Event()
    for _ in range(plan.workers):
        workers.start()
    killers = [
        threading.Thread(target=crash.kill_workers, args=(plan, workers, over)),
        threading.Thread(target=_kill_functions, args=(plan, functions, over)),
    ]
    jobs = [_job(chance, is_for_lambda=bool(at % 2)) for at in range(plan.jobs)]
    with http_client(workers.url, 4) as http:
        log = Log(http)
        for killer in killers:
            killer.start()
        try:
            allowed = crash.push(http, jobs)
            crash.follow(log, plan.jobs, began + plan.longest_s, progress)
        finally:
            over.set()
            for killer in killers:
                killer.join()
            deaths = workers.kills
            workers.end()
        found = crash.look(http, log, allowed)
    diary = workers.diary()
    return Result(
        seconds=time.monotonic() - began,
        states=Counter((_kind(job["queue"]), job["state"]) for job in found),
        attempts=sum(job["attempt"] for job in found),
        killed=functions.killed,
        worker_kills=deaths,
        diary=diary,
        problems=list(problems(found, log.events, diary, allowed)),
    )


def _kill_functions(plan: crash.Plan, functions: Functions, over: threading.Event) -> None:
    chance = random.Random(f"{plan.seed}/functions")
    pace = max(1.0, functions.start_s / QUIET_START_S)
    while not over.wait(chance.uniform(*BETWEEN_S) * pace):
        functions.kill(chance)


def _kind(queue: str) -> str:
    return "Lambda worker" if queue == LAMBDA_QUEUE else "HTTP workers"


def _job(chance: random.Random, *, is_for_lambda: bool) -> dict[str, Any]:
    """Return a job for the demo worker, which sleeps or fails on request, or for HTTP workers."""
    job = crash.new_job(chance)
    job["options"]["visibility_timeout_ms"] = RESERVE_MS
    if is_for_lambda:
        job["options"]["queue"] = LAMBDA_QUEUE
        fails = chance.random() < 0.1
        job["type"] = "demo.fail" if fails else "demo.sleep"
        job["args"] = ["no"] if fails else [chance.choice((0.0, 0.05, 0.5))]
    return job


def show(plan: crash.Plan, result: Result, console: Console) -> None:
    """Print what happened, and what was wrong."""
    statuses = Counter((report.kind, report.status) for report in result.diary.reports)
    rows = [
        *((f"jobs of {kind}: {state}", n) for (kind, state), n in sorted(result.states.items())),
        ("attempts", result.attempts),
        *((f"processes of {name} killed", n) for name, n in sorted(result.killed.items())),
        ("HTTP workers killed", result.worker_kills),
        *(
            (f"{kind} {f'answered {status}' if status else 'without an answer'}", count)
            for (kind, status), count in sorted(statuses.items())
        ),
        ("problems", len(result.problems)),
    ]
    title = f"{plan.jobs} jobs on the deployed stack, seed {plan.seed}, {result.seconds:.0f} s"
    cells = [(name, str(count)) for name, count in rows]
    show_table("crash_deployed", title, ("what", "count"), cells, console)
    for problem in result.problems[:MAX_SHOWN]:
        console.print(problem, markup=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Crash and print; 1 when something was not as it must be."""
    end_by_sigterm()
    parser = argparse.ArgumentParser(description="Kill Lambda processes while jobs run.")
    parser.add_argument("--jobs", type=int, default=60 if os.environ.get("QUICK") else 400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=1800.0, help="seconds until given up")
    given = parser.parse_args(arguments)
    plan = crash.Plan(jobs=given.jobs, workers=2, seed=given.seed, longest_s=given.longest)
    console = Console()
    with progress_of("jobs that have ended", plan.jobs, console) as progress:
        result = run(plan, console.print, progress)
    show(plan, result, console)
    return 1 if result.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
