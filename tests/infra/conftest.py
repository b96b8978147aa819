"""The stack's template, synthesised once without bundling any code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

NO_BUNDLING: dict[str, object] = {"aws:cdk:bundling-stacks": []}

Resource = dict[str, Any]


@dataclass(frozen=True)
class Synthesised:
    """A template, asked by meaning: never by logical id."""

    document: Mapping[str, Any]

    def of(self, kind: str) -> list[Resource]:
        """The properties of every resource of a type."""
        return [
            resource.get("Properties", {})
            for resource in self.document["Resources"].values()
            if resource["Type"] == kind
        ]

    def function(self, handler: str) -> Resource:
        """The properties of the function with this handler."""
        (found,) = [each for each in self.of("AWS::Lambda::Function") if each["Handler"] == handler]
        return found

    def logical_id(self, kind: str, properties: Resource) -> str:
        """The logical id of a resource, to follow references to it."""
        resources = self.document["Resources"].items()
        (found,) = [
            name
            for name, resource in resources
            if resource["Type"] == kind and resource.get("Properties", {}) == properties
        ]
        return str(found)

    def triggers(self, handler: str) -> list[Resource]:
        """The event source mappings of the function with this handler."""
        name = self.logical_id("AWS::Lambda::Function", self.function(handler))
        mappings = self.of("AWS::Lambda::EventSourceMapping")
        return [each for each in mappings if each["FunctionName"] == {"Ref": name}]

    def statements(self, handler: str) -> list[tuple[frozenset[str], str]]:
        """What the role of a function allows: actions, and the resource they are allowed on."""
        role = self.function(handler)["Role"]["Fn::GetAtt"][0]
        found = []
        for policy in self.of("AWS::IAM::Policy"):
            if {"Ref": role} not in policy["Roles"]:
                continue
            for statement in policy["PolicyDocument"]["Statement"]:
                if statement["Effect"] == "Deny":
                    continue
                actions = frozenset(_listed(statement["Action"]))
                found += [(actions, _shown(each)) for each in _listed(statement["Resource"])]
        return found

    def conditional(self, handler: str, effect: str) -> list[Resource]:
        """The statements of a function's role that have a condition."""
        role = self.function(handler)["Role"]["Fn::GetAtt"][0]
        return [
            statement
            for policy in self.of("AWS::IAM::Policy")
            if {"Ref": role} in policy["Roles"]
            for statement in policy["PolicyDocument"]["Statement"]
            if "Condition" in statement and statement["Effect"] == effect
        ]

    def actions(self, handler: str) -> set[str]:
        """Every action that the role of a function allows."""
        return {action for actions, _ in self.statements(handler) for action in actions}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _shown(value: Any) -> str:
    """A resource expression as one line of text."""
    if isinstance(value, str):
        return value
    if "Ref" in value:
        return f"<{value['Ref']}>"
    if "Fn::GetAtt" in value:
        return "<" + ".".join(value["Fn::GetAtt"]) + ">"
    return "".join(_shown(part) for part in value["Fn::Join"][1])


Synthesise = Callable[..., Synthesised]


@pytest.fixture(scope="session")
def synthesise() -> Synthesise:
    """Synthesises the stack with these properties."""
    # Inside, so that a machine without Node can at least import this file and skip the tests.
    from aws_cdk import App
    from aws_cdk.assertions import Template

    from infra.stack import OjsStack, OjsStackProps

    def make(**properties: Any) -> Synthesised:
        app = App(context=NO_BUNDLING)
        stack = OjsStack(app, "Ojs", OjsStackProps(**properties))
        return Synthesised(Template.from_stack(stack).to_json())

    return make


@pytest.fixture(scope="session")
def stack(synthesise: Synthesise) -> Synthesised:
    """The stack as ``cdk deploy`` makes it."""
    return synthesise()
