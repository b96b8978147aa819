"""What the local server uses while nothing happens, and how soon a job then starts.

    python -m benchmarks.idle [--seconds 60] [--jobs 40] [--quick]

The processor time is that of the server's process (Linux reports it), in percent of one core. Then
one client pushes jobs, the next one when the one before has begun, to an HTTP worker that polls
every 20 ms and to the demo's Lambda worker. A goal that is missed makes the benchmark fail.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from rich.console import Console

from benchmarks.load_operations import Timing, end_to_end, end_to_end_lambda
from benchmarks.local_server import (
    STOP_S,
    ServerError,
    answers,
    end_by_sigterm,
    free_port,
    start_server,
)
from benchmarks.results import show_table

GOAL_PERCENT: Final = 0.5
GOAL_P50_MS: Final = 50.0
TRIES: Final = 3
"""What else runs on the machine only adds: a goal that was missed is tried again."""
SETTLED_S: Final = 3.0
SKIPPED: Final = 77
PROC: Final = Path("/proc")
COLUMNS: Final = ("what", "measured", "goal")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A local server that nobody uses."""

    url: str
    pid: int

    def cpu_s(self) -> float:
        """Processor seconds that the process has used."""
        after_name = (PROC / str(self.pid) / "stat").read_text().rpartition(")")[2].split()
        user, system = int(after_name[11]), int(after_name[12])
        return (user + system) / os.sysconf("SC_CLK_TCK")

    def percent(self, seconds: float) -> float:
        """Percent of a core used from now on, for so many seconds."""
        before, began = self.cpu_s(), time.monotonic()
        time.sleep(seconds)
        return 100 * (self.cpu_s() - before) / (time.monotonic() - began)


@contextmanager
def waiting_server() -> Iterator[Waiting]:
    """Run ``ojs-aws local`` until its start is over."""
    port = free_port()
    with tempfile.TemporaryFile("w+") as printed:
        process = start_server(port, printed)
        try:
            url = f"http://127.0.0.1:{port}/ojs/v1/"
            if not answers(url, process):
                printed.seek(0)
                raise ServerError(printed.read()[-4000:])
            time.sleep(SETTLED_S)
            yield Waiting(url, process.pid)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(STOP_S)


async def starts(url: str, jobs: int) -> list[Timing]:
    """Time one client's jobs from push to start."""
    headers = {"Content-Type": "application/openjobspec+json"}
    async with httpx.AsyncClient(
        base_url=url, headers=headers, timeout=60, trust_env=False
    ) as http:
        await end_to_end(http, "idle-first", 1, 5)  # modules are imported with the first requests
        over_http = await end_to_end(http, "idle", 1, jobs)
        return [over_http, await end_to_end_lambda(http, 1, jobs)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    end_by_sigterm()
    parser = argparse.ArgumentParser(description="Measure what the idle local server uses.")
    parser.add_argument("--seconds", type=float, default=60.0, help="of doing nothing")
    parser.add_argument("--jobs", type=int, default=40, help="to be started")
    parser.add_argument("--quick", action="store_true", help="few seconds and jobs")
    given: Any = parser.parse_args(arguments)
    console = Console()
    if not (PROC / "self" / "stat").exists():
        console.print("Only Linux reports the processor time of another process here.")
        return SKIPPED
    seconds, jobs = (10.0, 10) if given.quick else (given.seconds, given.jobs)
    for _ in range(TRIES):
        with waiting_server() as server:
            percent = server.percent(seconds)
            timings = asyncio.run(starts(server.url, jobs))
        waits = {timing.operation: timing.percentile(0.5) for timing in timings}
        rows = [(f"idle for {seconds:.0f} s, % of a core", f"{percent:.2f}", f"{GOAL_PERCENT}")]
        rows += [
            (f"{name}, p50 ms", f"{p50:.0f}", f"{GOAL_P50_MS:.0f}") for name, p50 in waits.items()
        ]
        show_table("idle", "The local server, idle, and from push to start", COLUMNS, rows, console)
        if percent < GOAL_PERCENT and all(p50 <= GOAL_P50_MS for p50 in waits.values()):
            return 0
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
