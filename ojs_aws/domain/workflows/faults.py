"""Collects the faults of a workflow, each with its place, while its members are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.errors import InvalidWorkflowError, JsonValue
from ojs_aws.domain.json_text import ANY_DEPTH, Member, json_type, parse_object

MAX_NAME: Final = 255
MAX_FAULTS: Final = 20


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
