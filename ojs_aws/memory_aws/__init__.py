"""Keeps an AWS in memory: the few calls that the adapters make, answered as AWS answers them.

The testing kit, the simulation and most tests run the adapters over it. It evaluates the grammar
of expressions that the adapters write and refuses any other, keeps limits of sizes and counts, and
reports consumed units, stream records and failed conditions as DynamoDB does. Time is a parameter;
index lag, faults, and the order in which SQS gives messages out are a test's to choose. The
contract suite compares it with Amazon's DynamoDB Local, moto and an emulator.

It has no authentication, no metrics, no throttling of its own, and nothing that no adapter uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ojs_aws.memory_aws.calls import Call, Calls, Inject
from ojs_aws.memory_aws.dynamodb import MemoryDynamoDB
from ojs_aws.memory_aws.events import MemoryEvents, MemoryLambda
from ojs_aws.memory_aws.s3 import MemoryS3
from ojs_aws.memory_aws.sqs import MemorySqs
from ojs_aws.memory_aws.table import MemoryTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

__all__ = ["Call", "Inject", "MemoryAws"]


@dataclass(slots=True)
class MemoryAws:
    """Holds the services of one account.

    Each attribute is the service itself, with what it keeps; the properties are the same objects
    by the types of the clients that they stand for.

    :ivar calls: serves all calls: its ``inject`` injects faults, its ``made`` counts.
    """

    calls: Calls
    tables: MemoryDynamoDB = field(init=False)
    queues: MemorySqs = field(init=False)
    objects: MemoryS3 = field(init=False)
    buses: MemoryEvents = field(init=False)
    triggers: MemoryLambda = field(init=False)

    def __post_init__(self) -> None:
        """Begin with an empty account."""
        self.tables = MemoryDynamoDB(self.calls)
        self.queues = MemorySqs(self.calls)
        self.objects = MemoryS3(self.calls)
        self.buses = MemoryEvents(self.calls)
        self.triggers = MemoryLambda(self.calls)

    @classmethod
    def at(cls, now_ms: Callable[[], int]) -> MemoryAws:
        """Return an empty account whose time is this clock's (milliseconds since 1970)."""
        return cls(Calls(now_ms))

    def table(self, name: str) -> MemoryTable:
        """Return the table of a name.

        :raises KeyError: there is none.
        """
        return self.tables.tables[name]

    @property
    def dynamodb(self) -> DynamoDBClient:
        """Return the client of DynamoDB."""
        return cast("DynamoDBClient", self.tables)

    @property
    def sqs(self) -> SQSClient:
        """Return the client of SQS."""
        return cast("SQSClient", self.queues)

    @property
    def s3(self) -> S3Client:
        """Return the client of S3."""
        return cast("S3Client", self.objects)

    @property
    def events(self) -> EventBridgeClient:
        """Return the client of EventBridge."""
        return cast("EventBridgeClient", self.buses)

    @property
    def functions(self) -> LambdaClient:
        """Return the client of Lambda."""
        return cast("LambdaClient", self.triggers)
