"""The members of a chain: an ordered list, addressed by class, unique name or instance."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from ojs_aws.middleware.errors import (
    AmbiguousMiddlewareError,
    ChainFrozenError,
    InvalidMiddlewareError,
    UnknownMiddlewareError,
)

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

Call = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Layer:
    """One member: what was added, its name, and what is called for a job."""

    name: str
    middleware: object
    call: Call


L = TypeVar("L")


class Members(Generic[L]):
    """An ordered list of middleware with the five operations of section 5.1.

    A middleware is an object with the chain's method or ``call``, a function, or a class of such
    objects that needs no arguments. It is addressed by its class, by itself, or by its name: its
    attribute ``name``, else ``LoggingMiddleware`` is ``logging`` and a function has its own name.
    A class may appear several times; then instances and names tell its objects apart, and a name
    that is taken gets a number (``logging-2``). A class that is not in the chain stands for its
    subclasses.
    """

    methods: tuple[str, ...] = ("call",)
    """What a middleware's method may be called, the first one preferred."""

    parameters: tuple[str, ...] = ()
    """What it is called with."""

    def __init__(self, middleware: Iterable[object] = ()) -> None:
        """A chain of these, the first outermost."""
        self._layers: tuple[Layer, ...] = ()
        self._frozen = ""
        for member in middleware:
            self.add(member)

    # ------------------------------------------------------------------ changing
    def add(self, middleware: object, *, name: str = "") -> Self:
        """Append a middleware: it becomes the innermost."""
        return self._insert(len(self._layers), middleware, name)

    def prepend(self, middleware: object, *, name: str = "") -> Self:
        """Insert a middleware first: it becomes the outermost."""
        return self._insert(0, middleware, name)

    def insert_before(self, existing: object, middleware: object, *, name: str = "") -> Self:
        """Insert a middleware immediately before another one.

        :raises UnknownMiddlewareError: the chain has no such middleware.
        :raises AmbiguousMiddlewareError: it has several.
        """
        return self._insert(self._position(existing), middleware, name)

    def insert_after(self, existing: object, middleware: object, *, name: str = "") -> Self:
        """Insert a middleware immediately after another one; raises like ``insert_before``."""
        return self._insert(self._position(existing) + 1, middleware, name)

    def remove(self, middleware: object) -> Self:
        """Remove a middleware; raises like ``insert_before``."""
        self._refuse_when_frozen()
        position = self._position(middleware)
        self._layers = self._layers[:position] + self._layers[position + 1 :]
        return self

    def freeze(self, because: str = "freeze() was called") -> Self:
        """Refuse every later change; freezing twice is no error."""
        self._frozen = self._frozen or because
        return self

    @property
    def is_frozen(self) -> bool:
        """Whether the chain can no longer be changed."""
        return bool(self._frozen)

    def _refuse_when_frozen(self) -> None:
        if self._frozen:
            raise ChainFrozenError(
                f"The chain can no longer be changed: it was frozen when {self._frozen}. Set it up "
                "before the first job."
            )

    def _insert(self, position: int, middleware: object, name: str) -> Self:
        self._refuse_when_frozen()
        member = middleware() if inspect.isclass(middleware) else middleware
        layer = Layer(self._unique(name or _name_of(member)), member, self._call_of(member))
        self._layers = (*self._layers[:position], layer, *self._layers[position:])
        return self

    def _unique(self, name: str) -> str:
        taken = {layer.name for layer in self._layers}
        candidate, number = name, 1
        while candidate in taken:
            number += 1
            candidate = f"{name}-{number}"
        return candidate

    def _call_of(self, member: object) -> Call:
        for method in self.methods:
            found = getattr(member, method, None)
            if callable(found):
                return self._checked(found, member)
        if callable(member):
            return self._checked(member, member)
        wanted = " or ".join(f"{method}()" for method in self.methods)
        raise InvalidMiddlewareError(
            f"{member!r} is no middleware: it needs a method {wanted}, or be callable."
        )

    def _checked(self, call: Call, member: object) -> Call:
        """Refuse at configuration what could not be called when the first job comes."""
        try:
            signature = inspect.signature(call)
        except ValueError:  # a builtin that does not tell
            return call
        try:
            signature.bind(*self.parameters)
        except TypeError as problem:
            raise InvalidMiddlewareError(
                f"{member!r} cannot be called with ({', '.join(self.parameters)}): its signature "
                f"is {signature}."
            ) from problem
        if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
            raise InvalidMiddlewareError(f"{member!r} is a generator, and no middleware.")
        return call

    def _position(self, reference: object) -> int:
        found = [n for n, layer in enumerate(self._layers) if _is_meant(layer, reference)]
        if not found and inspect.isclass(reference):
            members = enumerate(self._layers)
            found = [n for n, layer in members if isinstance(layer.middleware, reference)]
        if len(found) == 1:
            return found[0]
        shown = reference.__name__ if inspect.isclass(reference) else repr(reference)
        if found:
            names = ", ".join(self._layers[n].name for n in found)
            raise AmbiguousMiddlewareError(f"{shown} is more than one of the chain: {names}.")
        raise UnknownMiddlewareError(f"{shown} is not in the chain: {self!r}.")

    # ------------------------------------------------------------------ looking
    def names(self) -> list[str]:
        """The names, outermost first."""
        return [layer.name for layer in self._layers]

    def __iter__(self) -> Iterator[object]:
        """The middleware, outermost first."""
        return iter([layer.middleware for layer in self._layers])

    def __len__(self) -> int:
        """How many there are."""
        return len(self._layers)

    def __repr__(self) -> str:
        """The chain in order."""
        frozen = ", frozen" if self._frozen else ""
        return f"<{type(self).__name__} {' > '.join(self.names()) or 'empty'}{frozen}>"


def _name_of(member: object) -> str:
    name = getattr(member, "name", None)
    if isinstance(name, str) and name:
        return name
    if inspect.isroutine(member):
        return str(getattr(member, "__name__", "function"))
    plain = type(member).__name__.removesuffix("Middleware") or type(member).__name__
    return _WORD.sub("_", plain).lower()


def _is_meant(layer: Layer, reference: object) -> bool:
    if inspect.isclass(reference):
        return type(layer.middleware) is reference
    if isinstance(reference, str):
        return layer.name == reference
    if inspect.ismethod(reference):  # a new object each time that it is looked up
        return layer.middleware == reference
    return layer.middleware is reference
