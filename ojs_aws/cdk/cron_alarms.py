"""Wakes the tick function at the very second at which a cron job is due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.cdk.job_queues import VISIBILITY_PER_TIMEOUT
from ojs_aws.cdk.monitoring.alarms import described
from ojs_aws.topology import ALARM_RETENTION_S, MESSAGE_RETENTION_S, cron_queue_name

MAX_CONCURRENCY: Final = 10
"""Invocations at a time for the cron jobs of one second."""

MAX_RECEIVES: Final = 5
"""Receives of an alarm before it counts as unheard. Ticks have done its work by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CronAlarmsProps:
    """Say which function is woken.

    :ivar prefix: begins the name of the queue; that of the other queues.
    :ivar function: the tick.
    :ivar timeout_s: the longest invocation of that function.
    """

    prefix: str
    function: lambda_.Function
    timeout_s: int


class CronAlarms(Construct):
    """Define a queue of delayed messages, each of which names a cron job.

    A message that is lost costs a minute: the tick finds what is due. So messages do not stay long,
    and few tries end in the dead-letter queue: there they show that alarms do not reach the
    function, be it that it fails or that Lambda stops it as a loop.

    :ivar queue: the queue.
    :ivar dead_letters: alarms that the function did not take.
    :ivar unheard: rings when there are some.
    """

    def __init__(self, scope: Construct, id_: str, props: CronAlarmsProps) -> None:
        """Define the queue, and let it invoke the function."""
        super().__init__(scope, id_)
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            retention_period=Duration.seconds(MESSAGE_RETENTION_S),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=cron_queue_name(props.prefix),
            retention_period=Duration.seconds(ALARM_RETENTION_S),
            visibility_timeout=Duration.seconds(VISIBILITY_PER_TIMEOUT * props.timeout_s),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=sqs.DeadLetterQueue(
                max_receive_count=MAX_RECEIVES, queue=self.dead_letters
            ),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.unheard = self._alarm()
        props.function.add_event_source(
            sources.SqsEventSource(self.queue, batch_size=10, max_concurrency=MAX_CONCURRENCY)
        )

    def _alarm(self) -> cloudwatch.Alarm:
        five = Duration.minutes(5)
        return cloudwatch.Alarm(
            self,
            "Unheard",
            alarm_description=described(
                "Alarms of cron jobs do not reach the tick function.", "cron-alarms-are-not-heard"
            ),
            metric=self.dead_letters.metric_approximate_number_of_messages_visible(
                period=five, statistic="Maximum"
            ),
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def grant_set(self, grantee: iam.IGrantable) -> None:
        """Grant a principal the right to set alarms."""
        grantee.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.queue.queue_arn])
        )
