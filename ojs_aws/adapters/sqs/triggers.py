"""Implements the port Triggers: Lambda's event source mappings of an SQS queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import OjsError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

ON: Final = frozenset({"Enabled", "Enabling", "Creating", "Updating"})
"""States of a mapping that invokes, or is about to."""

GONE: Final = "ResourceNotFoundException"


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
        found: list[str] = []
        marker = ""
        while True:
            more: Any = {"Marker": marker} if marker else {}
            with translated("ListEventSourceMappings"):
                answer = self.client.list_event_source_mappings(
                    EventSourceArn=self.arn_of(queue), **more
                )
            mappings = answer["EventSourceMappings"]
            found += [each["UUID"] for each in mappings if each.get("State") in ON]
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
        with translated("UpdateEventSourceMapping"):
            try:
                self.client.update_event_source_mapping(UUID=uuid, Enabled=is_on)
            except refusals() as problem:
                if error_code(problem) != GONE:
                    raise
