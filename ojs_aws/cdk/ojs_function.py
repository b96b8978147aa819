"""Defines one construct with every default of a Lambda function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from ojs_aws.cdk.bundle import Bundle, Target, build
from ojs_aws.cdk.function_options import (
    FunctionOptions,
    SnapStart,
    WarmStart,
    allow_network,
    check_options,
    check_size,
    check_start,
    live_of,
)
from ojs_aws.cdk.storage import accept, accept_each
from ojs_aws.topology import EXPORT_PREFIX

_PATTERNS: Final = (
    (
        "Queues are made when they are first used: those of the deployment's prefix are meant.",
        r"^Resource::arn:.+:sqs:.+(-|__)\*$",
    ),
    ("The objects of the deployment's own bucket.", r"^Resource::<\w+\.Arn>\/\*$"),
    (
        "Files of the export, in its own bucket.",
        rf"^Resource::<\w+\.Arn>\/{EXPORT_PREFIX}\/\*$",
    ),
    (
        "The triggers of the backend's own workers, by their tag.",
        r"^Resource::arn:.+:lambda:.+:event-source-mapping:\*$",
    ),
    (
        "X-Ray and calls that list mappings or queues know no resources; tests allow no others.",
        r"^Resource::\*$",
    ),
)
"""The resources of a role that are patterns, with why none narrower will do."""


_LEVELS: Final = {
    "TRACE": "DEBUG",
    "DEBUG": "DEBUG",
    "INFO": "INFO",
    "WARN": "WARNING",
    "WARNING": "WARNING",
    "ERROR": "ERROR",
    "CRITICAL": "CRITICAL",
    "FATAL": "CRITICAL",
}
"""The names of log levels at Lambda and in Python, as Python has them."""

MAX_ENVIRONMENT: Final = 4096
"""Bytes of a function's variables, names and values."""

_REFERENCE: Final = 80
"""Length of the name of a table or bucket, or of an URL, by and large."""
_MARK: Final = "${Token["
"""Is in each reference. To ask the CDK is a call to Node for each variable of each function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OjsFunctionProps:
    """Say what one function runs, and how.

    :ivar handler: module and attribute, such as ``functions.producer.handler.handler``.
    :ivar bundle: what its code is made of.
    :ivar description: shown in the console.
    :ivar service: name in its logs and metrics.
    :ivar environment: its settings (``OJS_...``).
    :ivar memory_mb: memory, which also sets its share of a processor.
    :ivar timeout_s: longest invocation. API functions end before the gateway's 30 seconds.
    :ivar log_retention: how long its log is kept.
    :ivar log_level: least level that is logged, by its name in Python or at Lambda.
    :ivar reserved_concurrency: a ceiling that is also set aside; None takes from the account's.
    :ivar removal_policy: what becomes of the log group when the stack goes.
    :ivar start: how it is made ready before it is asked; None: not.
    :ivar tracing: send traces to AWS X-Ray; its bundle then needs the packages of ``TRACING_LOCK``.
    :ivar options: where it runs, and what it has beside its code.
    :ivar loops: it may be invoked by messages that it sent itself. Lambda stops all others after
        about 16 invocations in a chain.
    """

    handler: str
    bundle: Bundle
    description: str
    service: str
    environment: Mapping[str, str] = field(default_factory=dict)
    memory_mb: int = 512
    timeout_s: int = 25
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    log_level: str = "INFO"
    reserved_concurrency: int | None = None
    removal_policy: RemovalPolicy = RemovalPolicy.DESTROY
    start: WarmStart | None = None
    tracing: bool = False
    options: FunctionOptions = field(default_factory=FunctionOptions)
    loops: bool = False


class OjsFunction(lambda_.Function):
    """Define a Python function with its own role and log group, bundled without Docker.

    :ivar live: what triggers and callers are to name: the function, or its warm alias.
    """

    def __init__(self, scope: Construct, id_: str, props: OjsFunctionProps) -> None:
        """Define the function.

        :raises ValueError: it cannot start so, or cannot have these options or this size.
        """
        options = props.options
        check_start(props.start, props.bundle.target)
        check_options(options, props.start)
        check_size(props.timeout_s, props.memory_mb)
        level_of(props.log_level)
        environment = _environment(props)
        self.props = props
        snap_start = isinstance(props.start, SnapStart)
        log_group = options.log_group or _log_group(scope, id_, props)
        super().__init__(
            scope,
            id_,
            runtime=runtime_of(props.bundle.target)
            if options.image is None
            else lambda_.Runtime.FROM_IMAGE,
            architecture=architecture_of(props.bundle.target),
            code=options.image or _code(scope, props.bundle),
            handler=props.handler if options.image is None else lambda_.Handler.FROM_IMAGE,
            description=props.description,
            memory_size=props.memory_mb,
            timeout=Duration.seconds(props.timeout_s),
            reserved_concurrent_executions=props.reserved_concurrency,
            log_group=log_group,
            role=_role(scope, id_, log_group, options),
            layers=[*options.layers] or None,
            filesystem=options.file_system,
            vpc=options.vpc,
            vpc_subnets=options.subnets,
            security_groups=[*options.security_groups] or None,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if snap_start else None,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=_level_at_lambda(props.log_level),
            system_log_level_v2=_platform_level(props.log_level),
            tracing=lambda_.Tracing.ACTIVE if props.tracing else None,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if props.loops else None,
            environment=environment,
        )
        self.live = live_of(self, props.start)
        accept(
            self,
            "AwsSolutions-L1",
            "The packages are compiled for, and tested with, the Python that the target names.",
        )


def level_of(name: str) -> str:
    """Return the name that a log level has in Python.

    :raises ValueError: there is no such level.
    """
    level = _LEVELS.get(name.upper())
    if level is None:
        raise ValueError(f"There is no log level {name!r}: use one of {', '.join(_LEVELS)}.")
    return level


def _level_at_lambda(name: str) -> lambda_.ApplicationLogLevel:
    """Return the level below which Lambda itself drops lines: INFO at most.

    Lambda takes the lines of metrics for INFO. The function's log drops what is below its level.
    """
    is_debug = level_of(name) == "DEBUG"
    return lambda_.ApplicationLogLevel.DEBUG if is_debug else lambda_.ApplicationLogLevel.INFO


def _platform_level(name: str) -> lambda_.SystemLogLevel:
    """Return from which level Lambda logs lines of its own.

    Those of each invocation's start and end are INFO. They take more of the log than ours do, and
    the metrics of the function say the same.
    """
    is_debug = level_of(name) == "DEBUG"
    return lambda_.SystemLogLevel.INFO if is_debug else lambda_.SystemLogLevel.WARN


def _environment(props: OjsFunctionProps) -> dict[str, str]:
    """Return the variables of a function.

    :raises ValueError: Lambda would refuse so many, in the middle of a deployment.
    """
    environment = {
        "POWERTOOLS_SERVICE_NAME": props.service,
        "POWERTOOLS_METRICS_NAMESPACE": "OJS",
        "POWERTOOLS_LOG_LEVEL": level_of(props.log_level),
        **({"OJS_TRACING": "1"} if props.tracing else {}),
        **props.environment,
    }
    size = sum(len(name) + _length(value) for name, value in environment.items())
    if size > MAX_ENVIRONMENT:
        longest = max(environment, key=lambda name: _length(environment[name]))
        raise ValueError(
            f"The variables of {props.handler} have about {size} characters, and Lambda takes "
            f"4 KB: {longest} is the longest. Declare fewer queues, or with shorter names."
        )
    return environment


def _length(value: str) -> int:
    """Return a value's length; that of a reference is estimated, as the deployment makes it."""
    return _REFERENCE if _MARK in value else len(value.encode())


def _role(
    scope: Construct, id_: str, log_group: logs.ILogGroup, options: FunctionOptions
) -> iam.IRole:
    """Return a role that may write its function's log, and nothing else yet.

    In the place of the managed policies that Lambda offers, which allow all logs of the account.
    """
    if options.role is not None:
        log_group.grant_write(options.role)
        allow_network(options.role, options)
        return options.role
    role = iam.Role(scope, f"{id_}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    log_group.grant_write(role)
    allow_network(role, options)
    policy = role.node.find_child("DefaultPolicy")
    accept_each(policy, "AwsSolutions-IAM5", _PATTERNS)
    return role


def runtime_of(target: Target) -> lambda_.Runtime:
    """Return the Lambda runtime of a target."""
    return lambda_.Runtime(
        f"python{target.python}", lambda_.RuntimeFamily.PYTHON, supports_snap_start=True
    )


def architecture_of(target: Target) -> lambda_.Architecture:
    """Return the Lambda architecture of a target."""
    is_arm = target.machine == "arm64"
    return lambda_.Architecture.ARM_64 if is_arm else lambda_.Architecture.X86_64


_NOT_BUNDLED: Final = "0" * 32
"""Stands for the hash of code that nobody bundled."""


def _code(scope: Construct, bundle: Bundle) -> lambda_.Code:
    """Return the code as an asset, named by a hash of its sources.

    ``cdk ls`` and template tests bundle no stack: they get an empty folder. To copy and hash the
    sources for each function takes longer than all the rest of a synthesis.
    """
    if not Stack.of(scope).bundling_required:
        folder = str(bundle.packages[0])
        return lambda_.Code.from_asset(folder, exclude=["*"], asset_hash=_NOT_BUNDLED)
    return lambda_.Code.from_asset(str(build(bundle)), asset_hash=bundle.digest())


def _log_group(scope: Construct, id_: str, props: OjsFunctionProps) -> logs.LogGroup:
    return logs.LogGroup(
        scope, f"{id_}Log", retention=props.log_retention, removal_policy=props.removal_policy
    )


def run_every(
    scope: Construct, function: lambda_.IFunction, minutes: int, description: str
) -> events.Rule:
    """Run a function every so many minutes. A run that failed is not repeated: the next one comes.

    :param scope: gets the rule, under the id ``Rule``.
    """
    once: Mapping[str, Any] = {"retry_attempts": 0, "max_event_age": Duration.minutes(1)}
    function.configure_async_invoke(**once)
    return events.Rule(
        scope,
        "Rule",
        description=description,
        schedule=events.Schedule.rate(Duration.minutes(minutes)),
        targets=[targets.LambdaFunction(function, **once)],
    )
