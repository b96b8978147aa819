"""A worker without a way to AWS is warned of at synthesis; endpoints give it one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match, Template

from ojs_aws.cdk import (
    JobBackend,
    JobBackendProps,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
    WorkerEndpoints,
    WorkerEndpointsProps,
)
from tests.infra.conftest import NO_BUNDLING

ISOLATED = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)


def with_worker(
    endpoints: Sequence[str] = (), nat_gateways: int = 0
) -> tuple[Stack, WorkerEndpoints | None]:
    """A worker in a VPC of two zones."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    vpc = ec2.Vpc(scope, "Vpc", max_azs=2, nat_gateways=nat_gateways)
    subnets = None if nat_gateways else ISOLATED
    backend = JobBackend(scope, "Jobs", JobBackendProps(queues=["email"]))
    props = LambdaWorkerFunctionProps(
        backend=backend, handler="a.b", queues=["email"], vpc=vpc, subnets=subnets
    )
    LambdaWorkerFunction(scope, "Worker", props)
    made = None
    if endpoints:
        wanted = WorkerEndpointsProps(vpc=vpc, services=endpoints, subnets=subnets)
        made = WorkerEndpoints(scope, "Endpoints", wanted)
    return scope, made


@pytest.mark.parametrize(
    ("endpoints", "nat_gateways", "missing"),
    [
        ((), 0, "dynamodb, s3, sqs"),
        (("dynamodb", "s3"), 0, "for sqs is known"),
        (("dynamodb", "s3", "sqs"), 0, ""),
        ((), 1, ""),
    ],
)
def test_a_worker_without_a_way_to_aws_is_warned_of(
    endpoints: Sequence[str], nat_gateways: int, missing: str
) -> None:
    """Its calls would hang; a NAT gateway or the endpoints that it needs end the warning."""
    scope, _ = with_worker(endpoints, nat_gateways)
    message = Match.string_like_regexp("no route to the internet")
    found = Annotations.from_stack(scope).find_warning("*", message)
    assert len(found) == bool(missing)
    assert all(missing in str(each.entry.data) for each in found)


def test_endpoints_are_gateways_where_those_are_free() -> None:
    """AWS bills the others by hour and zone: $7.20 a month for each, in two zones twice."""
    scope, endpoints = with_worker(("dynamodb", "s3", "sqs"))
    template = Template.from_stack(scope)
    template.resource_properties_count_is(
        "AWS::EC2::VPCEndpoint", {"VpcEndpointType": "Gateway"}, 2
    )
    template.has_resource_properties(
        "AWS::EC2::VPCEndpoint", {"VpcEndpointType": "Interface", "PrivateDnsEnabled": True}
    )
    assert endpoints is not None
    assert endpoints.dollars_a_month == pytest.approx(14.40)
