"""Wakes the tick function at the very second at which a cron job is due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.cdk.monitoring.alarms import alarm
from ojs_aws.cdk.resources.job_queues import VISIBILITY_PER_TIMEOUT
from ojs_aws.cdk.resources.storage import own_queue
from ojs_aws.topology import ALARM_RETENTION_S, cron_queue_name

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
        self.dead_letters = own_queue(self, "DeadLetters")
        self.queue = own_queue(
            self,
            "Queue",
            queue_name=cron_queue_name(props.prefix),
            retention_period=Duration.seconds(ALARM_RETENTION_S),
            visibility_timeout=Duration.seconds(VISIBILITY_PER_TIMEOUT * props.timeout_s),
            dead_letter_queue=sqs.DeadLetterQueue(
                max_receive_count=MAX_RECEIVES, queue=self.dead_letters
            ),
        )
        self.unheard = alarm(
            self,
            "Unheard",
            "Alarms of cron jobs do not reach the tick function.",
            "cron-alarms-are-not-heard",
            self.dead_letters.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(5), statistic="Maximum"
            ),
        )
        props.function.add_event_source(
            sources.SqsEventSource(self.queue, batch_size=10, max_concurrency=MAX_CONCURRENCY)
        )

    def grant_set(self, grantee: iam.IGrantable) -> None:
        """Grant a principal the right to set alarms."""
        grantee.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.queue.queue_arn])
        )
