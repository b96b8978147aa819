"""What errors may tell callers with bounds: nothing of queues and jobs outside of them."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.access import Caller
from ojs_aws.domain.errors import DuplicateError, JsonValue, OjsError

_QUEUES: Final = "queues"
_TYPES: Final = "allowed_job_types"
_OF_THE_REQUEST: Final = frozenset({"index", "path"})


def concealed(problem: OjsError, caller: Caller) -> OjsError:
    """Return the error as this caller may see it.

    A duplicate of a foreign job says that there is one, as it must, and nothing else. So does one
    of which it is not known whose it is. Lists of queues and job types name those within the
    caller's bounds.
    """
    if not caller.is_bound:
        return problem
    if isinstance(problem, DuplicateError):
        existing = problem.existing
        if existing is None or not caller.may_touch(*existing):
            return _anonymous(problem)
    details = problem.details
    if isinstance(queues := details.get(_QUEUES), list):
        details[_QUEUES] = [each for each in queues if caller.may_touch(str(each))]
    if isinstance(types := details.get(_TYPES), list):
        queue = str(details.get("queue", ""))
        details[_TYPES] = [each for each in types if caller.may_touch(queue, str(each))]
    return problem


def _anonymous(problem: DuplicateError) -> DuplicateError:
    """Return the error without its details, but for what the request itself says."""
    own: dict[str, JsonValue] = {
        name: value for name, value in problem.details.items() if name in _OF_THE_REQUEST
    }
    return DuplicateError(
        "The job is a duplicate of one that these credentials are not for.",
        details=own,
        hint="Give each job an id of its own, or leave the id out.",
    )
