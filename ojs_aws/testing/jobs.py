"""Shows the jobs of a test, with the types that their declarations give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from ojs_aws.domain.envelope import Job
from ojs_aws.services.jobs.render import render_job
from ojs_aws.testing.arguments import arguments_of
from ojs_aws.typed_jobs.calls import JobCall
from ojs_aws.typed_jobs.senders import Sender

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.typed_jobs.declarations import JobDeclaration

R = TypeVar("R")

JobKind: TypeAlias = "str | Sender[..., R] | JobCall[R]"
"""What an assertion is about: a job type, a typed job, or a call of one with its arguments."""


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
