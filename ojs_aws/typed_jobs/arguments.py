"""Translate the arguments of a call to those on the wire, and back.

On the wire, arguments have places and no names. Those of the function that have a place keep it.
All keyword-only ones go together, as one object behind the others: at index n, where n is the
number of parameters with a place. Defaults in front of it are then written out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import ANY_DEPTH, Member, RawJson, parse_array, parse_object
from ojs_aws.typed_jobs.signature import NO_DEFAULT, JobSignature, Parameter
from ojs_aws.typed_jobs.values import Codec, PlainCodec, WrongValueError, plain_check

if TYPE_CHECKING:
    from ojs_aws.typed_jobs.model_values import ModelCodec

Wire: TypeAlias = list[JsonValue] | RawJson
"""Arguments as they go over the wire: JSON values, or the text of an array."""


class ArgumentTypes:
    """Holds the codec of each parameter of a function.

    :ivar placed: of the parameters with a place, in their order.
    :ivar named: of the keyword-only ones, by their names.
    :ivar rest: of the items of ``*args``; None where the function has none.
    :ivar required: how many with a place have no default.
    """

    def __init__(self, signature: JobSignature) -> None:
        """Choose the codecs.

        :raises RegistrationError: a type is not defined, or JSON cannot carry it.
        """
        self._signature = signature
        self.placed = [(self._codec(each.name), each) for each in signature.placed]
        self.named = {each.name: (self._codec(each.name), each) for each in signature.named}
        self.rest = self._codec(signature.rest) if signature.rest else None
        self.required = sum(each.is_required for each in signature.placed)
        self._together: dict[int, ModelCodec | None] = {}

    def _codec(self, name: str) -> Codec:
        kind = self._signature.annotations.get(name, Any)
        return codec_of(kind, f"The argument {name!r} of {self._signature.name}")

    def together(self, count: int) -> ModelCodec | None:
        """Return the codec of the first arguments, as one array; None where none has a model."""
        if count not in self._together:
            self._together[count] = self._codec_together(count)
        return self._together[count]

    def _codec_together(self, count: int) -> ModelCodec | None:
        codecs = [codec for codec, _ in self.placed[:count]]
        if all(isinstance(codec, PlainCodec) for codec in codecs):
            return None
        from ojs_aws.typed_jobs.model_values import model_codec, tuple_of  # imports pydantic

        names = [each.name for each in self._signature.placed[:count]]
        kinds = tuple_of(self._signature.annotations.get(name, Any) for name in names)
        return model_codec(kinds, self._signature.name)

    def at(self, place: int) -> tuple[Codec, str]:
        """Return the codec and the name of the argument at a place.

        :raises IndexError: the function has no argument there.
        """
        if place < len(self.placed) or self.rest is None:
            codec, parameter = self.placed[place]
            return codec, parameter.name
        return self.rest, f"{self._signature.rest}[{place - len(self.placed)}]"


class ArgumentEncoder:
    """Writes the arguments of one function for the wire."""

    def __init__(self, signature: JobSignature, types: ArgumentTypes) -> None:
        """Write for this function."""
        self._signature = signature
        self.types = self._types = types
        self._steps = [(codec.encode, each.name) for codec, each in types.placed]
        is_simple = not types.named and types.rest is None
        self._simple_counts = range(types.required, len(self._steps) + 1) if is_simple else range(0)

    def encode(
        self, args: Sequence[object], keywords: Mapping[str, object], *, is_whole: bool = False
    ) -> Wire:
        """Return the arguments on the wire.

        :param is_whole: write out all defaults, also those at the end.
        :raises TypeError: the function does not take these arguments.
        :raises WrongValueError: a value does not have its declared type.
        """
        if keywords or is_whole or len(args) not in self._simple_counts:
            return self._encode_all(args, keywords, is_whole=is_whole)
        together = self._types.together(len(args))
        if together is not None and (text := together.text_of(args)) is not None:
            return text
        return [
            encode(value, name) for value, (encode, name) in zip(args, self._steps, strict=False)
        ]

    def _encode_all(
        self, args: Sequence[object], keywords: Mapping[str, object], *, is_whole: bool
    ) -> list[JsonValue]:
        self._check_fit(args, keywords)
        placed, left = [*args], dict(keywords)
        by_name = self._signature.placed[len(args) :]
        placed += [left.pop(each.name, NO_DEFAULT) for each in by_name]
        named = self._named(left, is_whole=is_whole)
        if not named and not is_whole:
            while placed and placed[-1] is NO_DEFAULT:
                placed.pop()
        wire = [self._at(place, value) for place, value in enumerate(placed)]
        return [*wire, named] if named else wire

    def _at(self, place: int, value: object) -> JsonValue:
        codec, name = self._types.at(place)
        if value is NO_DEFAULT:
            value = self._signature.placed[place].default
        return codec.encode(value, name)

    def _named(self, given: Mapping[str, object], *, is_whole: bool) -> dict[str, JsonValue]:
        """Return the object of the keyword-only arguments."""
        found: dict[str, JsonValue] = {}
        for name, (codec, parameter) in self._types.named.items():
            if name in given:
                found[name] = codec.encode(given[name], name)
            elif is_whole:
                found[name] = codec.encode(parameter.default, name)
        return found

    def _check_fit(self, args: Sequence[object], keywords: Mapping[str, object]) -> None:
        """Refuse arguments that the function does not take.

        :raises TypeError: naming the argument.
        """
        placed = self._signature.placed
        by_place = placed[: len(args)]
        is_fitting = (
            (len(args) <= len(placed) or self._types.rest is not None)
            and all(map(self._takes, keywords))
            and not any(each.name in keywords for each in by_place)
            and not any(_is_missing(each, keywords) for each in placed[len(args) :])
            and not any(_is_missing(each, keywords) for each in self._signature.named)
        )
        if not is_fitting:
            raise self._misfit(args, keywords)

    def _takes(self, name: str) -> bool:
        """Return whether an argument can be given by this name."""
        return name in self._types.named or any(
            each.name == name and not each.is_placed_only for each in self._signature.placed
        )

    def _misfit(self, args: Sequence[object], keywords: Mapping[str, object]) -> TypeError:
        """Return Python's own error for arguments that do not fit; it shows no values."""
        context = (None,) if self._signature.has_context else ()
        try:
            self._signature.signature.bind(*context, *args, **keywords)
        except TypeError as problem:
            return TypeError(f"{self._signature.name}(): {problem}")
        return TypeError(f"{self._signature.name}() does not take these arguments.")


def _is_missing(parameter: Parameter, keywords: Mapping[str, object]) -> bool:
    return parameter.is_required and parameter.name not in keywords


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


def codec_of(kind: object, place: str) -> Codec:
    """Return the codec of a type.

    :param kind: an annotation, with all names resolved.
    :param place: what has the type, for the message: ``the argument 'order' of send_email``.
    :raises RegistrationError: no JSON stands for values of this type.
    """
    check = plain_check(kind)
    if check is not None:
        return PlainCodec(check)
    from ojs_aws.typed_jobs.model_values import model_codec  # imports pydantic

    return model_codec(kind, place)
