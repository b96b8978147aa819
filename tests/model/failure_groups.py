"""Keeps grouped failures in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ojs_aws.domain.jobs.failure_groups import MAX_GROUPS, FailureGroup, window_of
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import QueueFailures

Groups = dict[tuple[str, str], FailureGroup]


@dataclass
class MemoryFailureGroups:
    """Keeps the groups of each queue and hour, with the token of what was added last."""

    kept: dict[tuple[Instant, str], tuple[Groups, int, str]] = field(default_factory=dict)

    def add(self, queue: str, window: Instant, groups: Sequence[FailureGroup], token: str) -> None:
        """Add, unless it was added last."""
        found, others, last = self.kept.get((window, queue), ({}, 0, ""))
        if last == token:
            return
        for each in sorted(groups, key=lambda group: -group.count):
            if each.name in found:
                found[each.name] = found[each.name].plus(each)
            elif len(found) < MAX_GROUPS:
                found[each.name] = each
            else:
                others += each.count
        self.kept[window, queue] = (found, others, token)

    def read(
        self, since: Instant, until: Instant, queue: str = ""
    ) -> tuple[Sequence[QueueFailures], bool]:
        """Return those of a time range."""
        rows = [
            QueueFailures(queue=name, window=window, groups=tuple(found.values()), ungrouped=others)
            for (window, name), (found, others, _) in sorted(self.kept.items(), reverse=True)
            if window_of(since) <= window <= until and queue in ("", name)
        ]
        return rows, False
