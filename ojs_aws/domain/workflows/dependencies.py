"""Reads what steps of a workflow wait for, and collects the faults of its members.

The HTTP binding, section 14.1, has ``depends_on``; official clients send callbacks as steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ojs_aws.domain.errors import InvalidWorkflowError, JsonValue
from ojs_aws.domain.json_text import ANY_DEPTH, Member, json_type, parse_object
from ojs_aws.domain.workflows.graph import Graph, Kind, Step, Trigger

MAX_NAME: Final = 255
MAX_FAULTS: Final = 20
MAX_DEPENDENCIES: Final = 20_000
CALLBACK_TYPE: Final = "callback_type"
_TRIGGERS: Final[Mapping[str, Trigger]] = {
    spelled: trigger
    for trigger in Trigger
    for spelled in (trigger, trigger.replace("_", "-"), trigger.removeprefix("on_"))
}


def refusal(faults: Sequence[tuple[str, str]]) -> InvalidWorkflowError:
    """Return the error that lists faults, each with its path and what is wrong there."""
    path, message = faults[0]
    errors: list[JsonValue] = [{"path": at, "message": what} for at, what in faults]
    return InvalidWorkflowError(
        f"Workflow validation failed: {path}: {message}",
        details={"field": path, "reason": message, "validation_errors": errors},
        hint="Nothing was stored. Correct the workflow and send it again.",
    )


def text_of(member: Member | None) -> str:
    """Return a member that is a text; an empty one if it is something else."""
    return member.value if member is not None and isinstance(member.value, str) else ""


@dataclass(frozen=True, slots=True)
class Faults:
    """Notes what is wrong in one workflow.

    :ivar found: paths, and what is wrong there.
    """

    found: list[tuple[str, str]] = field(default_factory=list)

    def note(self, path: str, message: str) -> None:
        """Note a fault.

        :raises InvalidWorkflowError: there are so many that the rest does not matter.
        """
        self.found.append((path, message))
        if len(self.found) >= MAX_FAULTS:
            raise self.refusal()

    def last(self, path: str, message: str) -> InvalidWorkflowError:
        """Return the error for a fault that ends the reading."""
        self.found.append((path, message))
        return self.refusal()

    def refusal(self) -> InvalidWorkflowError:
        """Return the error that lists what was found."""
        return refusal(self.found)

    def check(self) -> None:
        """Refuse the workflow if anything was found.

        :raises InvalidWorkflowError: something was.
        """
        if self.found:
            raise self.refusal()

    def string(self, members: Mapping[str, Member], name: str, path: str) -> str:
        """Return a text of an object; an empty one if there is none, or a fault."""
        member = members.get(name)
        if member is None or member.value is None:
            return ""
        if isinstance(member.value, str) and len(member.value) <= MAX_NAME:
            return member.value
        fault = (f"{path}.{name}", f"must be a string of at most {MAX_NAME} characters")
        if fault not in self.found:
            self.note(*fault)
        return ""

    def object(self, members: Mapping[str, Member], name: str, path: str) -> Mapping[str, Member]:
        """Return the members of an object within an object; none if there is none, or a fault."""
        member = members.get(name)
        if member is None or member.value is None:
            return {}
        if not isinstance(member.value, dict):
            self.note(f"{path}.{name}", f"must be an object; received {json_type(member.value)}")
            return {}
        return parse_object(member.raw, max_depth=ANY_DEPTH)


@dataclass(slots=True)
class Dependencies:
    """Sets what steps wait for.

    :ivar steps: of the workflow as far as it is read; they are replaced in place.
    :ivar count: of the dependencies so far.
    """

    steps: list[Step]
    faults: Faults
    count: int = 0

    def read(
        self,
        kind: Kind,
        named: list[tuple[int, Mapping[str, Member], str]],
        read: Mapping[str, int],
    ) -> None:
        """Set what the steps of one composite wait for.

        Only a graph says so by itself: a chain may repeat it, elsewhere it has no meaning.
        """
        callbacks: list[tuple[int, Trigger]] = []
        for index, members, path in named:
            found = self._depends_on(members, f"{path}.depends_on", index, read)
            trigger = self._callback_of(members, path) if kind is Kind.DAG else None
            if kind is Kind.DAG:
                self.steps[index] = replace(self.steps[index], waits_for=found)
            elif found and (kind is not Kind.CHAIN or max(found) >= index):
                self.faults.note(
                    f"{path}.depends_on", f"a {kind} has an order of its own; leave the type out"
                )
            if trigger is not None:
                callbacks.append((index, trigger))
        marked = {index for index, _ in callbacks}
        others = tuple(index for index, _, _ in named if index not in marked)
        for index, trigger in callbacks if others else ():
            waits_for = self.steps[index].waits_for or others
            self.make_callback(index, trigger, waits_for)

    def _depends_on(
        self, members: Mapping[str, Member], path: str, own: int, read: Mapping[str, int]
    ) -> tuple[int, ...]:
        member = members.get("depends_on")
        if member is None or member.value is None:
            return ()
        names = member.value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self.faults.note(path, "must be an array of step ids")
            return ()
        self.count += len(names)
        if self.count > MAX_DEPENDENCIES:
            raise self.faults.last(path, f"a workflow has at most {MAX_DEPENDENCIES} dependencies")
        found: dict[int, None] = {}
        for name in names:
            index = read.get(str(name))
            if index is None:
                self.faults.note(path, f"there is no step '{name}'")
            elif index == own:
                self.faults.note(path, f"the step '{name}' depends on itself")
            else:
                found[index] = None
        return tuple(found)

    def _callback_of(self, members: Mapping[str, Member], path: str) -> Trigger | None:
        """Return the trigger of a callback sent as a step, known by an option or its id."""
        option = self.faults.object(members, "options", path).get(CALLBACK_TYPE)
        if option is not None:
            trigger = _TRIGGERS.get(text_of(option))
            if trigger is None:
                self.faults.note(
                    f"{path}.options.{CALLBACK_TYPE}",
                    "must be on_complete, on_success or on_failure",
                )
            return trigger
        name = text_of(members.get("id"))
        return _TRIGGERS.get(name) if name.startswith("on-") else None

    def make_callback(self, index: int, trigger: Trigger, waits_for: tuple[int, ...]) -> None:
        """Let a step begin when others have ended as its trigger says."""
        self.steps[index] = replace(
            self.steps[index], waits_for=waits_for, trigger=trigger, is_callback=True
        )


def cycle_among(graph: Graph, among: list[int]) -> list[int]:
    """Return a cycle of steps that can never begin; the first is named again at the end."""
    stuck = {*among}
    seen: dict[int, int] = {}
    walk: list[int] = []
    at = among[0]
    while at not in seen:
        seen[at] = len(walk)
        walk.append(at)
        at = next(before for before in graph.steps[at].waits_for if before in stuck)
    found = walk[seen[at] :]
    return [at, *reversed(found)]
