"""Binds queues to ECS tasks: a task for each job, of any language, and for as long as it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from ojs_aws.cdk.job_queues import VISIBILITY_PER_TIMEOUT
from ojs_aws.cdk.ojs_function import OjsFunction
from ojs_aws.cdk.permissions import DISPATCHER, SETTLER
from ojs_aws.cdk.storage import accept_each
from ojs_aws.cdk.workers.binding_functions import (
    BindingOptions,
    BoundTarget,
    binding_function,
    binding_trigger,
    check_reports,
    check_targets,
    config_of,
    ends_queue,
    serve_queues,
)
from ojs_aws.cdk.workers.ecs_tasks import allow_start, allow_watch
from ojs_aws.topology import (
    BINDINGS,
    REPORT_URL,
    SIGNING_SECRET,
    TASK_LEASE_S,
    task_group,
)

SWEEP_TIMEOUT_S: Final = 60
"""The timeout of the settler, which also looks after the running tasks each minute."""
EVENT_TRIES: Final = 100
_SPOT: Final = "FARGATE_SPOT"
_PATTERNS: Final = (
    (
        "ECS lists tasks by no resource: the policy's condition names the cluster.",
        r"^Resource::\*$",
    ),
    ("A task's id is known when it has started; its cluster is named.", r":task\/.*\*$"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EcsTarget(BoundTarget):
    """Say which task runs which jobs, beside the config of its binding.

    Errors of tasks have names: ``exit.3`` for the exit code 3, ``exit.*`` for any code but 0, and
    ``task_failed`` for any end without a report. A task that runs longer than ``job_timeout_s`` is
    stopped within a minute.

    :ivar task_definition: defines the tasks. Each job gets a task of its own.
    :ivar cluster: where they run.
    :ivar queues: the OJS queues. The backend must declare each of them.
    :ivar types: job types: ``"video.render"``, ``"video.*"``, or ``"*"`` for all. Bindings of one
        queue serve different types. Operators may register others. If you name none here, no task
        runs before they do.
    :ivar container: the container that gets the job, and whose exit code counts. Empty: the default
        container of the definition.
    :ivar subnets: where tasks run. None: the private subnets of the VPC, or its public ones if
        tasks have public addresses. They need a route to the API.
    :ivar security_groups: those of the tasks. None given: a new one that lets everything out.
    :ivar assign_public_ip: give tasks public addresses, for public subnets without a NAT gateway.
    :ivar spot: use Fargate's spare capacity, which costs less. If AWS takes a task away, its job is
        given back, and the attempt does not count. The cluster needs Fargate's capacity providers.
    """

    task_definition: ecs.FargateTaskDefinition
    cluster: ecs.ICluster
    container: str = ""
    subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    assign_public_ip: bool = False
    spot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EcsBindingsProps(BindingOptions):
    """Say which tasks run the jobs of which queues, beside the options of bindings.

    :ivar targets: by the names of their bindings, which consist of letters and digits.
    :ivar signing_secret: signs the token by which a task fetches its job and reports on it. It must
        be one of the backend's ``report_secrets``.
    """

    targets: Mapping[str, EcsTarget]
    signing_secret: ecs.Secret


class EcsBindings(Construct):
    """Define a dispatcher that starts a task for each job, and a settler that reports their ends.

    A task runs for as long as its job needs, and the job stays reserved meanwhile. The dispatcher
    may start tasks of these definitions in their clusters, and nothing else.

    :ivar dispatcher: the function that claims jobs and starts their tasks.
    :ivar settler: the function that reports how tasks ended, and looks after them each minute.
    :ivar ends: the queue of ECS's events about tasks that have stopped.
    """

    def __init__(self, scope: Construct, id_: str, props: EcsBindingsProps) -> None:
        """Define the two functions, the queue and the rules.

        :raises ValueError: no target, a queue that the backend does not declare, an unusable name,
            two bindings for the same types of a queue, a queue with bindings of another construct,
            a task without a container, an impossible name of an error, or a secret that the
            backend's ``report_secrets`` lack.
        """
        super().__init__(scope, id_)
        check_targets(props.targets)
        check_reports(props)
        self.props = props
        self.ends = ends_queue(self, "Ends", props, timeout_s=SWEEP_TIMEOUT_S, tries=EVENT_TRIES)
        props.backend.allow_targets(
            {
                name: each.described(name, family=each.task_definition.family)
                for name, each in props.targets.items()
            }
        )
        described = [self._described(name, each) for name, each in props.targets.items()]
        self._environment = {BINDINGS: Stack.of(self).to_json_string(described)}
        self.dispatcher = self._dispatcher()
        self.settler = self._settler()
        self._rules()

    def _dispatcher(self) -> OjsFunction:
        props, backend = self.props, self.props.backend
        names = sorted({queue for each in props.targets.values() for queue in each.queues})
        queues = [
            backend.queues.serve(name, -(-TASK_LEASE_S // VISIBILITY_PER_TIMEOUT)) for name in names
        ]
        function = binding_function(
            self,
            "task_dispatcher",
            f"Starts tasks for the jobs of {', '.join(names)}"[:200],
            props,
            {**self._environment, REPORT_URL: backend.api.url},
            secrets={SIGNING_SECRET: props.signing_secret},
            services=("ecs",),
        )
        backend.grant(function, DISPATCHER, queues)
        for target in props.targets.values():
            allow_start(function, target.task_definition, target.cluster)
        serve_queues(self, function, props, queues)
        return function

    def _described(self, name: str, target: EcsTarget) -> dict[str, object]:
        """Return a binding as the dispatcher reads it."""
        definition, vpc = target.task_definition, target.cluster.vpc
        container = target.container
        if not container:
            if definition.default_container is None:
                raise ValueError(f"The task of {name!r} has no container: add one before.")
            container = definition.default_container.container_name
        groups = [*target.security_groups] or [
            ec2.SecurityGroup(self, f"Group{name}", vpc=vpc, description=f"Tasks of {name}")
        ]
        return {
            "name": name,
            "queues": [*target.queues],
            "target": definition.task_definition_arn,
            "types": [*target.types],
            "reservation_s": TASK_LEASE_S,
            "cluster": target.cluster.cluster_arn,
            "container": container,
            "subnets": _subnet_ids(vpc, target),
            "security_groups": [each.security_group_id for each in groups],
            "has_public_ip": target.assign_public_ip,
            "capacity": _SPOT if target.spot else "",
            **config_of(name, target),
        }

    def _settler(self) -> OjsFunction:
        props = self.props
        function = binding_function(
            self,
            "task_settler",
            "Reports how tasks ended, and looks after those that run",
            props,
            self._environment,
            services=("ecs",),
            timeout_s=SWEEP_TIMEOUT_S,
        )
        props.backend.grant(function, SETTLER)
        for cluster in {each.cluster for each in props.targets.values()}:
            allow_watch(function, cluster)
        if (role := function.role) is not None:
            accept_each(role.node.find_child("DefaultPolicy"), "AwsSolutions-IAM5", _PATTERNS)
        function.add_event_source(binding_trigger(props, self.ends))
        return function

    def _rules(self) -> None:
        """Send ECS's events about stopped tasks to the queue, and call the settler each minute."""
        clusters = {each.cluster.cluster_arn for each in self.props.targets.values()}
        events.Rule(
            self,
            "Stopped",
            event_pattern=events.EventPattern(
                source=["aws.ecs"],
                detail_type=["ECS Task State Change"],
                detail={
                    "clusterArn": sorted(clusters),
                    "group": [task_group(self.props.backend.queues.prefix)],
                    "lastStatus": ["STOPPED"],
                },
            ),
            targets=[targets.SqsQueue(self.ends)],
        )
        events.Rule(
            self,
            "Minute",
            schedule=events.Schedule.rate(Duration.minutes(1)),
            targets=[
                targets.LambdaFunction(
                    self.settler, retry_attempts=0, max_event_age=Duration.minutes(1)
                )
            ],
        )


def _subnet_ids(vpc: ec2.IVpc, target: EcsTarget) -> list[str]:
    chosen = target.subnets
    if chosen is None:
        kind = ec2.SubnetType.PUBLIC if target.assign_public_ip else None
        return [*vpc.select_subnets(subnet_type=kind).subnet_ids]
    found = vpc.select_subnets(
        availability_zones=chosen.availability_zones,
        one_per_az=chosen.one_per_az,
        subnet_filters=chosen.subnet_filters,
        subnet_group_name=chosen.subnet_group_name,
        subnets=chosen.subnets,
        subnet_type=chosen.subnet_type,
    )
    return [*found.subnet_ids]
