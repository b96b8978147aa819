"""A worker process of the crash test: it writes down what it is given before it does anything.

    python -m benchmarks.crash_worker URL NAME DIARY SEED

Each line of the diary is one write, so that a death at any instant cuts off one line at most.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

import httpx

from benchmarks.local_server import http_client
from benchmarks.soak_worker import FATAL

QUEUES: Final = ("crash-a", "crash-b")
RESERVE_MS: Final = 3000
IDLE_S: Final = 0.1
ACCEPTED: Final = frozenset({200, 409})


@dataclass
class CrashWorker:
    """Fetches, works a little and reports, until it is killed."""

    http: httpx.Client
    name: str
    diary: int
    chance: random.Random

    def run(self) -> None:
        """Never ends by itself."""
        while True:
            body = {"queues": QUEUES, "count": 3, "worker_id": self.name}
            answer = self._post("workers/fetch", {**body, "visibility_timeout_ms": RESERVE_MS})
            jobs = answer.json().get("jobs", []) if answer and answer.is_success else []
            for job in jobs:
                self._note("held", job, 0)
            for job in jobs:
                self._execute(job)
            if not jobs:
                time.sleep(IDLE_S)

    def _execute(self, job: dict[str, Any]) -> None:
        time.sleep(self.chance.choice((0.0, 0.0, 0.02, 0.2)))
        body: dict[str, Any] = {"job_id": job["id"], "worker_id": self.name}
        kind = "ack"
        if self.chance.random() < 0.2:
            is_fatal = self.chance.random() < 0.1
            kind = "nack"
            body["error"] = {"type": FATAL if is_fatal else "Crash", "message": "no"}
        answer = self._post(f"workers/{kind}", body)
        self._note(kind, job, answer.status_code if answer else 0)

    def _note(self, what: str, job: dict[str, Any], status: int) -> None:
        entry = {
            "what": what,
            "job": job["id"],
            "attempt": job["attempt"],
            "worker": self.name,
            "status": status,
        }
        os.write(self.diary, json.dumps(entry).encode() + b"\n")

    def _post(self, path: str, body: dict[str, Any]) -> httpx.Response | None:
        """The answer; None while the server is down, and then nobody knows what it did."""
        try:
            return self.http.post(path, json=body)
        except httpx.HTTPError:
            time.sleep(IDLE_S)
            return None


def main() -> None:
    """Work until killed."""
    url, name, path, seed = sys.argv[1:]
    diary = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with http_client(url, 1) as http:
        CrashWorker(http, name, diary, random.Random(seed)).run()


if __name__ == "__main__":
    main()
