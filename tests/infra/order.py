"""The order in which CloudFormation makes resources; it deletes them the other way round."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any

from tests.infra.conftest import Synthesised

_IN_TEXT = re.compile(r"\$\{([A-Za-z0-9]+)[.}]")


class Order:
    """The order of a template's resources: by what they refer to, and by ``DependsOn``."""

    def __init__(self, template: Synthesised) -> None:
        """Order the resources of a template."""
        self._resources: Mapping[str, Any] = template.document["Resources"]

    @cached_property
    def _all_earlier(self) -> Mapping[str, frozenset[str]]:
        direct = {name: self._named(each) for name, each in self._resources.items()}
        found: dict[str, frozenset[str]] = {}
        for name in TopologicalSorter(direct).static_order():  # raises where there is a circle
            found[name] = direct[name].union(*(found[each] for each in direct[name]))
        return found

    def _named(self, resource: Mapping[str, Any]) -> frozenset[str]:
        after = resource.get("DependsOn", [])
        named = {after} if isinstance(after, str) else {*after}
        missing = named - self._resources.keys()
        assert not missing, f"DependsOn names what there is not: {missing}"
        named |= references(resource.get("Properties", {})) & self._resources.keys()
        return frozenset(named)

    def earlier(self, name: str) -> frozenset[str]:
        """The resources that are there before this one is made, and still after its deletion."""
        return self._all_earlier[name]

    def of(self, kind: str) -> list[str]:
        """The logical ids of the resources of a type."""
        return [name for name, each in self._resources.items() if each["Type"] == kind]


def references(value: Any) -> set[str]:
    """The logical ids, and parameters, that an expression refers to."""
    if isinstance(value, Mapping):
        found = references([*value.values()])
        if "Ref" in value:
            found.add(str(value["Ref"]))
        if "Fn::GetAtt" in value:
            attribute = value["Fn::GetAtt"]
            found.add(attribute.split(".")[0] if isinstance(attribute, str) else attribute[0])
        if "Fn::Sub" in value:
            text = value["Fn::Sub"]
            found |= {*_IN_TEXT.findall(text if isinstance(text, str) else text[0])}
        return found
    return set().union(*map(references, value)) if isinstance(value, list) else set()
