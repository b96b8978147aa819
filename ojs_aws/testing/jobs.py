"""Shows the jobs of a test: their arguments, patterns of calls, and captures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, overload
from unittest.mock import ANY

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import Member, encode
from ojs_aws.services.jobs.render import render_job
from ojs_aws.typed_jobs.calls import JobCall, JobTemplate
from ojs_aws.typed_jobs.senders import Sender

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.typed_jobs.declarations import JobDeclaration
    from ojs_aws.typed_jobs.values import Codec

R = TypeVar("R")
JobKind: TypeAlias = "str | Sender[..., R] | JobCall[R]"
"""What an assertion is about: a job type, a typed job, or a call of one with its arguments."""
R_co = TypeVar("R_co", covariant=True)


def arguments_of(declaration: JobDeclaration, job: Job) -> dict[str, Any]:
    """Return the arguments of a job by name, with the function's defaults.

    :raises UnexpectedArgumentsError: there are too many or too few.
    :raises WrongValueError: one does not have its declared type.
    """
    args, keywords = declaration.decoder.decode(job)
    return named_arguments(declaration, args, keywords)


def named_arguments(
    declaration: JobDeclaration, args: Sequence[object], keywords: Mapping[str, object]
) -> dict[str, Any]:
    """Return arguments by name, with the function's defaults.

    :raises TypeError: the function does not take them.
    """
    signature = declaration.signature
    context = (None,) if signature.has_context else ()
    bound = signature.signature.bind(*context, *args, **keywords)
    bound.apply_defaults()
    named = dict(bound.arguments)
    if signature.has_context:
        del named[next(iter(signature.signature.parameters))]
    return named


class EnqueuedJob(Job, Generic[R]):
    """Holds a job that was enqueued, as it was when the test asked for it.

    It has all attributes of :class:`~ojs_aws.Job`: ``id``, ``type``, ``queue``, ``args``, ``meta``,
    ``state``, ``attempt``, ``result``, ``error`` ...
    """

    __slots__ = ("_declaration",)

    _declaration: JobDeclaration | None

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments by the names of the function's parameters, with their types.

        :raises LookupError: the job is not typed: use ``args``.
        :raises WrongValueError: an argument does not have its declared type.
        """
        return arguments_of(self._known(), self)

    @property
    def returned(self) -> R:
        """Return the result as the function returned it.

        :raises LookupError: the job is not typed, or has not completed.
        :raises WrongValueError: it does not have the declared type.
        """
        declaration = self._known()
        if self.state != "completed":
            raise LookupError(f"Job {self.id} has no result: it is {self.state}.")
        return cast("R", declaration.decode_result(self.result))

    def _known(self) -> JobDeclaration:
        if self._declaration is None:
            raise LookupError(f"No typed job is declared for {self.type!r}: use args and result.")
        return self._declaration


def job_of(record: JobRecord, declaration: JobDeclaration | None = None) -> EnqueuedJob[Any]:
    """Return a job of the store for a test."""
    job: EnqueuedJob[Any] = EnqueuedJob.from_members(render_job(record))
    job._declaration = declaration  # noqa: SLF001 - of its own class
    return job


def type_of(kind: JobKind[Any]) -> str:
    """Return the job type that an assertion is about.

    :raises TypeError: something else was given.
    """
    given: object = kind  # whatever the annotation says
    if isinstance(given, str):
        return given
    if isinstance(given, (Sender, JobCall)):
        return given.type
    shown = getattr(given, "__qualname__", type(given).__name__)
    raise TypeError(
        f"Name a job by its type, a typed job or a call of one: 'email.send', send_email or "
        f"send_email.call(...), not {shown}."
    )


def declaration_of(kind: JobKind[Any]) -> JobDeclaration | None:
    """Return the declaration of a typed job; None for a mere type."""
    return None if isinstance(kind, str) else kind.declaration


class CallPattern(JobCall[R_co]):
    """Stands for all calls of a job with such arguments; it cannot be sent."""

    __slots__ = ("given",)

    def __init__(
        self, declaration: JobDeclaration, args: Sequence[object], keywords: Mapping[str, object]
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


class Captured(Sequence[EnqueuedJob[Any]]):
    """Holds the jobs that a block enqueued, in their order, as they are now."""

    def __init__(self, jobs: Callable[[], list[EnqueuedJob[Any]]]) -> None:
        """Begin; what is there already does not count."""
        self._jobs = jobs
        self._before = {job.id for job in jobs()}
        self._ids: list[str] | None = None

    def _end(self) -> None:
        """End the block: later jobs do not count."""
        self._ids = [job.id for job in self._found()]

    def _found(self) -> list[EnqueuedJob[Any]]:
        chosen = None if self._ids is None else set(self._ids)
        return [
            job
            for job in self._jobs()
            if (job.id not in self._before if chosen is None else job.id in chosen)
        ]

    @overload
    def __getitem__(self, index: int) -> EnqueuedJob[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[EnqueuedJob[Any]]: ...
    def __getitem__(self, index: int | slice) -> EnqueuedJob[Any] | list[EnqueuedJob[Any]]:
        """Return one of the jobs, or some."""
        return self._found()[index]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._found())

    def __repr__(self) -> str:
        """Show the jobs."""
        return f"<Captured {self._found()!r}>"


@contextmanager
def capturing(jobs: Callable[[], list[EnqueuedJob[Any]]]) -> Iterator[Captured]:
    """Collect the jobs that the block enqueues."""
    captured = Captured(jobs)
    try:
        yield captured
    finally:
        captured._end()  # noqa: SLF001 - of this module
