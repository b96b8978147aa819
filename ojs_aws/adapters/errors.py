"""Translates errors of AWS's clients to the two that the services know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ojs_aws.adapters.attempts import had_no_effect
from ojs_aws.adapters.aws_errors import answer_of, error_code, failures, refusals, unsent
from ojs_aws.domain.errors import BackendError, BackendUnavailableError

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
