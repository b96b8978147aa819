"""Plans a deployment: its template, its parameters, and the functions' code."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.cli.deployment.deploy_choices import Wanted, check
from ojs_aws.cli.deployment.deploy_needs import made_worker, uploaded_code
from ojs_aws.cli.deployment.plans import PlannedStacks, planned_stack
from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.errors import InvalidRequestError, NotFoundError
from ojs_aws.topology import QUEUE_SEPARATOR

if TYPE_CHECKING:
    from ojs_aws.adapters.stacks import Change, Stacks, StackState
    from ojs_aws.cdk.bundle import Target
    from ojs_aws.cdk.published_template import RestoredStream

_TABLE: Final = "AWS::DynamoDB::GlobalTable"
_FUNCTION: Final = "AWS::Lambda::Function"
_WORKER_KEY: Final = "WorkerBundleKey"
CHANGE_SET: Final = "ojs-aws"
KEEP: Final = "Keep"
"""The change of what leaves the stack and is not deleted."""
DEMO_HANDLER: Final = "ojs_aws.local.demo.handler"
FAILED_CREATION: Final = frozenset({"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"})
"""What a stack is whose creation failed: it holds nothing in use, and must be deleted first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Holds a change set that is ready, and what it would do."""

    stack: str
    change_set: str
    is_new: bool
    changes: Sequence[Change]


def function_of(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of one of the backend's functions in a template; empty for none."""
    for each in template.get("Resources", {}).values():
        properties: Mapping[str, Any] = each.get("Properties", {})
        if each.get("Type") == _FUNCTION and "OJS_QUEUES" in _variables(properties):
            return properties
    return {}


def _variables(function: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = function.get("Environment", {}).get("Variables", {})
    return found


def variables_of(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the variables of one of the backend's functions in a template."""
    return _variables(function_of(template))


def target_of(wanted: Wanted, deployed: StackState | None) -> Target:
    """Return what the functions run on: as somebody said, else as deployed, else as usual."""
    from ojs_aws.cdk.bundle import Target, default_target

    usual = default_target()
    machine, python = str(usual.machine), usual.python
    if deployed is not None and not deployed.is_new:
        function, said = function_of(deployed.template), deployed.parameters
        [architecture] = function.get("Architectures", [machine])
        runtime = function.get("Runtime", python)
        # where the template has a parameter, they refer to it
        machine = said.get("Architecture") or architecture
        python = said.get("Python") or str(runtime).removeprefix("python")
    machine = wanted.architecture or machine
    return Target("arm64" if machine == "arm64" else "x86_64", wanted.python or python)


def restored_of(
    wanted: Wanted, stacks: Stacks, deployed: StackState | None
) -> RestoredStream | None:
    """Return the restored table that the stack is to use; None for one of its own.

    :raises InvalidRequestError: it is not the ARN of a stream in this account and region.
    """
    from ojs_aws.cdk.published_template import RestoredStream, restored_stream

    if not wanted.restored_stream:
        return restored_stream(deployed.template) if deployed else None
    found = RestoredStream.of(wanted.restored_stream)
    if found is None:
        raise InvalidRequestError(
            f"--restored-stream is the ARN of a table's stream, not {wanted.restored_stream!r}.",
            hint="`ojs-aws restore table` prints it.",
        )
    if (found.account, found.region) != (stacks.account, stacks.region):
        raise InvalidRequestError(
            f"The restored table {found.name} is in {found.account}, {found.region}, and the stack "
            f"in {stacks.account}, {stacks.region}. Both must be in one account and region."
        )
    return found


def declared_queues(deployed: StackState | None) -> list[str]:
    """Return the queues that a stack declares; those of a new one, if there is none."""
    said = variables_of(deployed.template).get("OJS_QUEUES") if deployed else None
    return said.split(",") if isinstance(said, str) and said else ["default"]


def parameters_of(
    wanted: Wanted, template: Mapping[str, Any], deployed: StackState | None
) -> dict[str, str | None]:
    """Return the value of each parameter; None keeps the deployed one.

    A stack that was made by `cdk deploy` has no parameters: what it is like is read off it.
    """
    said = dict(wanted.parameters)
    known = template["Parameters"]
    if deployed is None or deployed.is_new:
        return {name: value for name, value in said.items() if name in known}
    if "BundleKey" not in deployed.parameters:
        said = _as_by_cdk(deployed, template) | said
    kept: dict[str, str | None] = {name: None for name in known if name in deployed.parameters}
    return kept | said


def _as_by_cdk(deployed: StackState, template: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that describe a stack of the CDK.

    :raises InvalidRequestError: it cannot be adopted; the message says why.
    """
    ours = {name for name, each in template["Resources"].items() if each["Type"] == _TABLE}
    if not ours & {*deployed.template.get("Resources", {})}:
        raise InvalidRequestError(
            f"The stack {deployed.name} was not made by this template: its table has another "
            f"logical id than {', '.join(sorted(ours))}, and would be replaced. Deploy it as "
            "before, or choose another --stack and --prefix."
        )
    variables = variables_of(deployed.template)
    prefix, auth = str(variables.get("OJS_QUEUE_PREFIX", "")), str(variables.get("OJS_AUTH", ""))
    if not prefix.endswith(QUEUE_SEPARATOR):
        raise InvalidRequestError(
            f"The queues of {deployed.name} have names from before 0.1.0 (queue_separator '-'), "
            "which this template does not know: go on with `cdk deploy`."
        )
    types = {each.get("Type") for each in deployed.template["Resources"].values()}
    return {
        "Prefix": prefix.removesuffix(QUEUE_SEPARATOR),
        "Auth": auth,
        "JobEndpoint": "true" if "AWS::Lambda::Url" in types else "false",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Holds what a deployment would deploy, before anything is uploaded.

    :ivar deployed: the stack as it is; None: there is none.
    :ivar parameters: of the template; None keeps the deployed one.
    """

    wanted: Wanted
    deployed: StackState | None
    template: Mapping[str, Any]
    parameters: Mapping[str, str | None]
    target: Target

    @property
    def is_new(self) -> bool:
        """Return whether the stack would be made."""
        return self.deployed is None or self.deployed.is_new

    def stack(self) -> PlannedStacks:
        """Return the stack as it would be, for the preflight."""
        kept = self.deployed.parameters if self.deployed else {}
        said = {
            name: kept[name] if value is None else value for name, value in self.parameters.items()
        }
        return planned_stack(self.wanted.stack, self.template, said)


def prepared(wanted: Wanted, stacks: Stacks) -> Prepared:
    """Return what would be deployed; nothing is changed.

    :raises NotFoundError: an upgrade of a stack that is not there.
    :raises InvalidRequestError: choices exclude each other, no queue can have such a name, or the
        stack cannot be adopted.
    """
    from ojs_aws.cdk.published_template import rendered, worker_concurrency

    for queue in wanted.queues:
        check_queue(queue)

    deployed = stacks.settled(wanted.stack)
    if wanted.is_upgrade and (deployed is None or deployed.is_new):
        raise NotFoundError(
            f"There is no stack {wanted.stack} in {stacks.account}, {stacks.region}.",
            hint="Name it by --stack; `ojs-aws deploy` makes one.",
        )
    keeps_worker = has_worker(deployed) and not wanted.drops_worker
    with_worker = keeps_worker or wanted.worker is not None or wanted.runs_demo
    if "WorkerHandler" in wanted.parameters and not with_worker:
        raise InvalidRequestError("--handler is that of a worker: say --worker FOLDER, too.")
    if wanted.worker_concurrency is not None and not with_worker:
        raise InvalidRequestError(
            "--worker-concurrency is that of a worker: say --worker FOLDER, too."
        )
    template = rendered(
        wanted.queues or declared_queues(deployed),
        worker=with_worker,
        worker_concurrency=wanted.worker_concurrency
        or (worker_concurrency(deployed.template) if deployed else None),
        restored=restored_of(wanted, stacks, deployed),
    )
    parameters = parameters_of(wanted, template, deployed)
    check(parameters)
    target = target_of(wanted, deployed)
    is_old = keeps_worker and wanted.worker is None and not wanted.runs_demo
    if is_old and target != target_of(Wanted(stack=""), deployed):
        raise InvalidRequestError(
            "The worker's code is for another processor or Python: say --worker FOLDER, too."
        )
    return Prepared(
        wanted=wanted,
        deployed=deployed,
        template=template,
        parameters=parameters,
        target=target,
    )


def _retained(deployed: StackState | None) -> frozenset[str]:
    """Return the logical ids of what stays in the account when it leaves a stack."""
    resources = deployed.template.get("Resources", {}) if deployed else {}
    return frozenset(
        name
        for name, each in resources.items()
        if str(each.get("DeletionPolicy", "")).startswith("Retain")
    )


def has_worker(deployed: StackState | None) -> bool:
    """Return whether a stack has a Lambda worker of this template."""
    return deployed is not None and _WORKER_KEY in deployed.parameters


def planned(found: Prepared, stacks: Stacks) -> Plan:
    """Upload code and template, and make the change set.

    :raises OjsError: the account does not allow it.
    """
    wanted, deployed, target = found.wanted, found.deployed, found.target
    bucket = wanted.bucket or f"ojs-aws-{stacks.account}-{stacks.region}"
    stacks.own_bucket(bucket, is_named=bool(wanted.bucket))
    code_bucket, key = uploaded_code(wanted.bundles, target, stacks, bucket)
    parameters = {
        **found.parameters,
        "BundleBucket": code_bucket,
        "BundleKey": key,
        "Architecture": target.machine,
        "Python": target.python,
    }
    if wanted.runs_demo:
        parameters |= {
            "WorkerBundleBucket": code_bucket,
            _WORKER_KEY: key,
            "WorkerHandler": DEMO_HANDLER,
        }
    if wanted.worker is not None:
        code = made_worker(wanted.worker, target).read_bytes()
        parameters |= {
            "WorkerBundleBucket": bucket,
            _WORKER_KEY: stacks.upload(bucket, code, ".worker.zip"),
        }
    text = json.dumps(found.template, separators=(",", ":")).encode()
    uploaded = stacks.upload(bucket, text, ".template.json")
    name = f"{CHANGE_SET}-{uuid.uuid4().hex}"
    changes = stacks.plan(
        wanted.stack,
        name,
        template_url=stacks.url(bucket, uploaded),
        parameters=parameters,
        tags={**(deployed.tags if deployed else {}), **wanted.tags},
        is_new=found.is_new,
    )
    if not changes:
        stacks.forget(wanted.stack, name, is_new=False)
    kept = _retained(deployed)
    changes = [
        replace(each, action=KEEP) if each.action == "Remove" and each.resource in kept else each
        for each in changes
    ]
    return Plan(stack=wanted.stack, change_set=name, is_new=found.is_new, changes=changes)
