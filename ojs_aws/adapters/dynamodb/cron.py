"""Stores cron jobs: an item each, listed in the index by when it needs attention."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    Value,
    number,
    packed,
    read_string,
    string,
    unpacked,
)
from ojs_aws.adapters.dynamodb.table import InTable, condition, in_index, item_key
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.conflicts import StaleCronError
from ojs_aws.domain.cron.entry import CronDefinition, CronEntry, Occurrence, Outcome, OverlapPolicy
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.timestamps import Instant

PARTITION: Final = "cron"
DUE_LIST: Final = "|cron"
"""Partition of the index; no queue's list begins like this."""

ENVELOPE: Final = "ce"
EXPRESSION: Final = "cx"
TIMEZONE: Final = "cz"
OVERLAP: Final = "cl"
IS_ENABLED: Final = "cn"
DESCRIPTION: Final = "cd"
JOB_TYPE: Final = "cj"
UPDATED: Final = "cu"
ANCHOR: Final = "cb"
NEXT_RUN: Final = "cf"
GAP: Final = "cg"
LAST_RUN: Final = "cp"
RUN_COUNT: Final = "cc"
RUNS: Final = "cw"
HELD: Final = "ch"
LATEST: Final = "ck"
TRIGGERED_BY: Final = "ct"
"""Attributes that jobs have under other names, or not at all: nothing of it is projected."""


@dataclass(frozen=True, slots=True)
class CronEntries(InTable):
    """Stores cron jobs. Each write is one conditional write, recognised when repeated.

    :ivar token: makes the token of a write; a write that finds its own token took effect before.
    """

    token: Callable[[], str]

    def load(self, name: str) -> CronEntry | None:
        """Read an entry, strongly consistent.

        Makes one consistent read.
        """
        return self.load_item(_key(name), entry_of)

    def all(self) -> list[CronEntry]:
        """Return every entry, by name.

        Runs one query for each megabyte of entries.
        """
        items = self.items("#pk = :pk", {"pk": string(PARTITION)}, ConsistentRead=True)
        return [entry_of(item) for item in items]

    def save(self, before: CronEntry | None, after: CronEntry) -> None:
        """Replace one version of an entry by the next, or store a new one.

        Makes one update of what differs, if the version is still the one that was read.

        :raises StaleCronError: the stored entry is no longer ``before``.
        """
        old, new = {} if before is None else _item(before), _item(after)
        update = Update()
        for name, value in new.items():
            if old.get(name) != value and name not in {n.PK, n.SK}:
                update.set(name, value)
        update.remove(*(name for name in old if name not in new))
        version = update.name(n.VERSION)
        if before is None:
            update.when(f"attribute_not_exists({version})")
        else:
            update.when(f"{version} = {update.value(number(before.version))}")
            # One that was deleted and registered again counts its versions from 0 again.
            update.when(f"{update.name(n.CREATED)} = {update.value(number(before.created_at))}")
        token = string(self.token())
        update.set(n.TOKEN, token)
        try:
            self.update_item(_key(after.name), update)
        except ConditionFailedError as failed:
            if not failed.is_own({n.TOKEN: token}):
                raise StaleCronError(entry_of(failed.item) if failed.item else None) from None

    def delete(self, entry: CronEntry) -> None:
        """Remove an entry.

        Makes one conditional delete.

        :raises StaleCronError: the stored entry is no longer this one.
        """
        is_same = condition(
            "#v = :v AND #cr = :cr", v=number(entry.version), cr=number(entry.created_at)
        )
        try:
            self.delete_item(_key(entry.name), is_same)
        except ConditionFailedError as failed:
            if failed.item:  # nothing there: an earlier try of this call took effect
                raise StaleCronError(entry_of(failed.item)) from None

    def due(self, until: Instant, limit: int) -> list[tuple[str, Instant]]:
        """Return entries that need attention before an instant, and since when; may lag.

        Runs one query of the index, which holds no disabled entry.
        """
        answer = self.query(
            "#gpk = :gpk AND #gsk <= :until",
            {"gpk": string(DUE_LIST), "until": string(n.instant_key(until))},
            **in_index(Limit=limit),
        )
        return [
            (read_string(row, n.SK), Instant(int(read_string(row, n.GSK))))
            for row in answer["Items"]
        ]


def _key(name: str) -> Item:
    return item_key(PARTITION, name)


def _occurrence_value(occurrence: Occurrence) -> Value:
    parts = [getattr(occurrence, name) for name in _OCCURRENCE]
    return packed(json.dumps(parts, separators=(",", ":")))


def _read_occurrence(value: Value) -> Occurrence:
    parts = dict(zip(_OCCURRENCE, json.loads(unpacked(value)), strict=True))
    outcome, cancels = Outcome(parts.pop("outcome")), tuple(parts.pop("cancels"))
    return Occurrence(outcome=outcome, cancels=cancels, **parts)


_OCCURRENCE: Final = (
    "number",
    "scheduled_at",
    "claimed_at",
    "outcome",
    "job_id",
    "reason",
    "blocked_by",
    "cancels",
    "is_held",
)
_DEFINITION: Final[c.Columns] = {
    c.TEXT: {
        n.SK: "name",
        n.QUEUE: "queue",
        JOB_TYPE: "type",
        EXPRESSION: "expression",
        TIMEZONE: "timezone",
    },
    c.PACKED: {n.DOCUMENT: "document", ENVELOPE: "envelope"},
    c.Kind(string, lambda value: OverlapPolicy(value["S"])): {OVERLAP: "overlap"},
    c.BOOLEAN: {IS_ENABLED: "is_enabled"},
    # As JSON, which can hold half of a surrogate pair.
    c.Kind(lambda text: string(encode(text)), lambda value: str(json.loads(value["S"]))): {
        DESCRIPTION: "description"
    },
}
_RUNS: Final = c.Kind(
    lambda runs: packed(",".join(runs)),
    lambda value: tuple(unpacked(value).split(",")),
    (),
    is_sparse=True,
)
_ENTRY: Final[c.Columns] = {
    c.NUMBER: {n.VERSION: "version", n.CREATED: "created_at", RUN_COUNT: "run_count"},
    c.OPTIONAL_NUMBER: {
        UPDATED: "updated_at",
        ANCHOR: "anchor",
        NEXT_RUN: "next_run_at",
        GAP: "gap_at",
        LAST_RUN: "last_run_at",
    },
    c.OPTIONAL_TEXT: {n.BY: "changed_by", TRIGGERED_BY: "triggered_by"},
    _RUNS: {RUNS: "runs", HELD: "held"},
    c.Kind(_occurrence_value, _read_occurrence): {LATEST: "latest"},
}


def _item(entry: CronEntry) -> Item:
    item: Item = {
        n.PK: string(PARTITION),
        **c.attributes(entry.definition, _DEFINITION),
        **c.attributes(entry, _ENTRY),
    }
    if entry.attention_at is not None:
        item[n.GPK] = string(DUE_LIST)
        item[n.GSK] = string(n.instant_key(entry.attention_at))
    return item


def entry_of(item: Item) -> CronEntry:
    """Return the cron job that an item holds."""
    members = c.read_members(item, _ENTRY)
    for name in ("updated_at", "anchor"):
        members[name] = members[name] or members["created_at"]
    return CronEntry(definition=CronDefinition(**c.read_members(item, _DEFINITION)), **members)
