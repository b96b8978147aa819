"""Connects the table's stream to the function that reads it."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from constructs import Construct

from ojs_aws.cdk.monitoring.alarms import described
from ojs_aws.cdk.storage import failures_queue
from ojs_aws.topology import (
    LIMIT_PARTITION,
    METRICS,
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
    :ivar retry_attempts: tries of a batch that the function does not end well with. It sets aside
        by itself what it cannot publish; a batch fails when it meets an outage, so give it time.
    :ivar late_minutes: how old the newest unpublished change may be before an alarm rings.
    :ivar parallelization_factor: invocations at a time for each shard, 1 to 10; a job's own
        changes stay in order.
    :ivar batching_window_s: how long changes are gathered for one invocation, 300 at most. Fewer
        invocations and writes of the event log where changes are rare; events come later by that.
    """

    table: dynamodb.ITableV2
    function: lambda_.Function
    batch_size: int = 100
    retry_attempts: int = 1000
    late_minutes: int = 5
    parallelization_factor: int = 1
    batching_window_s: int = 0


class ChangeStream(Construct):
    """Feeds changes to a function; a record that always fails does not block the others.

    The function sets aside in the table what it cannot publish. A record that ends the function
    itself is found by bisecting, and its position goes to a queue. Both ring an alarm. Changes of
    items that are no events, such as the log that the function itself writes, invoke nothing.

    :ivar failures: the queue of batches that were given up.
    :ivar alarm: rings when there is one.
    :ivar set_aside: rings when the function set a record aside.
    :ivar late: rings when events come late, or not at all.
    """

    def __init__(self, scope: Construct, id_: str, props: ChangeStreamProps) -> None:
        """Connect the stream to the function."""
        super().__init__(scope, id_)
        self.failures = failures_queue(
            self, "It is the stream's own queue of what was given up; an alarm watches it."
        )
        props.function.add_event_source(
            sources.DynamoEventSource(
                props.table,
                starting_position=lambda_.StartingPosition.TRIM_HORIZON,
                batch_size=props.batch_size,
                bisect_batch_on_error=True,
                report_batch_item_failures=True,
                retry_attempts=props.retry_attempts,
                parallelization_factor=props.parallelization_factor,
                max_batching_window=Duration.seconds(props.batching_window_s)
                if props.batching_window_s
                else None,
                on_failure=sources.SqsDlq(self.failures),
                filters=[lambda_.FilterCriteria.filter(pattern) for pattern in published_changes()],
            )
        )
        self.alarm = self._alarm(
            "Alarm",
            described("Changes were given up: their events are missing.", "events-were-given-up"),
            self.failures.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            1,
        )
        self.set_aside = self._alarm(
            "SetAside",
            described(
                "Changes were set aside: their events are not published.", "events-were-set-aside"
            ),
            cloudwatch.Metric(
                namespace=METRICS,
                metric_name=SET_ASIDE_METRIC,
                dimensions_map={"service": props.function.function_name},
                statistic="Sum",
                period=Duration.minutes(1),
            ),
            1,
        )
        self.late = self._alarm(
            "Late",
            described(
                "Events come late: the stream function fails, or cannot keep up.",
                "events-come-late",
            ),
            props.function.metric("IteratorAge", statistic="Maximum", period=Duration.minutes(1)),
            props.late_minutes * 60_000,
        )

    def _alarm(
        self, id_: str, description: str, metric: cloudwatch.Metric, threshold: int
    ) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self,
            id_,
            alarm_description=description,
            metric=metric,
            threshold=threshold,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
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
