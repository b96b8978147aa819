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
        raise kind(f"{operation} failed: {code}.", hint="Repeat the request.") from problem
    except EndpointConnectionError as problem:
        raise BackendUnavailableError(
            f"{operation} failed: the AWS endpoint is unreachable.", hint="Repeat the request."
        ) from problem
    except BotoCoreError as problem:
        raise BackendError(
            f"{operation} failed: {type(problem).__name__}.", hint="Repeat the request."
        ) from problem


def error_code(problem: ClientError) -> str:
    """The code of an AWS error answer."""
    return str(problem.response.get("Error", {}).get("Code", "Unknown"))
