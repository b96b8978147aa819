"""Grants the functions of bindings what they may do with tasks of ECS: these, and no others."""

from __future__ import annotations

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from ojs_aws.cdk.ojs_function import OjsFunction


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
