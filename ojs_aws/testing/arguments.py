"""Reads arguments by the names of their parameters, to compare and to show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ojs_aws.domain.envelope import Job
    from ojs_aws.typed_jobs.declarations import JobDeclaration


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
