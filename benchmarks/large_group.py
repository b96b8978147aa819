"""A group of ten thousand jobs over HTTP: created, worked through, and completed with a callback.

    python -m benchmarks.large_group [--jobs 10000] [--workers 8] [--url URL]

Against a local server of its own, unless a URL is given. Its workers fetch ten jobs at a time and
acknowledge each; what is measured is the workflow, not they.
"""

from __future__ import annotations

import argparse
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.local_server import http_client, local_server

JOBS: Final = 10_000
WORKERS: Final = 8
FETCHED: Final = 10
REQUEST_S: Final = 600.0
PATIENCE_S: Final = 900.0
"""For how long nothing may happen before the run is given up."""


@dataclass
class Run:
    """One run.

    :ivar spent: seconds of each part, by its name.
    :ivar requests: requests of workers, by their operation.
    """

    http: httpx.Client
    jobs: int
    workers: int
    queue: str = field(default_factory=lambda: f"group-{secrets.token_hex(4)}")
    spent: dict[str, float] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    ended: int = 0
    workflow_id: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def whole(self) -> None:
        """All parts, one after the other.

        :raises httpx.HTTPStatusError: a request was refused.
        :raises TimeoutError: the workflow does not go on.
        """
        with self._timed("create"):
            self.workflow_id = self._create()
        with self._timed("worked through"):
            self._work()
        with self._timed("completed"):
            self._wait(self._is_completed)
        with self._timed("read"):
            self._read()

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.spent[name] = time.perf_counter() - began

    def _create(self) -> str:
        options = {"queue": self.queue}
        member = {"type": "group.member", "options": options}
        body = {
            "type": "batch",
            "name": "large-group",
            "jobs": [{**member, "args": [number]} for number in range(self.jobs)],
            "callbacks": {"on_complete": {**member, "type": "group.done", "args": []}},
        }
        answer = self.http.post("workflows", json=body, timeout=REQUEST_S)
        answer.raise_for_status()
        return str(answer.json()["workflow"]["id"])

    def _work(self) -> None:
        """Until the callback has been executed, too."""
        threads = [threading.Thread(target=self._worker, args=(n,)) for n in range(self.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.ended <= self.jobs:
            raise TimeoutError(f"Only {self.ended} jobs ended.")

    def _worker(self, number: int) -> None:
        wanted = {"queues": [self.queue], "count": FETCHED, "worker_id": f"worker-{number}"}
        idle_since = time.monotonic()
        while self.ended <= self.jobs and time.monotonic() - idle_since < PATIENCE_S:
            fetched = self.http.post("workers/fetch", json=wanted).raise_for_status()
            jobs: list[Any] = fetched.json()["jobs"]
            for job in jobs:
                idle_since = time.monotonic()
                result = {"job_id": job["id"], "result": job["args"]}
                self.http.post("workers/ack", json=result).raise_for_status()
            with self._lock:
                self.ended += len(jobs)
                self.requests.update({"fetch": 1, "ack": len(jobs)})

    def _is_completed(self) -> bool:
        answer = self.http.get(
            f"workflows/{self.workflow_id}", timeout=REQUEST_S
        ).raise_for_status()
        return bool(answer.json()["workflow"]["state"] == "completed")

    def _read(self) -> None:
        answer = self.http.get(
            f"workflows/{self.workflow_id}", timeout=REQUEST_S
        ).raise_for_status()
        metadata = answer.json()["workflow"]["metadata"]
        if metadata["completed_count"] != self.jobs:
            raise TimeoutError(f"The workflow counts {metadata}.")

    def _workflow(self) -> dict[str, Any]:
        answer = self.http.get(f"workflows/{self.workflow_id}", timeout=REQUEST_S)
        workflow: dict[str, Any] = answer.raise_for_status().json()["workflow"]
        return workflow

    def _wait(self, is_so: Callable[[], bool]) -> None:
        ends = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > ends:
                raise TimeoutError(f"Nothing happened for {PATIENCE_S:.0f} seconds.")
            time.sleep(0.5)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.large_group")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--url", help="of the API, up to /ojs/v1/; else a server of its own")
    given = parser.parse_args()
    with _server(given.url) as url, http_client(url, given.workers) as http:
        run = Run(http, given.jobs, given.workers)
        run.whole()
    table = Table("", "Seconds", title=f"A group of {run.jobs:,} jobs")
    for name, seconds in run.spent.items():
        table.add_row(name, f"{seconds:.1f}")
    for name, count in sorted(run.requests.items()):
        table.add_row(f"{name} requests for each job", f"{count / run.jobs:.2f}")
    Console().print(table)


@contextmanager
def _server(url: str | None) -> Iterator[str]:
    if url:
        yield url
    else:
        with local_server() as own:
            yield own


if __name__ == "__main__":
    main()
