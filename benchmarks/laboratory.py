"""A backend on an AWS in memory whose calls and units are counted, for all cost benchmarks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from benchmarks.units import Meter
from ojs_aws.bootstrap import AwsClients, SystemClock, build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.runtime import IN_ORDER, Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.definition import read_definition
from ojs_aws.local.aws import create_queues, create_table
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.memory_aws.table import Stream
from ojs_aws.pricing import PRICES
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.workflows.write import JobEnd
from ojs_aws.topology import TABLE, is_streamed
from ojs_aws.transport.http.jobs.envelope import read_job

MINUTE_MS: Final = 60_000
ERROR: Final = parse_object('{"type": "Broken", "message": "it broke"}')
RESULT: Final = RawJson('{"done":true}')
ARGS: Final[list[Any]] = [{"user": 12_345, "email": "someone@example.com", "locale": "en-US"}]


class Laboratory:
    """A backend on an AWS in memory.

    :ivar aws: whose calls are counted.
    """

    def __init__(self, clock: Clock | None = None, lines: int = 1) -> None:
        """Set up an AWS and a backend.

        :param clock: None for the time as it is.
        :param lines: over how many lines the jobs of the queue are spread.
        """
        given = clock or SystemClock()
        self.aws = aws = MemoryAws.at(given.look if isinstance(given, SlowClock) else given.now)
        base = Settings(  # as it is deployed
            stream_deletes_messages=True,
            stream_lists_completed=True,
            wide_queues=(("default", lines),) if lines > 1 else (),
        )
        create_table(aws.dynamodb, base.table)
        aws.s3.create_bucket(Bucket="documents")
        prefix = create_queues(aws.sqs, base)
        self.settings = replace(base, queue_url_prefix=prefix, bucket="documents")
        clients = AwsClients(aws.dynamodb, aws.sqs, lambda: aws.s3, lambda: aws.events)
        self.backend: Backend = build_backend(
            self.settings, clients, clock=clock, parallel=IN_ORDER
        )
        if lines > 1:
            self.backend.queues.config.change("default", {"ordering_shards": lines})
        aws.calls.made.clear()

    def take(self) -> Counter[str]:
        """Return the calls that were made since the last time."""
        made = self.aws.calls.made
        taken = Counter(made)
        made.clear()
        return taken

    def changes(self) -> Changes:
        """Return a reader of the changes that are made from now on."""
        stream = self.aws.table(self.settings.table).stream
        return Changes(stream, stream.end)


@dataclass
class Changes:
    """Reads the stream of a table.

    :ivar position: how many changes were read.
    """

    stream: Stream
    position: int

    def all(self) -> list[Any]:
        """Return all further changes."""
        found = self.stream.after(self.position, self.stream.end - self.position)
        self.position = self.stream.end
        return [{**each, "dynamodb": dict(each["dynamodb"])} for each in found]

    def streamed(self) -> list[Any]:
        """Return further changes that the deployed trigger passes on."""
        keys = (TABLE.partition_key, TABLE.sort_key)
        return [
            each
            for each in self.all()
            if is_streamed(*(each["dynamodb"]["Keys"][name]["S"] for name in keys))
        ]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one operation took.

    :ivar jobs: how many jobs it was for; the rest is of all of them together.
    """

    calls: Counter[str]
    writes: float
    reads: float
    requests: int
    jobs: int = 1
    objects: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Cost) -> Cost:
        """Add what another operation on the same jobs took."""
        return Cost(
            self.calls + other.calls,
            self.writes + other.writes,
            self.reads + other.reads,
            self.requests + other.requests,
            self.jobs,
            self.objects + other.objects,
        )

    @property
    def dollars(self) -> float:
        """Dollars per million jobs."""
        all_units = (
            self.writes * PRICES["write unit"]
            + self.reads * PRICES["read unit"]
            + self.requests * PRICES["SQS request"]
            + sum(count * PRICES[call] for call, count in self.objects.items())
        )
        return all_units / self.jobs * 1e6


class SlowClock(SystemClock):
    """Time hardly passes: nothing becomes due, and no request is late while units are counted."""

    def __init__(self) -> None:
        """Begin with the next minute, so that what each minute writes once is counted once."""
        super().__init__()
        now = super().now()
        self._now = Instant(now - now % MINUTE_MS + MINUTE_MS)

    def look(self) -> Instant:
        """The time, without letting any pass."""
        return self._now

    def now(self) -> Instant:
        """A millisecond later than it was asked for before."""
        self._now = Instant(self._now + 1)
        return self._now

    def pass_by(self, milliseconds: int) -> None:
        """Let time pass at once."""
        self._now = Instant(self._now + milliseconds)

    def order(self) -> int:
        """Strictly increasing microseconds of this clock."""
        self._last = max(self._last + 1, self._now * 1000)
        return self._last


class Bench:
    """A backend on an AWS in memory, and the meter of its calls."""

    def __init__(self) -> None:
        """Set it up."""
        self.clock = SlowClock()
        self.lab = lab = Laboratory(self.clock)
        self.backend: Backend = lab.backend
        self.held: list[str] = []
        self.dynamodb = lab.aws.dynamodb
        self.meter = Meter(lab.aws, lab.settings.table)
        self.push("warm.up")  # the settings of the queue are remembered from here
        self.end(self.fetch(1))

    def cost(self, call: Callable[[], object], jobs: int = 1) -> Cost:
        """What a call takes."""
        self.meter.reset()
        call()
        meter = self.meter
        counted = meter.writes, meter.reads, meter.requests
        return Cost(Counter(meter.calls), *counted, jobs, Counter(meter.objects))

    def push(self, job_type: str, **more: Any) -> JobRecord:
        """Enqueue a small job."""
        record = self.backend.jobs.push(Job(job_type, ARGS, **more)).record
        assert record is not None  # noqa: S101 - no middleware drops it
        return record

    def fetch(self, count: int, worker_id: str = "worker-1") -> list[JobRecord]:
        """Claim jobs, and remember which in ``held``."""
        found = list(self.backend.jobs.fetch(FetchRequest(("default",), count, worker_id)))
        self.held = [job.id for job in found]
        return found

    def end(self, jobs: Sequence[JobRecord]) -> list[JobEnd]:
        """Complete jobs; what that means for their workflows."""
        for job in jobs:
            self.backend.jobs.ack(job.id, "worker-1", RESULT)
        stored = [self.backend.stores.store.load(job.id) for job in jobs]
        news = [self.backend.workflows.advance.news_of(job) for job in stored if job is not None]
        return [each for each in news if each is not None]

    def workflow(self, **body: Any) -> str:
        """Start a workflow whose plan is known and which has begun."""
        workflow_id = self.create(**body)
        self.backend.workflows.service.get(workflow_id)
        self.backend.workflows.advance.started(workflow_id, self.backend.clock.now())
        return workflow_id

    def create(self, **body: Any) -> str:
        """Start a workflow."""
        members = parse_object(json.dumps(body))
        definition = read_definition(members, lambda each: read_job(each, 100))
        return self.backend.workflows.service.create(definition).view.workflow.id

    def ending(self, workflow_id: str, count: int) -> Callable[[], object]:
        """What moves a workflow on when its next jobs have ended together."""
        jobs: list[JobRecord] = []
        while len(jobs) < count:
            jobs += self.fetch(min(count - len(jobs), 10))
        news = self.end(jobs)
        return lambda: self.backend.workflows.advance.advance(workflow_id, news)
