"""Defines alarms over the whole backend, each with what to read when it rings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from ojs_aws.topology import AGE_METRIC, DEAD_LETTERED_METRIC, METRICS, QUEUE_DIMENSION, TABLE

RUNBOOKS: Final = "docs/operations.md"
_FIVE: Final = Duration.minutes(5)


def described(text: str, section: str) -> str:
    """Return the description of an alarm: what is wrong, and where to read what to do."""
    return f"{text} Runbook: {RUNBOOKS}#{section}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendAlarmsProps:
    """Say what is watched, and what counts as wrong.

    :ivar queues: OJS names of the queues that have alarms of their own, beside those for all.
    :ivar tick: publishes for how long jobs have been waiting.
    :ivar stream: publishes how jobs end.
    :ivar table: the table.
    :ivar unreadable: the SQS queue of messages that nobody could read.
    :ivar api: the HTTP API.
    :ivar old_minutes: how long a job may be available before its queue's alarm rings.
    :ivar concurrency: concurrent executions of the account's functions at which to ring; 80 percent
        of a new account's limit.
    """

    tick: lambda_.IFunction
    stream: lambda_.IFunction
    table: dynamodb.ITableV2
    unreadable: sqs.IQueue
    api: gateway.IHttpApi
    queues: Sequence[str] = ()
    old_minutes: int = 15
    concurrency: int = 800


class BackendAlarms(Construct):
    """Define alarms: each watches one metric, names its runbook, and rings where people must act.

    Two alarms watch the jobs of all queues, those that are made at their first use included: a
    stack has room for many queues, not for two alarms of each.
    """

    def __init__(self, scope: Construct, id_: str, props: BackendAlarmsProps) -> None:
        """Define the alarms."""
        super().__init__(scope, id_)
        for name in (None, *dict.fromkeys(props.queues)):
            self._jobs(name, props)
        self._alarm(
            "Unreadable",
            described("SQS messages that no worker could read.", "unreadable-messages"),
            props.unreadable.metric_approximate_number_of_messages_visible(
                period=_FIVE, statistic="Maximum"
            ),
        )
        for id_part, function in (("Tick", props.tick), ("Stream", props.stream)):
            self._alarm(
                f"{id_part}Fails",
                described(f"The {id_part.lower()} function fails.", "a-function-fails"),
                function.metric_errors(period=_FIVE, statistic="Sum"),
                threshold=3,
            )
        self._alarm(
            "ApiFails",
            described("The API answers with errors of its own.", "the-api-fails"),
            props.api.metric_server_error(period=_FIVE, statistic="Sum"),
            threshold=5,
        )
        self._table(props.table)
        self._lambda(props.concurrency)

    def _jobs(self, queue: str | None, props: BackendAlarmsProps) -> None:
        """Watch the jobs of one queue, or those of all."""
        of_which, suffix = (f" of queue {queue}", f"-{queue}") if queue else ("", "")
        self._alarm(
            f"Old{suffix}",
            described(f"Jobs{of_which} wait for long.", "old-jobs"),
            _of_jobs(AGE_METRIC, queue, props.tick, "Maximum", Duration.minutes(1)),
            threshold=props.old_minutes * 60_000,
            periods=5,
        )
        self._alarm(
            f"DeadLetters{suffix}",
            described(f"Jobs{of_which} became dead letters.", "dead-letters"),
            _of_jobs(DEAD_LETTERED_METRIC, queue, props.stream, "Sum", _FIVE),
        )

    def _table(self, table: dynamodb.ITableV2) -> None:
        section = "the-table-is-throttled"
        for id_, what, index in (
            ("Table", "The table", ""),
            ("Index", "Its index", TABLE.index.name),
        ):
            more = {"GlobalSecondaryIndexName": index} if index else {}
            self._alarm(
                f"{id_}Throttled",
                described(f"{what} takes fewer writes than come.", section),
                cloudwatch.Metric(
                    namespace="AWS/DynamoDB",
                    metric_name="WriteThrottleEvents",
                    dimensions_map={"TableName": table.table_name, **more},
                    statistic="Sum",
                    period=_FIVE,
                ),
                periods=2,
            )

    def _lambda(self, concurrency: int) -> None:
        """Watch the limit of concurrent executions, which all functions of the account share."""
        section = "lambda-is-at-its-limit"
        rules = (
            ("Concurrency", "ConcurrentExecutions", "Maximum", concurrency, "are near their limit"),
            ("Throttled", "Throttles", "Sum", 1, "are throttled"),
        )
        for id_, name, statistic, threshold, what in rules:
            metric = cloudwatch.Metric(
                namespace="AWS/Lambda", metric_name=name, statistic=statistic, period=_FIVE
            )
            text = described(f"The account's functions {what}.", section)
            self._alarm(id_, text, metric, threshold=threshold, periods=2)

    def _alarm(
        self,
        id_: str,
        description: str,
        metric: cloudwatch.Metric,
        *,
        threshold: int = 1,
        periods: int = 1,
    ) -> None:
        cloudwatch.Alarm(
            self,
            id_,
            alarm_description=description,
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator=(cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD),
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )


def alarms_in(scope: IConstruct) -> list[cloudwatch.Alarm]:
    """Return every alarm below a construct."""
    return [each for each in scope.node.find_all() if isinstance(each, cloudwatch.Alarm)]


def notify(scope: IConstruct, topic: sns.ITopic) -> None:
    """Notify a topic when an alarm below a construct rings, and when it is over."""
    action = actions.SnsAction(topic)
    for alarm in alarms_in(scope):
        alarm.add_alarm_action(action)
        alarm.add_ok_action(action)


def _of_jobs(
    metric: str, queue: str | None, function: lambda_.IFunction, statistic: str, period: Duration
) -> cloudwatch.Metric:
    of_queue = {QUEUE_DIMENSION: queue} if queue else {}
    return cloudwatch.Metric(
        namespace=METRICS,
        metric_name=metric,
        dimensions_map={"service": function.function_name, **of_queue},
        statistic=statistic,
        period=period,
    )
