"""Registers the handlers of a worker, by job type."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from ojs_aws.domain.attributes import check_type
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.versions import ANY, Version, VersionRange, read_version
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import RegistrationError

H = TypeVar("H", bound=Callable[..., object])

_SHOWN: Final = 10
_EVERY: Final = VersionRange(ANY)


class NoHandlerError(LookupError):
    """Reports that the worker has no handler for the type of a job."""


class ArgumentsError(TypeError):
    """Reports that the arguments of a job do not fit its handler's parameters."""


@dataclass(frozen=True, slots=True)
class Handler:
    """Holds a registered function.

    :ivar is_async: whether calling it gives an awaitable; other functions run in a thread.
    :ivar versions: of jobs that it takes (ojs-job-versioning, section 8.1).
    """

    type: str
    function: Callable[..., object]
    is_async: bool
    signature: inspect.Signature | None
    versions: VersionRange = _EVERY

    def bound_to(self, ctx: JobContext) -> Callable[[], object]:
        """Return the call of the function with the arguments of a job.

        :raises ArgumentsError: the function cannot take them.
        """
        self.check(ctx.job)
        return functools.partial(self.function, ctx, *ctx.job.args)

    def ends_with(self, problem: BaseException) -> bool:
        """Return whether an error that the function raised ends the job, whatever its policy."""
        del problem
        return False

    def prepare(self) -> None:
        """Do what can only be done when everything is imported; the worker starts now."""

    def check(self, job: Job) -> None:
        """Refuse arguments that the function cannot take.

        :raises ArgumentsError: saying what it takes.
        """
        if self.signature is None:
            return
        try:
            self.signature.bind(None, *job.args)
        except TypeError as problem:
            raise ArgumentsError(
                f"{_they_do(job)} not fit its handler "
                f"{_name(self.function)}{self.signature}: {problem}.{self._advice(job)}"
            ) from None

    def _advice(self, job: Job) -> str:
        """Return what to do about arguments that fit the parameters without a context."""
        try:
            self.signature.bind(*job.args) if self.signature else None
        except TypeError:
            return ""
        return " Its first parameter must be the JobContext."


class HandlerRegistry:
    """Maps job types to functions. Filled at import, frozen when the worker starts."""

    def __init__(self) -> None:
        """Start empty."""
        self._handlers: dict[str, list[Handler]] = {}
        self._patterns: dict[str, Handler] = {}
        self._is_frozen = False

    def handler(self, job_type: str, *, versions: str = ANY) -> Callable[[H], H]:
        """Register the decorated function, which stays as it is.

        It is called with the :class:`~ojs_aws.JobContext` and then the job's arguments.

        :param versions: of jobs that it takes: ``"2.0"``, ``">=1.0 <3.0"``, or any.
        :raises RegistrationError: no valid type, no function, no versions, a second handler for
            the same versions of the type, or the worker has started.
        """
        if not isinstance(job_type, str):
            raise RegistrationError('name the job type: @worker.handler("email.send")')

        def register(function: H) -> H:
            self.add(job_type, function, versions=versions)
            return function

        return register

    def add(self, job_type: str, function: Callable[..., object], *, versions: str = ANY) -> None:
        """Register a function without a decorator.

        :raises RegistrationError: as for :meth:`handler`.
        """
        if not callable(function):
            raise RegistrationError(f"the handler of {job_type!r} is not callable")
        accepted = versions_of(job_type, versions)
        signature = _checked_signature(job_type, function)
        self.add_handler(Handler(job_type, function, _is_async(function), signature, accepted))

    def add_handler(self, handler: Handler) -> None:
        """Register a handler.

        :raises RegistrationError: a second handler for the same versions of the type, or the
            worker has started.
        """
        if self._is_frozen:
            raise RegistrationError(f"{handler.type!r} was registered after the worker had started")
        registered = self._handlers.get(handler.type, [])
        for taken in registered:
            if taken.versions.clauses == handler.versions.clauses:
                raise RegistrationError(
                    f"{handler.type!r} has a handler already: {_name(taken.function)} in "
                    f"{getattr(taken.function, '__module__', '?')}"
                )
        self._handlers[handler.type] = [*registered, handler]

    def add_pattern(self, handler: Handler) -> None:
        """Register a handler for all types that begin alike, and have none of their own.

        :param handler: its type is such as ``email.*``, or ``*``; the longest that fits counts.
        :raises RegistrationError: a ``*`` elsewhere than at the end, a second handler for the
            pattern, or the worker has started.
        """
        pattern = handler.type
        if "*" in pattern[:-1]:
            raise RegistrationError(f"a pattern of job types has one * at its end, not {pattern!r}")
        if not pattern.endswith("*"):
            versions_of(pattern, ANY)
            self.add_handler(handler)
            return
        if self._is_frozen:
            raise RegistrationError(f"{pattern!r} was registered after the worker had started")
        if pattern in self._patterns:
            raise RegistrationError(f"{pattern!r} has a handler already")
        self._patterns[pattern] = handler

    def find(self, job_type: str, version: JsonValue = None) -> Handler:
        """Return the handler of a type, or of a version of it.

        A versioned job goes to the first handler whose versions include it, one for any version
        coming last. A job without a version goes to the one for any, else to the first.

        :raises NoHandlerError: naming the nearest type that has one, or the versions that have.
        """
        registered = self._handlers.get(job_type)
        if registered is not None:
            return _of_version(registered, job_type, read_version(version))
        fitting = [each for each in self._patterns if job_type.startswith(each[:-1])]
        if fitting:
            return self._patterns[max(fitting, key=len)]
        near = difflib.get_close_matches(job_type, self._handlers, n=1)
        known = sorted([*self._handlers, *self._patterns])
        shown = ", ".join(known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
        raise NoHandlerError(
            f"No handler is registered for {job_type!r}."
            + (f" Did you mean {near[0]!r}?" if near else "")
            + f" Registered: {shown or 'none'}."
        )

    def freeze(self) -> None:
        """Refuse further handlers; the worker starts now.

        :raises RegistrationError: the types of a typed job cannot be resolved, or the secret that
            signs deliveries cannot be read.
        """
        if self._is_frozen:
            return
        for handlers in [*self._handlers.values(), [*self._patterns.values()]]:
            for handler in handlers:
                handler.prepare()
        self._is_frozen = True

    def __contains__(self, job_type: object) -> bool:
        """Return whether the type has a handler of its own."""
        return job_type in self._handlers

    def __iter__(self) -> Iterator[str]:
        """Yield the types that have a handler, in the order of registration, then patterns."""
        return iter([*self._handlers, *self._patterns])

    def __len__(self) -> int:
        """Return how many types and patterns have a handler."""
        return len(self._handlers) + len(self._patterns)


def versions_of(job_type: str, versions: str) -> VersionRange:
    """Return the versions of a type that a handler takes.

    :raises RegistrationError: no valid type, or no versions.
    """
    try:
        check_type(job_type)
        return VersionRange.parse(versions)
    except Exception as problem:
        raise RegistrationError(str(problem)) from problem


def _of_version(handlers: Sequence[Handler], job_type: str, version: Version | None) -> Handler:
    """Return the handler of a type that takes a version (VER-004, VER-006)."""
    any_version = next((each for each in handlers if each.versions.is_any), None)
    if version is None:
        return any_version or handlers[0]
    named = [each for each in handlers if not each.versions.is_any]
    found = next((each for each in named if each.versions.accepts(version)), any_version)
    if found is not None:
        return found
    known = ", ".join(each.versions.text for each in named)
    shown = ".".join(map(str, version[:2]))
    raise NoHandlerError(
        f"No handler of {job_type!r} takes version {shown}. Registered versions: {known}."
    )


def _is_async(function: Callable[..., object]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    call = getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _checked_signature(job_type: str, function: Callable[..., object]) -> inspect.Signature | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have none
        return None
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if not kinds & {
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    }:
        raise RegistrationError(
            f"the handler of {job_type!r} must take the JobContext first: "
            f"def {_name(function)}(ctx: JobContext, ...)"
        )
    return signature


def _name(function: Callable[..., object]) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))


def _they_do(job: Job) -> str:
    """Return the begin of a sentence about the arguments of a job."""
    count = len(job.args)
    if count == 1:
        return f"The argument of {job.type!r} does"
    return f"The {count} arguments of {job.type!r} do"
