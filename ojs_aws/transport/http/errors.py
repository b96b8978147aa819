"""Turns every exception into the answer that reports it (section 16).

Codes, statuses and retryable flags belong to the errors themselves. What an error says of queues
and jobs outside of its caller's bounds is left out.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.access import Caller, UnauthenticatedError, matches
from ojs_aws.domain.errors import (
    BackendError,
    BackendUnavailableError,
    DuplicateError,
    InvalidRequestError,
    JsonValue,
    MethodNotAllowedError,
    OjsError,
    QueueFullError,
    SchemaValidationError,
)
from ojs_aws.domain.json_text import json_type
from ojs_aws.transport.http.calls import Answer

if TYPE_CHECKING:
    from pydantic import ValidationError

    from ojs_aws.transport.http.answers import ErrorAnswer, ShownError

_SERVER_ERROR: Final = 500
_TOO_LARGE: Final = 413
_LATER: Final = frozenset({408, 429, 503})


def answer_error(
    problem: Exception, request_id: str, *, may_have_written: bool = False
) -> Answer[ErrorAnswer]:
    """Return the answer that reports an exception; only OjsErrors show their text.

    :param may_have_written: clients must not send the request again by themselves, as they do on
        502 to 504: several resend a PUSH without an id.
    """
    error = _ojs_error(problem)
    if may_have_written and isinstance(error, BackendUnavailableError):
        hint = "See what was done before you repeat the request."
        error = BackendError(error.message, details=error.details, hint=hint)
    shown = cast("ShownError", error.as_dict(request_id))
    return Answer({"error": shown}, error.status, _headers(error))


def _headers(error: OjsError) -> dict[str, str]:
    """Return the HTTP headers that repeat what the error object says."""
    if isinstance(error, MethodNotAllowedError):
        allowed = error.details.get("allowed")
        return {"Allow": ", ".join(map(str, allowed))} if isinstance(allowed, list) else {}
    if isinstance(error, UnauthenticatedError):
        return {"WWW-Authenticate": error.challenge}
    if error.status == _TOO_LARGE and "max_batch_size" in error.details:
        return {"X-OJS-Max-Batch-Size": str(error.details["max_batch_size"])}
    seconds = error.details.get("retry_after_seconds", 1)
    headers = {"Retry-After": str(seconds)} if error.status in _LATER else {}
    if isinstance(error, QueueFullError):
        headers["X-OJS-Queue-Depth"] = str(error.details.get("depth"))
        headers["X-OJS-Queue-Bound"] = str(error.details.get("bound"))
    return headers


def is_fault(problem: Exception) -> bool:
    """Return whether the server is at fault, not the request."""
    return _ojs_error(problem).status >= _SERVER_ERROR


def _ojs_error(problem: Exception) -> OjsError:
    if isinstance(problem, OjsError):
        return problem
    # Only once pydantic has been imported can an exception be one of its own.
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and isinstance(problem, pydantic.ValidationError):
        return _invalid(problem)
    return BackendError(
        "The server met an error that it did not expect.",
        hint="Repeat the request. If it fails again, report its request id.",
    )


def _invalid(problem: ValidationError) -> InvalidRequestError:
    """Return the first thing that a model found wrong."""
    first = problem.errors(include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "body"
    is_missing = first["type"] == "missing"
    received = "nothing" if is_missing else json_type(first["input"])
    details: dict[str, JsonValue] = {
        "field": field,
        "expected": first["msg"],
        "received": received,
    }
    if is_missing:
        details["validation"] = "required"
    reason = "is required" if is_missing else f"is not valid: {first['msg']}"
    return InvalidRequestError(f"The '{field}' attribute {reason}.", details=details)


_QUEUES: Final = "queues"
_TYPES: Final = "allowed_job_types"
_OF_THE_REQUEST: Final = frozenset({"index", "path"})


def redacted(problem: OjsError, caller: Caller) -> OjsError:
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
