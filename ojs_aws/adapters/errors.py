"""Translates botocore's errors to the two that the services know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
)

from ojs_aws.adapters.attempts import had_no_effect
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
        "KmsThrottled",
        "TooManyRequestsException",
        "TransactionConflictException",
        "AccessDeniedException",
        "AccessDenied",
    }
)
"""Codes that a call gets which did not take effect, and may succeed later."""

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
    """Raise botocore's errors as a BackendError; the caller catches condition failures itself.

    :raises BackendUnavailableError: the call certainly did not take effect.
    :raises BackendError: it may or may not have taken effect.
    """
    try:
        yield
    except ClientError as problem:
        code = error_code(problem)
        is_refused = code in REFUSED or is_contended(problem) or met_transaction(problem)
        kind = BackendUnavailableError if is_refused and had_no_effect(problem) else BackendError
        hint = _NO_TABLE if code == "ResourceNotFoundException" else "Repeat the request."
        raise kind(f"{operation} failed: {code}.", hint=hint) from problem
    except (EndpointConnectionError, ConnectTimeoutError) as problem:
        kind = BackendUnavailableError if had_no_effect(problem) else BackendError
        raise kind(
            f"{operation} failed: the AWS endpoint is unreachable.", hint="Repeat the request."
        ) from problem
    except BotoCoreError as problem:
        if (reason := _UNSET.get(type(problem).__name__)) is not None:
            raise BackendUnavailableError(
                f"{operation} failed: {reason}.",
                hint="Set AWS_REGION, and AWS_PROFILE or the AWS_ACCESS_KEY_ID pair.",
            ) from problem
        raise BackendError(
            f"{operation} failed: {type(problem).__name__}.", hint="Repeat the request."
        ) from problem


def is_contended(problem: Exception) -> bool:
    """Return whether a write met another one, or a transaction was cancelled only for that.

    Such a call had no effect, and the same one may succeed a moment later.
    """
    if not isinstance(problem, ClientError):
        return False
    if error_code(problem) == "TransactionConflictException":
        return True
    reasons = _reasons(problem)
    return bool(reasons) and reasons <= _IN_THE_WAY


def met_transaction(problem: ClientError) -> bool:
    """Return whether any part of a cancelled transaction met another transaction.

    What that one is about to write is not known yet: the same call may end otherwise a moment
    later.
    """
    return "TransactionConflict" in _reasons(problem)


def _reasons(problem: ClientError) -> frozenset[str]:
    """Return why a transaction was cancelled, for each part; empty for another error."""
    if error_code(problem) != CANCELLED:
        return frozenset()
    response: Any = problem.response
    return frozenset(str(each.get("Code")) for each in response.get("CancellationReasons") or ())


def error_code(problem: ClientError) -> str:
    """Return the code of an AWS error answer."""
    return str(problem.response.get("Error", {}).get("Code", "Unknown"))
