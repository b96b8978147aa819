"""Defines alarms over the whole backend, each with what to read when it rings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from ojs_aws.topology import (
    AGE_METRIC,
    DEAD_LETTERED_METRIC,
    METRICS,
    QUEUE_DIMENSION,
    SUSPENDED_METRIC,
    TABLE,
)

_FIVE: Final = Duration.minutes(5)


def alarm(
    scope: Construct,
    id_: str,
    text: str,
    runbook: str,
    metric: cloudwatch.Metric,
    threshold: float = 1,
    *,
    periods: int = 1,
    **options: Any,
) -> cloudwatch.Alarm:
    """Define an alarm that rings from its threshold on; missing data is no reason.

    :param text: what is wrong.
    :param runbook: page of docs and section that say what to do, as in ``operations.md#old-jobs``.
    :param options: of the alarm where it differs.
    """
    usual = {"treat_missing_data": cloudwatch.TreatMissingData.NOT_BREACHING}
    return cloudwatch.Alarm(
        scope,
        id_,
        alarm_description=f"{text} Runbook: docs/{runbook}",
        metric=metric,
        threshold=threshold,
        evaluation_periods=periods,
        **{**usual, **options},
    )


def own_metric(
    name: str,
    function: lambda_.IFunction,
    statistic: str,
    period: Duration,
    dimensions: Mapping[str, str] | None = None,
) -> cloudwatch.Metric:
    """Return a metric that a function of the backend publishes."""
    return cloudwatch.Metric(
        namespace=METRICS,
        metric_name=name,
        dimensions_map={"service": function.function_name, **(dimensions or {})},
        statistic=statistic,
        period=period,
    )


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
        alarm(
            self,
            "Unreadable",
            "SQS messages that no worker could read.",
            "operations.md#unreadable-messages",
            props.unreadable.metric_approximate_number_of_messages_visible(
                period=_FIVE, statistic="Maximum"
            ),
        )
        for id_part, function in (("Tick", props.tick), ("Stream", props.stream)):
            alarm(
                self,
                f"{id_part}Fails",
                f"The {id_part.lower()} function fails.",
                "operations-platform.md#a-function-fails",
                function.metric_errors(period=_FIVE, statistic="Sum"),
                threshold=3,
            )
        alarm(
            self,
            "ApiFails",
            "The API answers with errors of its own.",
            "operations-platform.md#the-api-fails",
            props.api.metric_server_error(period=_FIVE, statistic="Sum"),
            threshold=5,
        )
        self._table(props.table)
        self._lambda(props.concurrency)

    def watch_bindings(self, tick: lambda_.IFunction, topic: sns.ITopic | None) -> None:
        """Watch the bindings of queues, in a deployment that has some.

        :param topic: is notified; None: nobody is.
        """
        suspended = alarm(
            self,
            "BindingsSuspended",
            "Bindings are suspended, as their function or endpoint is wrong.",
            "operations.md#a-binding-is-suspended",
            own_metric(SUSPENDED_METRIC, tick, "Maximum", _FIVE),
        )
        notify(suspended, topic)

    def _jobs(self, queue: str | None, props: BackendAlarmsProps) -> None:
        """Watch the jobs of one queue, or those of all."""
        of_which, suffix = (f" of queue {queue}", f"-{queue}") if queue else ("", "")
        of_queue = {QUEUE_DIMENSION: queue} if queue else {}
        alarm(
            self,
            f"Old{suffix}",
            f"Jobs{of_which} wait for long.",
            "operations.md#old-jobs",
            own_metric(AGE_METRIC, props.tick, "Maximum", Duration.minutes(1), of_queue),
            threshold=props.old_minutes * 60_000,
            periods=5,
        )
        alarm(
            self,
            f"DeadLetters{suffix}",
            f"Jobs{of_which} became dead letters.",
            "operations.md#dead-letters",
            own_metric(DEAD_LETTERED_METRIC, props.stream, "Sum", _FIVE, of_queue),
        )

    def _table(self, table: dynamodb.ITableV2) -> None:
        for id_, what, index in (
            ("Table", "The table", ""),
            ("Index", "Its index", TABLE.index.name),
        ):
            more = {"GlobalSecondaryIndexName": index} if index else {}
            alarm(
                self,
                f"{id_}Throttled",
                f"{what} takes fewer writes than come.",
                "operations-platform.md#the-table-is-throttled",
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
        rules = (
            ("Concurrency", "ConcurrentExecutions", "Maximum", concurrency, "are near their limit"),
            ("Throttled", "Throttles", "Sum", 1, "are throttled"),
        )
        for id_, name, statistic, threshold, what in rules:
            metric = cloudwatch.Metric(
                namespace="AWS/Lambda", metric_name=name, statistic=statistic, period=_FIVE
            )
            text = f"The account's functions {what}."
            alarm(
                self,
                id_,
                text,
                "operations-platform.md#lambda-is-at-its-limit",
                metric,
                threshold,
                periods=2,
            )


def alarms_in(scope: IConstruct) -> list[cloudwatch.Alarm]:
    """Return every alarm below a construct."""
    return [each for each in scope.node.find_all() if isinstance(each, cloudwatch.Alarm)]


def notify(scope: IConstruct, topic: sns.ITopic | None) -> None:
    """Notify a topic when an alarm below a construct rings, and when it is over.

    :param topic: None: nobody is notified.
    """
    if topic is None:
        return
    action = actions.SnsAction(topic)
    for each in alarms_in(scope):
        each.add_alarm_action(action)
        each.add_ok_action(action)
