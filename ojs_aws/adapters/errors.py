"""Translates errors of AWS's clients to the two that the services know, and records attempts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ojs_aws.adapters.aws_errors import answer_of, error_code, failures, refusals, unsent
from ojs_aws.domain.errors import BackendError, BackendUnavailableError

NO_EFFECT: Final = "OjsNoEffect"
"""In the metadata of an answer, and on an exception: whether no attempt so far took effect."""

_REJECTED: Final = range(400, 500)


def watch_attempts(client: Any) -> None:
    """Record for each call of a client whether any attempt may have taken effect."""
    service = client.meta.service_model.service_id.hyphenize()
    client.meta.events.register(
        f"response-received.{service}", _note_attempt, unique_id="ojs-attempts"
    )


def _note_attempt(
    context: dict[str, Any],
    parsed_response: dict[str, Any] | None,
    exception: Exception | None,
    **_: object,
) -> None:
    if parsed_response is None:
        had_none = isinstance(exception, unsent())
    else:
        had_none = _status(parsed_response) in _REJECTED
    context[NO_EFFECT] = context.get(NO_EFFECT, True) and had_none
    if parsed_response is not None:
        parsed_response.setdefault("ResponseMetadata", {})[NO_EFFECT] = context[NO_EFFECT]
    elif exception is not None:
        setattr(exception, NO_EFFECT, context[NO_EFFECT])


def had_no_effect(problem: Exception) -> bool:
    """Return whether no attempt of a failed call took effect.

    Of a client that is not watched, only a call that was not repeated can be known.
    """
    if not isinstance(problem, refusals()):
        return getattr(problem, NO_EFFECT, False)
    answer = answer_of(problem)
    metadata: Any = answer.get("ResponseMetadata", {})
    known = metadata.get(NO_EFFECT)
    if known is not None:
        return bool(known)
    return not metadata.get("RetryAttempts") and _status(answer) in {0, *_REJECTED}


def note_effect(problem: Exception) -> None:
    """Mark a failed call: an earlier one in its place may have taken effect."""
    if isinstance(problem, refusals()):
        answer_of(problem).setdefault("ResponseMetadata", {})[NO_EFFECT] = False
    else:
        setattr(problem, NO_EFFECT, False)


def _status(answer: Any) -> int:
    return int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


REFUSED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "Throttling",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "OverLimit",
        "TooManyRequestsException",
        "TransactionConflictException",
        "AccessDeniedException",
        "AccessDenied",
    }
)
"""Codes that a call gets which did not take effect, and may succeed later."""

_OF_KMS: Final = "kms"
"""Begins the codes by which S3 (``KMS.``) and SQS (``Kms``) say that a key cannot be used."""

CANCELLED: Final = "TransactionCanceledException"
_IN_THE_WAY: Final = frozenset(
    {"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
)
"""Why the parts of a transaction fail that others, or too many requests, were in the way of."""


_UNSET: Final = {
    "NoRegionError": "no AWS region is set",
    "NoCredentialsError": "no AWS credentials were found",
    "PartialCredentialsError": "half of the AWS credentials is missing",
    "ProfileNotFound": "there is no such AWS profile",
}
"""What a machine lacks on which AWS was never set up, by the names of botocore's errors."""


_NO_TABLE: Final = "Is OJS_TABLE the stack's TableName, and the region the stack's?"


@contextmanager
def translated(operation: str) -> Iterator[None]:
    """Raise errors of AWS as a BackendError; the caller catches condition failures itself.

    :raises BackendUnavailableError: the call certainly did not take effect.
    :raises BackendError: it may or may not have taken effect.
    """
    try:
        yield
    except refusals() as problem:
        code = error_code(problem)
        is_refused = (
            code in REFUSED
            or code.lower().startswith(_OF_KMS)
            or is_contended(problem)
            or met_transaction(problem)
        )
        kind = BackendUnavailableError if is_refused and had_no_effect(problem) else BackendError
        hint = _NO_TABLE if code == "ResourceNotFoundException" else "Repeat the request."
        raise kind(f"{operation} failed: {code}.", hint=hint) from problem
    except failures() as problem:
        raise _without_answer(operation, problem) from problem


@contextmanager
def ignoring(codes: Collection[str]) -> Iterator[None]:
    """Ignore errors of AWS that have one of these codes."""
    try:
        yield
    except refusals() as problem:
        if error_code(problem) not in codes:
            raise


def _without_answer(operation: str, problem: Exception) -> BackendError:
    """Return what a call means to the services that AWS did not answer."""
    name = type(problem).__name__
    if (reason := _UNSET.get(name)) is not None:
        return BackendUnavailableError(
            f"{operation} failed: {reason}.",
            hint="Set AWS_REGION, and AWS_PROFILE or the AWS_ACCESS_KEY_ID pair.",
        )
    if not isinstance(problem, unsent()):
        return BackendError(f"{operation} failed: {name}.", hint="Repeat the request.")
    kind = BackendUnavailableError if had_no_effect(problem) else BackendError
    return kind(f"{operation} failed: the AWS endpoint is unreachable.", hint="Repeat the request.")


def is_contended(problem: Exception) -> bool:
    """Return whether a write met another one, or a transaction was cancelled only for that.

    Such a call had no effect, and the same one may succeed a moment later.
    """
    if not isinstance(problem, refusals()):
        return False
    if error_code(problem) == "TransactionConflictException":
        return True
    reasons = _reasons(problem)
    return bool(reasons) and reasons <= _IN_THE_WAY


def met_transaction(problem: Exception) -> bool:
    """Return whether any part of a cancelled transaction met another transaction.

    What that one is about to write is not known yet: the same call may end otherwise a moment
    later.
    """
    return "TransactionConflict" in _reasons(problem)


def _reasons(problem: Exception) -> frozenset[str]:
    """Return why a transaction was cancelled, for each part; empty for another error."""
    if error_code(problem) != CANCELLED:
        return frozenset()
    reasons = answer_of(problem).get("CancellationReasons") or ()
    return frozenset(str(each.get("Code")) for each in reasons)
