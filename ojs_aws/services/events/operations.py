"""Makes the events of operations that no changed item names the caller of (an extension)."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.actor import by_whom
from ojs_aws.domain.json_text import RawJson, assemble, encode
from ojs_aws.ports import OperationDone
from ojs_aws.services.events.commit import Commit, MadeEvent

KIND: Final = "operation.completed"


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
