"""Begins asynchronous invocations of Lambda functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_WRONG: Final = {
    "ResourceNotFoundException": "does not exist",
    "AccessDeniedException": "may not be invoked by the dispatcher",
    "AccessDenied": "may not be invoked by the dispatcher",
}
"""What an answer says of the function, and nothing of the job (ojs-serverless, 7.2)."""


class TargetError(Exception):
    """Reports that a function cannot be invoked, whatever the event is.

    :ivar reason: ends a sentence about the function.
    """

    def __init__(self, target: str, reason: str) -> None:
        """Say which function, and why."""
        super().__init__(f"{target} {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Functions:
    """Invokes functions; Lambda queues the events, and sends their outcomes to a destination."""

    client: LambdaClient

    def begin(self, target: str, event: str) -> None:
        """Hand an event to Lambda's queue of a function.

        Makes one call.

        :param target: ARN of a function or an alias.
        :raises TargetError: there is no such function, or it may not be invoked.
        :raises BackendUnavailableError: Lambda certainly did not take the event.
        :raises BackendError: it may have taken it.
        """
        with translated("Invoke"):
            try:
                self.client.invoke(
                    FunctionName=target, InvocationType="Event", Payload=event.encode()
                )
            except refusals() as problem:
                if wrong := _WRONG.get(error_code(problem)):
                    raise TargetError(target, wrong) from problem
                raise
