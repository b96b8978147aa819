"""Declares the store of failures that were grouped by error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ojs_aws.domain.jobs.failure_groups import FailureGroup
from ojs_aws.domain.timestamps import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFailures:
    """Holds how executions of a queue failed in one hour.

    :ivar window: when the hour begins.
    :ivar ungrouped: failures that belong to none of the groups, which are bounded in number.
    """

    queue: str
    window: Instant
    groups: tuple[FailureGroup, ...]
    ungrouped: int = 0


class FailureGroups(Protocol):
    """Counts failures by queue, hour and error; keeps them for a week."""

    def add(self, queue: str, window: Instant, groups: Sequence[FailureGroup], token: str) -> None:
        """Add the failures of a batch in one write; in two where new groups find no room.

        :param groups: each name once.
        :param token: names what is added; what was added last is not added again.
        """

    def read(
        self, since: Instant, until: Instant, queue: str = ""
    ) -> tuple[Sequence[QueueFailures], bool]:
        """Return the failures of the hours in a time range, the newest hour first.

        :param queue: of this one only; empty for all.
        :returns: also whether older ones were left out, since a read is bounded.
        """
