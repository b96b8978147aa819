"""What whole jobs cost, by the path that they take, beside what the estimate says.

    python -m benchmarks.lives

Jobs pass from PUSH to ACK on an AWS in memory, and the stream's consumer reads their changes, in
full batches. The meter of ``benchmarks.units`` counts what DynamoDB, SQS and S3 bill. The estimate
is that of ``ojs-aws cost`` for the same workload. Lambda, API Gateway, bus and logs are not here.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rich.console import Console

from benchmarks.costs import BEAT_MS, FULL, KINDS, WORKER, drained
from benchmarks.documents import JOB_TYPE, Arguments
from benchmarks.flow_costs import LIMIT, UNIQUE
from benchmarks.laboratory import ERROR, MINUTE_MS, Bench, Cost
from benchmarks.results import show_table
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues import Message, ReceivedMessage
from ojs_aws.pricing import ORDINARY_JSON, PRICED_ON, PRICES, RANDOM_TOKENS, Workload, estimate
from ojs_aws.pricing.units import changes_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.stored_jobs.messages import message_of
from ojs_aws.topology import LIMIT_PARTITION, TABLE
from ojs_aws.transport.events.stream import build_stream

JOBS: Final = 5
RATE: Final = 5.0
"""Jobs a second: the stream's window of a second gathers the changes of as many jobs."""

WAIT_MS: Final = 3_000
"""Until a scheduled job, or the next attempt of one that failed, is due."""

KILOBYTE: Final = 1024
SMALL: Final = 410
"""Bytes of a small envelope. With 0.5 KB, the item of a step has a kilobyte, or two bytes more."""
METERED: Final = ("write unit", "read unit", "SQS request", "S3 PUT", "S3 GET")
TRIGGERED: Final = 2
"""Requests of a Lambda worker's trigger for each message: it receives and deletes."""

_KINDS: Final = {RANDOM_TOKENS: "random tokens", ORDINARY_JSON: "ordinary JSON"}


def _paths() -> Iterator[tuple[str, Workload]]:
    for size in (KILOBYTE // 2, KILOBYTE, 8 * KILOBYTE, 100 * KILOBYTE):
        yield f"HTTP worker, {size / KILOBYTE:g} KB", Workload(size_bytes=size)
    json = Workload(size_bytes=8 * KILOBYTE, compression=ORDINARY_JSON)
    yield "the same, 8 KB of ordinary JSON", json
    options: Mapping[str, dict[str, Any]] = {
        "retried once": {"failure_rate": 1},
        "scheduled": {"scheduled": 1},
        "unique": {"unique": 1},
        "with a limit": {"limited": 1},
        "workflow step": {"steps": 1},
        "in a batch": {"batched": 1, "batch_jobs": JOBS},
        "with four heartbeats": {"heartbeats": 4},
    }
    for name in ("retried once", "with four heartbeats"):
        yield f"{name}, 1 KB", Workload(size_bytes=KILOBYTE, **options[name])
    for name, option in options.items():
        for size in (SMALL, 8 * KILOBYTE):
            yield f"{name}, {size / KILOBYTE:.2g} KB", Workload(size_bytes=size, **option)


PATHS: Final[Mapping[str, Workload]] = {
    name: replace(each, jobs=JOBS, rate=RATE, shards=1, uses_http_workers=True)
    for name, each in _paths()
} | {
    "Lambda worker, 0.5 KB": Workload(jobs=JOBS, rate=RATE, shards=1),
    "Lambda worker, retried once": Workload(jobs=JOBS, rate=RATE, shards=1, failure_rate=1),
    "Lambda worker, with a limit": Workload(jobs=JOBS, rate=RATE, shards=1, limited=1),
}
"""Random tokens where it does not say otherwise; the emulator's stream has one shard."""


@dataclass
class ChangeReader:
    """Hands the changes of jobs to the stream's consumer.

    :ivar changes: how many it has read.
    """

    bench: Bench
    changes: int = 0
    _consume: Callable[..., Any] = field(init=False)

    def __post_init__(self) -> None:
        """Skip what setting up left behind."""
        self._stream = self.bench.lab.changes()
        self._consume = build_stream(self.bench.backend, read_image, measure=lambda *_: None)

    def read(self) -> None:
        """Handle all changes, batch by batch; those of buckets are not passed on when deployed."""
        changes = [each for each in drained(self._stream) if not _is_bucket(each)]
        self.changes += len(changes)
        for begin in range(0, len(changes), FULL):
            failed = self._consume({"Records": changes[begin : begin + FULL]}, None)
            if failed["batchItemFailures"]:
                raise RuntimeError("The stream's consumer could not handle everything.")


def _is_bucket(record: Any) -> bool:
    key = record["dynamodb"]["Keys"][TABLE.partition_key]["S"]
    return bool(key == LIMIT_PARTITION)


@dataclass
class Lives:
    """Jobs of one workload, all on the same path."""

    bench: Bench
    workload: Workload
    stream: ChangeReader = field(init=False)
    arguments: Arguments = field(init=False)
    _delivered: int = 0

    def __post_init__(self) -> None:
        """Begin after what only the first job of a minute costs."""
        make = KINDS[_KINDS[self.workload.compression]]
        self.arguments = make(self.workload.size_bytes)
        self.bench.clock.pass_by(MINUTE_MS - self.bench.clock.now() % MINUTE_MS)
        self.stream = ChangeReader(self.bench)
        first = self._claim(self.bench.push(JOB_TYPE).id)
        self._ack(first)
        for at in range(self._jobs):  # a worker's first heartbeat makes its entry
            self.bench.backend.workers.heartbeat(_worker(at), [])
        self.stream.read()
        self.stream.changes = self._delivered = 0

    def cost(self) -> Cost:
        """Measure their lives, what follows them in the stream included."""
        if self.workload.steps:
            return self._steps()
        is_together = self.workload.batched or self.workload.heartbeats
        lives = self._together if is_together else self._one_by_one
        costs = self.bench.cost(lives, self._jobs) + self.bench.cost(self.stream.read)
        return replace(costs, requests=costs.requests + TRIGGERED * self._delivered)

    def _one_by_one(self) -> None:
        """Let each job end before the next one comes."""
        for job in self._new():
            [job_id] = self._stored([job])
            if self.workload.scheduled:
                self._pass_by(WAIT_MS)
            for _ in range(round(self.workload.failure_rate)):
                self._fail(self._claim(job_id))
                self._pass_by(WAIT_MS)
            self._ack(self._claim(job_id))

    def _together(self) -> None:
        """Enqueue and execute all at the same time."""
        job_ids = self._stored(self._new())
        held = [self._claim(job_id, _worker(at)) for at, job_id in enumerate(job_ids)]
        for _ in range(round(self.workload.heartbeats)):
            self._pass_by(BEAT_MS)
            for at, job in enumerate(held):
                self.bench.backend.workers.heartbeat(_worker(at), [job.id])
        for at, job in enumerate(held):
            self._ack(job, _worker(at))

    @property
    def _jobs(self) -> int:
        return round(self.workload.jobs)

    def _new(self) -> list[Job]:
        """Return them as a sender makes them."""
        more: dict[str, Any] = {}
        if self.workload.unique:
            more["unique"] = UNIQUE
        if self.workload.limited:
            more["rate_limit"] = LIMIT
        if self.workload.scheduled:
            more["scheduled_at"] = "+PT2S"
        return [Job(JOB_TYPE, self._distinct(at), **more) for at in range(self._jobs)]

    def _stored(self, jobs: list[Job]) -> list[str]:
        """Enqueue jobs, in a batch or not, and return their ids."""
        push = self.bench.backend.jobs.push
        pushed = push.all(jobs) if self.workload.batched else map(push, jobs)
        return [each.record.id for each in pushed if each.record is not None]

    def _distinct(self, at: int) -> Arguments:
        """Arguments of the same length for each job, so that unique ones differ."""
        first, *others = self.arguments
        return [f"{at:04}{first[4:]}" if isinstance(first, str) else first, *others]

    def _claim(self, job_id: str, worker_id: str = WORKER) -> JobRecord:
        """Let a worker have the first job in line, a Lambda worker by the message of this one."""
        fetch = self.bench.backend.jobs.fetch
        if self.workload.uses_http_workers:
            # As a worker of this package does, it says how often it beats.
            request = FetchRequest(("default",), 1, worker_id, heartbeat_interval_ms=BEAT_MS)
            found = list(fetch(request))
        else:
            found = self._invoked(message_of(self._known(job_id)))
        [held] = found
        return held

    def _invoked(self, message: Message) -> list[JobRecord]:
        """Let SQS invoke a Lambda worker with a message; the jobs that it claims."""
        self._delivered += 1
        received = ReceivedMessage(message, f"handle-{self._delivered}")
        claims = self.bench.backend.jobs.fetch.claim_messages("default", [received], WORKER)
        return [each.record for each in claims if each.record is not None]

    def _known(self, job_id: str) -> JobRecord:
        """Read a job as its message knew it; the meter does not count that."""
        counted = self.bench.meter.reads, Counter(self.bench.meter.calls)
        found = self.bench.backend.stores.store.load(job_id)
        self.bench.meter.reads, self.bench.meter.calls = counted
        if found is None:
            raise RuntimeError(f"Job {job_id} is gone.")
        return found

    def _ack(self, held: JobRecord, worker_id: str = WORKER) -> None:
        is_http = self.workload.uses_http_workers
        self.bench.backend.jobs.ack(held.id, worker_id, None, has_message=is_http)
        if not is_http and held.reservation and held.reservation.slots:
            # Others may wait for the place: a message wakes a worker for them.
            self.bench.backend.job_messages.pass_on(held, self.bench.clock.now())
            self._invoked(replace(message_of(held), sort_key=""))

    def _fail(self, held: JobRecord) -> None:
        fail = self.bench.backend.jobs.fail
        if self.workload.uses_http_workers:
            fail(held.id, WORKER, ERROR)
        else:
            fail(held.id, WORKER, ERROR, start=held, has_message=False)

    def _pass_by(self, milliseconds: int) -> None:
        """Let time pass."""
        self.bench.clock.pass_by(milliseconds)

    def _steps(self) -> Cost:
        """Measure the second step of a chain for each job: the stream begins it."""
        for at in range(self._jobs):
            step = {"type": JOB_TYPE, "args": self._distinct(at)}
            self.bench.create(type="chain", steps=[step] * 3)
        self._round()
        self.stream.changes = 0
        return self.bench.cost(self._round, self._jobs)

    def _round(self) -> None:
        """End a step of each chain, and begin the next one."""
        for _ in range(self._jobs):
            self._ack(self._claim(""))
        self.stream.read()


def _worker(at: int) -> str:
    """Return the id of one of many workers: each counts its own heartbeats."""
    return f"{WORKER[:-2]}{at:02}"


@dataclass(frozen=True, slots=True)
class Life:
    """What one job takes, metered or estimated.

    :ivar units: by the name of their price.
    :ivar changes: that the stream's consumer reads.
    """

    units: Mapping[str, float]
    changes: float

    @property
    def dollars(self) -> float:
        """Dollars of a million jobs."""
        return sum(count * PRICES[name] for name, count in self.units.items()) * 1e6


def metered(workload: Workload) -> Life:
    """Measure a job of this workload."""
    lives = Lives(Bench(), workload)
    cost = lives.cost()
    units = {
        "write unit": cost.writes,
        "read unit": cost.reads,
        "SQS request": cost.requests,
        **cost.objects,
    }
    jobs = round(workload.jobs)
    return Life({name: count / jobs for name, count in units.items()}, lives.stream.changes / jobs)


def estimated(workload: Workload) -> Life:
    """Return what the estimate says of a job of this workload."""
    idle = {line.what: line.amount for line in estimate(replace(workload, jobs=0))}
    units = dict.fromkeys(METERED, 0.0)
    for line in estimate(workload):
        if line.unit in units and "stored" not in line.what:
            units[line.unit] += (line.amount - idle.get(line.what, 0)) / workload.jobs
    return Life(units, changes_of(workload) / workload.jobs)


def main() -> None:
    """Measure and print."""
    logging.disable(logging.INFO)
    rows = []
    for name, workload in PATHS.items():
        found, said = metered(workload), estimated(workload)
        cells = [f"{each.units.get(unit, 0):.2f}" for unit in METERED[:3] for each in (found, said)]
        off = f"{said.dollars / found.dollars - 1:+.1%}"
        changes = f"{found.changes:g} / {said.changes:g}"
        rows.append((name, *cells, changes, f"{found.dollars:.2f}", f"{said.dollars:.2f}", off))
    columns = ("path", "writes", "est.", "reads", "est.", "SQS", "est.")
    title = f"One job with its stream, metered and estimated; $ of a million ({PRICED_ON})"
    more = ("changes", "$", "est. $", "differs")
    show_table("lives", title, (*columns, *more), rows, Console(width=160))


if __name__ == "__main__":
    main()
