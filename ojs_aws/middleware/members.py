"""Keep the members of a chain, which a class, a unique name or an instance addresses."""

from __future__ import annotations

import functools
import inspect
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Self, TypeVar

from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.protocols import (
    Call,
    HookDefaults,
    Interface,
    MiddlewareDefaults,
    check,
    method_of,
    problem_of,
)
from ojs_aws.middleware.results import (
    AmbiguousMiddlewareError,
    ChainFrozenError,
    InvalidMiddlewareError,
    MiddlewareWarning,
    UnknownMiddlewareError,
)

STARTED: Final = "it processed its first job"

_lock: Final = threading.RLock()
"""One lock serves all chains: each is set up once, and an own lock would prevent copies."""

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Member:
    """Holds what was added, its name, and what is called for each interface it has."""

    name: str
    middleware: object
    calls: Mapping[str, Call]


@dataclass(frozen=True, slots=True)
class Layer:
    """Holds the name of a member, and what one operation calls."""

    name: str
    call: Call


@dataclass(frozen=True, slots=True)
class Described:
    """Describes one member for people and the API (section 5.4).

    :ivar name: by which it is addressed.
    :ivar kind: its class, or the function itself, with its module.
    :ivar implements: the interfaces by which it takes part.
    """

    name: str
    kind: str
    implements: tuple[str, ...]

    def as_dict(self) -> dict[str, JsonValue]:
        """Return it as JSON data."""
        return {"name": self.name, "kind": self.kind, "implements": [*self.implements]}


class Members:
    """Keeps an ordered list of middleware, with the five operations of section 5.1.

    A middleware is an object with the chain's method or ``call``, a function, or a class of such
    objects that needs no arguments. It is addressed by its class, by itself, or by its name: its
    attribute ``name``, else ``LoggingMiddleware`` is ``logging`` and a function has its own name.
    A class may appear several times; then instances and names tell its objects apart, and a name
    that is taken gets a number (``logging-2``). A class that is not in the chain stands for its
    subclasses.
    """

    interfaces: ClassVar[tuple[Interface, ...]] = ()
    """What a member may implement; the first one may be a plain function."""

    def __init__(self, middleware: Iterable[object] = ()) -> None:
        """Add these, the first outermost."""
        self._members: tuple[Member, ...] = ()
        self._frozen = ""
        for member in middleware:
            self.add(member)

    # ------------------------------------------------------------------ changing
    def add(self, middleware: object, *, name: str = "") -> Self:
        """Append a middleware: it becomes the innermost."""
        with _lock:
            return self._insert(len(self._members), middleware, name)

    def prepend(self, middleware: object, *, name: str = "") -> Self:
        """Insert a middleware first: it becomes the outermost."""
        with _lock:
            return self._insert(0, middleware, name)

    def insert_before(self, existing: object, middleware: object, *, name: str = "") -> Self:
        """Insert a middleware immediately before another one.

        :raises UnknownMiddlewareError: the chain has no such middleware.
        :raises AmbiguousMiddlewareError: it has several.
        """
        with _lock:
            return self._insert(self._position(existing), middleware, name)

    def insert_after(self, existing: object, middleware: object, *, name: str = "") -> Self:
        """Insert a middleware immediately after another one; raises like ``insert_before``."""
        with _lock:
            return self._insert(self._position(existing) + 1, middleware, name)

    def remove(self, middleware: object) -> Self:
        """Remove a middleware; raises like ``insert_before``."""
        with _lock:
            self.refuse_when_frozen()
            position = self._position(middleware)
            self._members = self._members[:position] + self._members[position + 1 :]
        return self

    def freeze(self, because: str = "freeze() was called") -> Self:
        """Refuse every later change; freezing twice is no error."""
        if not self._frozen:
            with _lock:
                self._frozen = because
        return self

    @property
    def is_frozen(self) -> bool:
        """Return True if the chain can no longer be changed."""
        return bool(self._frozen)

    def refuse_when_frozen(self) -> None:
        """Raise when the chain can no longer be changed.

        :raises ChainFrozenError: saying when it was frozen.
        """
        if self._frozen:
            raise ChainFrozenError(
                f"The chain can no longer be changed: it was frozen when {self._frozen}. Set it up "
                "before the first job."
            )

    def _insert(self, position: int, middleware: object, name: str) -> Self:
        self.refuse_when_frozen()
        middleware = middleware() if inspect.isclass(middleware) else middleware
        calls = self._calls_of(middleware)
        member = Member(self._unique(name or _name_of(middleware)), middleware, calls)
        self._members = (*self._members[:position], member, *self._members[position:])
        return self

    def _unique(self, name: str) -> str:
        taken = {member.name for member in self._members}
        candidate, number = name, 1
        while candidate in taken:
            number += 1
            candidate = f"{name}-{number}"
        return candidate

    def _calls_of(self, middleware: object) -> dict[str, Call]:
        """Find out once what a middleware implements, and refuse what could never be called."""
        calls: dict[str, Call] = {}
        for interface in self.interfaces:
            found, name = method_of(middleware, interface)
            if found is None:
                continue
            if problem := problem_of(found, interface, name):
                raise InvalidMiddlewareError(f"{middleware!r} is no middleware here: {problem}")
            calls[interface.name] = found
        near_misses = check(middleware).problems
        if not calls and not isinstance(middleware, MiddlewareDefaults | HookDefaults):
            wanted = ", ".join(interface.shown for interface in self.interfaces)
            slips = [problem for problem in near_misses if "never called" in problem]
            hint = f" {slips[0]}" if slips else ""
            raise InvalidMiddlewareError(
                f"{middleware!r} has none of the methods that this chain calls: {wanted}.{hint}"
            )
        for problem in near_misses:
            warnings.warn(f"{middleware!r}: {problem}", MiddlewareWarning, stacklevel=5)
        return calls

    def layers(self, interface: Interface) -> tuple[Layer, ...]:
        """Return the members that implement an interface, outermost first."""
        return tuple(
            Layer(member.name, member.calls[interface.name])
            for member in self._members
            if interface.name in member.calls
        )

    def _position(self, reference: object) -> int:
        found = [n for n, member in enumerate(self._members) if _is_meant(member, reference)]
        if not found and inspect.isclass(reference):
            found = [
                n
                for n, member in enumerate(self._members)
                if isinstance(member.middleware, reference)
            ]
        if len(found) == 1:
            return found[0]
        shown = reference.__name__ if inspect.isclass(reference) else repr(reference)
        if found:
            names = ", ".join(self._members[n].name for n in found)
            raise AmbiguousMiddlewareError(f"{shown} is more than one of the chain: {names}.")
        raise UnknownMiddlewareError(f"{shown} is not in the chain: {self!r}.")

    # ------------------------------------------------------------------ looking
    def members(self) -> tuple[Member, ...]:
        """Return what was added, with names and interfaces, outermost first."""
        return self._members

    def described(self) -> list[Described]:
        """Return what the members are, outermost or first called first."""
        return [
            Described(member.name, _kind(member.middleware), tuple(member.calls))
            for member in self._members
        ]

    def names(self) -> list[str]:
        """Return the names, outermost first."""
        return [member.name for member in self._members]

    def __iter__(self) -> Iterator[object]:
        """Return the middleware, outermost first."""
        return iter([member.middleware for member in self._members])

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._members)

    def __repr__(self) -> str:
        """Return the names in order."""
        frozen = ", frozen" if self._frozen else ""
        return f"<{type(self).__name__} {' > '.join(self.names()) or 'empty'}{frozen}>"


def _name_of(middleware: object) -> str:
    while isinstance(middleware, functools.partial):
        middleware = middleware.func
    name = getattr(middleware, "name", None)
    if isinstance(name, str) and name:
        return name
    if inspect.isroutine(middleware):
        return str(getattr(middleware, "__name__", "function"))
    plain = type(middleware).__name__.removesuffix("Middleware") or type(middleware).__name__
    return _WORD.sub("_", plain).lower()


def _kind(middleware: object) -> str:
    named = middleware if hasattr(middleware, "__qualname__") else type(middleware)
    if named.__module__.startswith(f"{__package__}."):
        return f"{__package__}.{named.__qualname__}"  # where users import ours from
    return f"{named.__module__}.{named.__qualname__}"


def _is_meant(member: Member, reference: object) -> bool:
    if inspect.isclass(reference):
        return type(member.middleware) is reference
    if isinstance(reference, str):
        return member.name == reference
    if inspect.ismethod(reference):  # a new object each time that it is looked up
        return member.middleware == reference
    return member.middleware is reference


M = TypeVar("M", bound=Members)


def given_or_made(kind: type[M], given: M | Iterable[object]) -> M:
    """Return the chain or the hooks that a caller gave, or new ones of what they listed."""
    return given if isinstance(given, kind) else kind(given)
