"""Makes the events of bulk operations, and of others that no changed item names."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.actor import by_whom
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.bulk import BulkDone, OperationDone
from ojs_aws.domain.json_text import RawJson, assemble, encode
from ojs_aws.services.events.commit import Commit, MadeEvent

KIND: Final = "operation.completed"
_WORDS: Final = {
    "enqueue": ("succeeded", "failed"),
    "cancel": ("cancelled", "skipped"),
    "retry": ("retried", "skipped"),
    "delete": ("deleted", "skipped"),
    "reprioritise": ("reprioritised", "skipped"),
}


def operation_events(
    before: OperationDone | None, after: OperationDone | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``operation.completed``, once for each record; its removal makes no event."""
    del commit
    if after is None or before is not None:
        return []
    data: dict[str, RawJson] = {
        "operation": encode(after.operation),
        "target": RawJson(after.target),
        **{name: encode(value) for name, value in by_whom(after.by).items()},
    }
    return [
        MadeEvent(
            kind=KIND, time=after.at, subject=after.id, queue=after.queue, data=assemble(data)
        )
    ]


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
