"""Reads what ``ojs-aws preflight`` judges: planned stacks as evaluated, and the issuer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.account_limits import DISCOVERY_S

if TYPE_CHECKING:
    import httpx

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


_STACK: Final = "aws:cloudformation:stack"
_ENVIRONMENT: Final = re.compile(r"aws://(?P<account>[^/]+)/(?P<region>.+)")
_UNKNOWN: Final = "unknown-"
"""Begins an account or region that is chosen by the credentials of who deploys."""
DISCOVERY: Final = "/.well-known/openid-configuration"
_OK: Final = 200
_SLOW: Final = (
    "API Gateway waits no longer while it is deployed: make the issuer faster, or keep it warm "
    "until then."
)
_WRONG: Final = (
    "Is it the issuer's URL (jwt_issuer), as its tokens name it, and can the internet reach it?"
)


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


def planned_stack(
    stack: str,
    template: Mapping[str, Any],
    parameters: Mapping[str, str],
    *,
    account: str = "",
    region: str = "",
) -> PlannedStacks:
    """Return one stack of a template with parameters, as it is about to be deployed.

    :param parameters: values of those that do not have their defaults.
    """
    pseudo = {"AWS::StackName": stack} | ({"AWS::Region": region} if region else {})
    resources = EvaluatedTemplate(template, parameters, pseudo).section("Resources")
    whole = {"Resources": resources}
    return PlannedStacks(account=account, region=region, names=[stack], templates=[whole])


def _stacks(assembly: Path) -> Iterator[tuple[tuple[str, str], str, Mapping[str, Any]]]:
    """Yield account and region, name and template of each stack.

    :raises ValueError: the folder is no cloud assembly.
    """
    artifacts = read_object(assembly / "manifest.json").get("artifacts", {})
    for name, artifact in artifacts.items():
        properties = artifact.get("properties", {})
        if nested := properties.get("directoryName"):  # of a stage
            yield from _stacks(assembly / nested)
        if artifact.get("type") != _STACK:
            continue
        where = _ENVIRONMENT.match(artifact.get("environment", ""))
        account, region = where.group("account", "region") if where else ("", "")
        template = read_object(assembly / properties["templateFile"])
        yield (_known(account), _known(region)), properties.get("stackName", name), template


def _known(text: str) -> str:
    return "" if text.startswith(_UNKNOWN) else text


def read_object(path: Path) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Holds what an issuer answered.

    :ivar seconds: until the whole answer was there.
    :ivar status: 0, where there was none.
    """

    seconds: float
    status: int = 0
    body: bytes = b""


def ask_issuer(
    url: str,
    *,
    transport: httpx.BaseTransport | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Answer:
    """Get a discovery document; what takes longer than API Gateway waits is given up soon.

    :param transport: sends the request; by default over the network.
    """
    import httpx

    begun = clock()
    try:
        with httpx.Client(transport=transport, timeout=2 * DISCOVERY_S) as client:
            answer = client.get(url)
    except httpx.HTTPError:
        return Answer(seconds=clock() - begun)
    return Answer(seconds=clock() - begun, status=answer.status_code, body=answer.content)


def check_issuer(issuer: str, ask: Callable[[str], Answer]) -> tuple[str, str]:
    """Return what an issuer answers, and the way out of a problem; empty, if there is none.

    It is measured from this machine, and API Gateway asks from the region of the stack.

    :param ask: gets the discovery document from its URL.
    """
    answer = ask(issuer.rstrip("/") + DISCOVERY)
    took = f"{issuer} answered after {answer.seconds:.1f} s"
    if answer.seconds > DISCOVERY_S:
        return f"{took}; {DISCOVERY_S} s are allowed", _SLOW
    if answer.status != _OK:
        what = f"HTTP {answer.status}" if answer.status else "nothing"
        return f"{issuer} answered {what} for its discovery document", _WRONG
    try:
        document = json.loads(answer.body)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not document.get("jwks_uri"):
        return f"{issuer} has a discovery document without keys (jwks_uri)", _WRONG
    named = document.get("issuer")
    if named != issuer:
        hint = "Write it exactly so, slashes included: the gateway refuses tokens of another name."
        return f"{issuer} calls itself {named}", hint
    return took, ""
