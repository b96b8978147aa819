"""Defines one page that shows the state of the backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.cdk.monitoring.alarms import own_metric
from ojs_aws.topology import AGE_METRIC, LAG_METRIC, METRICS, QUEUE_DIMENSION

_PERIOD = Duration.minutes(1)
_WIDTH = 8
_ALARMS = 100
"""Alarms of one widget; CloudWatch takes no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendDashboardProps:
    """Say what is shown.

    :ivar alarms: shown first.
    :ivar queues: SQS queues by the names of their OJS queues.
    :ivar functions: the functions by name.
    :ivar tick: the function of the sweep.
    :ivar stream: the function that publishes events.
    :ivar table: the table.
    """

    alarms: Sequence[cloudwatch.IAlarm]
    queues: Mapping[str, sqs.IQueue]
    functions: Mapping[str, lambda_.IFunction]
    tick: lambda_.IFunction
    stream: lambda_.IFunction
    table: dynamodb.ITableV2


class BackendDashboard(Construct):
    """Define a CloudWatch dashboard: alarms, jobs, waiting, functions, table.

    Metrics by queue are searched for, so that queues made at their first use are on it, too.

    :ivar dashboard: the dashboard.
    """

    def __init__(self, scope: Construct, id_: str, props: BackendDashboardProps) -> None:
        """Define the dashboard."""
        super().__init__(scope, id_)
        tick, stream = props.tick.function_name, props.stream.function_name
        self.dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            widgets=[
                [
                    cloudwatch.AlarmStatusWidget(
                        alarms=list(props.alarms[first : first + _ALARMS]), width=24
                    )
                    for first in range(0, len(props.alarms), _ALARMS)
                ],
                [
                    _searched("Jobs enqueued", "ojs.job.enqueued", stream, "Sum"),
                    _searched("Jobs completed", "ojs.job.completed", stream, "Sum"),
                    _searched("Jobs discarded", "ojs.job.failed", stream, "Sum"),
                ],
                [
                    _searched("Longest waiting (ms)", AGE_METRIC, tick, "Maximum"),
                    _searched(
                        "Wait before the start (s), p95", "ojs.job.queue_time", stream, "p95"
                    ),
                    _searched("Execution (s), p95", "ojs.job.duration", stream, "p95"),
                ],
                [
                    _graph(
                        "Messages of jobs that may run",
                        [
                            queue.metric_approximate_number_of_messages_visible(
                                label=name, period=_PERIOD
                            )
                            for name, queue in props.queues.items()
                        ],
                    ),
                    _graph(
                        "Sweep behind, events behind (ms)",
                        [
                            own_metric(LAG_METRIC, props.tick, "Maximum", _PERIOD).with_(
                                label="sweep"
                            ),
                            props.stream.metric(
                                "IteratorAge", statistic="Maximum", period=_PERIOD, label="events"
                            ),
                        ],
                    ),
                    _graph(
                        "Capacity of the table",
                        [
                            props.table.metric_consumed_write_capacity_units(
                                period=_PERIOD, statistic="Sum", label="written"
                            ),
                            props.table.metric_consumed_read_capacity_units(
                                period=_PERIOD, statistic="Sum", label="read"
                            ),
                        ],
                    ),
                ],
                [
                    _functions("Invocations", "Invocations", "Sum", props.functions),
                    _functions("Errors", "Errors", "Sum", props.functions),
                    _functions("Duration (ms), p95", "Duration", "p95", props.functions),
                ],
            ],
        )


def _searched(title: str, metric: str, function: str, statistic: str) -> cloudwatch.IWidget:
    """Return a metric of every queue there is."""
    schema = f"{{{METRICS},service,{QUEUE_DIMENSION}}}"
    expression = f"SEARCH('{schema} MetricName=\"{metric}\" service=\"{function}\"', '{statistic}')"
    return cloudwatch.GraphWidget(
        title=title,
        width=_WIDTH,
        left=[cloudwatch.MathExpression(expression=expression, label="", period=_PERIOD)],
    )


def _functions(
    title: str, metric: str, statistic: str, functions: Mapping[str, lambda_.IFunction]
) -> cloudwatch.IWidget:
    return _graph(
        title,
        [
            function.metric(metric, statistic=statistic, period=_PERIOD, label=name)
            for name, function in functions.items()
        ],
    )


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.IWidget:
    return cloudwatch.GraphWidget(title=title, width=_WIDTH, left=list(metrics))
