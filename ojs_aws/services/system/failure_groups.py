"""Groups the failures of jobs by error, from the committed changes in the table's stream.

One write for each queue and hour of a batch in which anything failed. The numbers are lower
bounds: what AWS does not accept is missing, and so is what finds no room in its hour. A batch that
comes again after a process died is known by its token, unless another one came in between: then
it counts twice.
"""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.events import FAILED, Event
from ojs_aws.domain.jobs.failure_groups import (
    WINDOW_MS,
    FailureGroup,
    QueueFailures,
    failure_group,
    window_of,
)
from ojs_aws.domain.json_text import ANY_DEPTH, decode
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.failure_groups import FailureGroups

USUAL_MS: Final = 3_600_000
"""Since when failures are shown where nothing is said."""

LONGEST_MS: Final = 7 * 86_400_000

FEW_HOURS: Final = 25
"""Up to so many, each hour is counted apart; of a longer time, six hours at once."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuesGroup:
    """Holds a group over hours and queues.

    :ivar queues: those in which it occurred, by name.
    :ivar counts: how often it occurred in each window of the report, the oldest first.
    """

    group: FailureGroup
    queues: tuple[str, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    """Says how jobs failed since an instant, the largest group first.

    :ivar since: when the first hour began that is counted.
    :ivar window_ms: how long each window is that groups have a count of.
    :ivar ungrouped: failures that belong to none of the groups.
    :ivar is_cut: older failures were left out, since there are too many groups.
    """

    since: Instant
    until: Instant
    window_ms: int
    groups: tuple[QueuesGroup, ...]
    ungrouped: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class FailureStatistics:
    """Counts failures by error."""

    store: Callable[[], FailureGroups]
    clock: Clock

    def record(self, events: Iterable[Event]) -> None:
        """Count the failed attempts among published events; numbers hold back no change.

        What AWS does not accept is logged, and missing in the numbers.
        """
        try:
            self._record(events)
        except Exception:  # whatever is wrong, it concerns numbers only
            _logger.warning("Could not group failures", exc_info=True)

    def _record(self, events: Iterable[Event]) -> None:
        found: dict[tuple[str, Instant], dict[tuple[str, str], FailureGroup]] = {}
        ids: dict[tuple[str, Instant], list[str]] = {}
        for event in events:
            if event.type != FAILED:
                continue
            place, group = (event.queue, window_of(event.time)), _group_of(event)
            groups = found.setdefault(place, {})
            known = groups.get(group.name)
            groups[group.name] = group if known is None else known.plus(group)
            ids.setdefault(place, []).append(event.id)
        for (queue, window), groups in found.items():
            token = hashlib.sha256(" ".join(ids[queue, window]).encode()).hexdigest()[:12]
            try:
                self.store().add(queue, window, [*groups.values()], token)
            except Exception:  # the other queues' must be counted
                _logger.warning("Could not group the failures of queue %s", queue, exc_info=True)

    def report(
        self,
        since: Instant | None = None,
        queue: str = "",
        sees: Callable[[str], bool] = lambda _: True,
    ) -> FailureReport:
        """Return the groups of failures since an instant, to the hour.

        :param since: an hour ago by default.
        :param sees: says which queues are meant.
        :raises InvalidRequestError: it is longer ago than failures are kept.
        """
        now = self.clock.now()
        begin = window_of(Instant(now - USUAL_MS) if since is None else since)
        if now - begin > LONGEST_MS + USUAL_MS:
            message = "The 'since' parameter leads beyond the 7 days for which failures are kept."
            raise InvalidRequestError(message, details={"field": "since"})
        rows, is_cut = self.store().read(begin, now, queue)
        seen = [row for row in rows if sees(row.queue)]
        hours = (now - begin) // WINDOW_MS + 1
        window_ms = WINDOW_MS if hours <= FEW_HOURS else 6 * WINDOW_MS
        return FailureReport(
            since=begin,
            until=now,
            window_ms=window_ms,
            groups=tuple(_merged(seen, begin, now, window_ms)),
            ungrouped=sum(row.ungrouped for row in seen),
            is_cut=is_cut,
        )


def _merged(
    rows: Sequence[QueueFailures], begin: Instant, now: Instant, window_ms: int
) -> list[QueuesGroup]:
    """Return the groups over hours and queues, the largest first."""
    groups: dict[tuple[str, str], FailureGroup] = {}
    queues: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    counts: defaultdict[tuple[str, str], list[int]] = defaultdict(
        lambda: [0] * ((now - begin) // window_ms + 1)
    )
    for row in rows:
        for group in row.groups:
            known = groups.get(group.name)
            groups[group.name] = group if known is None else known.plus(group)
            queues[group.name].add(row.queue)
            counts[group.name][(row.window - begin) // window_ms] += group.count
    found = [
        QueuesGroup(group=group, queues=tuple(sorted(queues[name])), counts=tuple(counts[name]))
        for name, group in groups.items()
    ]
    return sorted(found, key=lambda each: (-each.group.count, each.group.name))


def _group_of(event: Event) -> FailureGroup:
    """Return the group of one ``job.failed``."""
    data = decode(event.data, max_depth=ANY_DEPTH)
    error = data.get("error") if isinstance(data, dict) else None
    said: Mapping[str, JsonValue] = error if isinstance(error, dict) else {}
    kind, message = (said.get(name) for name in ("type", "message"))
    return failure_group(
        kind if isinstance(kind, str) else "",
        message if isinstance(message, str) else "",
        event.subject,
        event.time,
    )
