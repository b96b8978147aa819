"""Checks at synthesis that a backend's stack has no more resources than CloudFormation takes."""

from __future__ import annotations

from collections import Counter
from typing import Final

import jsii
from aws_cdk import CfnResource, Stack
from constructs import Construct, IValidation

MAX_RESOURCES: Final = 500
"""What CloudFormation takes in a stack."""

_QUEUE: Final = "AWS::SQS::Queue"
_ADVICE: Final = (
    "Declare only queues that Lambda workers serve or that have alarms of their own: the others "
    "are created on their first use. Put Lambda workers into a stack of their own. See "
    "docs/deploy.md, 'How many queues a stack takes'."
)


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
