"""Translate the arguments on the wire to those that a function is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import ANY_DEPTH, Member, parse_array, parse_object
from ojs_aws.typed_jobs.arguments import ArgumentTypes
from ojs_aws.typed_jobs.plain_values import WrongValueError
from ojs_aws.typed_jobs.values import Codec


class UnexpectedArgumentsError(TypeError):
    """Reports arguments that another version of the job's function may have, and this one not."""


class ArgumentDecoder:
    """Reads the arguments of one function from the wire."""

    def __init__(self, types: ArgumentTypes) -> None:
        """Read for the function with these types."""
        self._types = types

    def decode(self, job: Job) -> tuple[list[object], dict[str, object]]:
        """Return the arguments of a job, as the function is called with them.

        :raises UnexpectedArgumentsError: there are too many or too few, or a keyword that the
            function does not take: another version of it may have sent them.
        :raises WrongValueError: a value does not have its declared type.
        """
        wire = parse_array(job.text("args")) if "args" in job else []
        named = self._named_object(wire)
        placed = wire if named is None else wire[:-1]
        self._check_count(placed)
        values = []
        for place, member in enumerate(placed):
            codec, name = self._types.at(place)
            values.append(codec.decode(member, name))
        return values, self._named(named or {})

    def _named_object(self, wire: Sequence[Member]) -> Mapping[str, Member] | None:
        """Return the object of the keyword-only arguments, if there is one.

        It lies behind all other arguments. An earlier version of the function may have had fewer
        of these, and the object further to the front: it counts where nothing else can be meant.
        """
        index, known = len(self._types.placed), self._types.named
        last = wire[-1] if wire else None
        if not known or last is None or not isinstance(last.value, dict) or len(wire) > index + 1:
            return None
        if len(wire) == index + 1:
            return parse_object(last.raw, max_depth=ANY_DEPTH)
        is_moved = bool(last.value) and last.value.keys() <= known.keys()
        codec, name = self._types.at(len(wire) - 1)
        return (
            parse_object(last.raw, max_depth=ANY_DEPTH)
            if is_moved and not _fits(codec, last, name)
            else None
        )

    def _check_count(self, placed: Sequence[Member]) -> None:
        most = len(self._types.placed)
        if len(placed) > most and self._types.rest is None:
            raise UnexpectedArgumentsError(f"{len(placed)} arguments came, and it takes {most}")
        if len(placed) < self._types.required:
            _, missing = self._types.placed[len(placed)]
            raise UnexpectedArgumentsError(f"the argument {missing.name!r} did not come")

    def _named(self, given: Mapping[str, Member]) -> dict[str, object]:
        known = self._types.named
        for name in given:
            if name not in known:
                raise UnexpectedArgumentsError("it does not take one of the keywords that came")
        for name, (_, parameter) in known.items():
            if parameter.is_required and name not in given:
                raise UnexpectedArgumentsError(f"the keyword {name!r} did not come")
        return {name: known[name][0].decode(member, name) for name, member in given.items()}


def _fits(codec: Codec, member: Member, name: str) -> bool:
    """Return whether a value can be meant for a parameter."""
    try:
        codec.decode(member, name)
    except WrongValueError:
        return False
    return True
