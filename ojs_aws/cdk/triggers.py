"""Invokes the functions that the table's stream, each minute and each due cron job trigger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.cdk.job_queues import VISIBILITY_PER_TIMEOUT
from ojs_aws.cdk.monitoring.alarms import alarm, own_metric
from ojs_aws.cdk.ojs_function import run_every
from ojs_aws.cdk.storage import failures_queue, own_queue, read_stream
from ojs_aws.topology import (
    ALARM_RETENTION_S,
    EVENTS_LAG_METRIC,
    LAG_METRIC,
    LEFT_METRIC,
    LIMIT_PARTITION,
    LOST_METRIC,
    PAUSED_ATTRIBUTE,
    QUEUE_PARTITION,
    SET_ASIDE_METRIC,
    STREAM_BATCH,
    STREAMED_PARTITIONS,
    STREAMED_SORT_KEYS,
    UNDECLARED_METRIC,
    cron_queue_name,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeStreamProps:
    """Say how the stream is read.

    :ivar table: the table with the stream.
    :ivar function: what reads it.
    :ivar batch_size: most records of one invocation.
    :ivar late_minutes: how old the newest unpublished change may be before an alarm rings.
    :ivar parallelization_factor: invocations at a time for each shard, 1 to 10; a job's own
        changes stay in order.
    :ivar batching_window_s: how long changes are gathered for one invocation, 0 to 300. Fewer
        invocations and writes of the event log where changes are rare; events and the next steps
        of workflows come later by that.
    """

    table: dynamodb.ITableV2
    function: lambda_.Function
    batch_size: int = STREAM_BATCH
    late_minutes: int = 5
    parallelization_factor: int = 1
    batching_window_s: int = 1


class ChangeStream(Construct):
    """Feeds changes to a function; a record that always fails does not block the others.

    A batch that fails in an outage is tried again for 23 hours; then its position goes to a queue.
    The function sets aside in the table what it cannot publish, and a record that ends it, which is
    found by bisecting. Both ring an alarm. Changes of the log of events invoke nothing.

    :ivar failures: the queue of batches that were given up.
    :ivar alarm: rings when there is one.
    :ivar set_aside: rings when the function set a record aside.
    :ivar late: rings when events come late. If nothing reads the stream, its metric is missing:
        then the alarm ``unread`` of :class:`~ojs_aws.cdk.TickSchedule` rings.
    """

    def __init__(self, scope: Construct, id_: str, props: ChangeStreamProps) -> None:
        """Connect the stream to the function."""
        super().__init__(scope, id_)
        self.failures = failures_queue(
            self, "It is the stream's own queue of what was given up; an alarm watches it."
        )
        read_stream(
            props.function,
            props.table,
            self.failures,
            published_changes(),
            batch_size=props.batch_size,
            window_s=props.batching_window_s,
            parallelization_factor=props.parallelization_factor,
        )
        minute = Duration.minutes(1)
        self.alarm = alarm(
            self,
            "Alarm",
            "Changes were given up: their events are missing.",
            "operations-platform.md#events-were-given-up",
            self.failures.metric_approximate_number_of_messages_visible(
                period=minute, statistic="Maximum"
            ),
        )
        self.set_aside = alarm(
            self,
            "SetAside",
            "Changes were set aside: their events are not published.",
            "operations-platform.md#events-were-set-aside",
            own_metric(SET_ASIDE_METRIC, props.function, "Sum", minute),
        )
        self.late = alarm(
            self,
            "Late",
            "Events come late: the stream function fails, or cannot keep up.",
            "operations-platform.md#events-come-late",
            props.function.metric("IteratorAge", statistic="Maximum", period=minute),
            props.late_minutes * 60_000,
        )


def published_changes() -> list[dict[str, object]]:
    """Return patterns of the changes that invoke the function; any one of them is enough."""
    keys = {
        "job": {"sk": {"S": list(STREAMED_SORT_KEYS)}},
        "kinds": {"pk": {"S": list(STREAMED_PARTITIONS)}},
        "paused": {"pk": {"S": [QUEUE_PARTITION, LIMIT_PARTITION]}},
    }
    is_paused = {PAUSED_ATTRIBUTE: {"N": [{"exists": True}]}}
    return [
        {"dynamodb": {"Keys": keys["job"]}},
        {"dynamodb": {"Keys": keys["kinds"]}},
        {"dynamodb": {"Keys": keys["paused"], "NewImage": is_paused}},
        {"dynamodb": {"Keys": keys["paused"], "OldImage": is_paused}},
    ]


LATE_TICKS: Final = 3
LEFT_TICKS: Final = 10
"""Ticks in a row before an alarm rings."""
MAX_CONCURRENCY: Final = 10
"""Invocations at a time for the cron jobs of one second."""
MAX_RECEIVES: Final = 5
"""Receives of an alarm before it counts as unheard. Ticks have done its work by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickScheduleProps:
    """Say what runs, and how often.

    :ivar function: the sweep.
    :ivar interval_minutes: between two ticks; at most 5. Nothing that a client sees depends on it.
    :ivar late_minutes: how late jobs may become before the alarm rings.
    :ivar unread_minutes: for how long the stream's consumer may handle no tick before an alarm
        rings; more than the interval.
    :ivar most_undeclared: undeclared queues that there may be; None where there are none.
    """

    function: lambda_.IFunction
    interval_minutes: int = 1
    late_minutes: int = 1
    unread_minutes: int = 5
    most_undeclared: int | None = None


class TickSchedule(Construct):
    """Define an EventBridge rule that invokes the sweep.

    A tick that fails, or that Lambda has no room for, is not repeated: the next one does its work
    too. By default EventBridge and Lambda both repeat events and keep them for hours.

    :ivar rule: the rule.
    :ivar late: rings when due jobs had no message for some time, and when no tick ended for long.
    :ivar left: rings when ticks again and again leave queues undone.
    :ivar unread: rings when nothing reads the table's stream any more.
    :ivar many_queues: rings when nearly as many undeclared queues were made as there may be.
    """

    def __init__(self, scope: Construct, id_: str, props: TickScheduleProps) -> None:
        """Define the rule."""
        super().__init__(scope, id_)
        description = "Sweeps jobs that no message could time"
        self.rule = run_every(self, props.function, props.interval_minutes, description)
        period = Duration.minutes(props.interval_minutes)

        def metric(name: str) -> cloudwatch.Metric:
            return own_metric(name, props.function, "Maximum", period)

        self.late = alarm(
            self,
            "Late",
            "Due jobs had no message in time, or the sweep does not run.",
            "operations.md#the-sweep-is-late",
            metric(LAG_METRIC),
            props.late_minutes * 60_000,
            periods=LATE_TICKS,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
        )
        self.left = alarm(
            self,
            "Left",
            "Sweeps leave queues undone: for errors, or for want of time.",
            "operations.md#the-sweep-leaves-queues-undone",
            metric(LEFT_METRIC),
            periods=LEFT_TICKS,
        )
        self.unread = alarm(
            self,
            "Unread",
            "Changes of the table are not read, or very late: there are no events.",
            "operations-platform.md#events-come-late",
            metric(EVENTS_LAG_METRIC),
            props.unread_minutes * 60_000,
            periods=LATE_TICKS,
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
        )
        self.lost = alarm(
            self,
            "Lost",
            "A large batch was given up: some of its jobs are lost.",
            "operations.md#a-batch-was-given-up",
            metric(LOST_METRIC),
        )
        self.many_queues = (
            None
            if props.most_undeclared is None
            else alarm(
                self,
                "ManyQueues",
                "Nearly as many undeclared queues were made as there may be.",
                "operations.md#too-many-queues",
                metric(UNDECLARED_METRIC),
                max(1, props.most_undeclared * 8 // 10),
            )
        )


class CronWakeUps(Construct):
    """Define a queue of delayed messages, each of which names a cron job.

    A message that is lost costs a minute: the tick finds what is due. So messages do not stay long,
    and few tries end in the dead-letter queue: there they show that alarms do not reach the
    function, be it that it fails or that Lambda stops it as a loop.

    :ivar queue: the queue.
    :ivar dead_letters: alarms that the function did not take.
    :ivar unheard: rings when there are some.
    """

    def __init__(
        self, scope: Construct, id_: str, prefix: str, function: lambda_.Function, timeout_s: int
    ) -> None:
        """Define the queue, and let it invoke the function.

        :param prefix: begins the name of the queue; that of the other queues.
        :param function: the tick.
        :param timeout_s: the longest invocation of that function.
        """
        super().__init__(scope, id_)
        self.dead_letters = own_queue(self, "DeadLetters")
        self.queue = own_queue(
            self,
            "Queue",
            queue_name=cron_queue_name(prefix),
            retention_period=Duration.seconds(ALARM_RETENTION_S),
            visibility_timeout=Duration.seconds(VISIBILITY_PER_TIMEOUT * timeout_s),
            dead_letter_queue=sqs.DeadLetterQueue(
                max_receive_count=MAX_RECEIVES, queue=self.dead_letters
            ),
        )
        self.unheard = alarm(
            self,
            "Unheard",
            "Alarms of cron jobs do not reach the tick function.",
            "operations.md#cron-alarms-are-not-heard",
            self.dead_letters.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(5), statistic="Maximum"
            ),
        )
        function.add_event_source(
            sources.SqsEventSource(self.queue, batch_size=10, max_concurrency=MAX_CONCURRENCY)
        )

    def grant_set(self, grantee: iam.IGrantable) -> None:
        """Grant a principal the right to set alarms."""
        grantee.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.queue.queue_arn])
        )
