"""Tasks of ECS that run jobs: what the construct makes of them, and allows."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns

from ojs_aws.cdk import (
    EcsBindings,
    EcsBindingsProps,
    EcsTarget,
    JobBackend,
    JobBackendProps,
    LambdaBindings,
    LambdaBindingsProps,
    LambdaTarget,
)
from ojs_aws.domain.bindings import BindingConfig, read_targets
from ojs_aws.domain.bindings.tasks import read_task_bindings
from ojs_aws.topology import TASK_LEASE_S
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_stack
from tests.infra.test_nag import findings

DISPATCHER: Final = "functions.task_dispatcher.handler.handler"
SETTLER: Final = "functions.task_settler.handler.handler"
PAGE: Final = Path(__file__).parents[2] / "docs" / "ecs-bindings.md"


class Defined:
    """A stack with a backend, whose videos are rendered by tasks."""

    def __init__(self, *, knows_secret: bool = True, **given: Any) -> None:
        self.stack = Stack(App(context=NO_BUNDLING), "S")
        secret = ecs.Secret.from_secrets_manager(secretsmanager.Secret(self.stack, "Key"))
        known = [secret] if knows_secret else []
        topic = sns.Topic(self.stack, "Topic") if given.pop("alarm_topic", False) else None
        props = JobBackendProps(queues=["media", "email"], report_secrets=known, alarm_topic=topic)
        self.backend = JobBackend(self.stack, "Jobs", props)
        vpc = ec2.Vpc(self.stack, "Vpc", max_azs=1)
        cluster = ecs.Cluster(self.stack, "Cluster", vpc=vpc)
        definition = ecs.FargateTaskDefinition(self.stack, "Render")
        if given.pop("has_container", True):
            definition.add_container("worker", image=ecs.ContainerImage.from_registry("ffmpeg"))
        options: dict[str, Any] = {"queues": ["media"], "types": ["video.*"]} | given
        names = options.pop("names", ["render"])
        target = EcsTarget(task_definition=definition, cluster=cluster, **options)
        self.targets = dict.fromkeys(names, target)
        self.secret = secret

    def bind(self) -> Stack:
        props = EcsBindingsProps(
            backend=self.backend, targets=self.targets, signing_secret=self.secret
        )
        EcsBindings(self.stack, "Bindings", props)
        return self.stack


@cache
def template() -> Synthesised:
    return of_stack(Defined().bind())


def variables(of: Synthesised, handler: str) -> dict[str, Any]:
    (found,) = [each for each in of.of("AWS::Lambda::Function") if each["Handler"] == handler]
    return dict(found["Environment"]["Variables"])


def named(kind: str) -> str:
    """The logical id of the only resource of a kind."""
    resources = template().document["Resources"]
    (name,) = [name for name, each in resources.items() if each["Type"] == kind]
    return str(name)


def text_of(value: Any) -> str:
    """A variable, with a text in the place of each reference."""
    return "".join(each if isinstance(each, str) else "arn:x" for each in value["Fn::Join"][1])


def statements(of: Synthesised, action: str) -> list[dict[str, Any]]:
    return [
        each
        for policy in of.of("AWS::IAM::Policy")
        for each in policy["PolicyDocument"]["Statement"]
        if action in each["Action"]
    ]


def test_the_dispatcher_reads_what_the_stack_names() -> None:
    """Task definition, cluster, container and network."""
    (binding,) = read_task_bindings(text_of(variables(template(), DISPATCHER)["OJS_BINDINGS"]))
    assert (binding.name, binding.queues, binding.types) == ("render", ["media"], ["video.*"])
    assert (binding.container, binding.reservation_s) == ("worker", TASK_LEASE_S)
    assert (len(binding.subnets), len(binding.security_groups)) == (1, 1)
    assert (binding.has_public_ip, binding.capacity) == (False, "")
    assert "OJS_REPORT_URL" in variables(template(), DISPATCHER)


def test_messages_stay_hidden_for_as_long_as_a_reservation() -> None:
    """The first one, before the sweep extends it."""
    (queue,) = [
        each for each in template().of("AWS::SQS::Queue") if each.get("QueueName") == "ojs__media"
    ]
    assert queue["VisibilityTimeout"] >= TASK_LEASE_S


def test_the_dispatcher_starts_these_tasks_and_nothing_else() -> None:
    """In their cluster, with their roles, and only for ECS."""
    (start,) = statements(template(), "ecs:RunTask")
    definition, cluster = named("AWS::ECS::TaskDefinition"), named("AWS::ECS::Cluster")
    assert start["Resource"] == {"Ref": definition}
    assert start["Condition"] == {"ArnEquals": {"ecs:cluster": {"Fn::GetAtt": [cluster, "Arn"]}}}
    (handed_on,) = statements(template(), "iam:PassRole")
    assert len(handed_on["Resource"]) == 2
    assert handed_on["Condition"] == {
        "StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}
    }
    assert "ecs:RunTask" in template().actions(DISPATCHER)
    assert not {"ecs:RunTask", "iam:PassRole"} & {*template().actions(SETTLER)}


def test_the_settler_watches_the_tasks_of_the_cluster_alone() -> None:
    """It can start none, and claim no job."""
    (watch,) = statements(template(), "ecs:StopTask")
    assert watch["Action"] == ["ecs:DescribeTasks", "ecs:StopTask"]
    assert ":task/" in json.dumps(watch["Resource"])
    (listing,) = statements(template(), "ecs:ListTasks")
    assert "ecs:cluster" in listing["Condition"]["ArnEquals"]
    actions = {*template().actions(SETTLER)}
    assert "ecs:DescribeTasks" in actions
    assert not {"secretsmanager:GetSecretValue", "dynamodb:DeleteItem"} & actions


def test_ends_of_the_deployments_own_tasks_come_to_the_settler() -> None:
    """By the group that the dispatcher starts them in."""
    (rule,) = [each for each in template().of("AWS::Events::Rule") if "EventPattern" in each]
    pattern = rule["EventPattern"]
    assert pattern["source"] == ["aws.ecs"]
    assert pattern["detail-type"] == ["ECS Task State Change"]
    prefix = variables(template(), DISPATCHER)["OJS_QUEUE_PREFIX"]
    assert pattern["detail"]["group"] == [f"ojs-{prefix}"]
    assert pattern["detail"]["lastStatus"] == ["STOPPED"]
    assert len(pattern["detail"]["clusterArn"]) == 1


def test_the_settler_sweeps_each_minute() -> None:
    """It knows the bindings that the dispatcher has."""
    rules = [
        each
        for each in template().of("AWS::Events::Rule")
        if "Settler" in json.dumps(each["Targets"])
    ]
    assert [each["ScheduleExpression"] for each in rules] == ["rate(1 minute)"]
    known = variables(template(), SETTLER)["OJS_BINDINGS"]
    assert known == variables(template(), DISPATCHER)["OJS_BINDINGS"]
    (binding,) = read_task_bindings(text_of(known))
    assert (binding.name, binding.cluster) == ("render", "arn:x")


def test_operators_may_bind_these_tasks_alone() -> None:
    """By their names; and there are no events in the bucket, which functions would need."""
    operator = variables(template(), "functions.operator.handler.handler")
    allowed = json.loads(operator["OJS_BINDING_TARGETS"])
    (definition,) = template().of("AWS::ECS::TaskDefinition")
    assert allowed == {
        "render": {"queues": ["media"], "types": ["video.*"], "family": definition["Family"]}
    }
    assert '"events/"' not in json.dumps(template().of("AWS::S3::Bucket"))


def test_both_triggers_report_messages_one_by_one() -> None:
    """A pause of the queue switches the dispatcher's off, by its tag."""
    mine = [
        each
        for each in template().of("AWS::Lambda::EventSourceMapping")
        if "Bindings" in json.dumps(each["FunctionName"])
    ]
    assert [each["FunctionResponseTypes"] for each in mine] == [["ReportBatchItemFailures"]] * 2
    assert sum("Tags" in each for each in mine) == 1


def test_tasks_may_have_public_addresses_and_spare_capacity() -> None:
    """In public subnets, with groups of one's own."""
    made = Defined(assign_public_ip=True, spot=True)
    group = ec2.SecurityGroup(made.stack, "Own", vpc=made.targets["render"].cluster.vpc)
    made.targets = {
        "render": EcsTarget(
            task_definition=made.targets["render"].task_definition,
            cluster=made.targets["render"].cluster,
            queues=["media"],
            security_groups=[group],
            subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC),
            assign_public_ip=True,
            spot=True,
            non_retryable_errors=["exit.3"],
            job_timeout_s=7200,
            container="worker",
        )
    }
    found = of_stack(made.bind())
    written = variables(found, DISPATCHER)["OJS_BINDINGS"]
    (binding,) = read_task_bindings(text_of(written))
    assert (binding.has_public_ip, binding.capacity) == (True, "FARGATE_SPOT")
    operator = variables(found, "functions.operator.handler.handler")
    assert binding.config == BindingConfig(non_retryable_errors=("exit.3",), timeout_ms=7_200_000)
    assert read_targets(operator["OJS_BINDING_TARGETS"])["render"].config == binding.config
    assert "VpcPublicSubnet1" in json.dumps(written)
    assert "VpcPrivateSubnet1" not in json.dumps(written)
    assert len(found.of("AWS::EC2::SecurityGroup")) == 1


def test_tasks_with_public_addresses_are_in_public_subnets() -> None:
    """Unless somebody says otherwise."""
    found = of_stack(Defined(assign_public_ip=True).bind())
    assert "VpcPublicSubnet1" in json.dumps(variables(found, DISPATCHER)["OJS_BINDINGS"])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"queues": ["other"]}, "no queue 'other'"),
        ({"types": "video.*"}, "needs queues, and its types"),
        ({"has_container": False}, "no container"),
        ({"knows_secret": False}, "report_secrets"),
        ({"names": []}, "a target at least"),
        ({"non_retryable_errors": "exit.3"}, "non_retryable_errors of 'render'"),
        ({"non_retryable_errors": [3]}, "non_retryable_errors of 'render'"),
        ({"non_retryable_errors": [""]}, "non_retryable_errors of 'render'"),
        ({"job_timeout_s": 604_801}, "job_timeout_s of 'render'"),
        ({"max_jobs": 0}, "max_jobs of 'render' is between 1 and 1000000"),
        ({"max_jobs": 1_000_001}, "max_jobs of 'render'"),
        ({"job_timeout_s": 0}, "job_timeout_s of 'render' is between 1 and 604800"),
        ({"names": ["one", "two"]}, r"both serve 'video.\*' of the queue 'media'"),
    ],
)
def test_what_cannot_work_is_refused_at_synthesis(given: dict[str, Any], problem: str) -> None:
    """Saying what can."""
    with pytest.raises(ValueError, match=problem):
        Defined(**given).bind()


def test_errors_of_both_functions_have_an_alarm() -> None:
    """Of three in five minutes; a topic of the backend is notified."""
    made = Defined(alarm_topic=True)
    found = of_stack(made.bind())
    alarms = {
        each["AlarmDescription"].partition(".")[0]: each
        for each in found.of("AWS::CloudWatch::Alarm")
        if "of bindings" in each["AlarmDescription"]
    }
    assert sorted(alarms) == [
        "The task dispatcher of bindings fails",
        "The task settler of bindings fails",
    ]
    for text, each in alarms.items():
        assert (each["MetricName"], each["Threshold"], each["Period"]) == ("Errors", 3, 300)
        assert each["Statistic"] == "Sum"
        role = "TaskSettler" if "settler" in text else "TaskDispatcher"
        assert role in json.dumps(each["Dimensions"])
        assert "Topic" in json.dumps(each["AlarmActions"])
    quiet = [
        each
        for each in template().of("AWS::CloudWatch::Alarm")
        if "of bindings" in each["AlarmDescription"]
    ]
    assert len(quiet) == len(alarms)
    assert not any("AlarmActions" in each for each in quiet)


@pytest.mark.parametrize("has_tasks_first", [True, False])
def test_a_queue_has_tasks_or_functions(*, has_tasks_first: bool) -> None:
    """Its messages would invoke either dispatcher, and each knows its own bindings."""
    made = Defined()
    function = lambda_.Function(
        made.stack,
        "F",
        runtime=lambda_.Runtime.NODEJS_22_X,
        handler="index.handler",
        code=lambda_.Code.from_inline("exports.handler = async () => 1"),
    )
    target = LambdaTarget(function=function, queues=["media"], types=["other"])
    props = LambdaBindingsProps(backend=made.backend, targets={"other": target})

    def bind_function() -> None:
        LambdaBindings(made.stack, "Functions", props)

    steps: list[Callable[[], object]] = [made.bind, bind_function]
    first, second = steps if has_tasks_first else steps[::-1]
    first()
    with pytest.raises(ValueError, match="queues of their own"):
        second()


def test_the_aws_solutions_pack_accepts_the_bindings() -> None:
    """With the exceptions of every function of the backend; tasks and network are not ours."""
    found = findings(Defined().bind())
    assert [each for each in found if "/Bindings/" in each.split(":")[0]] == []


def test_the_stack_of_the_page_can_be_deployed(tmp_path: Path) -> None:
    """With its container."""
    text = PAGE.read_text("utf-8")
    (program,) = re.findall(r"<!-- file: ecs_stack.py -->\n```python\n(.*?)```", text, re.DOTALL)
    folder = tmp_path / "render"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM alpine")
    file = tmp_path / "stack.py"
    file.write_text(program.replace('from_asset("render")', f'from_asset("{folder}")'))
    made = runpy.run_path(str(file))
    found = of_stack(made["Shop"](App(context=NO_BUNDLING), "Shop"))
    assert len(statements(found, "ecs:RunTask")) == 1
