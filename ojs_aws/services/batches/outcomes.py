"""Collects what is wrong with the jobs of a batch, and the outcomes of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.attributes import at_index
from ojs_aws.domain.errors import InvalidRequestError, JsonValue, OjsError, PayloadTooLargeError

MAX_FAULTS: Final = 50
"""Faults that an error lists; it counts the others."""


def check_count(received: int, most: int) -> None:
    """Refuse a batch of no jobs, or of too many.

    :raises InvalidRequestError: there is none.
    :raises PayloadTooLargeError: there are more than ``most``.
    """
    details: dict[str, JsonValue] = {"field": "jobs", "received": received, "max_batch_size": most}
    message = f"A batch holds from 1 to {most} jobs; received {received}."
    if received < 1:
        raise InvalidRequestError(message, details=details)
    if received > most:
        hint = "Send several batches; each is stored whole or not at all."
        raise PayloadTooLargeError(message, details=details, hint=hint)


@dataclass(slots=True)
class BatchFaults:
    """Collects the errors of a batch's jobs."""

    found: list[OjsError] = field(default_factory=list)

    @contextmanager
    def at(self, index: int) -> Iterator[None]:
        """Keep why one job is refused; errors of AWS are raised at once."""
        try:
            with at_index(index):
                yield
        except InvalidRequestError as problem:
            self.found.append(problem)

    def raise_all(self) -> None:
        """Raise the first error with all of them in its details (``errors``), if any.

        :raises InvalidRequestError: it, or one of its kinds.
        """
        if not self.found:
            return
        first = self.found[0]
        if len(self.found) > 1:
            listed: list[JsonValue] = [_fault(each) for each in self.found[:MAX_FAULTS]]
            first.message += f" {len(self.found) - 1} more of the batch's jobs are refused."
            first.details |= {"errors": listed, "error_count": len(self.found)}
        raise first


def _fault(problem: OjsError) -> JsonValue:
    fault: dict[str, JsonValue] = {"index": problem.details["index"], "code": problem.code}
    if "field" in problem.details:
        fault["field"] = problem.details["field"]
    return fault | {"message": problem.message}


@dataclass(frozen=True, slots=True)
class RollForwardReport:
    """Counts batches whose processes seemed to have died.

    :ivar done: those whose jobs are all in their places now.
    :ivar failed: those that met an error; the next tick repeats it.
    :ivar lost: those that were given up, because something of their log is gone.
    :ivar sent: ids of jobs that were put into their places, whose messages were sent just now.
    """

    done: int = 0
    failed: int = 0
    lost: int = 0
    sent: frozenset[str] = frozenset()
