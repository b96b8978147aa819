"""Hides from callers with bounds what errors say of queues and jobs outside of them."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.access import Caller, matches
from ojs_aws.domain.errors import (
    DuplicateError,
    JsonValue,
    OjsError,
    SchemaValidationError,
)

_QUEUES: Final = "queues"
_TYPES: Final = "allowed_job_types"
_OF_THE_REQUEST: Final = frozenset({"index", "path"})


def concealed(problem: OjsError, caller: Caller) -> OjsError:
    """Return the error as this caller may see it.

    A duplicate of a foreign job says that there is one, as it must, and nothing else. So does one
    of which it is not known whose it is. A schema of a job type that the caller is not bound to is
    not quoted. Lists of queues and job types name those within the caller's bounds.
    """
    if not caller.is_bound:
        return problem
    if isinstance(problem, DuplicateError):
        existing = problem.existing
        if existing is None or not caller.may_touch(*existing):
            return _anonymous(problem)
    if isinstance(problem, SchemaValidationError) and not _may_read(caller, problem.of_type):
        return _without_schema(problem)
    details = problem.details
    if isinstance(queues := details.get(_QUEUES), list):
        details[_QUEUES] = [each for each in queues if caller.may_touch(str(each))]
    if isinstance(types := details.get(_TYPES), list):
        queue = str(details.get("queue", ""))
        details[_TYPES] = [each for each in types if caller.may_touch(queue, str(each))]
    return problem


def _may_read(caller: Caller, of_type: str) -> bool:
    """Return whether a caller may read the schema of a job type other than its job's."""
    return not of_type or any(matches(pattern, of_type) for pattern in caller.types)


def _without_schema(problem: SchemaValidationError) -> SchemaValidationError:
    """Return the error without the schema's contents."""
    own = {"schema", "field", *_OF_THE_REQUEST}
    return SchemaValidationError(
        "The job's arguments do not match its schema, which is of another job type.",
        details={name: value for name, value in problem.details.items() if name in own},
        hint="Name a schema of the job's own type, or none.",
    )


def _anonymous(problem: DuplicateError) -> DuplicateError:
    """Return the error without its details, except for the request's own."""
    own: dict[str, JsonValue] = {
        name: value for name, value in problem.details.items() if name in _OF_THE_REQUEST
    }
    return DuplicateError(
        "The job is a duplicate of one that these credentials are not for.",
        details=own,
        hint="Give each job an id of its own, or leave the id out.",
    )
