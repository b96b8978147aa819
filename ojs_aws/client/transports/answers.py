"""Answers of the backend, and how to read what they say.

A client reads leniently: a member that is missing or of another type counts as empty, so that other
backends of the specification, and newer versions of this one, are understood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, TypeAlias, TypeVar

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.json_text import ANY_DEPTH, Member, parse_object, parse_objects

E = TypeVar("E")

Values: TypeAlias = Mapping[str, JsonValue]
"""The members of a JSON object, by their names."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request, or the reason why there is none.

    :ivar status: HTTP status, or 0 when no answer came.
    :ivar members: members of the JSON object that was answered, each with its own text.
    :ivar error: the error to raise, if it is one.
    :ivar sends: how often the request was sent; above 1, an earlier one may have taken effect.
    """

    status: int
    members: Mapping[str, Member] = field(default_factory=dict)
    error: OjsError | None = None
    sends: int = 1
    retry_after_s: float | None = None
    may_resend: bool = False

    def or_raise(self) -> Answer:
        """Return the answer itself.

        :raises OjsError: the answer is an error.
        """
        if self.error is not None:
            raise self.error
        return self

    @property
    def values(self) -> dict[str, JsonValue]:
        """Return the values of the members."""
        return {name: member.value for name, member in self.members.items()}

    @property
    def job(self) -> Job:
        """Return the job of the answer, wrapped or flat, with its members' own text."""
        wrapped = self.members.get("job")
        if wrapped is not None and isinstance(wrapped.value, dict):
            return Job.from_parsed(parse_object(wrapped.raw, max_depth=ANY_DEPTH))
        return Job.from_parsed(self.members)

    @property
    def jobs(self) -> list[Job]:
        """Return the jobs that the answer lists, with their members' own text."""
        listed = self.members.get("jobs")
        if listed is None or not isinstance(listed.value, list):
            return []
        return [Job.from_parsed(each) for each in parse_objects(listed.raw)]


def text_in(values: Values, name: str) -> str:
    """Return a member that is a text; empty where it is not."""
    value = values.get(name)
    return value if isinstance(value, str) else ""


def text_or_none_in(values: Values, name: str) -> str | None:
    """Return a member that is a text; None where it is not."""
    value = values.get(name)
    return value if isinstance(value, str) else None


def number_in(values: Values, name: str) -> int:
    """Return a member that is a whole number; 0 where it is not."""
    value = values.get(name)
    return value if isinstance(value, int) else 0


def texts_in(values: Values, name: str) -> list[str]:
    """Return the texts of a member that is an array."""
    value = values.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def object_in(values: Values, name: str) -> dict[str, JsonValue]:
    """Return a member that is an object; empty where it is not."""
    value = values.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(values: Values, name: str) -> list[dict[str, JsonValue]]:
    """Return the objects of a member that is an array."""
    value = values.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def unwrapped(values: Values, *names: str) -> Values:
    """Return the object that a member wraps, the first of these names; else the values."""
    return next((object_in(values, name) for name in names if object_in(values, name)), values)


def next_cursor(values: Values) -> str:
    """Return where the next page of a list starts; empty on the last one."""
    return text_in(object_in(values, "pagination"), "next_cursor")


def page_of(kind: type[E], values: Values, jobs: Sequence[object]) -> E:
    """Return a page of jobs, with what the answer says about the whole list."""
    page = object_in(values, "pagination")
    cursor, is_exact = text_in(page, "next_cursor"), page.get("total_is_exact") is not False
    total_is = text_in(page, "total_is") or ("exact" if is_exact else "at_least")
    return entry_of(kind, page, jobs=jobs, cursor=cursor, is_exact=is_exact, total_is=total_is)


_READERS: Final[Mapping[object, Callable[[Values, str], object]]] = {
    "str": text_in,
    "str | None": text_or_none_in,
    "int": number_in,
    "bool": lambda values, name: values.get(name) is True,
    "Sequence[str]": texts_in,
    "tuple[str, ...]": lambda values, name: tuple(texts_in(values, name)),
    "Mapping[str, JsonValue]": object_in,
}
"""How a field of a dataclass is read, by its type as it is written."""


def entry_of(kind: type[E], values: Values, **known: object) -> E:
    """Return a dataclass whose fields are the members of the same names, each by its type.

    A field ``described`` gets all the members.

    :param known: fields that are not read so.
    """
    known = {"described": values, **known}
    read = {
        each.name: known[each.name]
        if each.name in known
        else _READERS[each.type](values, each.name)
        for each in fields(kind)  # type: ignore[arg-type]
    }
    return kind(**read)
