"""Stores grouped failures: one item for each queue and hour, of three kilobytes at most.

docs/decisions/0081-failures-are-grouped-in-an-item-an-hour.md says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    Value,
    number,
    read_count,
    read_set,
    read_string,
    string,
)
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.jobs.failure_groups import (
    MAX_GROUPS,
    WINDOW_MS,
    FailureGroup,
    QueueFailures,
    group_key,
)
from ojs_aws.domain.timestamps import Instant

PARTITION: Final = "failures"
KEPT_S: Final = 7 * 86_400
MAX_QUERIES: Final = 4
"""Queries of one read, of a megabyte each."""

MAX_REMEMBERED: Final = 1_000

_KEYS: Final = "gk"
_OTHER: Final = "no"
_COUNT: Final = "n"
_FIRST: Final = "f"
_LAST: Final = "l"
_EXAMPLE: Final = "x"
"""Each but the first two is followed by the key of a group."""


@dataclass(frozen=True, slots=True)
class FailureGroups(InTable):
    """Counts failures by queue, hour and error; keeps them for a week.

    ``_held`` has the groups of hours that had no room for all, so that a process meets such an
    hour once.
    """

    _held: dict[tuple[str, Instant], frozenset[str]] = field(default_factory=dict)

    def add(self, queue: str, window: Instant, groups: Sequence[FailureGroup], token: str) -> None:
        """Add the failures of a batch in one write; in two where new groups find no room.

        Makes one update on condition that there is room; else another one of what has room.

        :param groups: each name once.
        :param token: names what is added; what was added last is not added again.
        """
        most = sorted(groups, key=lambda each: -each.count)
        known = self._held.get((queue, window))
        if known is None:
            update = _adding(most, most[:MAX_GROUPS], window, token)
            try:
                self.update_item(_key(queue, window), update)
            except ConditionFailedError as failed:
                if read_string(failed.item, n.TOKEN) == token:
                    return
                known = frozenset(read_set(failed.item, _KEYS))
            else:
                return
        kept = _with_room(most, known)
        if len(self._held) >= MAX_REMEMBERED:
            self._held.clear()
        self._held[queue, window] = known | {group_key(each) for each in kept}
        update = _adding(most, kept, window, token, is_checked=False)
        self.try_update(_key(queue, window), update)

    def read(
        self, since: Instant, until: Instant, queue: str = ""
    ) -> tuple[Sequence[QueueFailures], bool]:
        """Return the failures of the hours in a time range, the newest hour first.

        Runs a few queries for all queues; read the items of the hours of one.

        :param queue: of this one only; empty for all.
        :returns: also whether older ones were left out, since a read is bounded.
        """
        first = Instant(since // WINDOW_MS * WINDOW_MS)
        if first > until:  # DynamoDB refuses a range that ends before it begins
            return [], False
        if queue:
            hours = range(first, until + 1, WINDOW_MS)
            keys = [_key(queue, Instant(each)) for each in hours]
            found = [_read(item) for item in self.get_items(keys, is_consistent=False)]
            return sorted(found, key=lambda each: -each.window), False
        pages = self.pages(
            "#pk = :pk AND #sk BETWEEN :since AND :until",
            {
                "pk": string(PARTITION),
                "since": string(n.instant_key(first)),
                "until": string(n.instant_key(until) + "~"),
            },
            ScanIndexForward=False,
        )
        rows: list[QueueFailures] = []
        for _ in range(MAX_QUERIES):
            answer = next(pages)
            rows += [_read(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return rows, False
        return rows, True


def _key(queue: str, window: Instant) -> Item:
    return item_key(PARTITION, f"{n.instant_key(window)}#{queue}")


def _with_room(groups: Sequence[FailureGroup], known: frozenset[str]) -> list[FailureGroup]:
    """Return the known groups, and as many new ones as there is room for, the largest first."""
    kept, room = [], MAX_GROUPS - len(known)
    for each in groups:
        if group_key(each) in known:
            kept.append(each)
        elif room > 0:
            kept.append(each)
            room -= 1
    return kept


def _adding(
    groups: Sequence[FailureGroup],
    kept: Sequence[FailureGroup],
    window: Instant,
    token: str,
    *,
    is_checked: bool = True,
) -> Update:
    """Return the update that adds the groups that are kept, and only counts the others.

    :param is_checked: on condition that there is room for those that are kept, known or new.
    """
    update = Update()
    others = sum(each.count for each in groups) - sum(each.count for each in kept)
    keys = [group_key(each) for each in kept]
    for key, each in zip(keys, kept, strict=True):
        update.add(f"{_COUNT}{key}", each.count)
        text = "\n".join((each.type, each.message, str(each.first_seen), each.job_ids[0]))
        update.set_if_absent(f"{_FIRST}{key}", f"{_FIRST}{key}", string(text))
        update.set(f"{_LAST}{key}", string(f"{each.last_seen} {each.job_ids[-1]}"))
        update.set(f"{_EXAMPLE}{key}", string(each.example))
    if keys:
        update.add_to_set(_KEYS, {"SS": keys})
    if others:
        update.add(_OTHER, others)
    update.set(n.TOKEN, string(token))
    update.set(n.TTL, number((window + WINDOW_MS) // 1000 + KEPT_S))
    last = update.name(n.TOKEN)
    update.when(f"(attribute_not_exists({last}) OR {last} <> {update.value(string(token))})")
    if is_checked:
        update.when(_room_for(update, keys))
    return update


def _room_for(update: Update, keys: Sequence[str]) -> str:
    """Return the condition that an item has, or has room for, these groups."""
    held = update.name(_KEYS)
    room = update.value(number(MAX_GROUPS - len(keys)))
    values: list[Value] = [string(key) for key in keys]
    known = " AND ".join(f"contains({held}, {update.value(each)})" for each in values)
    return f"(attribute_not_exists({held}) OR size({held}) <= {room} OR ({known}))"


def _read(item: Item) -> QueueFailures:
    window, _, queue = read_string(item, n.SK).partition("#")
    return QueueFailures(
        queue=queue,
        window=Instant(int(window)),
        groups=tuple(_groups(item)),
        ungrouped=read_count(item, _OTHER),
    )


def _groups(item: Item) -> Iterator[FailureGroup]:
    for key in read_set(item, _KEYS):
        kind, message, first, first_job = read_string(item, f"{_FIRST}{key}").split("\n")
        last, _, last_job = read_string(item, f"{_LAST}{key}").partition(" ")
        yield FailureGroup(
            type=kind,
            message=message,
            example=read_string(item, f"{_EXAMPLE}{key}"),
            count=read_count(item, f"{_COUNT}{key}"),
            first_seen=Instant(int(first)),
            last_seen=Instant(int(last)),
            job_ids=tuple(dict.fromkeys((first_job, last_job))),
        )
