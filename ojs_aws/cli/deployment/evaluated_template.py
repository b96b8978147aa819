"""Evaluates a template as CloudFormation does, so that it can be judged before it is deployed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_NOTHING: Final = object()


class EvaluatedTemplate:
    """Holds a template with values for its parameters. References to resources stay.

    :param given: values of the parameters that do not have their defaults.
    :param pseudo: values of those that CloudFormation knows, such as ``AWS::Region``.
    """

    def __init__(
        self, template: Mapping[str, Any], given: Mapping[str, str], pseudo: Mapping[str, str]
    ) -> None:
        self._template = template
        declared = template.get("Parameters", {})
        self._values: dict[str, Any] = {
            name: _typed(each, given.get(name, each.get("Default", "")))
            for name, each in declared.items()
        }
        self._values |= {**pseudo, "AWS::NoValue": _NOTHING}
        self._conditions: Mapping[str, Any] = template.get("Conditions", {})

    def section(self, name: str) -> dict[str, Any]:
        """Return the entries of a section whose conditions are true, without these and metadata."""
        found = {
            key: {
                part: value for part, value in each.items() if part not in {"Metadata", "Condition"}
            }
            for key, each in self._template[name].items()
            if "Condition" not in each or self.holds({"Condition": each["Condition"]})
        }
        known = {*found}
        for each in found.values():
            waits = each.get("DependsOn", [])
            waits = [waits] if isinstance(waits, str) else waits
            each["DependsOn"] = sorted({*waits} & known)
        return {key: self.value(each) for key, each in found.items()}

    def holds(self, condition: Any) -> bool:
        """Return whether a condition is true."""
        ((kind, said),) = condition.items()
        if kind == "Condition":
            return self.holds(self._conditions[said])
        if kind == "Fn::Equals":
            return bool(self.value(said[0]) == self.value(said[1]))
        parts = [self.holds(each) for each in said]
        if kind == "Fn::Not":
            return not parts[0]
        return all(parts) if kind == "Fn::And" else any(parts)

    def value(self, said: Any) -> Any:
        """Return a value with its functions carried out, where what they are of is known."""
        if isinstance(said, list):
            return [each for each in map(self.value, said) if each is not _NOTHING]
        return self._of_object(said) if isinstance(said, dict) else said

    def _of_object(self, said: Any) -> Any:
        if said.keys() == {"Ref"}:
            return self._values.get(said["Ref"], said)
        if said.keys() == {"Fn::If"}:
            condition, yes, no = said["Fn::If"]
            return self.value(yes if self.holds({"Condition": condition}) else no)
        if said.keys() == {"Fn::Sub"} and isinstance(said["Fn::Sub"], str):
            parts = re.split(r"\$\{([^}]+)\}", said["Fn::Sub"])
            refs = [{"Ref": part} if at % 2 else part for at, part in enumerate(parts)]
            return self.value({"Fn::Join": ["", refs]})
        if said.keys() == {"Fn::Join"}:
            between, parts = said["Fn::Join"]
            return _joined(between, self.value(parts))
        found = {key: self.value(each) for key, each in said.items()}
        return {key: each for key, each in found.items() if each is not _NOTHING}


def _typed(declared: Mapping[str, Any], text: Any) -> Any:
    if declared["Type"] == "CommaDelimitedList":
        return [each for each in text.split(",") if each]
    return int(text) if declared["Type"] == "Number" else text


def _joined(between: str, parts: list[Any]) -> Any:
    """Return the text, or a join of its texts and of references, neighbours as one."""
    flat: list[Any] = []
    for at, part in enumerate(parts):
        inner = part["Fn::Join"][1] if isinstance(part, dict) and "Fn::Join" in part else [part]
        flat += ([between] if at and between else []) + inner
    merged: list[Any] = []
    for each in flat:
        if isinstance(each, str) and merged and isinstance(merged[-1], str):
            merged[-1] += each
        elif each != "":
            merged.append(each)
    if len(merged) == 1:
        return merged[0]
    return {"Fn::Join": ["", merged]} if merged else ""
