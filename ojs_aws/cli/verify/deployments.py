"""Deploys what a run verifies, under names of its own, and removes all of it again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.cli.deployment.deploy_plans import Wanted, planned, prepared
from ojs_aws.cli.deployment.deploy_reports import DANGEROUS, WENT_WELL
from ojs_aws.cli.verify.scales import DECLARED, LAMBDA_QUEUE
from ojs_aws.domain.errors import OjsError
from ojs_aws.topology import OWNER_TAG, QUEUE_SEPARATOR, sqs_queue_name

if TYPE_CHECKING:
    from ojs_aws.adapters.data_removal import DataRemoval
    from ojs_aws.adapters.evidence import Evidence
    from ojs_aws.adapters.stacks import Change, Stacks, StackState

TAG: Final = "ojs-aws:verify"
"""Tag of all that a run makes; its value is the run's id."""

WORKER_TIMEOUT_S: Final = 10
_LOOKS: Final = 24
_LOOK_S: Final = 5.0
"""How often, and after how many seconds each, it is looked for what is left. Queues are listed for
a minute after their deletion: it is enough that AWS took that."""
_DATA: Final = frozenset({"AWS::DynamoDB::GlobalTable", "AWS::S3::Bucket", "AWS::SQS::Queue"})
_FUNCTION: Final = "AWS::Lambda::Function"


def stack_of(run: str) -> str:
    """Return the name of the stack of a run."""
    return f"OjsVerify-{run}"


def prefix_of(run: str) -> str:
    """Return the prefix of the queues of a run."""
    return f"ojs-verify-{run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """Says what a deployment did.

    :ivar changes: what was changed; none, where all was as it should be.
    :ivar problem: why it failed; empty, if it did not.
    """

    status: str
    changes: Sequence[Change]
    problem: str = ""

    @property
    def loses_data(self) -> list[str]:
        """Return the tables, buckets and queues that were replaced or removed."""
        return [
            each.resource
            for each in self.changes
            if each.action in DANGEROUS and each.kind in _DATA
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployments:
    """Deploys the published template as ``ojs-aws deploy`` does, and a Lambda worker beside it.

    :ivar run: the run's id.
    :ivar wanted: the processor, the Python and the bundles that somebody chose.
    """

    run: str
    stacks: Stacks
    evidence: Evidence
    removal: DataRemoval
    wanted: Wanted

    @property
    def stack(self) -> str:
        """Return the name of the stack."""
        return stack_of(self.run)

    @property
    def prefix(self) -> str:
        """Return what the names of the queues begin with."""
        return prefix_of(self.run) + QUEUE_SEPARATOR

    @property
    def bucket(self) -> str:
        """Return the bucket that the code and the templates are uploaded to."""
        return f"{self.stack.lower()}-{self.stacks.account}-{self.stacks.region}"

    def wants(self, parameters: Mapping[str, str], queues: Sequence[str] = DECLARED) -> Wanted:
        """Return what is to be deployed: the published template with these parameters."""
        return replace(
            self.wanted,
            stack=self.stack,
            queues=queues,
            parameters={"Prefix": prefix_of(self.run), **parameters},
            tags={TAG: self.run},
            bucket=self.bucket,
        )

    def deploy(self, parameters: Mapping[str, str], queues: Sequence[str] = DECLARED) -> Deployed:
        """Deploy the template of this version with these parameters.

        :raises OjsError: AWS refused a call.
        """
        self.stacks.own_bucket(self.bucket, is_named=False)
        self.evidence.tag_bucket(self.bucket, {TAG: self.run})
        plan = planned(prepared(self.wants(parameters, queues), self.stacks), self.stacks)
        if not plan.changes:
            return Deployed(status="", changes=())
        return self._ended(self.stacks.execute(self.stack, plan.change_set), plan.changes)

    def deploy_worker(self, settings: Mapping[str, Any]) -> Deployed:
        """Deploy a Lambda worker for the demo jobs of its queue.

        :param settings: the configuration of the function whose code, role and log it shares.
        """
        name = f"{self.stack}-worker"
        template = json.dumps(worker_template(settings, self.prefix)).encode()
        key = self.stacks.upload(self.bucket, template, ".template.json")
        code = self.stacks.state(self.stack)
        parameters = code.parameters if code else {}
        changes = self.stacks.plan(
            name,
            f"verify-{self.run}",
            template_url=self.stacks.url(self.bucket, key),
            parameters={each: parameters.get(each, "") for each in ("BundleBucket", "BundleKey")},
            tags={TAG: self.run},
            is_new=True,
        )
        return self._ended(self.stacks.execute(name, f"verify-{self.run}"), changes)

    def _ended(self, ended: StackState, changes: Sequence[Change]) -> Deployed:
        if ended.status in WENT_WELL:
            return Deployed(status=ended.status, changes=changes)
        causes = [f"{it.resource}: {it.reason}" for it in self.stacks.failures(ended.name)[:3]]
        return Deployed(
            status=ended.status, changes=changes, problem="; ".join(causes) or ended.reason
        )

    def outputs(self) -> Mapping[str, str]:
        """Return the outputs of the stack; none before it is deployed."""
        found = self.stacks.state(self.stack)
        return found.outputs if found else {}

    def worker(self) -> str:
        """Return the name of the Lambda worker's function; empty before it is deployed."""
        found = self.stacks.state(f"{self.stack}-worker")
        return found.outputs["Worker"] if found else ""

    def resources(self) -> dict[str, tuple[str, str]]:
        """Return kind and name of the stack's resources by their logical ids."""
        return {logical: (kind, name) for logical, kind, name in self.stacks.resources(self.stack)}

    def remove(self, say: Callable[[str], None]) -> list[str]:
        """Remove all that the run made, as far as it goes; return what is left, and why.

        It finds things by the run's names alone, so it also ends what another process began.
        """
        problems: list[str] = []

        def attempt(what: str, act: Callable[[], object]) -> None:
            say(f"removing {what}")
            try:
                act()
            except OjsError as problem:
                problems.append(f"{what}: {problem.message}")

        for stack in (f"{self.stack}-worker", self.stack):
            attempt(f"the stack {stack}", lambda stack=stack: self._delete(stack))  # type: ignore[misc]
        acts: Mapping[str, Callable[[str], None]] = {
            "table": self.removal.table,
            "bucket": self.removal.bucket,
            "log group": self.evidence.remove_log_group,
        }
        for kind, name in [*self._left()]:
            if kind in acts:
                attempt(f"the {kind} {name}", lambda kind=kind, name=name: acts[kind](name))  # type: ignore[misc]
        attempt("the queues", lambda: self.removal.queues(self.prefix))
        rest = list[str]()
        for _ in range(_LOOKS):  # a table is listed until it is gone
            rest = [f"{kind} {name}" for kind, name in self._left() if kind != "queue"]
            if not rest:
                break
            self.evidence.sleep(_LOOK_S)
        return [*problems, *rest]

    def _delete(self, stack: str) -> None:
        if self.stacks.state(stack) is not None:
            self.stacks.delete(stack)

    def _left(self) -> Iterator[tuple[str, str]]:
        for stack in (f"{self.stack}-worker", self.stack):
            if self.stacks.state(stack) is not None:
                yield "stack", stack
        yield from self.evidence.left(self.stack, self.prefix)


def worker_template(settings: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the template of a Lambda worker: one function, and the trigger of its queue.

    It shares role and log with the function of the workers' operations, so the run needs no role
    of its own; what a worker's role may do is a part of that.
    """
    [architecture] = settings.get("Architectures", ["x86_64"])
    region, account = settings["FunctionArn"].split(":")[3:5]
    queue = sqs_queue_name(prefix, LAMBDA_QUEUE)
    partition = settings["FunctionArn"].split(":")[1]
    return {
        "Parameters": {name: {"Type": "String"} for name in ("BundleBucket", "BundleKey")},
        "Resources": {
            "Worker": {
                "Type": _FUNCTION,
                "Properties": {
                    "Architectures": [architecture],
                    "Code": {"S3Bucket": {"Ref": "BundleBucket"}, "S3Key": {"Ref": "BundleKey"}},
                    "Environment": settings["Environment"],
                    "Handler": "ojs_aws.local.demo.handler",
                    "LoggingConfig": settings["LoggingConfig"],
                    "MemorySize": settings["MemorySize"],
                    "RecursiveLoop": "Allow",
                    "Role": settings["Role"],
                    "Runtime": settings["Runtime"],
                    "Timeout": WORKER_TIMEOUT_S,
                },
            },
            "Trigger": {
                "Type": "AWS::Lambda::EventSourceMapping",
                "Properties": {
                    "BatchSize": 10,
                    "EventSourceArn": f"arn:{partition}:sqs:{region}:{account}:{queue}",
                    "FunctionName": {"Ref": "Worker"},
                    "FunctionResponseTypes": ["ReportBatchItemFailures"],
                    "ScalingConfig": {"MaximumConcurrency": 100},
                    "Tags": [{"Key": OWNER_TAG, "Value": prefix}],
                },
            },
        },
        "Outputs": {"Worker": {"Value": {"Ref": "Worker"}}},
    }
