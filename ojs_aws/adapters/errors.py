"""From botocore's errors to the two that the services know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError

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
        "AccessDeniedException",
        "AccessDenied",
    }
)
"""Codes of calls that certainly did not take effect."""


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
    """Raise what botocore raises as a BackendError; condition failures are the caller's to catch.

    :raises BackendUnavailableError: the call certainly did not take effect.
    :raises BackendError: it may or may not have taken effect.
    """
    try:
        yield
    except ClientError as problem:
        code = error_code(problem)
        tries = problem.response.get("ResponseMetadata", {}).get("RetryAttempts", 0)
        # After a repeated try nobody knows what became of the earlier ones.
        is_refused = code in REFUSED and not tries
        kind = BackendUnavailableError if is_refused else BackendError
        hint = _NO_TABLE if code == "ResourceNotFoundException" else "Repeat the request."
        raise kind(f"{operation} failed: {code}.", hint=hint) from problem
    except EndpointConnectionError as problem:
        raise BackendUnavailableError(
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


def error_code(problem: ClientError) -> str:
    """The code of an AWS error answer."""
    return str(problem.response.get("Error", {}).get("Code", "Unknown"))
