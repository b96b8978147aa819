"""Stores cron jobs: an item each, listed in the index by when it needs attention."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError
from ojs_aws.adapters.dynamodb.table import InTable, condition, in_index, item_key
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import (
    Item,
    number,
    packed,
    read_count,
    read_instant,
    read_string,
    string,
    unpacked,
)
from ojs_aws.domain.cron.entry import CronDefinition, CronEntry, Occurrence, Outcome, OverlapPolicy
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import StaleCronError

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
"""Attributes that jobs have under other names, or not at all: nothing of it is projected."""


@dataclass(frozen=True, slots=True)
class DynamoCronEntries(InTable):
    """Implements the port CronEntries over the table.

    :ivar token: makes the token of a write; a write that finds its own token took effect before.
    """

    token: Callable[[], str]

    def load(self, name: str) -> CronEntry | None:
        """Make one consistent read."""
        item = self.get_item(_key(name))
        return entry_of(item) if item else None

    def all(self) -> list[CronEntry]:
        """Run one query for each megabyte of entries."""
        items = self.items("#pk = :pk", {"pk": string(PARTITION)}, ConsistentRead=True)
        return [entry_of(item) for item in items]

    def save(self, before: CronEntry | None, after: CronEntry) -> None:
        """Make one update of what differs, if the version is still the one that was read."""
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
        """Make one conditional delete."""
        is_same = condition(
            "#v = :v AND #cr = :cr", v=number(entry.version), cr=number(entry.created_at)
        )
        try:
            self.delete_item(_key(entry.name), is_same)
        except ConditionFailedError as failed:
            if failed.item:  # nothing there: an earlier try of this call took effect
                raise StaleCronError(entry_of(failed.item)) from None

    def due(self, until: Instant, limit: int) -> list[tuple[str, Instant]]:
        """Run one query of the index, which holds no disabled entry."""
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


def read_cron(item: Item) -> CronEntry | None:
    """Return the cron job of a stream image; None for an image without attributes.

    Some emulators show the item that an update is about to make as one that has its keys alone.
    """
    return entry_of(item) if n.VERSION in item else None


def _item(entry: CronEntry) -> Item:
    defined = entry.definition
    item: Item = {
        **_key(entry.name),
        n.VERSION: number(entry.version),
        n.CREATED: number(entry.created_at),
        n.QUEUE: string(defined.queue),
        n.DOCUMENT: packed(defined.document),
        JOB_TYPE: string(defined.type),
        ENVELOPE: packed(defined.envelope),
        EXPRESSION: string(defined.expression),
        TIMEZONE: string(defined.timezone),
        OVERLAP: string(defined.overlap),
        IS_ENABLED: {"BOOL": defined.is_enabled},
        UPDATED: number(entry.updated_at),
        ANCHOR: number(entry.anchor),
        RUN_COUNT: number(entry.run_count),
    }
    if defined.description is not None:
        item[DESCRIPTION] = string(encode(defined.description))
    for name, instant in (
        (NEXT_RUN, entry.next_run_at),
        (GAP, entry.gap_at),
        (LAST_RUN, entry.last_run_at),
    ):
        if instant is not None:
            item[name] = number(instant)
    for name, runs in ((RUNS, entry.runs), (HELD, entry.held)):
        if runs:
            item[name] = packed(",".join(runs))
    if entry.latest is not None:
        item[LATEST] = packed(_occurrence_text(entry.latest))
    if entry.attention_at is not None:
        item[n.GPK] = string(DUE_LIST)
        item[n.GSK] = string(n.instant_key(entry.attention_at))
    return item


def entry_of(item: Item) -> CronEntry:
    """Return the cron job that an item holds."""

    def runs(name: str) -> tuple[str, ...]:
        return tuple(unpacked(item[name]).split(",")) if name in item else ()

    created = Instant(read_count(item, n.CREATED))
    return CronEntry(
        definition=CronDefinition(
            name=read_string(item, n.SK),
            expression=read_string(item, EXPRESSION),
            type=read_string(item, JOB_TYPE),
            queue=read_string(item, n.QUEUE),
            document=RawJson(unpacked(item[n.DOCUMENT])),
            envelope=RawJson(unpacked(item[ENVELOPE])),
            timezone=read_string(item, TIMEZONE),
            overlap=OverlapPolicy(read_string(item, OVERLAP)),
            is_enabled=bool(item[IS_ENABLED]["BOOL"]),
            description=_description(item),
        ),
        version=read_count(item, n.VERSION),
        created_at=created,
        updated_at=read_instant(item, UPDATED) or created,
        anchor=read_instant(item, ANCHOR) or created,
        next_run_at=read_instant(item, NEXT_RUN),
        gap_at=read_instant(item, GAP),
        last_run_at=read_instant(item, LAST_RUN),
        run_count=read_count(item, RUN_COUNT),
        runs=runs(RUNS),
        held=runs(HELD),
        latest=_read_occurrence(unpacked(item[LATEST])) if LATEST in item else None,
    )


def _description(item: Item) -> str | None:
    """Return a description as JSON, which can hold half of a surrogate pair."""
    return str(json.loads(read_string(item, DESCRIPTION))) if DESCRIPTION in item else None


def _occurrence_text(occurrence: Occurrence) -> str:
    return json.dumps(
        [
            occurrence.number,
            occurrence.scheduled_at,
            occurrence.claimed_at,
            occurrence.outcome,
            occurrence.job_id,
            occurrence.reason,
            occurrence.blocked_by,
            occurrence.cancels,
            occurrence.is_held,
        ],
        separators=(",", ":"),
    )


def _read_occurrence(text: str) -> Occurrence:
    number_, scheduled, claimed, outcome, job_id, reason, blocked_by, cancels, is_held = json.loads(
        text
    )
    return Occurrence(
        number=number_,
        scheduled_at=Instant(scheduled),
        claimed_at=Instant(claimed),
        outcome=Outcome(outcome),
        job_id=job_id,
        reason=reason,
        blocked_by=blocked_by,
        cancels=tuple(cancels),
        is_held=is_held,
    )
