"""Which keys of the table all jobs share, and how much each job writes to them: counted.

Jobs pass from PUSH to ACK on an AWS in memory, through one queue: at once, scheduled, with failed
attempts, or with heartbeats. The stream's consumer publishes their events. Then every write is
looked up in the table's own stream: whose partition it went to, and which partitions of the index
followed. A key that many jobs write to is hot: DynamoDB gives one partition a thousand write units
a second and no more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.laboratory import ERROR, Changes, Laboratory, SlowClock
from ojs_aws.adapters.dynamodb.columns import item_bytes
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.topology import STREAM_BATCH, TABLE
from ojs_aws.transport.events.stream import build_stream

KILOBYTE: Final = 1024
PUSHED: Final = 10
FETCHED: Final = 10
WORKER: Final = "worker-1"
BEAT_MS: Final = 15_000
DUE_MS: Final = 60_000
"""How often a worker beats, and when a scheduled job and another attempt are due at the latest."""

ARGS: Final[list[Any]] = [
    {"order": 48_213, "customer": 7_155, "items": ["a-17", "b-204"], "note": "x" * 400}
]
_SHOWN: Final = (
    TABLE.partition_key,
    TABLE.sort_key,
    TABLE.index.partition_key,
    TABLE.index.sort_key,
    *TABLE.index.projected,
)


@dataclass(frozen=True, slots=True)
class Writes:
    """What jobs wrote.

    :ivar table: write units by partition key of the table; all jobs' own together as ``job``.
    :ivar index: write units by partition key of the index.
    :ivar consumed: records that invoke the stream's consumer.
    :ivar items: writes of the table.
    """

    jobs: int
    table: Counter[str] = field(default_factory=Counter)
    index: Counter[str] = field(default_factory=Counter)
    consumed: int = 0
    items: int = 0

    def per_job(self, key: str) -> float:
        """Write units of each job in a partition, of the table or of the index."""
        return (self.table[key] + self.index[key]) / self.jobs

    @property
    def units(self) -> float:
        """Write units of each job, everywhere."""
        return (sum(self.table.values()) + sum(self.index.values())) / self.jobs

    def hot(self) -> list[str]:
        """The keys that jobs share, busiest first: at least a write unit for a hundred jobs."""
        shared = self.table + self.index
        del shared["job"]
        return [key for key, units in shared.most_common() if units * 100 >= self.jobs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Says how a job comes to its end.

    :ivar is_scheduled: it begins later than it is enqueued.
    :ivar failures: attempts that fail before the one that succeeds.
    :ivar beats: heartbeats of the worker, as often as it promised.
    """

    is_scheduled: bool = False
    failures: int = 0
    beats: int = 0


ORDINARY: Final = Life()


def observe(jobs: int, life: Life = ORDINARY, lines: int = 1) -> Writes:
    """Pass jobs through and count their writes.

    :param lines: over how many lines the jobs are spread.
    """
    clock = SlowClock()
    lab = Laboratory(clock, lines)
    backend, stream = lab.backend, lab.changes()
    backend.jobs.push(Job("warm.up", []))
    _run_all(lab, clock, ORDINARY)
    consume_all(backend, stream)
    written = lab.changes()
    more: dict[str, Any] = {"scheduled_at": "+PT30S"} if life.is_scheduled else {}
    for _ in range(0, jobs, PUSHED):
        backend.jobs.push.all([Job("order.ship", ARGS, **more) for _ in range(PUSHED)])
    if life.is_scheduled:
        clock.pass_by(DUE_MS)
    _run_all(lab, clock, life)
    consumed = consume_all(backend, stream)
    return _counted([each["dynamodb"] for each in written.all()], jobs, consumed)


def _run_all(lab: Laboratory, clock: SlowClock, life: Life) -> None:
    """Run all jobs that are there, until each has succeeded."""
    jobs = lab.backend.jobs
    for _ in range(life.failures):
        for job in _fetched(lab):
            jobs.fail(job.id, WORKER, ERROR)
        clock.pass_by(DUE_MS)
    held = _fetched(lab)
    for _ in range(life.beats):
        clock.pass_by(BEAT_MS)
        lab.backend.workers.heartbeat(WORKER, [job.id for job in held])
    for job in held:
        jobs.ack(job.id, WORKER, None)


def _fetched(lab: Laboratory) -> list[JobRecord]:
    """Claim all jobs that are there, ten at a time."""
    request = FetchRequest(("default",), FETCHED, WORKER, heartbeat_interval_ms=BEAT_MS)
    found: list[JobRecord] = []
    while fetched := lab.backend.jobs.fetch(request):
        found += fetched
    return found


def consume_all(backend: Backend, stream: Changes) -> int:
    """Let the stream's consumer take all changes; return how many."""
    consume = build_stream(backend, read_image, measure=lambda *_: None)
    consumed = 0
    while records := stream.streamed():
        for begin in range(0, len(records), STREAM_BATCH):
            batch = records[begin : begin + STREAM_BATCH]
            consumed += len(batch)
            if consume({"Records": batch}, None)["batchItemFailures"]:
                raise RuntimeError("The stream's consumer could not publish everything.")
    return consumed


def _counted(records: list[Any], jobs: int, consumed: int) -> Writes:
    found = Writes(jobs=jobs, consumed=consumed, items=len(records))
    for record in records:
        old, new = record.get("OldImage", {}), record.get("NewImage", {})
        size = max(item_bytes(old) if old else 0, item_bytes(new) if new else 0)
        partition = record["Keys"][TABLE.partition_key]["S"]
        key = "job" if partition.startswith("job#") else partition
        found.table[key] += -(-size // KILOBYTE)
        for listed in _index_writes(old, new):
            found.index[listed] += 1
    return found


def _index_writes(old: Any, new: Any) -> list[str]:
    """The partitions of the index that a write of an item writes to."""
    name = TABLE.index.partition_key
    before, after = ({at: item[at] for at in _SHOWN if at in item} for item in (old, new))
    was, now = name in before, name in after
    moved = [before.get(at) for at in (name, TABLE.index.sort_key)] != [
        after.get(at) for at in (name, TABLE.index.sort_key)
    ]
    if was and now and not moved:
        return [after[name]["S"]] if before != after else []
    return [image[name]["S"] for image, is_there in ((before, was), (after, now)) if is_there]
