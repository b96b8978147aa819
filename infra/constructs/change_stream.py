"""What follows a transition: the table's stream, and the function that reads it."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.topology import MESSAGE_RETENTION_S


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeStreamProps:
    """How the stream is read.

    :ivar table: the table with the stream.
    :ivar function: what reads it.
    :ivar batch_size: most records of one invocation.
    :ivar retry_attempts: tries of a batch that fails, each after halving it.
    :ivar parallelization_factor: invocations at a time for each shard; a job's own changes stay
        in order.
    """

    table: dynamodb.ITableV2
    function: lambda_.Function
    batch_size: int = 100
    retry_attempts: int = 10
    parallelization_factor: int = 1


class ChangeStream(Construct):
    """Feeds changes of jobs to a function; a record that always fails does not block the others.

    It is cut out by bisecting, and where it was goes to a queue with an alarm. Changes of items
    other than jobs, such as the event log that the function itself writes, invoke nothing.

    :ivar failures: the queue of batches that were given up.
    :ivar alarm: rings when there is one.
    """

    def __init__(self, scope: Construct, id_: str, props: ChangeStreamProps) -> None:
        """Connect the stream to the function."""
        super().__init__(scope, id_)
        self.failures = sqs.Queue(
            self,
            "Failures",
            retention_period=Duration.seconds(MESSAGE_RETENTION_S),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        only_jobs = lambda_.FilterCriteria.filter({"dynamodb": {"Keys": {"sk": {"S": ["job"]}}}})
        props.function.add_event_source(
            sources.DynamoEventSource(
                props.table,
                starting_position=lambda_.StartingPosition.TRIM_HORIZON,
                batch_size=props.batch_size,
                bisect_batch_on_error=True,
                report_batch_item_failures=True,
                retry_attempts=props.retry_attempts,
                parallelization_factor=props.parallelization_factor,
                on_failure=sources.SqsDlq(self.failures),
                filters=[only_jobs],
            )
        )
        self.alarm = cloudwatch.Alarm(
            self,
            "Alarm",
            alarm_description="Changes of jobs were given up: their events are missing.",
            metric=self.failures.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            threshold=1,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
