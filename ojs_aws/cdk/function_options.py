"""Lists what people say about a function: its network, its role, and what keeps it ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aws_cdk import Annotations, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from ojs_aws.cdk.bundle import Target
from ojs_aws.topology import SECRETS

if TYPE_CHECKING:
    from aws_cdk import aws_ecs as ecs  # takes seconds to import

LONGEST_S: Final = 900
"""The longest invocation of a function, in seconds."""
LIVE: Final = "live"
"""Name of the alias that is called."""

_SNAP_START_SINCE: Final = (3, 12)


@dataclass(frozen=True, slots=True)
class SnapStart:
    """Begin from a snapshot of the initialised function, instead of initialising it.

    AWS bills the cached snapshot of each published version, and each time it is restored.
    """


@dataclass(frozen=True, slots=True)
class Provisioned:
    """Keep some execution environments initialised; AWS bills them whether they work or not.

    :ivar executions: of each function, 1 at least.
    """

    executions: int = 1


WarmStart = SnapStart | Provisioned

_UNPUBLISHED: Final = "@aws-cdk/aws-lambda:snapStartRequirePublish"
"""CDK's warning, which it gives for every function that has SnapStart."""


def check_start(start: WarmStart | None, target: Target) -> None:
    """Refuse at synthesis what AWS would refuse in the middle of a deployment.

    :raises ValueError: the runtime has no SnapStart, or nothing would be provisioned.
    """
    version = tuple(int(part) for part in target.python.split("."))
    if isinstance(start, SnapStart) and version < _SNAP_START_SINCE:
        raise ValueError(f"SnapStart needs Python 3.12 or newer; the target is {target.python}.")
    if isinstance(start, Provisioned) and start.executions < 1:
        raise ValueError(f"Provisioned needs 1 execution at least; it is {start.executions}.")


def live_of(function: lambda_.Function, start: WarmStart | None) -> lambda_.IFunction:
    """Return what to invoke: the function, or the alias of its newest version that starts warm."""
    if start is None:
        return function
    if isinstance(start, SnapStart):
        Annotations.of(function).acknowledge_warning(_UNPUBLISHED, "The alias publishes versions.")
    executions = start.executions if isinstance(start, Provisioned) else None
    return lambda_.Alias(
        function,
        "Live",
        alias_name=LIVE,
        version=function.current_version,
        provisioned_concurrent_executions=executions,
    )


def check_size(timeout_s: int, memory_mb: int) -> None:
    """Refuse at synthesis what Lambda would refuse in the middle of a deployment.

    :raises ValueError: more time or memory than a function may have, or none.
    """
    for name, given, least, most in (
        ("timeout_s", timeout_s, 1, LONGEST_S),
        ("memory_mb", memory_mb, 128, 10_240),
    ):
        if not least <= given <= most and not Token.is_unresolved(given):
            raise ValueError(f"{name} is {given}: Lambda takes {least} to {most}.")


_INTERFACES: Final = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
"""What Lambda does in the name of a function in a VPC. EC2 knows no resource for most of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOptions:
    """Say where a function runs, and what it has beside its code.

    :ivar vpc: the VPC that it reaches; None: none.
    :ivar subnets: of the VPC; None: its private ones.
    :ivar security_groups: of its network interfaces; none: a new one that lets everything out.
    :ivar image: a container image in the place of a bundle, such as
        ``lambda_.Code.from_ecr_image(repository, cmd=["jobs.handler"])``.
    :ivar layers: further layers.
    :ivar role: a role of your own. It gets the worker's rights, unless it was imported with
        ``mutable=False``: then it needs them before the deployment.
    :ivar secrets: secrets by their names for :func:`ojs_aws.secret`, as
        ``ecs.Secret.from_secrets_manager(secret, "password")`` or
        ``ecs.Secret.from_ssm_parameter(parameter)``. The template holds their ARNs only.
    :ivar reserved_concurrency: a ceiling of executions that is also set aside; None: neither.
    :ivar log_group: a log group of your own; None: a new one.
    :ivar file_system: an EFS access point and where it is mounted; it needs ``vpc``.
    """

    vpc: ec2.IVpc | None = None
    subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    image: lambda_.Code | None = None
    layers: Sequence[lambda_.ILayerVersion] = ()
    role: iam.IRole | None = None
    secrets: Mapping[str, ecs.Secret] = field(default_factory=dict)
    reserved_concurrency: int | None = None
    log_group: logs.ILogGroup | None = None
    file_system: lambda_.FileSystem | None = None


def check_options(options: FunctionOptions, start: WarmStart | None) -> None:
    """Refuse at synthesis what AWS would refuse in the middle of a deployment.

    :raises ValueError: options that exclude each other, or that need a VPC.
    """
    if options.vpc is None:
        needy = [
            name for name in ("subnets", "security_groups", "file_system") if _has(options, name)
        ]
        if needy:
            raise ValueError(f"{' and '.join(needy)} need a vpc, too.")
    if options.image is not None and options.layers:
        raise ValueError("A function of an image has no layers: put them into the image.")
    if options.image is not None and isinstance(start, SnapStart):
        raise ValueError("A function of an image has no SnapStart: use Provisioned, or no start.")


def _has(options: FunctionOptions, name: str) -> bool:
    return bool(getattr(options, name))


def allow_network(role: iam.IRole, options: FunctionOptions) -> None:
    """Let Lambda make the network interfaces of a function in a VPC."""
    if options.vpc is not None:
        statement = iam.PolicyStatement(actions=[*_INTERFACES], resources=["*"])
        role.add_to_principal_policy(statement)


def secrets_environment(scope: Construct, secrets: Mapping[str, ecs.Secret]) -> dict[str, str]:
    """Return the variable that names the ARNs of secrets; none where there are none."""
    if not secrets:
        return {}
    arns = {name: each.arn for name, each in secrets.items()}
    return {SECRETS: Stack.of(scope).to_json_string(arns)}


def secret_services(scope: Construct, secrets: Mapping[str, ecs.Secret]) -> tuple[str, ...]:
    """Return the services that secrets are read from, by botocore's names."""
    arns = [str(Stack.of(scope).resolve(each.arn)) for each in secrets.values()]
    return tuple(sorted({"ssm" if ":ssm:" in arn else "secretsmanager" for arn in arns}))
