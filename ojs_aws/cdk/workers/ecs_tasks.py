"""Lets constructs use tasks of ECS: as many as jobs need, and who may start and watch them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from ojs_aws.cdk.monitoring.alarms import own_metric
from ojs_aws.cdk.ojs_function import OjsFunction
from ojs_aws.topology import AGE_METRIC, QUEUE_DIMENSION

MAX_QUEUES: Final = 3
"""An alarm takes ten metrics, and each queue has three."""
_STEPS: Final = 18
"""Application Auto Scaling takes 20 steps in a policy."""
_MINUTE: Final = Duration.minutes(1)
_MOST_HASTE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceScalingProps:
    """Say what is scaled by what.

    :ivar queues: SQS queues by the names of their OJS queues, three at most.
    :ivar tick: publishes how old the oldest waiting job is.
    :ivar least: tasks without any job.
    :ivar most: tasks at most.
    :ivar jobs_per_task: jobs, waiting or running, for each task.
    :ivar oldest_s: age in seconds from which on more tasks run than that.
    """

    queues: Mapping[str, sqs.IQueue]
    tick: lambda_.IFunction
    least: int
    most: int
    jobs_per_task: int
    oldest_s: int


def scale(service: ecs.FargateService, props: ServiceScalingProps) -> None:
    """Set the number of tasks to what the jobs need, each minute.

    :raises ValueError: no queue or too many, or numbers that exclude each other.
    """
    if not 1 <= len(props.queues) <= MAX_QUEUES:
        raise ValueError(f"A service serves 1 to {MAX_QUEUES} queues: make one more for others.")
    if not 0 <= props.least < props.most or props.jobs_per_task < 1 or props.oldest_s < 1:
        raise ValueError(
            "least_tasks must be below most_tasks and not negative; jobs_per_task and oldest_s "
            "must be positive."
        )
    target = service.auto_scale_task_count(min_capacity=props.least, max_capacity=props.most)
    target.scale_on_metric(
        "Jobs",
        metric=tasks_needed(props),
        adjustment_type=autoscaling.AdjustmentType.EXACT_CAPACITY,
        scaling_steps=steps(props.least, props.most),
        cooldown=_MINUTE,
        evaluation_periods=1,
        metric_aggregation_type=autoscaling.MetricAggregationType.MAXIMUM,
    )


def tasks_needed(props: ServiceScalingProps) -> cloudwatch.MathExpression:
    """Return the number of tasks that the jobs need, before least and most.

    A job that waits needs one, also where SQS publishes nothing: it does not for queues that
    nobody has used for hours.
    """
    used: dict[str, cloudwatch.IMetric] = {}
    for number, (name, queue) in enumerate(props.queues.items()):
        used[f"w{number}"] = queue.metric_approximate_number_of_messages_visible(
            period=_MINUTE, statistic="Maximum"
        )
        used[f"r{number}"] = queue.metric_approximate_number_of_messages_not_visible(
            period=_MINUTE, statistic="Maximum"
        )
        used[f"a{number}"] = own_metric(
            AGE_METRIC, props.tick, "Maximum", _MINUTE, {QUEUE_DIMENSION: name}
        )
    every = range(len(props.queues))
    jobs = "+".join(f"FILL(w{n},0)+FILL(r{n},0)" for n in every)
    ages = ",".join(f"FILL(a{n},0)" for n in every)
    age = f"MAX([{ages}])" if len(props.queues) > 1 else ages
    haste = f"1+FLOOR({age}/{props.oldest_s * 1000})"
    hasty = f"IF({haste}>{_MOST_HASTE},{_MOST_HASTE},{haste})"
    needed = f"CEIL(({jobs})/{props.jobs_per_task}*({hasty}))"
    return cloudwatch.MathExpression(
        expression=f"IF({age}>0 AND {needed}<1,1,{needed})",
        using_metrics=used,
        period=_MINUTE,
        label="Tasks that the jobs need",
    )


def steps(least: int, most: int) -> list[autoscaling.ScalingInterval]:
    """Return how many tasks run for each number that is needed: few steps, never fewer tasks."""
    counts = sorted({*_counts(most), max(least, 1)})
    counts = [each for each in counts if each >= least]
    lower = 0.5
    found = [autoscaling.ScalingInterval(change=least, lower=0, upper=lower)]
    for count in counts:
        upper = None if count == counts[-1] else count + 0.5
        found.append(autoscaling.ScalingInterval(change=count, lower=lower, upper=upper))
        lower = count + 0.5
    return found


def _counts(most: int) -> set[int]:
    """Return numbers of tasks from 1 to the most, all of them or in equal ratios."""
    if most <= _STEPS:
        return set(range(1, most + 1))
    return {math.ceil(most ** (number / (_STEPS - 1))) for number in range(_STEPS)}


def allow_start(
    function: OjsFunction, definition: ecs.FargateTaskDefinition, cluster: ecs.ICluster
) -> None:
    """Let the dispatcher start this task definition in its cluster, and hand on its two roles."""
    roles = [definition.task_role, definition.obtain_execution_role()]
    function.add_to_role_policy(
        iam.PolicyStatement(
            actions=["ecs:RunTask"],
            resources=[definition.task_definition_arn],
            conditions={"ArnEquals": {"ecs:cluster": cluster.cluster_arn}},
        )
    )
    function.add_to_role_policy(
        iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[each.role_arn for each in roles],
            conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
        )
    )


def allow_watch(function: OjsFunction, cluster: ecs.ICluster) -> None:
    """Let the settler list, describe and stop the tasks of a cluster."""
    own = Stack.of(cluster).format_arn(
        service="ecs",
        resource="task",
        resource_name=f"{cluster.cluster_name}/*",
        arn_format=ArnFormat.SLASH_RESOURCE_NAME,
    )
    function.add_to_role_policy(
        iam.PolicyStatement(actions=["ecs:DescribeTasks", "ecs:StopTask"], resources=[own])
    )
    function.add_to_role_policy(
        iam.PolicyStatement(
            actions=["ecs:ListTasks"],  # ECS knows no resource for it but instances
            resources=["*"],
            conditions={"ArnEquals": {"ecs:cluster": cluster.cluster_arn}},
        )
    )
