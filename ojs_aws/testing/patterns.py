"""Lets a call of a typed job stand for many: ``send_email.call("a@b.c", ANY)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import ANY

from ojs_aws.domain.json_text import Member, encode
from ojs_aws.testing.arguments import arguments_of, named_arguments
from ojs_aws.typed_jobs.calls import JobCall
from ojs_aws.typed_jobs.templates import JobTemplate

if TYPE_CHECKING:
    from ojs_aws.domain.envelope import Job
    from ojs_aws.typed_jobs.declarations import JobDeclaration
    from ojs_aws.typed_jobs.values import Codec

R_co = TypeVar("R_co", covariant=True)


class CallPattern(JobCall[R_co]):
    """Stands for all calls of a job with such arguments; it cannot be sent."""

    __slots__ = ("given",)

    def __init__(
        self,
        declaration: JobDeclaration,
        args: Sequence[object],
        keywords: Mapping[str, object],
    ) -> None:
        """Keep the arguments.

        :raises TypeError: the function does not take these arguments.
        """
        super().__init__(declaration, JobTemplate(declaration.template({})), [])
        self.given = named_arguments(declaration, args, keywords)

    @property
    def is_unique_by_declaration(self) -> bool:
        """Return False: nothing is sent, so no policy is left out."""
        return False

    def to_job(self) -> Job:
        """Refuse to make a job.

        :raises TypeError: always: nobody could run it.
        """
        raise TypeError(f"A call of {self.type!r} with ANY can be compared, and not be sent.")


def has_any(value: object) -> bool:
    """Return True if a value is ANY, or contains it."""
    if value is ANY:
        return True
    if isinstance(value, Mapping):
        return any(map(has_any, value.values()))
    if is_dataclass(value) and not isinstance(value, type):
        return any(has_any(getattr(value, each.name)) for each in fields(value))
    return isinstance(value, (list, tuple, set)) and any(map(has_any, value))


def expected_arguments(call: JobCall[Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, as a worker would read them; ANY stays."""
    declaration = call.declaration
    if not isinstance(call, CallPattern):
        return arguments_of(declaration, call.to_job())
    return {
        name: value if has_any(value) else _as_read(declaration, name, value)
        for name, value in call.given.items()
    }


def _as_read(declaration: JobDeclaration, name: str, value: Any) -> object:
    """Return a value as it is after its way over the wire.

    :raises WrongValueError: it does not have the declared type.
    """
    types = declaration.encoder.types
    if types.rest is not None and name == declaration.signature.rest:
        return tuple(_carried(types.rest, each, name) for each in value)
    by_name = {each.name: codec for codec, each in (*types.placed, *types.named.values())}
    return _carried(by_name[name], value, name)


def _carried(codec: Codec, value: object, name: str) -> object:
    wire = codec.encode(value, name)
    return codec.decode(Member(encode(wire), wire), name)
