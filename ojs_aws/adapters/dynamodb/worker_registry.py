"""The registry of workers: an item for each worker that heartbeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.values import number, read_string, string
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import WorkerInfo

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = "workers"
LAST_SEEN: Final = "ls"
ACTIVE: Final = "aj"
DIRECTIVE: Final = "dv"
KEPT_S: Final = 86_400
"""Workers not heard of for a day are forgotten."""


@dataclass(frozen=True, slots=True)
class DynamoWorkerRegistry:
    """The port WorkerRegistry over the table."""

    client: DynamoDBClient
    table: str

    def beat(self, worker_id: str, active_jobs: int, now: Instant) -> WorkerInfo:
        """One update, which also answers what the worker is told to do."""
        with translated("UpdateItem"):
            answer = self.client.update_item(
                TableName=self.table,
                Key={n.PK: string(PARTITION), n.SK: string(worker_id)},
                UpdateExpression="SET #ls = :now, #aj = :active, #ttl = :ttl",
                ExpressionAttributeNames={"#ls": LAST_SEEN, "#aj": ACTIVE, "#ttl": n.TTL},
                ExpressionAttributeValues={
                    ":now": number(now),
                    ":active": number(active_jobs),
                    ":ttl": number(now // 1000 + KEPT_S),
                },
                ReturnValues="ALL_NEW",
            )
        return WorkerInfo(
            id=worker_id,
            last_seen=now,
            active_jobs=active_jobs,
            directive=read_string(answer["Attributes"], DIRECTIVE) or "running",
        )
