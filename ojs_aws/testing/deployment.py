"""Deploys the services to an AWS in memory for a test, and follows the stream of its table."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeGuard, cast

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.bootstrap import AwsClients, build_stores
from ojs_aws.client.timer import UuidV7
from ojs_aws.config import Settings
from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues import Backlog, Message, QueueInfo, ReceivedMessage
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.memory_aws.sqs import URL_PREFIX
from ojs_aws.memory_aws.table import Key, MemoryTable, key_of
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.services.backend import Backend
from ojs_aws.topology import cron_queue_name, is_streamed, sqs_queue_name
from ojs_aws.transport.events.stream import StreamConsumer
from ojs_aws.transport.tracing import NO_TRACING

BUCKET: Final = "documents"


@dataclass
class FakeClock:
    """A clock that stands still until it is asked to move."""

    at: int = 1_760_000_000_000
    _last: int = 0

    def now(self) -> Instant:
        """Return the current instant."""
        return Instant(self.at)

    def order(self) -> int:
        """Return strictly increasing microseconds."""
        self._last = max(self._last + 1, self.at * 1000)
        return self._last

    def set_back(self, at: int) -> None:
        """Begin again at an earlier time."""
        self.at, self._last = at, 0

    def advance(self, *, ms: int = 0, s: float = 0) -> None:
        """Let time pass."""
        self.at += ms + round(s * 1000)


def counting(prefix: str) -> Callable[[], str]:
    """Make what gives the prefix with another number each time."""
    count = itertools.count(1)
    return lambda: f"{prefix}-{next(count)}"


@dataclass
class CountingIds:
    """Makes ids in sequence: valid UUIDv7 texts that people can distinguish."""

    _count: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def job_id(self) -> str:
        """Return the next job id."""
        return f"01990000-0000-7000-8000-{next(self._count):012x}"

    def request_id(self) -> str:
        """Return the next request id."""
        return f"req_{self.job_id()}"


@dataclass(frozen=True, slots=True)
class NoMessages(MessageQueue):
    """Stands for queues that lose every message: who asks finds the jobs in the table.

    :ivar made: the SQS queues that there are.
    """

    made: Collection[str] = ()

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        """Refuse a message to a queue that does not exist, and drop any other."""
        if sqs_queue_name(self.queue_prefix, queue) not in self.made:
            raise QueueMissingError

    def send_all(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        """Refuse messages to a queue that does not exist, and drop any other."""
        if sqs_queue_name(self.queue_prefix, queue) not in self.made:
            raise QueueMissingError

    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int = 0
    ) -> list[ReceivedMessage]:
        """Return no messages."""
        return []

    def reject(self, queue: str, body: str) -> None:
        """Do nothing."""

    def delete(self, queue: str, handles: Sequence[str]) -> None:
        """Do nothing."""

    def hide(self, queue: str, handles: Sequence[tuple[str, int]]) -> None:
        """Do nothing."""

    def backlog(self, queue: str) -> Backlog:
        """Count nothing."""
        return Backlog()


@dataclass(frozen=True)
class Deployment:
    """Holds the services of one deployment, and the AWS that they use."""

    aws: MemoryAws
    services: Backend
    table: MemoryTable
    _alarms_url: str

    def ringing(self) -> list[str]:
        """Return the cron jobs whose alarms ring now; each rings once."""
        found: list[str] = []
        while messages := self.aws.sqs.receive_message(QueueUrl=self._alarms_url).get("Messages"):
            for each in messages:
                found.append(each["Body"])
                handle = each["ReceiptHandle"]
                self.aws.sqs.delete_message(QueueUrl=self._alarms_url, ReceiptHandle=handle)
        return found


def deploy(settings: Settings, clock: FakeClock) -> Deployment:
    """Make an AWS in memory, and the services of a deployment that has it to itself."""
    aws = MemoryAws.at(lambda: clock.at)
    aws.dynamodb.create_table(TableName=settings.table, KeySchema=[], AttributeDefinitions=[])
    aws.s3.create_bucket(Bucket=BUCKET)
    alarms = cron_queue_name(settings.queue_prefix)
    for name in (alarms, *(sqs_queue_name(settings.queue_prefix, q) for q in settings.queues)):
        aws.sqs.create_queue(QueueName=name)
    complete = replace(settings, queue_url_prefix=URL_PREFIX, bucket=BUCKET)
    clients = AwsClients(aws.dynamodb, aws.sqs, lambda: aws.s3, lambda: aws.events)
    stores = replace(
        build_stores(complete, clients, clock=clock, ids=UuidV7(), parallel=IN_ORDER),
        messages=NoMessages(aws.sqs, settings.queue_prefix, URL_PREFIX, aws.queues.queues),
        enqueuing=lambda: Enqueuer(EnqueueChain()),
    )
    table = aws.table(settings.table)
    return Deployment(aws, Backend(complete, stores), table, URL_PREFIX + alarms)


MAX_ROUNDS: Final = 10_000
"""Batches of changes that may follow from one another."""

_logger = logging.getLogger(__name__)


def _count(_value: int, _function: str) -> None:
    """Publish no metric."""


@dataclass
class Changes:
    """Reads the changes of items, each once, and keeps them until what follows from them is done.

    :ivar job_written: gets each version of a job, and None in place of one that is gone.
    :ivar undone: how many jobs of a queue have not ended.
    :ivar jobs: the jobs as they are in the table, by id.
    :ivar only_new: whether all changes that nothing was done about are of new items.
    :ivar makes_jobs: whether some of them may make jobs, or let jobs begin: steps of workflows,
        runs of cron jobs, places under a limit. What follows from the others can only be read, as
        events and counters are.
    """

    deployment: Deployment
    job_written: Callable[[str, JobRecord | None], None]
    undone: Counter[str] = field(default_factory=Counter)
    jobs: dict[str, JobRecord] = field(default_factory=dict)
    cron: dict[str, CronEntry] = field(default_factory=dict)
    workflows: dict[str, Workflow] = field(default_factory=dict)
    only_new: bool = True
    makes_jobs: bool = False
    _objects: dict[Key, object] = field(default_factory=dict)
    _waiting: list[dict[str, Any]] = field(default_factory=list)
    _position: int = 0

    def read(self) -> None:
        """Read what was written since the last time."""
        stream = self.deployment.table.stream
        if stream.end == self._position:
            return
        for record in stream.after(self._position, stream.end - self._position):
            change = record["dynamodb"]
            key = key_of(change["Keys"])
            if is_streamed(*key):
                self._take(key, change)
        stream.forget()
        self._position = stream.end

    def _take(self, key: Key, change: dict[str, Any]) -> None:
        before = self._objects.get(key)
        if _is_undone(before):
            self.undone[before.queue] -= 1
        image = change.get("NewImage")
        after = None if image is None else self._keep_image(read_image(image))
        self._objects[key] = after
        if _is_undone(after):
            self.undone[after.queue] += 1
        self.only_new &= before is None
        self.makes_jobs |= bool(self.cron) or not _is_plain(before or after)
        self._waiting.append({"dynamodb": {**change, "OldImage": before, "NewImage": after}})
        if isinstance(before, JobRecord) and after is None:
            del self.jobs[before.id]
            self.job_written(before.id, None)
        elif isinstance(before, CronEntry) and after is None:
            del self.cron[before.name]

    def _keep_image(self, item: object) -> object:
        """Keep what an item holds now; jobs with the documents that lie elsewhere."""
        if isinstance(item, JobRecord):
            job = self.deployment.services.stores.store.fill(item)
            self.jobs[job.id] = job
            self.job_written(job.id, job)
            return job
        if isinstance(item, CronEntry):
            self.cron[item.name] = item
        elif isinstance(item, Workflow):
            self.workflows[item.id] = item
        return item

    def follow(self) -> None:
        """Do what follows from the changes, and from those that this makes.

        :raises RuntimeError: there is no end to it.
        """
        for _ in range(MAX_ROUNDS):
            self.read()
            records, self._waiting = self._waiting, []
            if not records:
                self.only_new, self.makes_jobs = True, False
                return
            failures = self._consumer.handle({"Records": records}, None)["batchItemFailures"]
            if failures:
                first = failures[0]["itemIdentifier"]
                numbers = [each["dynamodb"]["SequenceNumber"] for each in records]
                self._waiting = records[numbers.index(first) :] + self._waiting
        raise RuntimeError("The changes of jobs and workflows have no end.")

    def forget(self) -> None:
        """Forget jobs and workflows, and all changes until now: their items are gone."""
        self.undone.clear()
        self.jobs.clear()
        self.workflows.clear()
        self._waiting.clear()
        table = self.deployment.table
        self._objects = {key: each for key, each in self._objects.items() if table.get(key)}
        self._position = table.stream.end
        self.only_new, self.makes_jobs = True, False

    @cached_property
    def _consumer(self) -> StreamConsumer:
        return StreamConsumer(
            backend=self.deployment.services,
            read=lambda image: image,
            logger=cast("Any", _logger),
            hooks=None,
            count=_count,
            measure=None,
            tracing=NO_TRACING,
        )


def _is_undone(item: object) -> TypeGuard[JobRecord]:
    return isinstance(item, JobRecord) and not item.state.is_terminal


def _is_plain(item: object) -> bool:
    if isinstance(item, JobRecord):
        return not item.workflow_id and item.limit is None
    return isinstance(item, QueueInfo)
