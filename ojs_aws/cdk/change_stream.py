"""Connects the table's stream to the function that reads it."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ojs_aws.cdk.monitoring.alarms import alarm, own_metric
from ojs_aws.cdk.resources.storage import failures_queue, read_stream
from ojs_aws.topology import (
    LIMIT_PARTITION,
    PAUSED_ATTRIBUTE,
    QUEUE_PARTITION,
    SET_ASIDE_METRIC,
    STREAMED_PARTITIONS,
    STREAMED_SORT_KEYS,
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
    batch_size: int = 100
    late_minutes: int = 5
    parallelization_factor: int = 1
    batching_window_s: int = 1


class ChangeStream(Construct):
    """Feeds changes to a function; a record that always fails does not block the others.

    A batch that fails in an outage is tried again for 23 hours; then its position goes to a queue.
    The function sets aside in the table what it cannot publish, and a record that ends it, which is
    found by bisecting. Both ring an alarm. Changes of items that are no events, such as the log
    that the function itself writes, invoke nothing.

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
