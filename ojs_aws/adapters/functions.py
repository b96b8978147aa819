"""Calls Lambda: begins invocations of functions, and changes what invokes them (port Triggers)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import ignoring, translated
from ojs_aws.domain.errors import OjsError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


_WRONG: Final = {
    "ResourceNotFoundException": "does not exist",
    "AccessDeniedException": "may not be invoked by the dispatcher",
    "AccessDenied": "may not be invoked by the dispatcher",
}
"""What an answer says of the function, and nothing of the job (ojs-serverless, 7.2)."""
ON: Final = frozenset({"Enabled", "Enabling", "Creating", "Updating"})
"""States of a mapping that invokes, or is about to."""

GONE: Final = "ResourceNotFoundException"


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


@dataclass(frozen=True, slots=True)
class LambdaTriggers:
    """Switches event source mappings on and off.

    Lambda refuses to change one that is just being changed (``ResourceInUseException``): then the
    caller repeats it later, as after any failure.

    :ivar arn_of: the ARN of the SQS queue behind an OJS queue.
    """

    client: LambdaClient
    arn_of: Callable[[str], str]

    def running(self, queue: str) -> list[str]:
        """Make one call for a hundred mappings."""
        return self._listed(queue, are_on=True)

    def stopped(self, queue: str) -> list[str]:
        """Make one call for a hundred mappings."""
        return self._listed(queue, are_on=False)

    def _listed(self, queue: str, *, are_on: bool) -> list[str]:
        found: list[str] = []
        marker = ""
        while True:
            more: Any = {"Marker": marker} if marker else {}
            with translated("ListEventSourceMappings"):
                answer = self.client.list_event_source_mappings(
                    EventSourceArn=self.arn_of(queue), **more
                )
            mappings = answer["EventSourceMappings"]
            found += [each["UUID"] for each in mappings if (each.get("State") in ON) is are_on]
            marker = answer.get("NextMarker", "")
            if not marker:
                return found

    def switch(self, ids: Sequence[str], *, is_on: bool) -> None:
        """Make one call for each; all are tried before the first error is raised."""
        problem: OjsError | None = None
        for uuid in ids:
            try:
                self._switch(uuid, is_on=is_on)
            except OjsError as failed:
                problem = problem or failed
        if problem is not None:
            raise problem

    def _switch(self, uuid: str, *, is_on: bool) -> None:
        with translated("UpdateEventSourceMapping"), ignoring({GONE}):
            self.client.update_event_source_mapping(UUID=uuid, Enabled=is_on)
