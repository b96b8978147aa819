"""Runs typed jobs: reads their arguments, calls their functions, and writes their results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.domain.envelope import uncounted_attempts
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import JobTimeoutError
from ojs_aws.middleware.synchronous import SyncJobContext
from ojs_aws.typed_jobs.arguments import UnexpectedArgumentsError
from ojs_aws.typed_jobs.declarations import RESULT, JobDeclaration
from ojs_aws.typed_jobs.values import WrongValueError
from ojs_aws.worker.failure import DeadLetterError, JobError, SnoozeError
from ojs_aws.worker.registry import Handler, versions_of

SNOOZE_S: Final = 30
"""How long a job waits for another worker, in seconds."""

MOST_SNOOZES: Final = 120
"""After so many attempts that do not count, it is a dead letter: no newer worker came."""


class NewerArgumentsError(SnoozeError):
    """Snoozes a job with arguments that this version does not know: a newer worker may come."""

    def __init__(self, message: str) -> None:
        """Wait for a newer worker; the backend learns of a snooze like any other."""
        super().__init__(SNOOZE_S, f"{message} It waits for a worker that knows them.")
        self.type = SnoozeError.__name__


@dataclass(frozen=True, slots=True)
class TypedHandler(Handler):
    """Holds the function of a typed job."""

    declaration: JobDeclaration | None = None

    def bound_to(self, ctx: JobContext) -> Callable[[], object]:
        """Return the call of the function with the arguments of a job."""
        return functools.partial(self.function, ctx)

    def ends_with(self, problem: BaseException) -> bool:
        """Return whether it is no error that the declaration lets be retried (``retry_on``).

        Timeouts, and errors that say themselves what becomes of the job, go by the policy.
        """
        classes = None if self.declaration is None else self.declaration.retry_on
        if classes is None or isinstance(problem, (*classes, JobTimeoutError)):
            return False
        says = isinstance(problem, JobError) and (
            problem.response_code or problem.retryable is not None
        )
        return isinstance(problem, Exception) and not says

    def prepare(self) -> None:
        """Resolve the types of the function.

        :raises RegistrationError: a type is not defined, or JSON cannot carry it.
        """
        if self.declaration is not None:
            self.declaration.check()


def typed_handler(declaration: JobDeclaration) -> TypedHandler:
    """Return the handler of a typed job.

    :raises RegistrationError: no valid type, or no versions.
    """
    signature = declaration.signature
    run = _asynchronous(declaration) if signature.is_async else _synchronous(declaration)
    functools.update_wrapper(run, declaration.function)
    versions = versions_of(declaration.type, declaration.versions)
    return TypedHandler(declaration.type, run, signature.is_async, None, versions, declaration)


def _asynchronous(declaration: JobDeclaration) -> Callable[[JobContext], Any]:
    async def run(ctx: JobContext) -> object:
        returned = await _call(declaration, ctx, ctx)
        return _encoded(declaration, returned)

    return run


def _synchronous(declaration: JobDeclaration) -> Callable[[JobContext], Any]:
    def run(ctx: JobContext) -> object:
        returned = _call(declaration, ctx, SyncJobContext(ctx))
        return _encoded(declaration, returned)

    return run


def _call(declaration: JobDeclaration, ctx: JobContext, given: object) -> Any:
    """Call the function with the arguments of a job.

    :raises DeadLetterError: an argument does not have its declared type. A retry would find the
        same.
    :raises SnoozeError: there are too many or too few: a newer version may have sent them.
    """
    try:
        args, keywords = declaration.decoder.decode(ctx.job)
    except WrongValueError as wrong:
        raise DeadLetterError(
            f"The argument {wrong.field!r} of {declaration.type!r} must be {wrong.expected}.",
            type="ArgumentTypeError",
            details={"field": wrong.field},
        ) from None
    except UnexpectedArgumentsError as problem:
        raise _unexpected(declaration, ctx, problem) from None
    if declaration.signature.has_context:
        args.insert(0, given)
    return declaration.function(*args, **keywords)


def _unexpected(
    declaration: JobDeclaration, ctx: JobContext, problem: UnexpectedArgumentsError
) -> JobError:
    """Return what becomes of a job with arguments that this version does not know.

    While a deployment replaces workers one by one, a newer sender may be ahead of this worker. So
    the job waits for a newer worker, for about an hour, and nothing counts as a failure.
    """
    message = (
        f"The arguments of {declaration.type!r} do not fit {declaration.signature.name}"
        f"{declaration.signature.signature}: {problem}."
    )
    if uncounted_attempts(ctx.job) >= MOST_SNOOZES:
        return DeadLetterError(message, type="UnexpectedArgumentsError")
    return NewerArgumentsError(message)


def _encoded(declaration: JobDeclaration, returned: object) -> object:
    """Return a result as JSON has it.

    :raises TypeError: it does not have its declared type.
    """
    try:
        return declaration.result.encode(returned, RESULT)
    except WrongValueError as wrong:
        if "return" not in declaration.signature.annotations:
            raise TypeError(_no_json(declaration.signature.name, returned, wrong.field)) from None
        raise TypeError(
            f"{declaration.signature.name} returned another type than it declares: "
            f"{wrong.field!r} must be {wrong.expected}."
        ) from None


def _no_json(function: str, returned: object, field: str) -> str:
    """Say what a function without a declared result returned, and never its value."""
    where = "which is" if field == RESULT else f"in which {field!r} is"
    return (
        f"{function} returned a value of type {type(returned).__name__}, {where} no JSON value. "
        "Return text, numbers, lists or dicts of them, or declare the type of the result, such as "
        f"a model: def {function.rpartition('.')[2]}(...) -> Receipt."
    )
