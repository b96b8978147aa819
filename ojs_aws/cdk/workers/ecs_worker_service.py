"""Defines a user's worker as a service of Fargate tasks, for jobs of any length and any network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from aws_cdk import Duration, RemovalPolicy, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from ojs_aws.cdk.api.access import ApiKeys, Iam
from ojs_aws.cdk.bundle import Machine
from ojs_aws.cdk.function_options import secrets_environment
from ojs_aws.cdk.job_backend import JobBackend
from ojs_aws.cdk.workers.ecs_tasks import ServiceScalingProps, scale
from ojs_aws.topology import TASK_PROTECTION

STOP_MARGIN_S: Final = 10
"""Seconds that ECS waits longer than the worker's grace period, in which it gives jobs back."""
MAX_STOP_S: Final = 120
"""The longest stop timeout of a Fargate task; a spot task has as long after its warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EcsWorkerServiceProps:
    """Say what the worker runs, where, and how many tasks there may be.

    :ivar backend: whose jobs it runs.
    :ivar worker: the ``Worker`` in the image, as ``module:attribute``, such as ``jobs:worker``.
    :ivar image: with the worker's modules and ``ojs-aws[cli]``.
    :ivar queues: the OJS queues that it serves, the most urgent first; three at most.
    :ivar cluster: where it runs; with ``spot`` one that has Fargate's capacity providers.
    :ivar vpc: in the place of a cluster: a new one is made in it.
    :ivar subnets: of the tasks; None: the VPC's private ones. They need a route to the internet:
        an HTTP API has no VPC endpoint.
    :ivar security_groups: of the tasks; none: a new one that lets everything out.
    :ivar assign_public_ip: give tasks public addresses, for public subnets without a NAT gateway.
    :ivar api_key: of the scope ``worker``, where the backend asks for API keys. Tasks that run
        keep it until the next deployment.
    :ivar secrets: for :func:`ojs_aws.secret`; see :class:`FunctionOptions`.
    :ivar environment: settings of the worker's own.
    :ivar cpu: units of a processor, 1024 for each.
    :ivar memory_mb: memory of a task.
    :ivar machine: architecture of the image.
    :ivar spot: take spare capacity: it costs less, and AWS may end a task with a warning of two
        minutes.
    :ivar concurrency: jobs at the same time in a task.
    :ivar grace_s: seconds that running jobs get when a task ends, 110 at most.
    :ivar least_tasks: tasks without any job; 0: none, and the first job waits for minutes.
    :ivar most_tasks: tasks at most.
    :ivar jobs_per_task: how many jobs, waiting or running, there are for each task.
    :ivar oldest_s: age of the oldest waiting job, in seconds, from which on twice as many tasks
        run; at three times this age four times as many, and no more.
    :ivar permissions_boundary: of its roles; None: none.
    :ivar log_group: a log group of your own; None: a new one.
    :ivar log_retention: how long a new one keeps its lines.
    :ivar tags: of all its resources.
    """

    backend: JobBackend
    worker: str
    image: ecs.ContainerImage
    queues: Sequence[str]
    cluster: ecs.ICluster | None = None
    vpc: ec2.IVpc | None = None
    subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    assign_public_ip: bool = False
    api_key: ecs.Secret | None = None
    secrets: Mapping[str, ecs.Secret] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    cpu: int = 256
    memory_mb: int = 512
    machine: Machine = "arm64"
    spot: bool = False
    concurrency: int = 10
    grace_s: int = 90
    least_tasks: int = 1
    most_tasks: int = 10
    jobs_per_task: int = 100
    oldest_s: int = 60
    permissions_boundary: iam.IManagedPolicy | None = None
    log_group: logs.ILogGroup | None = None
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    tags: Mapping[str, str] = field(default_factory=dict)


class EcsWorkerService(Construct):
    """Define a service whose tasks run ``ojs-aws run``, as many as the waiting jobs need.

    SIGTERM drains a task within its grace period. A task that runs jobs is protected from being
    ended when there are fewer jobs; a deployment and the end of spot capacity drain it all the
    same, and unfinished jobs go back.

    :ivar service: the service; grant ``service.task_definition.task_role`` what handlers need.
    :ivar cluster: where it runs.
    """

    def __init__(self, scope: Construct, id_: str, props: EcsWorkerServiceProps) -> None:
        """Define the service, its task, its role and its scaling.

        :raises ValueError: no queue or too many, no place to run, no key, or wrong numbers.
        """
        super().__init__(scope, id_)
        _check(props)
        self.cluster = props.cluster or ecs.Cluster(
            self, "Cluster", vpc=props.vpc, enable_fargate_capacity_providers=True
        )
        task = self._task(props)
        self.service = ecs.FargateService(
            self,
            "Service",
            cluster=self.cluster,
            task_definition=task,
            vpc_subnets=props.subnets,
            security_groups=[*props.security_groups] or None,
            assign_public_ip=props.assign_public_ip,
            capacity_provider_strategies=_strategies(spot=props.spot),
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
            min_healthy_percent=100,
            propagate_tags=ecs.PropagatedTagSource.SERVICE,
        )
        # A deployment leaves as many tasks as there are.
        cast("ecs.CfnService", self.service.node.default_child).add_property_deletion_override(
            "DesiredCount"
        )
        self._rights(task, props)
        scale(
            self.service,
            ServiceScalingProps(
                queues={name: props.backend.queues.queues[name] for name in props.queues},
                tick=props.backend.tick,
                least=props.least_tasks,
                most=props.most_tasks,
                jobs_per_task=props.jobs_per_task,
                oldest_s=props.oldest_s,
            ),
        )
        for key, value in props.tags.items():
            Tags.of(self).add(key, value)
        if props.permissions_boundary is not None:
            iam.PermissionsBoundary.of(self).apply(props.permissions_boundary)

    def _task(self, props: EcsWorkerServiceProps) -> ecs.FargateTaskDefinition:
        is_arm = props.machine == "arm64"
        task = ecs.FargateTaskDefinition(
            self,
            "Task",
            cpu=props.cpu,
            memory_limit_mib=props.memory_mb,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ecs.CpuArchitecture.ARM64
                if is_arm
                else ecs.CpuArchitecture.X86_64,
                operating_system_family=ecs.OperatingSystemFamily.LINUX,
            ),
        )
        group = props.log_group or logs.LogGroup(
            self, "Log", retention=props.log_retention, removal_policy=RemovalPolicy.DESTROY
        )
        task.add_container(
            "Worker",
            image=props.image,
            command=_command(props),
            environment={
                **props.environment,
                **secrets_environment(self, props.secrets),
                "OJS_URL": _url(props.backend),
                TASK_PROTECTION: "1",
            },
            secrets={"OJS_API_KEY": props.api_key} if props.api_key else None,
            logging=ecs.LogDriver.aws_logs(stream_prefix="worker", log_group=group),
            stop_timeout=Duration.seconds(props.grace_s + STOP_MARGIN_S),
        )
        return task

    def _rights(self, task: ecs.FargateTaskDefinition, props: EcsWorkerServiceProps) -> None:
        """Let a task protect itself, read its secrets, and call the API where IAM decides."""
        role = task.task_role
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"],
                resources=["*"],
                conditions={"ArnEquals": {"ecs:cluster": self.cluster.cluster_arn}},
            )
        )
        for secret in props.secrets.values():
            secret.grant_read(role)
        if not isinstance(props.backend.props.access, Iam):
            return
        if props.backend.job_endpoint is not None:
            props.backend.job_endpoint.grant_invoke(role)
        else:
            role.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=["execute-api:Invoke"],
                    resources=[props.backend.api.api.arn_for_execute_api()],
                )
            )


def _check(props: EcsWorkerServiceProps) -> None:
    """Refuse at synthesis what could not work.

    :raises ValueError: naming what, and what to do.
    """
    declared = props.backend.queues.queues
    if unknown := sorted({*props.queues} - {*declared}):
        raise ValueError(
            f"There is no queue {', '.join(unknown)}; declared are: {', '.join(sorted(declared))}."
        )
    if (props.cluster is None) == (props.vpc is None):
        raise ValueError("Say cluster or vpc: a cluster has a vpc already.")
    if isinstance(props.backend.props.access, ApiKeys) and props.api_key is None:
        raise ValueError(
            "The backend asks for API keys. Make one with `ojs-aws keys create NAME --scope "
            "worker`, keep it in Secrets Manager, and say api_key=ecs.Secret(...)."
        )
    if not 0 <= props.grace_s <= MAX_STOP_S - STOP_MARGIN_S:
        raise ValueError(f"grace_s is {props.grace_s}: use 0 to {MAX_STOP_S - STOP_MARGIN_S}.")


def _command(props: EcsWorkerServiceProps) -> list[str]:
    """Return the command of a task as a list: in a shell's text no signal reaches the worker."""
    return [
        *("ojs-aws", "run", props.worker, "--queues", ",".join(props.queues)),
        *("--concurrency", str(props.concurrency), "--grace-s", str(props.grace_s)),
        *("--log-format", "json"),
    ]


def _url(backend: JobBackend) -> str:
    """Return where a worker asks for jobs: the URL without a gateway, where there is one."""
    if backend.job_endpoint is not None:
        return backend.job_endpoint.url
    return backend.api.api.api_endpoint


def _strategies(*, spot: bool) -> list[ecs.CapacityProviderStrategy]:
    name = "FARGATE_SPOT" if spot else "FARGATE"
    return [ecs.CapacityProviderStrategy(capacity_provider=name, weight=1)]
