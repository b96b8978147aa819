"""Crashes: the server and its workers are killed with SIGKILL, again and again, while jobs run.

    python -m benchmarks.crash [--jobs 5000] [--workers 4] [--seed 1]        QUICK=1: 300 jobs

What survives is what survives in AWS: the table and the queues, here in the emulator, a process of
its own. The functions run in the local server, which is killed in the middle of whatever it does
and started again; the workers are processes, too. Afterwards each job must have ended by the rules,
as in ``benchmarks.soak``. Without the emulator (`make emulator`) nothing would survive the server,
and only the workers are killed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.crash_worker import QUEUES
from benchmarks.local_server import (
    ROOT,
    answers,
    end_by_sigterm,
    free_port,
    http_client,
    start_server,
)
from benchmarks.progress import progress_of
from benchmarks.soak import MAX_SHOWN, Log
from benchmarks.soak_checks import problems
from benchmarks.soak_worker import FATAL, Diary, Held, Report
from infra.emulator import ACCESS_KEY, REGION, EmulatorError, start_emulator
from ojs_aws.client.timer import UuidV7

BATCH: Final = 20
PATIENCE_S: Final = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is tried.

    :ivar server_lives_s: shortest and longest time until the server is killed, in seconds.
    :ivar worker_lives_s: the same between two workers' deaths.
    :ivar longest_s: when it is given up, in seconds.
    """

    jobs: int = 5000
    workers: int = 4
    seed: int = 1
    server_lives_s: tuple[float, float] = (8.0, 60.0)
    worker_lives_s: tuple[float, float] = (0.5, 6.0)
    longest_s: float = 7200.0


@dataclass
class Server:
    """A local server that is killed and started again on its port.

    :ivar survives: whether what it keeps survives it.
    """

    port: int
    endpoint_url: str | None
    kills: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers, while it lives."""
        return f"http://127.0.0.1:{self.port}/ojs/v1/"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        arguments: list[str] = []
        environ: dict[str, str] = {}
        if self.endpoint_url is not None:
            arguments = ["--endpoint-url", self.endpoint_url]
            environ = {
                "AWS_ACCESS_KEY_ID": ACCESS_KEY,
                "AWS_SECRET_ACCESS_KEY": ACCESS_KEY,
                "AWS_DEFAULT_REGION": REGION,
            }
        self.process = start_server(self.port, subprocess.DEVNULL, *arguments, **environ)
        if not answers(self.url, self.process):
            raise RuntimeError("The local server does not answer.")

    def kill(self) -> None:
        """SIGKILL: nothing of it gets to end."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.kills += 1


@dataclass
class Workers:
    """Worker processes, each with a diary that outlives it."""

    url: str
    folder: Path
    seed: int
    alive: list[subprocess.Popen[bytes]] = field(default_factory=list)
    kills: int = 0
    _born: int = 0

    def start(self) -> None:
        """One more."""
        self._born += 1
        name = f"w{self._born}"
        command = [sys.executable, "-m", "benchmarks.crash_worker", self.url, name]
        command += [str(self.folder / f"{name}.jsonl"), f"{self.seed}/{name}"]
        self.alive.append(subprocess.Popen(command, cwd=ROOT))

    def kill(self, chance: random.Random) -> None:
        """SIGKILL one of them, and start another in its place."""
        victim = self.alive.pop(chance.randrange(len(self.alive)))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        self.kills += 1
        self.start()

    def end(self) -> None:
        """No more."""
        for process in self.alive:
            process.kill()
            process.wait()

    def diary(self) -> Diary:
        """What all of them wrote; a last line that a death cut short is none."""
        diary = Diary()
        for path in sorted(self.folder.glob("*.jsonl")):
            for line in path.read_text().splitlines():
                with suppress(ValueError):
                    _enter(diary, json.loads(line))
        return diary


def _enter(diary: Diary, entry: dict[str, Any]) -> None:
    held = Held(entry["job"], entry["attempt"], entry["worker"])
    if entry["what"] == "held":
        diary.held.append(held)
    elif entry["what"] == "unexpected":
        diary.unexpected.append(f"{held}: {entry['status']}")
    else:
        diary.reports.append(Report(held, entry["what"], entry["status"]))


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it."""

    seconds: float
    states: Counter[str]
    diary: Diary
    server_kills: int
    worker_kills: int
    survives: bool
    problems: list[str]


def crash(plan: Plan, progress: Callable[[int], None] = lambda _: None) -> Result:
    """Run the plan and check everything."""
    began = time.monotonic()
    with _aws() as endpoint, tempfile.TemporaryDirectory() as folder:
        server = Server(free_port(), endpoint)
        server.start()
        workers = Workers(server.url, Path(folder), plan.seed)
        try:
            return _run(plan, server, workers, began, progress)
        finally:
            workers.end()
            server.kill()


@contextmanager
def _aws() -> Iterator[str | None]:
    """An AWS that survives the server; None where there is none."""
    try:
        emulator = start_emulator(os.environ)
    except EmulatorError:
        yield None
        return
    try:
        yield emulator.endpoint_url
    finally:
        emulator.stop()


def _run(
    plan: Plan, server: Server, workers: Workers, began: float, progress: Callable[[int], None]
) -> Result:
    chance, over = random.Random(plan.seed), threading.Event()
    for _ in range(plan.workers):
        workers.start()
    killers = [threading.Thread(target=kill_workers, args=(plan, workers, over))]
    if server.endpoint_url is not None:
        killers.append(threading.Thread(target=_kill_server, args=(plan, server, over)))
    with http_client(server.url, 4) as http:
        log = Log(http)
        for killer in killers:
            killer.start()
        try:
            allowed = push(http, [new_job(chance) for _ in range(plan.jobs)])
            follow(log, plan.jobs, began + plan.longest_s, progress)
        finally:
            over.set()
            for killer in killers:
                killer.join()
            kills, deaths = server.kills, workers.kills
            workers.end()
        found = look(http, log, allowed)
    diary = workers.diary()
    return Result(
        seconds=time.monotonic() - began,
        states=Counter(job["state"] for job in found),
        diary=diary,
        server_kills=kills,
        worker_kills=deaths,
        survives=server.endpoint_url is not None,
        problems=list(problems(found, log.events, diary, allowed)),
    )


def _job_of(http: httpx.Client, job_id: str) -> dict[str, Any]:
    job: dict[str, Any] = http.get(f"jobs/{job_id}").raise_for_status().json()["job"]
    return job


def kill_workers(plan: Plan, workers: Workers, over: threading.Event) -> None:
    """Kill one after the other, until it is over."""
    chance = random.Random(f"{plan.seed}/workers")
    while not over.wait(chance.uniform(*plan.worker_lives_s)):
        workers.kill(chance)


def _kill_server(plan: Plan, server: Server, over: threading.Event) -> None:
    chance = random.Random(f"{plan.seed}/server")
    while not over.wait(chance.uniform(*plan.server_lives_s)):
        server.kill()
        server.start()


def persist(call: Callable[[], Any]) -> Any:
    """Call again while the server is down, as clients do."""
    ends = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call()
        except httpx.HTTPError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.1)


def push(http: httpx.Client, jobs: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Push jobs that have ids; the attempts that each one's policy allows.

    A batch that got no answer is sent again with the same ids: it is stored once.
    """
    for begin in range(0, len(jobs), BATCH):

        def send(batch: Sequence[dict[str, Any]] = jobs[begin : begin + BATCH]) -> None:
            http.post("jobs/batch", json={"jobs": batch}).raise_for_status()

        persist(send)
    return {job["id"]: job["options"]["retry"]["max_attempts"] for job in jobs}


def look(http: httpx.Client, log: Log, job_ids: Iterable[str]) -> list[dict[str, Any]]:
    """Read the rest of the log, and then every job."""
    persist(log.read)
    return [persist(partial(_job_of, http, job_id)) for job_id in job_ids]


def new_job(chance: random.Random) -> dict[str, Any]:
    """A job of one of the workers' queues, with a policy of its own."""
    retry = {
        "max_attempts": chance.randint(2, 8),
        "initial_interval": chance.choice(["PT0.1S", "PT1S"]),
        "backoff_coefficient": 1.0,
        "jitter": False,
        "non_retryable_errors": [FATAL],
    }
    options = {"queue": chance.choice(QUEUES), "priority": chance.randint(-5, 5), "retry": retry}
    return {"id": UuidV7().job_id(), "type": "crash", "args": [], "options": options}


def follow(log: Log, jobs: int, ends: float, progress: Callable[[int], None]) -> None:
    """Read the log until so many jobs have ended, or it is given up."""
    while len(log.ended) < jobs and time.monotonic() < ends:
        with suppress(httpx.HTTPError):
            log.read()
        progress(len(log.ended))
        time.sleep(0.3)


def show(plan: Plan, result: Result, console: Console) -> None:
    """Print what happened, and what was wrong."""
    statuses = Counter((report.kind, report.status) for report in result.diary.reports)
    table = Table("what", "count", title=f"{plan.jobs} jobs, seed {plan.seed}")
    rows: list[tuple[str, int]] = [
        *((f"jobs {state}", count) for state, count in sorted(result.states.items())),
        ("the server was killed", result.server_kills),
        ("workers were killed", result.worker_kills),
        ("reservations that a worker heard of", len(result.diary.held)),
        *(
            (f"{kind} {f'answered {status}' if status else 'without an answer'}", count)
            for (kind, status), count in sorted(statuses.items())
        ),
    ]
    for name, count in rows:
        table.add_row(name, str(count))
    console.print(table)
    if not result.survives:
        console.print("No emulator here, so nothing survives the server: only workers were killed.")
    console.print(f"{result.seconds:.0f} s; problems: {len(result.problems)}")
    for problem in result.problems[:MAX_SHOWN]:
        console.print(problem, markup=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Crash and print; 1 when something was not as it must be."""
    end_by_sigterm()
    standard = Plan(jobs=300) if os.environ.get("QUICK") else Plan()
    parser = argparse.ArgumentParser(description="Kill the server and its workers while jobs run.")
    parser.add_argument("--jobs", type=int, default=standard.jobs)
    parser.add_argument("--workers", type=int, default=standard.workers)
    parser.add_argument("--seed", type=int, default=standard.seed)
    given = parser.parse_args(arguments)
    plan = Plan(jobs=given.jobs, workers=given.workers, seed=given.seed)
    console = Console()
    with progress_of("jobs that have ended", plan.jobs, console) as progress:
        result = crash(plan, progress)
    show(plan, result, console)
    return 1 if result.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
