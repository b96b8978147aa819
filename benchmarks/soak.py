"""A soak: thousands of jobs, and workers that fail, fall silent and die between any two calls.

    python -m benchmarks.soak [--jobs 2000] [--workers 6] [--seed 1]
    python -m benchmarks.soak --threads 8 [--requests 20000] [--minutes 10] [--seed 1]

The first runs against a local server of its own. Afterwards each job must be in one terminal
state, no policy may be exceeded, no two reservations of a job may overlap, and each transition
must have its event. The second runs threads over an unreliable AWS with DynamoDB Local (`make
dynamodb-local`), and judges them by their requests and answers alone. Chance comes from the seed;
the threads' interleaving does not.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.local_server import http_client, local_server
from benchmarks.soak_checks import ENDS, problems
from benchmarks.soak_threads import ThreadPlan, ThreadResult, soak_threads
from benchmarks.soak_worker import FATAL, QUEUES, Chances, Diary, SoakWorker

BATCH: Final = 50
PAGE: Final = 200
MAX_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is tried.

    :ivar longest_s: when it is given up, in seconds.
    """

    jobs: int = 2000
    workers: int = 6
    seed: int = 1
    longest_s: float = 1200.0
    chances: Chances = field(default_factory=Chances)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it.

    :ivar states: jobs by their final states.
    :ivar kinds: events by their types, each once.
    :ivar problems: what was not as it must be.
    """

    seconds: float
    states: Counter[str]
    kinds: Counter[str]
    diary: Diary
    problems: list[str]


@dataclass
class Log:
    """The event log, read as it grows."""

    http: httpx.Client
    events: list[dict[str, Any]] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    cursor: str = ""
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    def read(self) -> None:
        """Read what is new."""
        while True:
            query = {"limit": str(PAGE), "types": "job.*"}
            place = {"cursor": self.cursor} if self.cursor else {"since": self.begun.isoformat()}
            query |= place
            page = self.http.get("events", params=query).raise_for_status().json()
            self.events += page["events"]
            self.ended |= {each["subject"] for each in page["events"] if each["type"] in ENDS}
            self.cursor = page["cursor"] or self.cursor
            if not page["has_more"]:
                return


def soak(plan: Plan, progress: Callable[[str], None] = lambda _: None) -> Result:
    """Run the plan and check everything."""
    chance, diary = random.Random(plan.seed), Diary()
    begun = time.monotonic()
    with local_server() as url, http_client(url, plan.workers + 2) as http:
        log, stopping = Log(http), threading.Event()
        allowed: dict[str, int] = {}

        def is_over() -> bool:
            return len(allowed) == plan.jobs and len(log.ended) == plan.jobs

        workers = [
            SoakWorker(f"w{n}", http, random.Random(f"{plan.seed}/{n}"), plan.chances, diary)
            for n in range(plan.workers)
        ]
        threads = [
            threading.Thread(target=worker.run, args=(is_over, stopping)) for worker in workers
        ]
        for thread in threads:
            thread.start()
        try:
            _push(http, plan, chance, allowed)
            _follow(log, plan, is_over, begun + plan.longest_s, progress)
        finally:
            stopping.set()
            for thread in threads:
                thread.join()
        log.read()
        jobs = [http.get(f"jobs/{each}").raise_for_status().json()["job"] for each in allowed]
    found = list(problems(jobs, log.events, diary, allowed))
    kinds = {event["id"]: event["type"] for event in log.events}
    return Result(
        seconds=time.monotonic() - begun,
        states=Counter(job["state"] for job in jobs),
        kinds=Counter(kinds.values()),
        diary=diary,
        problems=found,
    )


def _push(http: httpx.Client, plan: Plan, chance: random.Random, allowed: dict[str, int]) -> None:
    """Push the jobs and cancel a few; ``allowed`` gets the attempts that each policy allows."""
    for begin in range(0, plan.jobs, BATCH):
        jobs = [_job(chance) for _ in range(min(BATCH, plan.jobs - begin))]
        pushed = http.post("jobs/batch", json={"jobs": jobs}).raise_for_status().json()["jobs"]
        for job, stored in zip(jobs, pushed, strict=True):
            allowed[stored["id"]] = job["options"]["retry"]["max_attempts"]
        http.delete(f"jobs/{chance.choice(pushed)['id']}")  # refused when it has ended


def _job(chance: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {
        "queue": chance.choice(QUEUES),
        "priority": chance.randint(-5, 5),
        "retry": {
            "max_attempts": chance.randint(1, 5),
            "initial_interval": chance.choice(["PT0.1S", "PT0.5S", "PT1S"]),
            "backoff_coefficient": 1.0,
            "jitter": False,
            "non_retryable_errors": [FATAL],
            "on_exhaustion": chance.choice(["discard", "dead_letter"]),
        },
    }
    now = datetime.now(UTC)
    if chance.random() < 0.25:
        options["scheduled_at"] = (now + timedelta(seconds=chance.uniform(0.2, 8))).isoformat()
    if chance.random() < 0.05:
        options["expires_at"] = (now + timedelta(seconds=chance.uniform(3, 12))).isoformat()
    return {"type": "soak", "args": [chance.randrange(1000)], "options": options}


def _follow(
    log: Log, plan: Plan, is_over: Callable[[], bool], ends: float, progress: Callable[[str], None]
) -> None:
    shown_at = 0.0
    while not is_over() and time.monotonic() < ends:
        log.read()
        if time.monotonic() - shown_at > 5:
            shown_at = time.monotonic()
            progress(f"{len(log.ended)} of {plan.jobs} jobs have ended, {len(log.events)} events")
        time.sleep(0.2)


def show(plan: Plan, result: Result, console: Console) -> None:
    """Print what happened, and what was wrong."""
    diary = result.diary
    statuses = Counter((report.kind, report.status) for report in diary.reports)
    table = Table("what", "count", title=f"{plan.jobs} jobs, seed {plan.seed}")
    rows: list[tuple[str, int]] = [
        *((f"jobs {state}", count) for state, count in sorted(result.states.items())),
        ("reservations", len(diary.held)),
        *((f"{kind} answered {status}", n) for (kind, status), n in sorted(statuses.items())),
        ("workers died", diary.deaths),
        ("heartbeats lost", diary.lost_heartbeats),
        *((kind, count) for kind, count in sorted(result.kinds.items())),
    ]
    for name, count in rows:
        table.add_row(name, str(count))
    console.print(table)
    console.print(f"{result.seconds:.0f} s; problems: {len(result.problems)}")
    for problem in result.problems[:MAX_SHOWN]:
        console.print(problem, markup=False)


def show_threads(plan: ThreadPlan, result: ThreadResult, console: Console) -> None:
    """Print what the threads did and met, and what was wrong."""
    table = Table("what", "count", title=f"{plan.threads} threads, seed {plan.seed}")
    parts = (("", result.outcomes), ("jobs ", result.states), ("fault: ", result.met))
    for prefix, counted in parts:
        for name, count in sorted(counted.items()):
            table.add_row(f"{prefix}{name}", str(count))
    console.print(table)
    requests = result.outcomes.total()
    console.print(
        f"{requests} requests in {result.seconds:.0f} s; problems: {len(result.problems)}"
    )
    for problem in result.problems[:MAX_SHOWN]:
        console.print(problem, markup=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak and print; 1 when something was not as it must be."""
    standard = Plan()
    parser = argparse.ArgumentParser(description="Soak a local server.")
    parser.add_argument("--jobs", type=int, default=standard.jobs)
    parser.add_argument("--workers", type=int, default=standard.workers)
    parser.add_argument("--seed", type=int, default=standard.seed)
    parser.add_argument("--threads", type=int, default=0, help="over DynamoDB Local instead")
    parser.add_argument("--requests", type=int, default=20_000, help="of all threads together")
    parser.add_argument("--minutes", type=float, default=10.0, help="after which threads stop")
    given = parser.parse_args(arguments)
    if given.threads:
        return _main_of_threads(given, Console())
    plan = Plan(jobs=given.jobs, workers=given.workers, seed=given.seed)
    console = Console()
    result = soak(plan, console.print)
    show(plan, result, console)
    return 1 if result.problems else 0


def _main_of_threads(given: argparse.Namespace, console: Console) -> int:
    plan = ThreadPlan(
        threads=given.threads,
        requests=given.requests,
        longest_s=given.minutes * 60,
        seed=given.seed,
    )
    result = soak_threads(plan, console.print)
    show_threads(plan, result, console)
    return 1 if result.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
