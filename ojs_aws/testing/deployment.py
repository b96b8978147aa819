"""Deploys the services to an AWS in memory, by the clock and the ids of a test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ojs_aws.adapters.sqs.messages import MessageQueue
from ojs_aws.bootstrap import AwsClients, build_stores
from ojs_aws.client.timer import UuidV7
from ojs_aws.config import Settings
from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.parallel import IN_ORDER
from ojs_aws.domain.queues.messages import Backlog, Message, ReceivedMessage
from ojs_aws.domain.timestamps import Instant
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.memory_aws.sqs import URL_PREFIX
from ojs_aws.memory_aws.table import MemoryTable
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.services.backend import Backend
from ojs_aws.topology import cron_queue_name, sqs_queue_name

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
