"""Writes the outputs of a stack with a backend, and checks at synthesis what was put into it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import jsii
from aws_cdk import Annotations, CfnOutput, CfnResource, Stack
from constructs import Construct, IValidation

from ojs_aws.cdk.api.access import Access, ApiKeys, Iam, OpenAccess
from ojs_aws.cdk.bundle import Target

MAX_RESOURCES: Final = 500
"""What CloudFormation takes in a stack."""
_QUEUE: Final = "AWS::SQS::Queue"
_ADVICE: Final = (
    "Declare only queues that Lambda workers serve or that have alarms of their own: the others "
    "are created on their first use. Put Lambda workers into a stack of their own. See "
    "docs/deploy.md, 'How many queues a stack takes'."
)
DEFAULT_MAX_CONCURRENCY: Final = 100
"""Invocations at a time for each queue of a worker, where nobody says otherwise; each runs up to
ten jobs."""
CONCURRENCY_WARNING: Final = "ojs:worker-concurrency"


@jsii.implements(IValidation)
class StackSize:
    """Refuse a stack that could not be deployed, and say what it is made of."""

    def __init__(self, scope: Construct) -> None:
        """Check the stack that a construct is in, whenever it is synthesised."""
        self._stack = Stack.of(scope)
        scope.node.add_validation(self)

    def validate(self) -> list[str]:
        """Return what is wrong: nothing, or one sentence with advice."""
        resources = [each for each in self._stack.node.find_all() if isinstance(each, CfnResource)]
        if len(resources) <= MAX_RESOURCES:
            return []
        own = [each for each in resources if each.stack.node.path == self._stack.node.path]
        if len(own) <= MAX_RESOURCES:  # Nested stacks have limits of their own.
            return []
        kinds = Counter(each.cfn_resource_type for each in own)
        others = ", ".join(
            f"{count} {kind}" for kind, count in kinds.most_common(5) if kind != _QUEUE
        )
        problem = (
            f"The stack {self._stack.stack_name} has {len(own)} resources, and CloudFormation "
            f"takes {MAX_RESOURCES}: {kinds[_QUEUE]} are queues; {others}. {_ADVICE}"
        )
        return [problem]


class WorkerConcurrency:
    """Add up what the triggers of workers may take, and warn at synthesis when it is too much."""

    def __init__(self, most: int) -> None:
        """Begin with none.

        :param most: executions that workers may take together.
        """
        self._most = most
        self._taken = 0

    def add(self, worker: Construct, executions: int | None, queues: int) -> None:
        """Count the triggers of a worker.

        :param executions: most of each trigger; None for any number.
        """
        if executions is None:
            self._warn(worker, "any number of executions: it has no max_concurrency")
            return
        self._taken += executions * queues
        if self._taken > self._most:
            self._warn(worker, f"{self._taken} executions at a time with the workers before it")

    def _warn(self, worker: Construct, taken: str) -> None:
        Annotations.of(worker).add_warning_v2(
            CONCURRENCY_WARNING,
            f"This worker may take {taken}. API, stream and tick share the account's limit with "
            f"it: keep the sum below {self._most} (concurrency_alarm), or raise the account's "
            "limit and concurrency_alarm.",
        )


FOREIGN_WARNING: Final = "ojs-aws:foreign-target"
"""What acknowledges the warning, for an emulator that has a machine or a Python of its own."""


def warn_of_other_target(backend: Construct, target: Target) -> None:
    """Warn if ``AWS_ENDPOINT_URL`` names an emulator, and the code is for another machine."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    if not endpoint or target == Target.HOST:
        return
    Annotations.of(backend).add_warning_v2(
        FOREIGN_WARNING,
        f"The functions are made for {target}, but AWS_ENDPOINT_URL names an emulator "
        f"({endpoint}), and this machine has {Target.HOST}. An emulator that runs functions as its "
        "own processes cannot import them: the API answers 'Internal Server Error'. Leave target "
        "out, or say JobBackendProps(target=Target.HOST).",
    )


def add_outputs(scope: Construct, values: Mapping[str, str], prefix: str | None) -> None:
    """Add an output for each address and name that clients, workers and operators need.

    :param prefix: begins their names; None for the id of the construct.
    """
    if prefix is None:
        prefix = re.sub(r"[^A-Za-z0-9]", "", scope.node.id)
    for name, value in values.items():
        output = CfnOutput(scope, f"{name}Output", value=value)
        output.override_logical_id(f"{prefix}{name}")


def next_command(scope: Construct, url: str, table: str, access: Access) -> str:
    """Return the line for a shell that makes the first call to a backend."""
    steps = [f"export OJS_URL={url} AWS_REGION={Stack.of(scope).region} OJS_TABLE={table}"]
    if isinstance(access, ApiKeys):
        steps.append("export OJS_API_KEY=$(ojs-aws keys create first --scope operator)")
    elif not isinstance(access, (Iam, OpenAccess)):
        steps.append("export OJS_API_KEY=the-token")
    return " && ".join([*steps, "ojs-aws whoami"])


Targets = Mapping[str, Mapping[str, Any]]
"""What operators may bind queues to, by the names of the bindings."""


def check_new_targets(targets: Targets, known: Targets) -> None:
    """Refuse targets that clash with those of other constructs.

    :raises ValueError: a name that another construct has used, or a queue whose messages invoke
        the dispatcher of another construct.
    """
    if taken := sorted({*targets} & {*known}):
        raise ValueError(f"There are bindings of these names already: {', '.join(taken)}.")
    queues, others = (
        {queue for each in some.values() for queue in each["queues"]} for some in (targets, known)
    )
    if shared := sorted(queues & others):
        raise ValueError(
            f"Another construct has bindings of {', '.join(shared)}, and either would get the "
            "jobs of both. Define all bindings of a queue in one construct; functions, "
            "endpoints and tasks need queues of their own."
        )


def has_functions(targets: Targets) -> bool:
    """Return whether some targets are functions, and neither endpoints nor tasks."""
    return any(not {"prefixes", "family"} & {*each} for each in targets.values())
