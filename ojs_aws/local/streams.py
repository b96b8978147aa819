"""Reads records for the local stream trigger: from moto's own list or another endpoint's API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from ojs_aws.local.aws import ACCOUNT, AWS_LOCK, REGION
from ojs_aws.local.lambdas import Event
from ojs_aws.topology import TABLE, is_streamed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

BATCH = 100
PLACE: Final = {TABLE.partition_key: {"S": "local"}, TABLE.sort_key: {"S": "stream"}}
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
        from moto.dynamodb.models import dynamodb_backends  # an extra

        table = dynamodb_backends[ACCOUNT][REGION].tables.get(self._table)
        shard: Any = table and table.stream_shard
        if shard is None:
            return False
        return shard is not self._shard or len(shard.items) > self._position

    def has_changes(self) -> bool:
        """Return whether records that the deployed trigger passes on have not been handled."""
        from moto.dynamodb.models import dynamodb_backends  # an extra

        table = dynamodb_backends[ACCOUNT][REGION].tables.get(self._table)
        shard: Any = table and table.stream_shard
        if shard is None or (shard is self._shard and len(shard.items) <= self._position):
            return False
        with AWS_LOCK:
            unread = shard.items[self._position if shard is self._shard else 0 :]
        return any(_is_streamed(record.to_json()) for record in unread)

    def __call__(self) -> tuple[list[Event], Callable[[], None]]:
        """Return the next records."""
        from moto.dynamodb.models import dynamodb_backends  # an extra

        table = dynamodb_backends[ACCOUNT][REGION].get_table(self._table)
        shard: Any = table.stream_shard
        if shard is not self._shard:
            self._shard, self._position = shard, 0
        with AWS_LOCK:  # a transaction may still be undone
            taken = shard.items[self._position : self._position + BATCH]
        following = self._position + len(taken)

        def done() -> None:
            self._position = following

        records = [record.to_json() for record in taken]
        return [record for record in records if _is_streamed(record)], done


@dataclass
class RemoteStream:
    """Reads a stream through its API, and records in the table how far it got.

    It begins where the last reader was, or at the beginning of the stream.

    So a server that was stopped, or killed, goes on where it was, as a deployed trigger does.
    """

    dynamodb: DynamoDBClient
    streams: DynamoDBStreamsClient
    table: str
    _iterator: str = ""

    def __call__(self) -> tuple[list[Event], Callable[[], None]]:
        """Return the next records."""
        iterator = self._iterator or self._open()
        try:
            page = self.streams.get_records(ShardIterator=iterator, Limit=BATCH)
        except ClientError:
            self._iterator = ""
            raise
        streamed = [record for record in page.get("Records", []) if _is_streamed(dict(record))]

        def done() -> None:
            if streamed:  # writing the place is a record, too, and must not lead to the next one
                self._note(streamed[-1]["dynamodb"]["SequenceNumber"])
            self._iterator = page.get("NextShardIterator", "")

        return [_as_event(dict(record)) for record in streamed], done

    def _open(self) -> str:
        arn = self.dynamodb.describe_table(TableName=self.table)["Table"]["LatestStreamArn"]
        shards = self.streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        shard = shards[-1]["ShardId"]
        noted = self.dynamodb.get_item(TableName=self.table, Key=PLACE, ConsistentRead=True)
        if place := noted.get("Item", {}).get("at", {}).get("S"):
            # The stream of an earlier table, or one that lost the record, is read from the start.
            with suppress(ClientError):
                return self.streams.get_shard_iterator(
                    StreamArn=arn,
                    ShardId=shard,
                    ShardIteratorType="AFTER_SEQUENCE_NUMBER",
                    SequenceNumber=place,
                )["ShardIterator"]
        return self.streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]

    def _note(self, place: str) -> None:
        self.dynamodb.put_item(TableName=self.table, Item={**PLACE, "at": {"S": place}})


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
