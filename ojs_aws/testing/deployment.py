"""Deploys the services to an AWS in memory, by the clock of a test."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.bootstrap import AwsClients, build_ports
from ojs_aws.client.timer import UuidV7
from ojs_aws.config import Settings
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.memory_aws.sqs import URL_PREFIX
from ojs_aws.memory_aws.table import MemoryTable
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.ports import Backlog, Message, QueueMissingError, ReceivedMessage
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.service import in_turn
from ojs_aws.testing.clock import FakeClock
from ojs_aws.topology import cron_queue_name, sqs_queue_name

BUCKET: Final = "documents"


@dataclass(frozen=True)
class NoMessages:
    """Stands for queues that lose every message: who asks finds the jobs in the table.

    :ivar made: the SQS queues that there are.
    :ivar prefix: begins their names.
    """

    made: Collection[str]
    prefix: str

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        """Refuse a message to a queue that does not exist, and drop any other."""
        if sqs_queue_name(self.prefix, queue) not in self.made:
            raise QueueMissingError

    def send_all(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        """Refuse messages to a queue that does not exist, and drop any other."""
        if sqs_queue_name(self.prefix, queue) not in self.made:
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
    ports = replace(
        build_ports(complete, clients, clock=clock, ids=UuidV7(), both=in_turn),
        messages=NoMessages(aws.queues.queues, settings.queue_prefix),
        enqueuing=lambda: Enqueuer(EnqueueChain()),
    )
    table = aws.table(settings.table)
    return Deployment(aws, Backend(complete, ports), table, URL_PREFIX + alarms)
