"""Makes the events of queues (ojs-events, section 4.2)."""

from __future__ import annotations

from ojs_aws.domain.json_text import assemble, encode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import QueueInfo
from ojs_aws.services.events.commit import Commit, MadeEvent


def queue_events(
    before: QueueInfo | None, after: QueueInfo | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``queue.paused`` and ``queue.resumed``; other changes of a queue are no events."""
    paused_before = before.paused_at if before else None
    paused_after = after.paused_at if after else None
    queue = after or before
    if queue is None or (paused_before is None) == (paused_after is None):
        return []
    if paused_after is not None:
        return [_made("queue.paused", queue, paused_after)]
    return [_made("queue.resumed", queue, Instant(max(commit.at, paused_before or 0)))]


def _made(kind: str, queue: QueueInfo, time: Instant) -> MadeEvent:
    data = assemble({"queue": encode(queue.name)})
    return MadeEvent(kind=kind, time=time, subject=queue.name, queue=queue.name, data=data)
