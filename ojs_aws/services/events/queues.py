"""Makes the events of queues, their settings and bounds.

ojs-events, section 4.2; ojs-queue-config; ojs-backpressure, section 10.1.
"""

from __future__ import annotations

from ojs_aws.domain.actor import by_whom
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.queues.state import Pressure, QueueInfo, QueueSettings, QueueState
from ojs_aws.domain.timestamps import Instant
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
    data: dict[str, JsonValue] = {"queue": queue.name}
    if paused_after is not None:
        data |= by_whom(queue.paused_by, paused_after)
        return [_made("queue.paused", queue.name, paused_after, data)]
    data |= by_whom(queue.resumed_by)
    resumed = Instant(max(commit.at, paused_before or 0))
    return [_made("queue.resumed", queue.name, resumed, data)]


def settings_events(
    before: QueueSettings | None, after: QueueSettings | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``queue.created`` and ``queue.deleted``, else ``queue.config_updated``."""
    if after is None or (before is not None and before.revision == after.revision):
        return []
    time = Instant(after.updated_at or commit.at)
    was_there = before is not None and before.state is not QueueState.DELETED
    data: dict[str, JsonValue] = {"queue": after.queue, "revision": after.revision}
    data |= by_whom(after.by, after.revision)
    if after.state is QueueState.DELETED:
        return [_made("queue.deleted", after.queue, time, data)] if was_there else []
    if not was_there and after.created_at is not None and after.queue != DEFAULT_POLICY:
        return [_made("queue.created", after.queue, time, data)]
    return [_made("queue.config_updated", after.queue, time, data)]


def pressure_events(
    before: Pressure | None, after: Pressure | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``backpressure.warning`` and ``.cleared``, ``queue.full``, ``.rejected`` with a count.

    A queue is full once until it is known to have had room.
    """
    if after is None:
        return []
    del commit
    where: dict[str, JsonValue] = {
        "queue": after.queue,
        "depth": after.depth,
        "bound": after.bound,
    }
    made = []
    was_warned = before is not None and before.is_warned
    if after.is_warned != was_warned:
        kind = "backpressure.warning" if after.is_warned else "backpressure.cleared"
        made.append(_made(kind, after.queue, after.at, where))
    if _is_full(after) and not _is_full(before):
        made.append(_made("queue.full", after.queue, after.at, where))
    rejected = after.rejected - (before.rejected if before else 0)
    if rejected > 0:
        data = {**where, "job_type": after.job_type, "count": rejected}
        made.append(_made("backpressure.rejected", after.queue, after.at, data))
    return made


def _is_full(pressure: Pressure | None) -> bool:
    """Return whether the last place was taken at this write; a rejection says so, too."""
    return pressure is not None and 0 < pressure.bound <= pressure.depth


def _made(kind: str, queue: str, time: Instant, data: dict[str, JsonValue]) -> MadeEvent:
    return MadeEvent(kind=kind, time=time, subject=queue, queue=queue, data=encode(data))
