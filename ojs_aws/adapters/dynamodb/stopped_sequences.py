"""Lists stopped sequences: a partition of the index that has a row of each, and no others.

The row is a part of the sequence's item. So the write that stops a sequence lists it, and each
write that lets it go on takes it off the list. It costs a write unit of the index each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_string, string
from ojs_aws.adapters.dynamodb.table import in_index, key_in
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.domain.sequences import Sequence
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore

STOPPED_LIST: Final = "sequences|stopped"
"""The partition of the index that lists the sequences that are stopped, and no others."""

MAX_COUNTED: Final = 1000
"""Rows that are counted; beyond, there are at least so many."""


def put_on_list(update: Update, now: Instant, token: str) -> None:
    """Let a write list a sequence as stopped.

    :param token: differs from those of all others, which may stop at the same instant.
    """
    update.set(n.GPK, string(STOPPED_LIST))
    update.set(n.GSK, string(f"{n.instant_key(now)}#{token}"))


def take_off_list(update: Update) -> None:
    """Let a write take a sequence off the list."""
    update.remove(n.GPK, n.GSK)


@dataclass(frozen=True, slots=True)
class StoppedPage:
    """Holds stopped sequences with their places, those stopped first at the begin.

    :ivar cursor: the place of the last row that was looked at; empty if there are no others.
    """

    sequences: tuple[tuple[str, Sequence], ...]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class StoppedSequences:
    """Reads the list.

    :ivar read: returns the sequence that an item describes.
    """

    store: JobStore
    read: Callable[[Item], Sequence]

    def page(self, most: int, after: str = "", tenant: str | None = None) -> StoppedPage:
        """Return the stopped sequences among so many rows.

        Makes one query of the index, and one consistent read of the sequences, as the index lags.

        :param after: the place that the page begins behind.
        :param tenant: whose they are; None for everybody's.
        """
        key, values = "#gpk = :gpk", {"gpk": string(STOPPED_LIST)}
        if after:
            key, values = f"{key} AND #gsk > :after", values | {"after": string(after)}
        rows = self._query(key, values, Limit=most + 1)["Items"]
        shown = rows[:most]
        cursor = read_string(shown[-1], n.GSK) if len(rows) > most else ""
        own = "" if tenant is None else n.sequence_pk(tenant, "")
        places = {
            read_string(row, n.PK): read_string(row, n.GSK)
            for row in shown
            if read_string(row, n.PK).startswith(own)
        }
        keys = [key_in(row) for row in shown if read_string(row, n.PK) in places]
        items = self.store.get_items(keys) if keys else []
        found = [(places[read_string(item, n.PK)], self.read(item)) for item in items]
        found.sort(key=lambda each: each[0])
        return StoppedPage(tuple(each for each in found if each[1].stopped_at is not None), cursor)

    def count(self) -> tuple[int, bool]:
        """Return how many there are, by one query, and whether there are no more than that."""
        values = {"gpk": string(STOPPED_LIST)}
        answer = self._query("#gpk = :gpk", values, Limit=MAX_COUNTED, Select="COUNT")
        return answer["Count"], not answer.get("LastEvaluatedKey")

    def _query(self, key: str, values: dict[str, Any], **options: Any) -> Any:
        return self.store.query(key, values, **in_index(**options))
