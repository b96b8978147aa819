"""Reads what a CDK app is about to deploy from its cloud assembly, the folder ``cdk.out``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

_STACK: Final = "aws:cloudformation:stack"
_ENVIRONMENT: Final = re.compile(r"aws://(?P<account>[^/]+)/(?P<region>.+)")
_UNKNOWN: Final = "unknown-"
"""Begins an account or region that is chosen by the credentials of who deploys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStacks:
    """Holds the stacks that are about to be deployed to one account and region.

    :ivar account: its number; empty: that of whoever deploys.
    :ivar region: empty: that of whoever deploys.
    :ivar names: of the stacks.
    :ivar templates: their templates.
    """

    account: str
    region: str
    names: Sequence[str]
    templates: Sequence[Mapping[str, Any]]

    def of(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the logical ids and properties of all resources of a type."""
        for template in self.templates:
            for name, each in template.get("Resources", {}).items():
                if each.get("Type") == kind:
                    yield name, each.get("Properties", {})


def planned_stacks(assembly: Path) -> list[PlannedStacks]:
    """Return the stacks of a cloud assembly, by their accounts and regions.

    :raises ValueError: the folder has no stack.
    """
    found = sorted(_stacks(assembly), key=lambda each: each[0])
    if not found:
        raise ValueError(f"{assembly} has no stack.")
    return [
        PlannedStacks(
            account=account,
            region=region,
            names=[name for _, name, _ in group],
            templates=[template for _, _, template in group],
        )
        for (account, region), group in (
            (where, list(each)) for where, each in groupby(found, key=lambda each: each[0])
        )
    ]


def _stacks(assembly: Path) -> Iterator[tuple[tuple[str, str], str, Mapping[str, Any]]]:
    """Yield account and region, name and template of each stack.

    :raises ValueError: the folder is no cloud assembly.
    """
    artifacts = _read(assembly / "manifest.json").get("artifacts", {})
    for name, artifact in artifacts.items():
        properties = artifact.get("properties", {})
        if nested := properties.get("directoryName"):  # of a stage
            yield from _stacks(assembly / nested)
        if artifact.get("type") != _STACK:
            continue
        where = _ENVIRONMENT.match(artifact.get("environment", ""))
        account, region = where.group("account", "region") if where else ("", "")
        template = _read(assembly / properties["templateFile"])
        yield (_known(account), _known(region)), properties.get("stackName", name), template


def _known(text: str) -> str:
    return "" if text.startswith(_UNKNOWN) else text


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    :raises ValueError: it cannot be read, or is none.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ValueError(f"{path} cannot be read: {problem.strerror}.") from None
    except ValueError:
        raise ValueError(f"{path} is no JSON.") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} is no JSON object.")
    return found
