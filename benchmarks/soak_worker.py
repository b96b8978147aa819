"""A worker of the soak: it fails, loses heartbeats and answers, and dies between any two calls."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

QUEUES: Final = ("soak-a", "soak-b")
FATAL: Final = "Fatal"
IDLE_S: Final = 0.05
CONFLICT: Final = 409
BEAT_S: Final = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """How often what goes wrong."""

    dies: float = 0.02
    """At each of the places between two calls."""
    fails: float = 0.2
    fails_for_good: float = 0.1
    """Of those that fail."""
    is_long: float = 0.1
    """Jobs that outlast their reservation unless heartbeats extend it."""
    loses_heartbeat: float = 0.5
    repeats: float = 0.05
    """Reports that are sent again, as if the answer had been lost."""


@dataclass(frozen=True, slots=True)
class Held:
    """A reservation as a worker saw it begin."""

    job_id: str
    attempt: int
    worker_id: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report and what was answered."""

    held: Held
    kind: str
    status: int


class DiedError(Exception):
    """The worker is gone: whatever it held, it never speaks of again."""


@dataclass
class Diary:
    """What all workers saw and did."""

    held: list[Held] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    deaths: int = 0
    lost_heartbeats: int = 0
    unexpected: list[str] = field(default_factory=list)


@dataclass
class SoakWorker:
    """One thread that is one worker after the other.

    :ivar reserve_ms: how long its reservations last.
    :ivar count: jobs that it fetches at most.
    """

    name: str
    http: httpx.Client
    chance: random.Random
    chances: Chances
    diary: Diary
    reserve_ms: int = 1500
    count: int = 4
    _lives: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def run(self, is_over: Callable[[], bool], stopping: threading.Event) -> None:
        """Live and die until all jobs have ended."""
        while not is_over() and not stopping.is_set():
            worker_id = f"{self.name}-{next(self._lives)}"
            try:
                self._live(worker_id, is_over, stopping)
            except DiedError:
                self.diary.deaths += 1
            except httpx.HTTPError as problem:
                self.diary.unexpected.append(f"{worker_id}: {problem!r}")

    def _live(self, worker_id: str, is_over: Callable[[], bool], stopping: threading.Event) -> None:
        while not is_over() and not stopping.is_set():
            body = {
                "queues": list(QUEUES),
                "count": self.chance.randint(1, self.count),
                "worker_id": worker_id,
                "visibility_timeout_ms": self.reserve_ms,
            }
            jobs = self._post("workers/fetch", body).json().get("jobs", [])
            held = [Held(job["id"], job["attempt"], worker_id) for job in jobs]
            self.diary.held += held
            for index, each in enumerate(held):
                self._may_die()
                self._execute(each, held[index:])
            if not held:
                time.sleep(IDLE_S)

    def _execute(self, held: Held, waiting: Sequence[Held]) -> None:
        if self.chance.random() < self.chances.is_long:
            for _ in range(self.chance.randint(2, 6)):
                time.sleep(BEAT_S)
                self._beat(held.worker_id, waiting)
        self._may_die()
        kind, body = self._outcome(held)
        self._report(held, kind, body)
        if self.chance.random() < self.chances.repeats:
            self._report(held, kind, body)

    def _beat(self, worker_id: str, held: Sequence[Held]) -> None:
        if self.chance.random() < self.chances.loses_heartbeat:
            self.diary.lost_heartbeats += 1
            return
        body = {
            "worker_id": worker_id,
            "active_jobs": [each.job_id for each in held],
            "visibility_timeout_ms": self.reserve_ms,
        }
        self._post("workers/heartbeat", body)

    def _outcome(self, held: Held) -> tuple[str, dict[str, Any]]:
        body: dict[str, Any] = {"job_id": held.job_id, "worker_id": held.worker_id}
        if self.chance.random() >= self.chances.fails:
            return "ack", body | {"result": {"attempt": held.attempt}}
        is_fatal = self.chance.random() < self.chances.fails_for_good
        return "nack", body | {"error": {"type": FATAL if is_fatal else "Soak", "message": "no"}}

    def _report(self, held: Held, kind: str, body: dict[str, Any]) -> None:
        status = self._post(f"workers/{kind}", body).status_code
        self.diary.reports.append(Report(held, kind, status))
        self._may_die()

    def _post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        answer = self.http.post(path, json=body)
        if not answer.is_success and answer.status_code != CONFLICT:
            self.diary.unexpected.append(f"{path}: {answer.status_code} {answer.text[:300]}")
        return answer

    def _may_die(self) -> None:
        if self.chance.random() < self.chances.dies:
            raise DiedError
