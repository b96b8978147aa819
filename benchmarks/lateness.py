"""How late timers are: from a job's due time until a worker holds it.

    python -m benchmarks.lateness [--timers 1000] [--window 60] [--workers 2] [--seed 1]

Jobs with due times drawn at random from a window are pushed to a local server, and HTTP workers
poll it as workers do. The workers' clock and the due times are those of one machine. A job that
is given out before its due time, or never, makes the benchmark fail; so does a p99 above the goal.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.local_server import http_client, local_server

GOAL_P99_MS: Final = 1500
TRIES: Final = 3
"""What else runs on the machine only adds: a goal that was missed is tried again."""

BATCH: Final = 100
LEAD_S: Final = 3.0
PUSHED_PER_S: Final = 50
"""Pushing ends before the window begins: at least so many jobs a second are pushed."""
GRACE_S: Final = 30.0
IDLE_S: Final = 0.1
EDGES_MS: Final = (10, 25, 50, 100, 250, 500, 1000, 1500, 3000)
BAR: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is tried.

    :ivar window_s: seconds over which the due times are spread.
    :ivar workers: threads that fetch.
    """

    timers: int = 1000
    window_s: float = 60.0
    workers: int = 2
    seed: int = 1


@dataclass
class Lateness:
    """What was found, in milliseconds.

    :ivar late: lateness of each timer that fired, ascending; negative is early.
    :ivar missing: timers that did not fire.
    :ivar repeated: timers that fired more than once.
    """

    late: list[float] = field(default_factory=list)
    missing: int = 0
    repeated: int = 0

    @property
    def early(self) -> int:
        """Timers that fired before their due time."""
        return sum(1 for each in self.late if each < 0)

    def percentile(self, share: float) -> float:
        """The lateness that this share of the timers does not exceed."""
        return self.late[min(len(self.late) - 1, int(len(self.late) * share))]


def measure(plan: Plan) -> Lateness:
    """Run the plan against a server of its own."""
    chance = random.Random(plan.seed)
    with local_server() as url, http_client(url, plan.workers + 1) as http:
        begins = time.time() + LEAD_S + plan.timers / PUSHED_PER_S
        instants = [begins + chance.uniform(0, plan.window_s) for _ in range(plan.timers)]
        due = push(http, instants)
        fetched = fetch_all(http, plan.workers, len(due), begins + plan.window_s + GRACE_S)
    firsts = {job_id: times[0] for job_id, times in fetched.items()}
    return Lateness(
        late=sorted((firsts[job_id] - due[job_id]) * 1000 for job_id in firsts),
        missing=len(set(due) - set(firsts)),
        repeated=sum(1 for times in fetched.values() if len(times) > 1),
    )


def push(http: httpx.Client, instants: Sequence[float]) -> dict[str, float]:
    """Push a job for each instant (seconds since the epoch); the due times by job id."""
    due: dict[str, float] = {}
    for begin in range(0, len(instants), BATCH):
        whole = [round(instant, 3) for instant in instants[begin : begin + BATCH]]
        jobs = [{"type": "timer", "args": [], "scheduled_at": _text(each)} for each in whole]
        answer = http.post("jobs/batch", json={"jobs": jobs}).raise_for_status().json()
        due |= {job["id"]: each for job, each in zip(answer["jobs"], whole, strict=True)}
    return due


def fetch_all(http: httpx.Client, workers: int, wanted: int, ends: float) -> dict[str, list[float]]:
    """Fetch and acknowledge until all jobs were seen or the time is over; when each was held."""
    seen: dict[str, list[float]] = {}
    lock = threading.Lock()

    def work(number: int) -> None:
        while len(seen) < wanted and time.time() < ends:
            body = {"queues": ["default"], "count": 10, "worker_id": f"worker-{number}"}
            jobs = http.post("workers/fetch", json=body).raise_for_status().json()["jobs"]
            now = time.time()
            for job in jobs:
                with lock:
                    seen.setdefault(job["id"], []).append(now)
                http.post(
                    "workers/ack", json={"job_id": job["id"], "worker_id": f"worker-{number}"}
                )
            if not jobs:
                time.sleep(IDLE_S)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def _text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def show(plan: Plan, found: Lateness, console: Console) -> None:
    """Print the histogram and the percentiles."""
    title = f"{plan.timers} timers within {plan.window_s:g} s: due until held by a worker"
    table = Table("up to", "timers", "", title=title)
    lower: float = float("-inf")
    for upper in (0.0, *EDGES_MS, float("inf")):
        count = sum(1 for each in found.late if lower <= each < upper)
        name = "early" if upper == 0 else "more" if upper == float("inf") else f"{upper:g} ms"
        bar = "█" * round(BAR * count / max(1, len(found.late)))
        table.add_row(name, str(count), bar)
        lower = upper
    console.print(table)
    if found.late:
        names = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
        parts = [f"{name} {found.percentile(share):.0f} ms" for name, share in names.items()]
        console.print(", ".join(parts))
    console.print(
        f"early {found.early}, missing {found.missing}, given out twice {found.repeated}; "
        f"goal: p99 below {GOAL_P99_MS} ms"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a timer was early or lost, or the goal was missed each time."""
    standard = Plan()
    parser = argparse.ArgumentParser(description="Measure how late timers are.")
    parser.add_argument("--timers", type=int, default=standard.timers)
    parser.add_argument("--window", type=float, default=standard.window_s, help="seconds")
    parser.add_argument("--workers", type=int, default=standard.workers)
    parser.add_argument("--seed", type=int, default=standard.seed)
    given: Any = parser.parse_args(arguments)
    plan = Plan(timers=given.timers, window_s=given.window, workers=given.workers, seed=given.seed)
    for _ in range(TRIES):
        found = measure(plan)
        show(plan, found, Console())
        if found.early or found.missing or found.repeated:
            return 1
        if found.percentile(0.99) < GOAL_P99_MS:
            return 0
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
