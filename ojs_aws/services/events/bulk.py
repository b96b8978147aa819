"""Makes the events of bulk operations (ojs-bulk-operations, section 12.1)."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.actor import by_whom
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.ports import BulkDone
from ojs_aws.services.events.commit import Commit, MadeEvent

_WORDS: Final = {
    "enqueue": ("succeeded", "failed"),
    "cancel": ("cancelled", "skipped"),
    "retry": ("retried", "skipped"),
    "delete": ("deleted", "skipped"),
    "reprioritise": ("reprioritised", "skipped"),
}


def bulk_events(before: BulkDone | None, after: BulkDone | None, commit: Commit) -> list[MadeEvent]:
    """Return ``bulk.<operation>.completed``, once for each request answered item by item."""
    del commit
    if after is None or after == before:
        return []
    done, left = _WORDS[after.operation]
    data: dict[str, JsonValue] = {
        "total": after.total,
        done: after.done,
        left: after.total - after.done,
        "atomicity": "atomic" if after.is_atomic else "partial",
    }
    data |= by_whom(after.by)
    kind = f"bulk.{after.operation}.completed"
    return [MadeEvent(kind=kind, time=after.at, subject=after.id, queue="", data=encode(data))]
