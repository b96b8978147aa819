"""A service on Fargate runs a worker's process, drains it, and has as many tasks as jobs need."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager

from ojs_aws.cdk import (
    EcsWorkerService,
    EcsWorkerServiceProps,
    Iam,
    JobBackend,
    JobBackendProps,
)
from ojs_aws.cdk.workers.ecs_tasks import ServiceScalingProps, steps, tasks_needed
from tests.infra.conftest import NO_BUNDLING, Resource, Synthesised
from tests.infra.templates import of_stack

IMAGE = ecs.ContainerImage.from_registry("example.com/shop:1")


def synthesised(backend: dict[str, Any] | None = None, **options: Any) -> Synthesised:
    """The stack of a service with these options."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    jobs = JobBackend(scope, "Jobs", JobBackendProps(queues=["video", "mail"], **(backend or {})))
    secret = secretsmanager.Secret.from_secret_name_v2(scope, "Key", "worker-key")
    props: dict[str, Any] = {
        "vpc": ec2.Vpc(scope, "Vpc", max_azs=2),
        "api_key": ecs.Secret.from_secrets_manager(secret),
        "queues": ["video"],
    }
    EcsWorkerService(
        scope,
        "Worker",
        EcsWorkerServiceProps(backend=jobs, worker="jobs:worker", image=IMAGE, **(props | options)),
    )
    return of_stack(scope)


@pytest.fixture(scope="module")
def template() -> Synthesised:
    return synthesised()


def container(template: Synthesised) -> Resource:
    (task,) = template.of("AWS::ECS::TaskDefinition")
    (found,) = task["ContainerDefinitions"]
    return dict(found)


def test_a_task_runs_the_command_of_a_worker(template: Synthesised) -> None:
    """As a list: a shell would keep SIGTERM from it. The key is a secret, never a variable."""
    worker = container(template)
    assert worker["Command"][:5] == ["ojs-aws", "run", "jobs:worker", "--queues", "video"]
    variables = {each["Name"]: each["Value"] for each in worker["Environment"]}
    assert {*variables} == {"OJS_URL", "OJS_TASK_PROTECTION"}
    assert [each["Name"] for each in worker["Secrets"]] == ["OJS_API_KEY"]


def test_ecs_waits_longer_than_the_worker_drains(template: Synthesised) -> None:
    """Ten seconds, in which it gives back what did not finish."""
    worker = container(template)
    grace_s = int(worker["Command"][worker["Command"].index("--grace-s") + 1])
    assert worker["StopTimeout"] == grace_s + 10 <= 120


def test_a_task_may_protect_itself_in_its_own_cluster(template: Synthesised) -> None:
    statements = [
        statement
        for policy in template.of("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if "ecs:UpdateTaskProtection" in statement["Action"]
    ]
    (statement,) = statements
    assert "ecs:cluster" in statement["Condition"]["ArnEquals"]


def test_a_deployment_leaves_the_number_of_tasks(template: Synthesised) -> None:
    (service,) = template.of("AWS::ECS::Service")
    assert "DesiredCount" not in service
    (target,) = template.of("AWS::ApplicationAutoScaling::ScalableTarget")
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 10)


def test_no_task_runs_when_idle_and_spot_is_a_choice() -> None:
    found = synthesised(least_tasks=0, spot=True)
    (target,) = found.of("AWS::ApplicationAutoScaling::ScalableTarget")
    assert target["MinCapacity"] == 0
    (service,) = found.of("AWS::ECS::Service")
    (strategy,) = service["CapacityProviderStrategy"]
    assert strategy["CapacityProvider"] == "FARGATE_SPOT"


def test_tasks_follow_jobs_and_the_age_of_the_oldest(template: Synthesised) -> None:
    """By the metrics of SQS and of the sweep, and a job that waits needs one task at least."""
    alarms = [each for each in template.of("AWS::CloudWatch::Alarm") if "Metrics" in each]
    assert len(alarms) == 2
    for alarm in alarms:
        (expression,) = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
        assert expression.startswith("IF(FILL(a0,0)>0 AND ")
        names = {
            each["MetricStat"]["Metric"]["MetricName"]
            for each in alarm["Metrics"]
            if "MetricStat" in each
        }
        assert names == {
            "ApproximateNumberOfMessagesVisible",
            "ApproximateNumberOfMessagesNotVisible",
            "OldestAvailable",
        }


@pytest.mark.parametrize(("least", "most"), [(0, 1), (0, 3), (1, 10), (2, 40), (0, 1000)])
def test_the_steps_have_no_gap_and_end_at_the_most(least: int, most: int) -> None:
    """For each number of tasks that is needed: as many or more, within least and most."""
    found = steps(least, most)
    assert found[0].change == least
    assert found[-1].change == most
    assert found[-1].upper is None
    assert len(found) <= 20
    for before, after in itertools.pairwise(found):
        assert before.upper == after.lower
    for needed in range(1, most + 1):
        (step,) = [
            each for each in found if (each.lower or 0) <= needed < (each.upper or float("inf"))
        ]
        assert max(needed, least) <= step.change <= most


def test_a_signed_worker_may_call_the_api() -> None:
    found = synthesised({"access": Iam()}, api_key=None)
    actions = [
        statement["Action"]
        for policy in found.of("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    assert "execute-api:Invoke" in actions


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"queues": ["vidoe"]}, "no queue vidoe; declared are: mail, video"),
        ({"queues": []}, "1 to 3 queues"),
        ({"vpc": None}, "cluster or vpc"),
        ({"api_key": None}, "ojs-aws keys create"),
        ({"grace_s": 111}, "use 0 to 110"),
        ({"least_tasks": 10}, "below most_tasks"),
    ],
)
def test_what_could_not_work_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        synthesised(**options)


def test_an_alarm_has_room_for_three_queues() -> None:
    """CloudWatch takes ten metrics in the expression of an alarm."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    jobs = JobBackend(scope, "Jobs", JobBackendProps(queues=["a", "b", "c"]))
    props = ServiceScalingProps(
        queues=jobs.queues.queues, tick=jobs.tick, least=0, most=2, jobs_per_task=10, oldest_s=60
    )
    needed = tasks_needed(props)
    assert len(needed.using_metrics) == 9
    assert "MAX([FILL(a0,0),FILL(a1,0),FILL(a2,0)])" in needed.expression
