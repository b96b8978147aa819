"""Sends requests of all kinds, one after the other, and notes what was answered to each."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from benchmarks.soak_history import Exchange, Kind, Outcome, Shown, Wanted
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import AttemptRef, attempt_of
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest

ERROR: Final = parse_object('{"type": "Soak", "message": "no"}')
LIMITS: Final = {"one": 1, "two": 2}
"""Places of the limits that jobs name."""
UNIQUE_KEYS: Final = 4
KEPT: Final = 12
"""Attempts that were given out last, and jobs that were enqueued last: threads meet there."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Held:
    """Names an attempt that a worker was given."""

    worker_id: str
    job_id: str
    which: AttemptRef
    attempt: int


@dataclass
class Shared:
    """Holds what all requesters know.

    :ivar ids: of all jobs.
    :ivar held: the attempts that were given out last, whoever has them.
    """

    ids: list[str] = field(default_factory=list)
    held: deque[Held] = field(default_factory=lambda: deque(maxlen=KEPT))


@dataclass
class Requester:
    """Acts for a client and for a worker; one thread uses it.

    :ivar wanted: the jobs that it tried to enqueue.
    :ivar unexpected: errors that are none of the backend's own.
    """

    name: str
    backend: Backend
    chance: random.Random
    queues: Sequence[str]
    shared: Shared
    exchanges: list[Exchange] = field(default_factory=list)
    wanted: dict[str, Wanted] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    _held: list[Held] = field(default_factory=list)

    def act(self) -> None:
        """Send one request of any kind."""
        roll, ids, running = self.chance.random(), self.shared.ids, [*self.shared.held]
        if roll < 0.22:
            ids += self._push()
        elif roll < 0.27 and ids:
            self._cancel(self.chance.choice([*ids[-KEPT:], *(each.job_id for each in running)]))
        elif roll < 0.37 and ids:
            self.look(self.chance.choice(ids))
        elif roll < 0.43 and self._held:
            self._beat()
        elif roll < 0.53 and running:  # as a client that got no answer, while its worker goes on
            self._report(self.chance.choice(running))
        elif self._held:
            self._end()
        else:
            self._fetch(self.chance.choice((300, 700, 1500)), self.chance.randint(1, 4))

    def execute(self) -> None:
        """Fetch what there is, and complete it."""
        while self._fetch(30_000, 10):
            while self._held:
                self._report(self._held.pop(), Kind.ACK)

    def look(self, job_id: str) -> Shown | None:
        """Read a job; None where it does not exist, or nobody answers."""
        found: list[Shown] = []

        def info() -> dict[str, Any]:
            job = self.backend.jobs.info(job_id)
            found.append(Shown(str(job.state), job.attempt, str(job.result or "")))
            return {"shown": found[-1]}

        self._ask(Kind.INFO, info, ids=(job_id,))
        return found[-1] if found else None

    # ------------------------------------------------------------------ one of each kind
    def _push(self) -> list[str]:
        """Enqueue a job, or a few together."""
        count = self.chance.choice((1, 1, 1, 3))
        made = [self._job() for _ in range(count)]
        self.wanted |= {job.id: wanted for job, wanted in made}
        jobs, ids = [job for job, _ in made], tuple(job.id for job, _ in made)
        push = self.backend.jobs.push
        for _ in range(self.chance.choice((1, 1, 1, 2))):  # as if the answer had been lost
            if count == 1:
                self._ask(Kind.PUSH, lambda: push(Job.from_json(jobs[0].to_json())), ids=ids)
            else:
                self._ask(Kind.PUSH, lambda: push.all([_copy(job) for job in jobs]), ids=ids)
        return [*ids]

    def _job(self) -> tuple[Job, Wanted]:
        attempts = self.chance.randint(1, 4)
        options: dict[str, Any] = {
            "queue": self.chance.choice(self.queues),
            "priority": self.chance.randint(-2, 2),
            "retry": {"max_attempts": attempts, "initial_interval": "PT0.05S", "jitter": False},
        }
        unique = limit = ""
        kind = self.chance.random()
        if kind < 0.1:
            unique = f"unique-{self.chance.randrange(UNIQUE_KEYS)}"
            options["unique"] = {"keys": ["args"]}
        elif kind < 0.3:
            limit = self.chance.choice([*LIMITS])
            options["rate_limit"] = {"key": limit, "concurrency": LIMITS[limit]}
        elif kind < 0.4:
            options["delay"] = f"PT{self.chance.choice((0.1, 0.6, 1.5))}S"
        job = Job("soak", [unique or self.chance.randrange(10**6)], **options)
        job.id = self.backend.stores.ids.job_id()
        wanted = Wanted(
            max_attempts=attempts,
            unique=unique,
            limit=limit,
            concurrency=LIMITS.get(limit, 0),
        )
        return job, wanted

    def _fetch(self, lasts_ms: int, count: int) -> int:
        """Ask for jobs; return how many there were."""
        asked = FetchRequest((*self.queues,), count, self.name, lasts_ms)

        def fetch() -> dict[str, Any]:
            jobs = self.backend.jobs.fetch(asked)
            held = [Held(self.name, job.id, attempt_of(job), job.attempt) for job in jobs]
            self._held += held
            self.shared.held.extend(held)
            return {
                "ids": tuple(job.id for job in jobs),
                "attempts": tuple(job.attempt for job in jobs),
            }

        before = len(self._held)
        self._ask(Kind.FETCH, fetch, lasts_ms=lasts_ms)
        return len(self._held) - before

    def _beat(self) -> None:
        """Extend the reservations of all jobs that are held."""
        lasts_ms = self.chance.choice((300, 1500))
        held = {each.job_id: each for each in self._held}
        which = {each.job_id: each.which for each in held.values()}

        def beat() -> dict[str, Any]:
            answer = self.backend.workers.heartbeat(self.name, [*held], lasts_ms, attempts=which)
            extended = [held[each] for each in answer.extended]
            return {
                "ids": tuple(each.job_id for each in extended),
                "attempts": tuple(each.attempt for each in extended),
            }

        everything = tuple(held), tuple(each.attempt for each in held.values())
        self._ask(Kind.BEAT, beat, lasts_ms=lasts_ms, ids=everything[0], attempts=everything[1])

    def _end(self) -> None:
        """Report on a job that is held, now and then twice; or say nothing any more."""
        held = self._held.pop(self.chance.randrange(len(self._held)))
        if self.chance.random() < 0.1:
            return
        if self.chance.random() < 0.1:
            time.sleep(self.chance.choice((0.2, 0.8)))
        self._report(held)

    def _report(self, held: Held, kind: Kind | None = None) -> None:
        kind = kind or (Kind.ACK if self.chance.random() < 0.6 else Kind.FAIL)
        result = f'{{"by":"{self.name}","number":{len(self.exchanges)}}}'
        jobs = self.backend.jobs

        def report() -> JobRecord:
            if kind is Kind.ACK:
                return jobs.ack(held.job_id, held.worker_id, RawJson(result), which=held.which)
            return jobs.fail(held.job_id, held.worker_id, ERROR, which=held.which)

        self._ask(kind, report, ids=(held.job_id,), attempts=(held.attempt,), result=result)

    def _cancel(self, job_id: str) -> None:
        self._ask(Kind.CANCEL, lambda: self.backend.jobs.cancel(job_id), ids=(job_id,))

    # ------------------------------------------------------------------ notes
    def _ask(self, kind: Kind, call: Callable[[], object], **known: Any) -> None:
        """Send a request, and note it with its answer; a dictionary says more than was known."""
        begun = _now()
        outcome = Outcome.DONE
        try:
            answer = call()
        except BackendError:
            outcome, answer = Outcome.UNKNOWN, None
        except OjsError:
            outcome, answer = Outcome.REFUSED, None
        except Exception as problem:  # noqa: BLE001 - the judgement shows it
            self.unexpected.append(f"{kind} answered {problem!r}")
            outcome, answer = Outcome.UNKNOWN, None
        said = answer if isinstance(answer, dict) else {}
        noted = {**known, **said}
        self.exchanges.append(
            Exchange(kind=kind, outcome=outcome, begun=begun, ended=_now(), **noted)
        )


def _copy(job: Job) -> Job:
    return Job.from_json(job.to_json())


def _now() -> float:
    return time.time_ns() / 1_000_000
