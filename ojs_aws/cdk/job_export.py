"""Exports jobs that have ended to S3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from ojs_aws.cdk.monitoring.alarms import alarm, own_metric
from ojs_aws.cdk.stack_removal import StackRemoval
from ojs_aws.cdk.storage import failures_queue, private_bucket, read_stream
from ojs_aws.topology import (
    ENDED_STATES,
    EXPORT_PREFIX,
    JOB_SORT_KEY,
    LEFT_OUT_METRIC,
    STATE_ATTRIBUTE,
)

BATCH: Final = 1000
"""Records of one invocation; Lambda hands over six megabytes at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """Say what is exported, and how long it is kept.

    :ivar days: how long files are kept; None: for ever.
    :ivar documents: with args, meta and results. They may hold personal data, and each one that is
        kept outside its job's item costs a read.
    :ivar wait_s: how long changes are collected for a file, 300 seconds at most.
    """

    days: int | None = 365
    documents: bool = False
    wait_s: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExportProps:
    """Name the parts of the export.

    :ivar function: writes the files.
    :ivar table: the table with the stream.
    :ivar encryption_key: a KMS key of your own for the bucket; None: S3's.
    :ivar removal_policy: what becomes of the files when the stack goes.
    :ivar removal: empties the bucket when the stack goes, if its files are to go, too.
    """

    function: lambda_.Function
    table: dynamodb.ITableV2
    options: ExportOptions
    encryption_key: kms.IKey | None = None
    removal_policy: RemovalPolicy = RemovalPolicy.RETAIN
    removal: StackRemoval | None = None


class JobExport(Construct):
    """Define a bucket, and a stream reader of its own that fills it.

    It shares nothing with the reader that makes events: neither waits for the other.

    :ivar function: writes the files.
    :ivar bucket: where the files are.
    :ivar failures: the queue of batches that were given up.
    :ivar late: rings when the export is behind for half an hour.
    :ivar left_out: rings when the function left jobs out.
    """

    def __init__(self, scope: Construct, id_: str, props: JobExportProps) -> None:
        """Define the bucket, and connect the stream to the function."""
        super().__init__(scope, id_)
        options, key = props.options, props.encryption_key
        self.function = props.function
        self.bucket = private_bucket(
            self,
            "Files",
            key=key,
            removal_policy=props.removal_policy,
            rules=[_rule(options)],
            why_unlogged="One function writes it; who reads it, and wants that logged, adds it to "
            "this bucket.",
        )
        if props.removal is not None:
            props.function.node.add_dependency(props.removal.empty("Export", self.bucket))
        self.failures = failures_queue(
            self, "It is the export's own queue of what was given up, kept there for an operator."
        )
        props.function.add_environment("OJS_EXPORT_BUCKET", self.bucket.bucket_name)
        props.function.add_environment("OJS_EXPORT_DOCUMENTS", "1" if options.documents else "0")
        props.function.add_to_role_policy(
            iam.PolicyStatement(
                actions=["s3:PutObject"],
                resources=[self.bucket.arn_for_objects(f"{EXPORT_PREFIX}/*")],
            )
        )
        if key is not None:
            key.grant(props.function, "kms:Decrypt", "kms:GenerateDataKey")
        read_stream(
            props.function,
            props.table,
            self.failures,
            [exported_changes()],
            batch_size=BATCH,
            window_s=options.wait_s,
        )
        self.late = alarm(
            self,
            "Late",
            "The export is behind.",
            "operations-platform.md#the-export-is-late",
            props.function.metric("IteratorAge", statistic="Maximum", period=Duration.minutes(5)),
            30 * 60_000,
        )
        self.left_out = alarm(
            self,
            "LeftOut",
            "Jobs were left out of the export.",
            "operations-platform.md#jobs-were-left-out-of-the-export",
            own_metric(LEFT_OUT_METRIC, props.function, "Sum", Duration.minutes(5)),
        )


def exported_changes() -> dict[str, object]:
    """Return a pattern of the changes that invoke the function: jobs that have ended."""
    return {
        "dynamodb": {
            "Keys": {"sk": {"S": [JOB_SORT_KEY]}},
            "NewImage": {STATE_ATTRIBUTE: {"S": [*ENDED_STATES]}},
        }
    }


def _rule(options: ExportOptions) -> s3.LifecycleRule:
    return s3.LifecycleRule(
        abort_incomplete_multipart_upload_after=Duration.days(1),
        expiration=None if options.days is None else Duration.days(options.days),
    )
