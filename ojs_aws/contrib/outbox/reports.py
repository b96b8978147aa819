"""Say in words what an outbox holds, for commands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ojs_aws.contrib.outbox.rows import OutboxStatus
from ojs_aws.contrib.outbox.staging import system_clock
from ojs_aws.contrib.outbox.store import OutboxStore

_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Report:
    """Holds lines to print, and how many rows an operator has to decide on."""

    lines: list[str]
    parked: int


def report(store: OutboxStore, now: datetime | None = None) -> Report:
    """Return the counts, the age of the oldest row that waits, and the first parked rows."""
    seen = store.overview()
    lines = [f"{name:8} {seen.counts.get(name, 0)}" for name in OutboxStatus]
    if seen.oldest_at is not None:
        age = (now or system_clock()) - seen.oldest_at
        lines.append(f"The oldest row that waits is {int(age.total_seconds())} s old.")
    parked = store.parked_rows(_SHOWN)
    lines += [f"parked: {row.job_id} {row.job_type}: {row.error}" for row in parked]
    return Report(lines, seen.parked)
