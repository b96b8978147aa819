"""Merges the templates of all choices into one, whose conditions and parameters are the choices.

The constructs decide what each choice means: nothing of it is written a second time. What all
templates say alike stays as it is. Where they differ, the smallest part that does becomes an
``Fn::If``; a resource that only some of them have gets a condition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.cdk.published_template import DECLARED, PREFIX, logical_id

Choice = tuple[str, ...]
"""One value for each dimension."""

MISSING: Final = object()
NO_VALUE: Final = {"Ref": "AWS::NoValue"}


@dataclass(frozen=True, slots=True)
class Dimension:
    """Holds one thing to choose.

    :ivar conditions: the name of the condition for each value; the last value needs none.
    """

    values: Sequence[str]
    conditions: Mapping[str, str]


@dataclass(slots=True)
class Merge:
    """Merges the templates of choices.

    :ivar made: the conditions that resources needed beside those of the dimensions.
    """

    dimensions: Sequence[Dimension]
    made: dict[str, dict[str, Any]] = field(default_factory=dict)

    def sections(self, templates: Mapping[Choice, Mapping[str, Any]], name: str) -> dict[str, Any]:
        """Return a section of named entries, resources or outputs, with conditions."""
        names = dict.fromkeys(entry for each in templates.values() for entry in each[name])
        merged = {}
        for entry in names:
            found = {choice: each[name].get(entry, MISSING) for choice, each in templates.items()}
            present = {choice: each for choice, each in found.items() if each is not MISSING}
            merged[entry] = self._entry(present)
            if len(present) < len(found):
                merged[entry]["Condition"] = self._condition({*present}, {*found})
        return merged

    def _entry(self, found: Mapping[Choice, Any]) -> dict[str, Any]:
        """Return an entry; a resource waits for all that it waits for in any template.

        CloudFormation ignores a dependency on a resource whose condition is false.
        """
        waits = dict.fromkeys(
            name for each in found.values() for name in _listed(each.get("DependsOn", []))
        )
        bare = {
            choice: {key: value for key, value in each.items() if key != "DependsOn"}
            for choice, each in found.items()
        }
        merged = dict(self.value(bare))
        if waits:
            merged["DependsOn"] = sorted(waits)
        return merged

    def value(self, found: Mapping[Choice, Any]) -> Any:
        """Return a value that is each of the given ones under its choice."""
        values = list(found.values())
        if all(each == values[0] for each in values):
            return values[0]
        if all(isinstance(each, dict) and not _is_function(each) for each in values):
            keys = dict.fromkeys(key for each in values for key in each)
            return {
                key: _told(self.value({c: each.get(key, MISSING) for c, each in found.items()}))
                for key in keys
            }
        if all(isinstance(each, list) for each in values):
            united = self._united(found)
            if united is not None:
                return united
        return self._if(found)

    def _united(self, found: Mapping[Choice, list[Any]]) -> list[Any] | None:
        """Return all elements in an order that each list keeps; None, if there is no such order."""
        order: list[str] = []
        for each in found.values():
            at = 0
            for text in map(_text, each):
                if text in order:
                    at = order.index(text) + 1
                else:
                    order.insert(at, text)
                    at += 1
        for each in found.values():
            places = [order.index(_text(element)) for element in each]
            if places != sorted(set(places)):
                return None
        known = {_text(element): element for each in found.values() for element in each}
        return [
            _told(
                self.value(
                    {
                        choice: known[text] if known[text] in each else MISSING
                        for choice, each in found.items()
                    }
                )
            )
            for text in order
        ]

    def _if(self, found: Mapping[Choice, Any]) -> dict[str, Any]:
        condition, yes, no = self._split(found)
        return {"Fn::If": [condition, _told(self.value(yes)), _told(self.value(no))]}

    def _split(
        self, found: Mapping[Choice, Any]
    ) -> tuple[str, dict[Choice, Any], dict[Choice, Any]]:
        """Return the condition that tells the values apart best, and what is on both sides."""
        splits: list[tuple[int, str, dict[Choice, Any], dict[Choice, Any]]] = []
        for at, dimension in enumerate(self.dimensions):
            for value, condition in dimension.conditions.items():
                yes = {choice: each for choice, each in found.items() if choice[at] == value}
                no = {choice: each for choice, each in found.items() if choice[at] != value}
                if yes and no:
                    splits.append((len(_kinds(yes)) + len(_kinds(no)), condition, yes, no))
        _, condition, yes, no = min(splits, key=lambda split: split[0])
        return condition, yes, no

    def _condition(self, present: set[Choice], every: set[Choice]) -> str:
        """Return the name of the condition that is true for some choices."""
        found = {choice: choice in present for choice in sorted(every)}
        return self._named(found)

    def _named(self, found: Mapping[Choice, bool]) -> str:
        condition, yes, no = self._split(found)
        if all(yes.values()) and not any(no.values()):
            return condition
        if not any(yes.values()):
            negated = self._name(f"Not{condition}", {"Fn::Not": [{"Condition": condition}]})
            return negated if all(no.values()) else self._both("And", negated, self._named(no))
        if not any(no.values()):
            return self._both("And", condition, self._named(yes))
        if all(yes.values()):
            return self._both("Or", condition, self._named(no))
        left = self._both("And", condition, self._named(yes))
        return left if not any(no.values()) else self._both("Or", left, self._named(no))

    def _both(self, how: str, one: str, other: str) -> str:
        of = [{"Condition": one}, {"Condition": other}]
        return self._name(f"{one}{how}{other}", {f"Fn::{how}": of})

    def _name(self, name: str, expression: dict[str, Any]) -> str:
        self.made[name] = expression
        return name


def without_long_split(value: Any) -> Any:
    """Return a value in which what a URL begins with is not split by a name with the prefix.

    The delimiter of ``Fn::Split`` has to be a text, so a parameter cannot be part of it.
    """
    if isinstance(value, list):
        return [without_long_split(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"Fn::Select"} and value["Fn::Select"][0] == 0:
        split = value["Fn::Select"][1].get("Fn::Split", ["", ""])
        if PREFIX in split[0]:
            parts = {"Fn::Split": ["/", split[1]]}
            kept = [{"Fn::Select": [at, parts]} for at in (2, 3)]
            scheme = {"Fn::Select": [0, parts]}
            return {"Fn::Join": ["/", [scheme, "", *kept, ""]]}
    return {key: without_long_split(each) for key, each in value.items()}


def _told(value: Any) -> Any:
    return NO_VALUE if value is MISSING else value


def _is_function(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(("Fn::", "Ref", "Condition"))


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _text(value: Any) -> str:
    return "" if value is MISSING else json.dumps(value, sort_keys=True)


def _kinds(found: Mapping[Choice, Any]) -> set[str]:
    return {repr(each) if each is MISSING else _text(each) for each in found.values()}


STACK: Final = "OjsBackend"
"""The name under which the constructs synthesise. Names that they make of it become those of the
deployed stack, so that an account holds several."""
_NAMES: Final = {"AWS::Events::EventBus": "Name", "AWS::Logs::LogGroup": "LogGroupName"}


def parameter_of(name: str) -> dict[str, Any]:
    """Return a reference to a parameter."""
    return {"Ref": name}


def opened(resource: dict[str, Any]) -> dict[str, Any]:
    """Return a resource with parameters in the place of what each deployment says itself."""
    made = {key: value for key, value in resource.items() if key != "Metadata"}
    properties = dict(made.get("Properties", {}))
    if resource["Type"] == "AWS::Lambda::Function":
        properties |= {
            "Code": {"S3Bucket": parameter_of("BundleBucket"), "S3Key": parameter_of("BundleKey")},
            "Runtime": {"Fn::Sub": "python${Python}"},
            "Architectures": [parameter_of("Architecture")],
            "VpcConfig": _if(
                "IsInVpc", {each: parameter_of(each) for each in ("SubnetIds", "SecurityGroupIds")}
            ),
        }
    if resource["Type"] == "AWS::IAM::Role":
        access = {
            "Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/service-role/"
            "AWSLambdaVPCAccessExecutionRole"
        }
        boundary = parameter_of("PermissionsBoundary")
        properties |= {
            "PermissionsBoundary": _if("HasPermissionsBoundary", boundary),
            "ManagedPolicyArns": _if("IsInVpc", [access]),
        }
    if resource["Type"] == "AWS::Logs::LogGroup":
        properties["RetentionInDays"] = parameter_of("LogRetentionDays")
    if (name := properties.get(_NAMES.get(resource["Type"], ""))) is not None:
        named = name.replace(STACK, "${AWS::StackName}", 1)
        properties[_NAMES[resource["Type"]]] = {"Fn::Sub": named}
    if properties:
        made["Properties"] = properties
    return made


def opened_worker(resource: dict[str, Any]) -> dict[str, Any]:
    """Return a resource of the worker with its code, and with lists where there may be queues."""
    properties = dict(resource["Properties"])
    if resource["Type"] == "AWS::Lambda::Function":
        properties |= {
            "Code": {
                "S3Bucket": parameter_of("WorkerBundleBucket"),
                "S3Key": parameter_of("WorkerBundleKey"),
            },
            "Handler": parameter_of("WorkerHandler"),
            "Description": "Open Job Spec: worker of the declared queues",
        }
    if resource["Type"] == "AWS::IAM::Policy":
        properties = _listing(properties)
    return {**resource, "Properties": properties}


def _if(condition: str, value: object) -> dict[str, Any]:
    return {"Fn::If": [condition, value, NO_VALUE]}


def _listing(value: Any) -> Any:
    """Return a policy in which the queue's ARN is in a list: there may be several."""
    if isinstance(value, list):
        return [_listing(each) for each in value]
    if isinstance(value, dict):
        queue = {"Fn::GetAtt": [logical_id(DECLARED), "Arn"]}
        return {
            key: [each] if key == "Resource" and each == queue else _listing(each)
            for key, each in value.items()
        }
    return value
