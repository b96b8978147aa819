"""A Lambda worker is placed, named, limited and given secrets as platform teams ask for."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_ssm as ssm

from ojs_aws.cdk import (
    JobBackend,
    JobBackendProps,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
    SnapStart,
    Target,
)
from ojs_aws.cdk.function_options import check_size
from tests.infra.conftest import NO_BUNDLING, Resource, Synthesised
from tests.infra.templates import of_stack


def new_stack() -> Stack:
    return Stack(App(context=NO_BUNDLING), "S")


def synthesised(scope: Stack, **options: Any) -> Synthesised:
    """The stack with a backend and a worker that has these options."""
    backend = JobBackend(scope, "Jobs", JobBackendProps(queues=["email"]))
    named: dict[str, Any] = {} if "image" in options else {"handler": "a.b"}
    props = LambdaWorkerFunctionProps(backend=backend, queues=["email"], **named, **options)
    LambdaWorkerFunction(scope, "Worker", props)
    return of_stack(scope)


def worker_of(template: Synthesised) -> Resource:
    """The function of the worker."""
    described = "Open Job Spec: worker of email"
    functions = template.of("AWS::Lambda::Function")
    (found,) = [each for each in functions if each["Description"] == described]
    return found


def test_a_worker_in_a_vpc_may_make_its_network_interfaces() -> None:
    """In the subnets and with the security groups that are named; its role may do no more."""
    scope = new_stack()
    vpc = ec2.Vpc(scope, "Vpc", max_azs=2, nat_gateways=1)
    group = ec2.SecurityGroup(scope, "Group", vpc=vpc)
    template = synthesised(scope, vpc=vpc, security_groups=[group])
    network = worker_of(template)["VpcConfig"]
    assert len(network["SubnetIds"]) == 2
    assert network["SecurityGroupIds"] == [scope.resolve(group.security_group_id)]
    assert {each for each in template.actions("a.b") if each.startswith("ec2:")} == {
        "ec2:AssignPrivateIpAddresses",
        "ec2:CreateNetworkInterface",
        "ec2:DeleteNetworkInterface",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSubnets",
        "ec2:UnassignPrivateIpAddresses",
    }


def test_a_file_system_is_mounted_in_the_vpc() -> None:
    scope = new_stack()
    vpc = ec2.Vpc(scope, "Vpc", nat_gateways=1)
    point = efs.FileSystem(scope, "Files", vpc=vpc).add_access_point("Point")
    mounted = lambda_.FileSystem.from_efs_access_point(point, "/mnt/files")
    function = worker_of(synthesised(scope, vpc=vpc, file_system=mounted))
    assert function["FileSystemConfigs"][0]["LocalMountPath"] == "/mnt/files"


def test_a_worker_can_be_an_image() -> None:
    """It has no bundle, no handler and no runtime; its architecture is the target's."""
    scope = new_stack()
    repository = ecr.Repository.from_repository_name(scope, "Images", "shop")
    image = lambda_.Code.from_ecr_image(repository, cmd=["jobs.handler"], tag_or_digest="v1")
    function = worker_of(synthesised(scope, image=image, target=Target("x86_64", "3.13")))
    assert function["PackageType"] == "Image"
    assert function["ImageConfig"]["Command"] == ["jobs.handler"]
    assert function["Architectures"] == ["x86_64"]
    assert not {"Handler", "Runtime"} & {*function}


def test_a_role_of_ones_own_gets_the_rights_of_a_worker() -> None:
    scope = new_stack()
    principal = iam.ServicePrincipal("lambda.amazonaws.com")
    role = iam.Role(scope, "Own", assumed_by=principal)
    template = synthesised(scope, role=role)
    assert worker_of(template)["Role"] == scope.resolve(role.role_arn)
    assert {"sqs:ReceiveMessage", "logs:PutLogEvents"} <= template.actions("a.b")


def test_a_boundary_and_tags_are_on_what_the_worker_has() -> None:
    """The backend's own roles stay as they are."""
    scope = new_stack()
    boundary = iam.ManagedPolicy.from_managed_policy_name(scope, "Boundary", "team")
    template = synthesised(scope, permissions_boundary=boundary, tags={"cost-center": "shop"})
    bounded = [each for each in template.of("AWS::IAM::Role") if "PermissionsBoundary" in each]
    assert len(bounded) == 1
    tag = {"Key": "cost-center", "Value": "shop"}
    assert tag in worker_of(template)["Tags"]
    assert tag in template.triggers("a.b")[0]["Tags"]


def test_layers_concurrency_and_a_log_group_of_ones_own() -> None:
    scope = new_stack()
    arn = "arn:aws:lambda:eu-west-1:123456789012:layer:tools:1"
    layer = lambda_.LayerVersion.from_layer_version_arn(scope, "Layer", arn)
    group = logs.LogGroup.from_log_group_name(scope, "Log", "/team/worker")
    template = synthesised(scope, layers=[layer], log_group=group, reserved_concurrency=5)
    function = worker_of(template)
    assert function["Layers"] == [arn]
    assert function["ReservedConcurrentExecutions"] == 5
    assert function["LoggingConfig"]["LogGroup"] == "/team/worker"


def test_provisioned_pollers_take_the_place_of_the_concurrency() -> None:
    """Lambda refuses both together."""
    pollers = lambda_.ProvisionedPollerConfig(minimum_pollers=2, maximum_pollers=5)
    (trigger,) = synthesised(new_stack(), pollers=pollers).triggers("a.b")
    assert trigger["ProvisionedPollerConfig"] == {"MinimumPollers": 2, "MaximumPollers": 5}
    assert "ScalingConfig" not in trigger


def test_the_template_names_secrets_and_never_holds_one() -> None:
    """The worker gets ARNs, and may read these secrets alone."""
    scope = new_stack()
    secret = secretsmanager.Secret(scope, "Database")
    name = "/shop/token"
    parameter = ssm.StringParameter.from_secure_string_parameter_attributes(
        scope, "Token", parameter_name=name
    )
    secrets = {
        "DATABASE": ecs.Secret.from_secrets_manager(secret, "password"),
        "TOKEN": ecs.Secret.from_ssm_parameter(parameter),
    }
    template = synthesised(scope, secrets=secrets)
    said = str(worker_of(template)["Environment"]["Variables"]["OJS_SECRETS"])
    assert ":password::" in said
    assert ":parameter/shop/token" in said
    reading = [
        resource
        for actions, resource in template.statements("a.b")
        if actions & {"secretsmanager:GetSecretValue", "ssm:GetParameter"}
    ]
    assert len(reading) == 2
    assert not [each for each in reading if each.endswith("*")]


@pytest.mark.parametrize(
    ("name", "least", "most"), [("timeout_s", 1, 900), ("memory_mb", 128, 10_240)]
)
def test_a_function_has_the_time_and_the_memory_that_lambda_gives(
    name: str, least: int, most: int
) -> None:
    """A number that is known only when deployed is not judged."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    later = CfnParameter(stack, "Later", type="Number", default=least).value_as_number
    usual: dict[str, Any] = {"timeout_s": 60, "memory_mb": 512}
    for good in (least, most, later):
        check_size(**usual | {name: good})
    for bad in (least - 1, most + 1):
        with pytest.raises(ValueError, match=f"{name} is {bad}"):
            check_size(**usual | {name: bad})
    with pytest.raises(ValueError, match="timeout_s is 901"):
        synthesised(stack, timeout_s=901)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subnets": ec2.SubnetSelection()}, "subnets need a vpc"),
        ({"image": "an image", "layers": ["a layer"]}, "no layers"),
        ({"image": "an image", "start": SnapStart()}, "no SnapStart"),
        ({"image": "an image", "handler": "a.b"}, "handler, or image"),
        ({"handler": ""}, "handler, or image"),
    ],
)
def test_options_that_aws_would_refuse_are_refused_at_synthesis(
    options: dict[str, Any], said: str
) -> None:
    backend = JobBackend(new_stack(), "Jobs", JobBackendProps(queues=["email"]))
    named: dict[str, Any] = {} if "image" in options else {"handler": "a.b"}
    props = LambdaWorkerFunctionProps(backend=backend, queues=["email"], **(named | options))
    with pytest.raises(ValueError, match=said):
        LambdaWorkerFunction(backend, "Worker", props)
