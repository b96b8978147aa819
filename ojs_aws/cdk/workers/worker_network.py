"""Gives workers in a VPC a way to AWS's services, and warns where none is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import jsii
from aws_cdk import Annotations, Aspects, IAspect, Stack
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IConstruct

from ojs_aws.cdk.function_options import FunctionOptions
from ojs_aws.pricing.workload import MONTH_HOURS, PRICES

NETWORK_WARNING: Final = "ojs:worker-network"

NEEDED: Final = ("dynamodb", "s3", "sqs")
"""What each Lambda worker calls: the table, documents, and its queues."""

_GATEWAYS: Final = {
    "dynamodb": ec2.GatewayVpcEndpointAwsService.DYNAMODB,
    "s3": ec2.GatewayVpcEndpointAwsService.S3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEndpointsProps:
    """Say which services are reached from a VPC without a route out.

    :ivar vpc: whose endpoints they are.
    :ivar services: by the last part of the endpoints' names. A Lambda worker needs ``dynamodb``,
        ``s3`` and ``sqs``; its secrets ``secretsmanager`` or ``ssm``. The others are for what
        handlers call themselves.
    :ivar subnets: of the interfaces; None: the VPC's private ones.
    """

    vpc: ec2.IVpc
    services: Sequence[str] = ("dynamodb", "s3", "sqs", "kms", "sts", "logs")
    subnets: ec2.SubnetSelection | None = None


class WorkerEndpoints(Construct):
    """Define VPC endpoints: gateways for DynamoDB and S3, which are free, and interfaces.

    :ivar interfaces: the endpoints that AWS bills by the hour, by their services.
    """

    def __init__(self, scope: Construct, id_: str, props: WorkerEndpointsProps) -> None:
        """Define the endpoints."""
        super().__init__(scope, id_)
        self.interfaces: dict[str, ec2.InterfaceVpcEndpoint] = {}
        self._zones = len(_selected(props.vpc, props.subnets).availability_zones)
        for service in dict.fromkeys(props.services):
            if gateway := _GATEWAYS.get(service):
                ec2.GatewayVpcEndpoint(self, service, vpc=props.vpc, service=gateway)
                continue
            self.interfaces[service] = ec2.InterfaceVpcEndpoint(
                self,
                service,
                vpc=props.vpc,
                service=ec2.InterfaceVpcEndpointAwsService(service),
                subnets=props.subnets,
            )

    @property
    def dollars_a_month(self) -> float:
        """Return what AWS bills for them without any traffic, in us-east-1."""
        hours = len(self.interfaces) * self._zones * MONTH_HOURS
        return hours * PRICES["endpoint-hour"]


def warn_without_a_route(
    worker: Construct, options: FunctionOptions, more: Sequence[str] = ()
) -> None:
    """Warn at synthesis, if a worker is in subnets without a way to the services that it calls.

    :param more: services beside those of every worker.
    """
    if options.vpc is not None:
        Aspects.of(worker).add(_Route(worker, options.vpc, options.subnets, (*NEEDED, *more)))


@jsii.implements(IAspect)
class _Route:
    """Looks for endpoints when all constructs are there."""

    def __init__(
        self,
        worker: Construct,
        vpc: ec2.IVpc,
        subnets: ec2.SubnetSelection | None,
        services: Sequence[str],
    ) -> None:
        self._worker, self._vpc, self._subnets = worker, vpc, subnets
        self._services = services

    def visit(self, node: IConstruct) -> None:
        """Warn at the worker itself; what is below it is visited, too."""
        if node.node.path != self._worker.node.path or not self._is_isolated():
            return
        missing = sorted({*self._services} - self._reached())
        if missing:
            Annotations.of(self._worker).add_warning_v2(
                NETWORK_WARNING,
                f"This worker's subnets have no route to the internet, and no VPC endpoint for "
                f"{', '.join(missing)} is known: its calls would wait until they time out. Add "
                "WorkerEndpoints, or choose subnets with a NAT gateway (docs/workers-vpc-ecs.md).",
            )

    def _is_isolated(self) -> bool:
        """Return whether the worker is in a subnet that is known to have no route out."""
        isolated = {each.node.path for each in self._vpc.isolated_subnets}
        chosen = _selected(self._vpc, self._subnets).subnets
        return any(each.node.path in isolated for each in chosen)

    def _reached(self) -> set[str]:
        """Return the services for which an endpoint of the VPC is defined in the app."""
        vpc = _resolved(self._vpc, self._vpc.vpc_id)
        return {
            str(_resolved(each, each.service_name)).rpartition(".")[2].strip("'\"]} ")
            for each in self._worker.node.root.node.find_all()
            if isinstance(each, ec2.CfnVPCEndpoint) and _resolved(each, each.vpc_id) == vpc
        }


def _selected(vpc: ec2.IVpc, subnets: ec2.SubnetSelection | None) -> ec2.SelectedSubnets:
    """Return the subnets of a selection; those that the CDK takes by itself, if there is none."""
    if subnets is None:
        return vpc.select_subnets()
    return vpc.select_subnets(
        availability_zones=subnets.availability_zones,
        one_per_az=subnets.one_per_az,
        subnet_filters=subnets.subnet_filters,
        subnet_group_name=subnets.subnet_group_name,
        subnets=subnets.subnets,
        subnet_type=subnets.subnet_type,
    )


def _resolved(scope: IConstruct, value: object) -> Any:
    return Stack.of(scope).resolve(value)
