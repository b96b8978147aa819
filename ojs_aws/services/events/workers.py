"""Makes the events of workers (ojs-events, section 4.3)."""

from __future__ import annotations

from ojs_aws.domain.actor import by_whom
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.json_text import ANY_DEPTH, assemble, decode, encode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.services.events.commit import Commit, MadeEvent


def worker_events(
    before: WorkerInfo | None, after: WorkerInfo | None, commit: Commit
) -> list[MadeEvent]:
    """Return the events in a worker's life, from its first heartbeat to its last.

    One that ended well said so: it stopped by ``shutdown``. One that is removed without that was
    not heard of any more: it stopped by ``error``.
    """
    if after is None:
        if before is None or _has_ended(before):
            return []
        at = Instant(max(commit.at, before.last_seen))
        return [_made("worker.stopped", before, at, reason="error")]
    at = after.last_seen
    if before is None or (_has_ended(before) and not _has_ended(after)):
        about = _about(after)
        queues, concurrency = _queues(about), about.get("concurrency")
        is_count = isinstance(concurrency, int)
        concurrency = concurrency if is_count else 0
        return [_made("worker.started", after, at, queues=queues, concurrency=concurrency)]
    if after.last_seen == before.last_seen:
        return _directed(before, after, commit)
    if _has_ended(after):
        return [] if _has_ended(before) else [_made("worker.stopped", after, at, reason="shutdown")]
    made: list[MadeEvent] = []
    if after.state == "quiet" and before.state != "quiet":
        made.append(_made("worker.quiet", after, at, active_jobs=after.active_jobs))
    about = _about(after)
    usage = {name: about[name] for name in ("memory_mb", "cpu_percent") if name in about}
    data: dict[str, JsonValue] = {"active_jobs": after.active_jobs, "queues": _queues(about)}
    made.append(_made("worker.heartbeat", after, at, **data, **usage))
    return made


def _directed(before: WorkerInfo, after: WorkerInfo, commit: Commit) -> list[MadeEvent]:
    """Return that somebody directed a worker; the worker reports when it follows."""
    if before.directive == after.directive:
        return []
    at = Instant(max(commit.at, after.last_seen))
    by = by_whom(after.directed_by)
    return [_made("worker.directed", after, at, directive=after.directive, **by)]


def _has_ended(worker: WorkerInfo) -> bool:
    return worker.state == "terminate" and not worker.active_jobs


def _about(worker: WorkerInfo) -> dict[str, JsonValue]:
    try:
        about = decode(worker.about, max_depth=ANY_DEPTH) if worker.about else {}
    except OjsError:
        return {}
    return about if isinstance(about, dict) else {}


def _queues(about: dict[str, JsonValue]) -> JsonValue:
    queues = about.get("queues")
    return queues if isinstance(queues, list) else []


def _made(kind: str, worker: WorkerInfo, at: Instant, **more: JsonValue) -> MadeEvent:
    data: dict[str, JsonValue] = {"worker_id": worker.id, **more, "state": worker.state}
    return MadeEvent(
        kind=kind,
        time=at,
        subject=worker.id,
        data=assemble({name: encode(value) for name, value in data.items()}),
    )
