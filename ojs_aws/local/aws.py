"""Provides the AWS of the local server, moto or another endpoint, and reads its tables' streams."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from ojs_aws.local.lambdas import Event
from ojs_aws.local.patches import fast_clients, fast_expressions, fast_items, fast_queues
from ojs_aws.local.tables import fast_tables
from ojs_aws.topology import (
    ALARM_RETENTION_S,
    MAX_RECEIVE_COUNT,
    MESSAGE_RETENTION_S,
    STREAM_BATCH,
    TABLE,
    cron_queue_name,
    dead_letter_queue_name,
    is_streamed,
    sqs_queue_name,
)

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

    from ojs_aws.config import Settings

REGION: Final = "us-east-1"
ACCOUNT: Final = "123456789012"

AWS_LOCK: Final = threading.RLock()
"""Held during each call to moto, and by whoever looks into its tables."""


@contextmanager
def embedded_aws() -> Iterator[None]:
    """Let every AWS call of this process go to moto, one at a time.

    Moto is not safe under threads: two conditional writes can both win. One lock around it makes
    each call atomic, as AWS's are. A receive that waits for messages stays outside the lock.
    """
    from moto import mock_aws  # an extra, and slow to import
    from moto.core.botocore_stubber import BotocoreStubber

    lock = AWS_LOCK
    original = BotocoreStubber.process_request

    def one_at_a_time(self: BotocoreStubber, request: AWSPreparedRequest) -> Any:
        if _waits(request):
            return original(self, request)
        with lock:
            return original(self, request)

    mock = mock_aws()
    mock.start()
    BotocoreStubber.process_request = one_at_a_time  # type: ignore[method-assign]
    try:
        with fast_tables(), fast_items(), fast_expressions(), fast_queues(), fast_clients():
            yield
    finally:
        BotocoreStubber.process_request = original  # type: ignore[method-assign]
        mock.stop()


def _waits(request: AWSPreparedRequest) -> bool:
    target = request.headers.get("X-Amz-Target", b"")
    name = target.decode() if isinstance(target, bytes) else str(target)
    if name.rpartition(".")[2] != "ReceiveMessage":
        return False
    try:
        body = request.body or b"{}"
        text = body.decode() if isinstance(body, bytes) else str(body)
        return bool(json.loads(text).get("WaitTimeSeconds"))
    except ValueError:
        return False


def create_table(dynamodb: DynamoDBClient, name: str) -> None:
    """Create the table as it is deployed, unless it exists."""
    index = TABLE.index
    keys = (TABLE.partition_key, TABLE.sort_key, index.partition_key, index.sort_key)
    try:
        made = dynamodb.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            KeySchema=[
                {"AttributeName": TABLE.partition_key, "KeyType": "HASH"},
                {"AttributeName": TABLE.sort_key, "KeyType": "RANGE"},
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": index.name,
                    "KeySchema": [
                        {"AttributeName": index.partition_key, "KeyType": "HASH"},
                        {"AttributeName": index.sort_key, "KeyType": "RANGE"},
                    ],
                    "Projection": {
                        "ProjectionType": "INCLUDE",
                        "NonKeyAttributes": list(index.projected),
                    },
                }
            ],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": TABLE.stream_view},
        )
    except dynamodb.exceptions.ResourceInUseException:
        return
    if made["TableDescription"]["TableStatus"] != "ACTIVE":
        dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})


def create_queues(sqs: SQSClient, settings: Settings) -> str:
    """Create the declared queues as they are deployed; return the URL prefix of them all."""
    dead = sqs.create_queue(
        QueueName=dead_letter_queue_name(settings.queue_prefix),
        Attributes={"MessageRetentionPeriod": str(MESSAGE_RETENTION_S)},
    )["QueueUrl"]
    sqs.create_queue(
        QueueName=cron_queue_name(settings.queue_prefix),
        Attributes={"MessageRetentionPeriod": str(ALARM_RETENTION_S)},
    )
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]
    redrive = {"deadLetterTargetArn": arn["QueueArn"], "maxReceiveCount": MAX_RECEIVE_COUNT}
    for queue in settings.queues:
        sqs.create_queue(
            QueueName=sqs_queue_name(settings.queue_prefix, queue),
            Attributes={
                "MessageRetentionPeriod": str(MESSAGE_RETENTION_S),
                "RedrivePolicy": json.dumps(redrive),
            },
        )
    return dead.removesuffix(dead_letter_queue_name(settings.queue_prefix))


def create_bucket(s3: S3Client, name: str) -> None:
    """Create the bucket for large documents, unless it exists."""
    try:
        s3.create_bucket(Bucket=name)
    except (s3.exceptions.BucketAlreadyOwnedByYou, s3.exceptions.BucketAlreadyExists):
        return


@dataclass(frozen=True)
class EmbeddedMessages:
    """Looks into a queue that moto keeps.

    Not through moto's API: an empty receive takes a hundred times as long.
    """

    queue_name: str

    def due_s(self) -> float | None:
        """Return the seconds until a message can be received: 0 for now, None without messages."""
        from moto.core.utils import unix_time_millis  # an extra
        from moto.sqs.models import sqs_backends

        with AWS_LOCK:
            queue: Any = sqs_backends[ACCOUNT][REGION].queues.get(self.queue_name)
            messages = queue._messages if queue is not None else ()  # noqa: SLF001 - no other way
            due = min((max(each.visible_at, each.delayed_until) for each in messages), default=None)
        return None if due is None else max(0.0, (due - unix_time_millis()) / 1000)


CHECKPOINT: Final = {TABLE.partition_key: {"S": "local"}, TABLE.sort_key: {"S": "stream"}}
"""Key of the item that says how far a stream was read through its API."""


class EmbeddedStream:
    """Reads the records that moto keeps.

    Not through moto's API: serialising them there takes longer than all else that the server does.
    """

    def __init__(self, table: str) -> None:
        """Read the stream of a table from its beginning, and of one that replaces it."""
        self._table = table
        self._shard: Any = None
        self._position = 0

    @property
    def position(self) -> int:
        """Return how many records of the stream have been handled."""
        return self._position

    def is_behind(self) -> bool:
        """Return whether there are records that have not been handled."""
        shard = self._newest_shard()
        return shard is not None and (shard is not self._shard or len(shard.items) > self._position)

    def has_changes(self) -> bool:
        """Return whether records that the deployed trigger passes on have not been handled."""
        if not self.is_behind():
            return False
        shard = self._newest_shard()
        with AWS_LOCK:
            unread = shard.items[self._position if shard is self._shard else 0 :]
        return any(_is_streamed(record.to_json()) for record in unread)

    def __call__(self) -> tuple[list[Event], Callable[[], None]]:
        """Return the next records."""
        shard = self._newest_shard()
        if shard is not self._shard:
            self._shard, self._position = shard, 0
        with AWS_LOCK:  # a transaction may still be undone
            taken = shard.items[self._position : self._position + STREAM_BATCH]
        following = self._position + len(taken)

        def done() -> None:
            self._position = following

        records = [record.to_json() for record in taken]
        return [record for record in records if _is_streamed(record)], done

    def _newest_shard(self) -> Any:
        from moto.dynamodb.models import dynamodb_backends  # an extra

        table = dynamodb_backends[ACCOUNT][REGION].tables.get(self._table)
        return table and table.stream_shard


@dataclass
class RemoteStream:
    """Reads a stream through its API, and records in the table how far it got.

    A server that was stopped, or killed, goes on where it was, as a deployed trigger does.
    """

    dynamodb: DynamoDBClient
    streams: DynamoDBStreamsClient
    table: str
    _iterator: str = ""

    def __call__(self) -> tuple[list[Event], Callable[[], None]]:
        """Return the next records."""
        iterator = self._iterator or self._open()
        try:
            page = self.streams.get_records(ShardIterator=iterator, Limit=STREAM_BATCH)
        except ClientError:
            self._iterator = ""
            raise
        streamed = [record for record in page.get("Records", []) if _is_streamed(dict(record))]

        def done() -> None:
            if streamed:  # the checkpoint is a record, too, and must not lead to another one
                self._note(streamed[-1]["dynamodb"]["SequenceNumber"])
            self._iterator = page.get("NextShardIterator", "")

        return [_as_event(dict(record)) for record in streamed], done

    def _open(self) -> str:
        arn = self.dynamodb.describe_table(TableName=self.table)["Table"]["LatestStreamArn"]
        shards = self.streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        shard = shards[-1]["ShardId"]
        noted = self.dynamodb.get_item(TableName=self.table, Key=CHECKPOINT, ConsistentRead=True)
        if checkpoint := noted.get("Item", {}).get("at", {}).get("S"):
            # The stream of an earlier table, or one that lost the record, is read from the start.
            with suppress(ClientError):
                return self.streams.get_shard_iterator(
                    StreamArn=arn,
                    ShardId=shard,
                    ShardIteratorType="AFTER_SEQUENCE_NUMBER",
                    SequenceNumber=checkpoint,
                )["ShardIterator"]
        return self.streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]

    def _note(self, checkpoint: str) -> None:
        self.dynamodb.put_item(TableName=self.table, Item={**CHECKPOINT, "at": {"S": checkpoint}})


def _is_streamed(record: Event) -> bool:
    """Return whether the deployed trigger would pass the record on."""
    keys = record["dynamodb"]["Keys"]
    partition, sort_key = (keys[name]["S"] for name in (TABLE.partition_key, TABLE.sort_key))
    return is_streamed(partition, sort_key)


def _as_event(record: Event) -> Event:
    """Return a record as Lambda passes it on: the time of creation as a number."""
    created = record["dynamodb"].get("ApproximateCreationDateTime")
    if hasattr(created, "timestamp"):
        record["dynamodb"]["ApproximateCreationDateTime"] = created.timestamp()
    return record
