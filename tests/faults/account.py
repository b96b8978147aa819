"""The AWS of one world: all of it in memory, in whose time nothing passes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from ojs_aws.bootstrap import AwsClients
from ojs_aws.config import Settings
from ojs_aws.local.aws import create_bucket, create_queues, create_table
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.memory_aws.table import MemoryTable
from ojs_aws.testing.deployment import FakeClock
from tests.faults.fault_injection import FaultInjector

BUS: Final = "ojs-events"
FILES: Final = "exported"
DOCUMENTS: Final = "documents"

SETTINGS: Final = Settings(
    queues=("default", "email"),
    inline_limit_bytes=600,
    s3_threshold_bytes=3000,
    event_bus=BUS,
    event_bus_types=("*",),
    default_visibility_timeout_s=30,
    default_timeout_s=600,
    queue_settings_age_ms=0,
)


class Account:
    """A deployment in memory, and the faults of its calls.

    :ivar clock: the time of AWS, and of whoever lives in it.
    :ivar records: all changes of the table so far, as its stream has them.
    """

    def __init__(self) -> None:
        """Deploy, with nothing in it yet."""
        self.clock = FakeClock()
        self.aws = aws = MemoryAws.at(lambda: self.clock.at)
        create_table(aws.dynamodb, SETTINGS.table)
        prefix = create_queues(aws.sqs, SETTINGS)
        for bucket in (DOCUMENTS, FILES):
            create_bucket(aws.s3, bucket)
        self.clients = AwsClients(aws.dynamodb, aws.sqs, lambda: aws.s3, lambda: aws.events)
        self.settings = replace(SETTINGS, queue_url_prefix=prefix, bucket=DOCUMENTS)
        self.injector = FaultInjector()
        aws.calls.inject = self.injector.inject
        self._records: list[dict[str, Any]] = []

    @property
    def table(self) -> MemoryTable:
        """The table."""
        return self.aws.table(SETTINGS.table)

    @property
    def records(self) -> list[dict[str, Any]]:
        """All changes of the table so far."""
        stream = self.table.stream
        self._records += stream.after(len(self._records), stream.end)
        return self._records

    def purge(self) -> None:
        """Empty the queues."""
        for queue in self.aws.queues.queues.values():
            queue.purge()

    def expire(self, sort_keys: AbstractSet[str]) -> None:
        """Remove items, as DynamoDB does in time."""
        table = self.table
        for key in [each for each in table.items.rows if each[1] in sort_keys]:
            table.write(key, None, is_expiry=True)

    def messages(self) -> dict[str, list[str]]:
        """What is in the queues: visible, delayed or held by somebody."""
        return {
            name: [message.body for message in queue.messages.values()]
            for name, queue in self.aws.queues.queues.items()
            if queue.messages
        }

    def visible(self) -> int:
        """How many messages can be received."""
        return sum(queue.counts()[0] for queue in self.aws.queues.queues.values())

    def objects(self) -> list[str]:
        """The keys of all objects, with their buckets."""
        buckets = self.aws.objects.buckets
        return [
            f"{name}/{key}"
            for name, bucket in buckets.items()
            for key in bucket.versions
            if bucket.latest(key)
        ]

    def items(self) -> Iterator[dict[str, Any]]:
        """Every item of the table."""
        for item in [*self.table.items.rows.values()]:
            yield dict(item)
