"""Read how a function declares the arguments of a job."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.middleware.synchronous import SyncJobContext

NO_DEFAULT: Final = inspect.Parameter.empty
UNKNOWN: Final = object()
"""Stands for the type of a parameter that cannot be resolved yet."""

CONTEXTS: Final = (JobContext, SyncJobContext)

_RECURSIVE: Final = {"JsonValue": Any}
"""Types that contain themselves, which cannot be resolved; any value is accepted for them."""

_PLACED: Final = {
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """Describes one argument of a job.

    :ivar default: the value if the argument is left out, or ``NO_DEFAULT``.
    :ivar is_placed_only: the argument cannot be given by its name.
    """

    name: str
    default: object = NO_DEFAULT
    is_placed_only: bool = False

    @property
    def is_required(self) -> bool:
        """Return True if there is no default."""
        return self.default is NO_DEFAULT


@dataclass(frozen=True)
class JobSignature:
    """Holds the parameters of a job's function, without the context.

    :ivar placed: the positional ones, each with a position among the arguments on the wire.
    :ivar named: the keyword-only ones, which the wire has as one object behind the others.
    :ivar rest: the name of ``*args``, or empty.
    """

    function: Callable[..., Any]
    signature: inspect.Signature
    placed: tuple[Parameter, ...]
    named: tuple[Parameter, ...] = ()
    rest: str = ""
    has_context: bool = False
    is_async: bool = field(default=False)

    @property
    def name(self) -> str:
        """Return the name of the function."""
        return str(getattr(self.function, "__qualname__", None) or repr(self.function))

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """Return the types of the parameters, and of ``return``, with all names resolved.

        They are read when they are first needed: a type may be defined below the function.

        :raises RegistrationError: a name cannot be resolved.
        """
        function = inspect.unwrap(self.function)
        try:
            return typing.get_type_hints(function, localns=_RECURSIVE, include_extras=True)
        except NameError as unknown:
            raise RegistrationError(
                f"The type {unknown.name!r} in the signature of {self.name} is not defined where "
                "the function is. Import it at the top of the module, not under TYPE_CHECKING."
            ) from None
        except TypeError as problem:
            raise RegistrationError(
                f"The types in the signature of {self.name} cannot be read: {problem}"
            ) from None

    def known_type(self, name: str) -> Any:
        """Return the type of a parameter, or UNKNOWN if a name in it is not defined yet.

        A parameter without an annotation has the type Any.
        """
        written = self.signature.parameters[name].annotation
        if written is NO_DEFAULT:
            return Any
        if not isinstance(written, str):
            return written
        alone = types.SimpleNamespace(__annotations__={name: written})
        scope = getattr(inspect.unwrap(self.function), "__globals__", {})
        try:
            return typing.get_type_hints(alone, scope, _RECURSIVE, include_extras=True)[name]
        except Exception:  # noqa: BLE001 - a name is not defined yet: a worker says so, or a sender
            return UNKNOWN

    def check_context(self) -> None:
        """Check that the first parameter, and no other, is the context if ``context`` is set.

        :raises RegistrationError: the flag ``context`` and the annotations disagree.
        """
        parameters = list(self.signature.parameters)
        for position, name in enumerate(parameters):
            kind = self.annotations.get(name)
            if kind in CONTEXTS and not (position == 0 and self.has_context):
                raise RegistrationError(_misplaced(self, name, position))
        if self.has_context:
            self.check_kind(self.annotations.get(parameters[0], Any))

    def check_kind(self, kind: object) -> None:
        """Check the type of the context.

        :raises RegistrationError: a function of this kind gets a context of another type.
        """
        expected = JobContext if self.is_async else SyncJobContext
        if kind in (expected, Any, object, UNKNOWN):  # not all types have a hash
            return
        if kind in CONTEXTS:
            which = "an async function" if self.is_async else "a function without async"
            raise RegistrationError(
                f"The context of {self.name} must have the type {expected.__name__}: it is {which}."
            )
        first, *others = self.signature.parameters
        left = others if first in {"ctx", "context"} else [first, *others]
        shown = ", ".join([f"ctx: {expected.__name__}", *left])
        raise RegistrationError(
            f"{self.name} is declared with context=True, so its first parameter must be the "
            f"context: {self.name}({shown})."
        )


def read_signature(function: Callable[..., Any], *, has_context: bool) -> JobSignature:
    """Return the parameters of a function that is to be a job.

    :raises RegistrationError: the wire cannot carry arguments for these parameters.
    """
    if not inspect.isroutine(function):
        shown = type(function).__name__
        raise RegistrationError(f"A job is declared by decorating a function, not a {shown}.")
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    name = getattr(function, "__qualname__", repr(function))
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise RegistrationError(f"{name} is a generator: a job returns its result.")
    if has_context:
        if not parameters or parameters[0].kind not in _PLACED:
            raise RegistrationError(
                f"{name} is declared with context=True, so it must take the context first: "
                f"{name}(ctx: JobContext, ...)."
            )
        del parameters[0]
    _check_kinds(name, parameters)
    read = JobSignature(
        function=function,
        signature=signature,
        placed=tuple(_parameter(each) for each in parameters if each.kind in _PLACED),
        named=tuple(_parameter(each) for each in parameters if each.kind is each.KEYWORD_ONLY),
        rest=next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), ""),
        has_context=has_context,
        is_async=inspect.iscoroutinefunction(function),
    )
    _check_early(read)
    return read


def _parameter(given: inspect.Parameter) -> Parameter:
    return Parameter(given.name, given.default, given.kind is given.POSITIONAL_ONLY)


def _check_kinds(name: str, parameters: Sequence[inspect.Parameter]) -> None:
    """Refuse parameters that the wire cannot carry."""
    kinds = {each.kind for each in parameters}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        raise RegistrationError(f"{name} takes **keywords: a job names each of its arguments.")
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY} <= kinds:
        raise RegistrationError(
            f"{name} takes *args and keyword-only arguments: on the wire nobody could tell where "
            "the one ends and the other begins. Take a list in place of *args."
        )


def _check_early(read: JobSignature) -> None:
    """Refuse a misplaced context at once, even if other types are not defined yet."""
    names = {kind.__name__ for kind in CONTEXTS}
    for position, each in enumerate(read.signature.parameters.values()):
        kind = each.annotation
        written = kind.rpartition(".")[2] if isinstance(kind, str) else ""
        if (kind in CONTEXTS or written in names) and not (position == 0 and read.has_context):
            raise RegistrationError(_misplaced(read, each.name, position))
    if read.has_context:
        read.check_kind(read.known_type(next(iter(read.signature.parameters))))


def _misplaced(read: JobSignature, name: str, position: int) -> str:
    if position:
        return f"The context of {read.name} must be its first parameter, not {name!r}."
    return (
        f"{read.name} takes the context, so it must be declared with context=True: "
        "@jobs.job(..., context=True)."
    )
