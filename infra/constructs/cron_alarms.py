"""What wakes the tick at the very second at which a cron job is due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.accepted import accept
from infra.constructs.job_queues import VISIBILITY_PER_TIMEOUT
from ojs_aws.topology import ALARM_RETENTION_S, cron_queue_name

MAX_CONCURRENCY: Final = 10
"""Invocations at a time for the cron jobs of one second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CronAlarmsProps:
    """Who is woken.

    :ivar prefix: begins the name of the queue; that of the other queues.
    :ivar function: the tick.
    :ivar timeout_s: the longest invocation of that function.
    """

    prefix: str
    function: lambda_.Function
    timeout_s: int


class CronAlarms(Construct):
    """A queue of delayed messages, each of which names a cron job.

    A message that is lost costs a minute: the tick finds what is due. So there is no dead-letter
    queue, and messages do not stay long.

    :ivar queue: the queue.
    """

    def __init__(self, scope: Construct, id_: str, props: CronAlarmsProps) -> None:
        """Define the queue, and let it invoke the function."""
        super().__init__(scope, id_)
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=cron_queue_name(props.prefix),
            retention_period=Duration.seconds(ALARM_RETENTION_S),
            visibility_timeout=Duration.seconds(VISIBILITY_PER_TIMEOUT * props.timeout_s),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        accept(
            self.queue,
            "AwsSolutions-SQS3",
            "A message that is lost costs a minute: the tick finds what is due without it.",
        )
        props.function.add_event_source(
            sources.SqsEventSource(self.queue, batch_size=10, max_concurrency=MAX_CONCURRENCY)
        )

    def grant_set(self, grantee: iam.IGrantable) -> None:
        """Let somebody set alarms."""
        grantee.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.queue.queue_arn])
        )
