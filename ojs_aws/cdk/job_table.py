"""Defines the table that holds every job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aws_cdk import RemovalPolicy, Stack, Token
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from ojs_aws.topology import TABLE

NEW_TABLE_READS: Final = 12_000
NEW_TABLE_WRITES: Final = 4_000
"""Units a second that a new table on demand takes at once, and its index, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredTable:
    """Name a table that ``ojs-aws restore table`` made from a backup.

    :ivar name: of the table.
    :ivar stream_arn: ARN of its stream.
    """

    name: str
    stream_arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTableProps:
    """Say how the table is kept.

    :ivar removal_policy: what becomes of the table when the stack goes; by default it stays.
    :ivar deletion_protection: refuse to delete the table at all.
    :ivar encryption_key: a KMS key of your own; None: one of AWS's.
    :ivar has_aws_owned_key: encrypt under a key that AWS owns, whose use is free and in no log of
        yours; else under the account's key for DynamoDB.
    :ivar restored: use this table in the place of one of its own.
    :ivar warm_throughput: units a second that the table takes at once; None: AWS's default.
    :ivar index_warm_throughput: the same of its index.
    """

    removal_policy: RemovalPolicy = RemovalPolicy.RETAIN
    deletion_protection: bool = False
    encryption_key: kms.IKey | None = None
    has_aws_owned_key: bool = False
    restored: RestoredTable | None = None
    warm_throughput: dynamodb.WarmThroughput | None = None
    index_warm_throughput: dynamodb.WarmThroughput | None = None


class JobTable(Construct):
    """Define one on-demand table with one sparse index, as ``ojs_aws.topology`` describes them.

    Encrypted, restorable to any second of the last 35
    days, with a TTL and a stream of old and new images.

    :ivar table: the table.
    :ivar index_arn: ARN of its index.
    """

    def __init__(self, scope: Construct, id_: str, props: JobTableProps | None = None) -> None:
        """Define the table.

        :raises ValueError: a key of your own in a stack that does not say its region, or a warm
            throughput that DynamoDB would refuse.
        """
        super().__init__(scope, id_)
        props = props or JobTableProps()
        _check_warm(props)
        if props.encryption_key is not None and props.restored is None:
            _check_region(Stack.of(self))
        self.table = (
            self._made(props) if props.restored is None else self._used(props, props.restored)
        )
        self.index_arn = f"{self.table.table_arn}/index/{TABLE.index.name}"

    def _used(self, props: JobTableProps, restored: RestoredTable) -> dynamodb.ITableV2:
        """Return a table that exists already."""
        return dynamodb.TableV2.from_table_attributes(
            self,
            "Restored",
            table_name=restored.name,
            table_stream_arn=restored.stream_arn,
            global_indexes=[TABLE.index.name],
            encryption_key=props.encryption_key,
        )

    def _made(self, props: JobTableProps) -> dynamodb.ITableV2:
        text = dynamodb.AttributeType.STRING
        table = dynamodb.TableV2(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name=TABLE.partition_key, type=text),
            sort_key=dynamodb.Attribute(name=TABLE.sort_key, type=text),
            billing=dynamodb.Billing.on_demand(),
            encryption=_encryption(props),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            time_to_live_attribute=TABLE.ttl_attribute,
            dynamo_stream=dynamodb.StreamViewType(TABLE.stream_view),
            deletion_protection=props.deletion_protection,
            removal_policy=props.removal_policy,
            warm_throughput=props.warm_throughput,
        )
        table.add_global_secondary_index(
            index_name=TABLE.index.name,
            partition_key=dynamodb.Attribute(name=TABLE.index.partition_key, type=text),
            sort_key=dynamodb.Attribute(name=TABLE.index.sort_key, type=text),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=list(TABLE.index.projected),
            warm_throughput=props.index_warm_throughput,
        )
        return table


def _encryption(props: JobTableProps) -> dynamodb.TableEncryptionV2:
    """Return whose key encrypts the table.

    :raises ValueError: a key of your own, and one that AWS owns.
    """
    if props.encryption_key is None:
        if props.has_aws_owned_key:
            return dynamodb.TableEncryptionV2.dynamo_owned_key()
        return dynamodb.TableEncryptionV2.aws_managed_key()
    if props.has_aws_owned_key:
        raise ValueError("Choose either encryption_key or has_aws_owned_key.")
    return dynamodb.TableEncryptionV2.customer_managed_key(props.encryption_key)


def _check_warm(props: JobTableProps) -> None:
    """Refuse, with the reason, what DynamoDB would refuse in the middle of a deployment.

    :raises ValueError: less than a new table has, which cannot be lowered; or a table that exists.
    """
    for name, warm in (
        ("warm_throughput", props.warm_throughput),
        ("index_warm_throughput", props.index_warm_throughput),
    ):
        if warm is None:
            continue
        if props.restored is not None:
            raise ValueError(f"{name} is of a new table: warm a restored one with UpdateTable.")
        for units, least in (
            (warm.read_units_per_second, NEW_TABLE_READS),
            (warm.write_units_per_second, NEW_TABLE_WRITES),
        ):
            if units is not None and units < least:
                raise ValueError(f"{name} has {units} units; a new table has {least} already.")


def _check_region(stack: Stack) -> None:
    """Refuse, with the reason, what the CDK would refuse at the end of the synthesis.

    :raises ValueError: the stack is for any region.
    """
    if Token.is_unresolved(stack.region):
        raise ValueError(
            "A table with an encryption_key of your own needs a stack that says its region: "
            "Stack(app, id, env=Environment(region=...))."
        )
