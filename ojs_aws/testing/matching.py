"""Compares jobs with what a test expects, and says in what they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from ojs_aws.domain.attributes import check_queue
from ojs_aws.testing.arguments import arguments_of
from ojs_aws.testing.jobs import EnqueuedJob, JobKind, declaration_of, type_of
from ojs_aws.testing.patterns import expected_arguments
from ojs_aws.typed_jobs.calls import JobCall

MISSING: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Difference:
    """Says in what a job differs from what was expected.

    :ivar place: the attribute, or the argument.
    """

    place: str
    expected: object
    actual: object


Check: TypeAlias = "Callable[[EnqueuedJob[Any]], Difference | None]"


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """Says which jobs a test means.

    :ivar kind: the type, the typed job or the call.
    :ivar args: the arguments on the wire; None for any.
    :ivar meta: a part of the metadata.
    :ivar attributes: of the job, by name.
    :ivar check: returns in what else a job differs; None where it does not.
    """

    kind: JobKind[Any]
    args: Sequence[object] | None = None
    meta: Mapping[str, object] | None = None
    attributes: Mapping[str, object]
    check: Check | None = None

    def __post_init__(self) -> None:
        """Check what can be checked before there is a job.

        :raises TypeError: no job type, typed job or call; or ``args`` beside a call, or no list.
        """
        type_of(self.kind)
        if self.args is not None:
            if isinstance(self.kind, JobCall):
                raise TypeError("A call has its arguments: give the call, or args, and not both.")
            if isinstance(self.args, (str, Mapping)) or not isinstance(self.args, Sequence):
                raise TypeError('args are a list, such as args=["a@b.c"].')
        if isinstance(queue := self.attributes.get("queue"), str):
            check_queue(queue)

    @property
    def type(self) -> str:
        """Return the job type."""
        return type_of(self.kind)

    @cached_property
    def _arguments(self) -> dict[str, Any] | None:
        return expected_arguments(self.kind) if isinstance(self.kind, JobCall) else None

    def differences(self, job: EnqueuedJob[Any]) -> list[Difference]:
        """Return in what a job differs; empty if it is meant."""
        found = []
        if job.type != self.type:
            found.append(Difference("type", self.type, job.type))
        else:
            found += self._argument_differences(job)
        for name, expected in self.attributes.items():
            actual = job.queue if name == "queue" else job.get(name, _DEFAULTS.get(name))
            if not expected == actual:  # noqa: SIM201 - ANY is on the left
                found.append(Difference(name, expected, actual))
        meta = job.meta
        for name, expected in (self.meta or {}).items():
            if name not in meta or not expected == meta[name]:  # noqa: SIM201
                found.append(Difference(f"meta[{name!r}]", expected, meta.get(name, Nothing())))
        if self.check is not None and (difference := self.check(job)) is not None:
            found.append(difference)
        return found

    def _argument_differences(self, job: EnqueuedJob[Any]) -> list[Difference]:
        declaration = declaration_of(self.kind)
        if self._arguments is not None and declaration is not None:
            try:
                actual = arguments_of(declaration, job)
            except TypeError as problem:
                return [Difference("args", _shown_call(self._arguments), f"{job.args} ({problem})")]
            return [
                Difference(name, expected, actual.get(name, Nothing()))
                for name, expected in self._arguments.items()
                if name not in actual or not expected == actual[name]  # noqa: SIM201
            ]
        if self.args is None:
            return []
        return list(_list_differences(list(self.args), job.args))

    def __str__(self) -> str:
        """Describe the jobs that are meant."""
        parts = [repr(self.type)]
        if self._arguments is not None:
            parts[0] += f"({_shown_call(self._arguments)})"
        if self.args is not None:
            parts.append(f"args={list(self.args)!r}")
        parts += [f"{name}={value!r}" for name, value in self.attributes.items()]
        if self.meta:
            parts.append(f"meta={dict(self.meta)!r}")
        return parts[0] + (f" with {', '.join(parts[1:])}" if parts[1:] else "")


class Nothing:
    """Stands for a value that is not there."""

    def __repr__(self) -> str:
        """Say so."""
        return MISSING


_DEFAULTS: Final[Mapping[str, int]] = {"priority": 0, "attempt": 0}


def _list_differences(expected: list[object], actual: list[Any]) -> list[Difference]:
    if len(expected) != len(actual):
        return [Difference("args", expected, actual)]
    return [
        Difference(f"args[{place}]", one, other)
        for place, (one, other) in enumerate(zip(expected, actual, strict=True))
        if not one == other  # noqa: SIM201
    ]


def _shown_call(arguments: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
