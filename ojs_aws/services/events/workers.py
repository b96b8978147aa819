"""Makes the events of workers and of cron jobs (ojs-events, 4.2 and 4.5; ojs-cron, section 9)."""

from __future__ import annotations

from ojs_aws.domain.credentials import by_whom
from ojs_aws.domain.cron.entry import CronEntry, Occurrence, Outcome
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.json_text import ANY_DEPTH, assemble, decode, encode
from ojs_aws.domain.timestamps import Instant, format_instant
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
        return [_worker_event("worker.stopped", before, at, reason="error")]
    at = after.last_seen
    if before is None or (_has_ended(before) and not _has_ended(after)):
        about = _about(after)
        queues, concurrency = _queues(about), about.get("concurrency")
        is_count = isinstance(concurrency, int)
        concurrency = concurrency if is_count else 0
        return [_worker_event("worker.started", after, at, queues=queues, concurrency=concurrency)]
    if after.last_seen == before.last_seen:
        return _directed(before, after, commit)
    if _has_ended(after):
        return (
            []
            if _has_ended(before)
            else [_worker_event("worker.stopped", after, at, reason="shutdown")]
        )
    made: list[MadeEvent] = []
    if after.state == "quiet" and before.state != "quiet":
        made.append(_worker_event("worker.quiet", after, at, active_jobs=after.active_jobs))
    about = _about(after)
    usage = {name: about[name] for name in ("memory_mb", "cpu_percent") if name in about}
    data: dict[str, JsonValue] = {"active_jobs": after.active_jobs, "queues": _queues(about)}
    made.append(_worker_event("worker.heartbeat", after, at, **data, **usage))
    return made


def _directed(before: WorkerInfo, after: WorkerInfo, commit: Commit) -> list[MadeEvent]:
    """Return that somebody directed a worker; the worker reports when it follows."""
    if before.directive == after.directive:
        return []
    at = Instant(max(commit.at, after.last_seen))
    by = by_whom(after.directed_by)
    return [_worker_event("worker.directed", after, at, directive=after.directive, **by)]


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


def _worker_event(kind: str, worker: WorkerInfo, at: Instant, **more: JsonValue) -> MadeEvent:
    data: dict[str, JsonValue] = {"worker_id": worker.id, **more, "state": worker.state}
    return MadeEvent(
        kind=kind,
        time=at,
        subject=worker.id,
        data=assemble({name: encode(value) for name, value in data.items()}),
    )


def cron_events(
    before: CronEntry | None, after: CronEntry | None, commit: Commit
) -> list[MadeEvent]:
    """Return what became of an occurrence that was settled, and of the entry itself.

    That is ``cron.triggered`` or ``cron.skipped``, and ``cron.registered``, ``cron.updated`` or
    ``cron.deleted``. Registering an entry again as it is makes no event: applications do so
    whenever they start. The data has the names of both documents.
    """
    if after is None:
        return [] if before is None else [_changed("cron.deleted", before, commit)]
    if before is None:
        made = [_changed("cron.registered", after, commit)]
    else:
        is_other = before.definition != after.definition
        made = [_changed("cron.updated", after, commit)] if is_other else []
    latest = after.latest
    if latest is None or latest.outcome is Outcome.CLAIMED:
        return made
    if before is not None and before.latest == latest:
        return made
    return [*made, _settled(after, latest)]


def _changed(kind: str, entry: CronEntry, commit: Commit) -> MadeEvent:
    """Return that somebody changed an entry; a removal leaves nothing that says who."""
    defined = entry.definition
    data: dict[str, JsonValue] = {
        "cron_name": entry.name,
        "cron_expr": defined.expression,
        "timezone": defined.timezone,
        "job_type": defined.type,
        "enabled": defined.is_enabled,
    }
    is_gone = kind == "cron.deleted"
    if not is_gone:
        data |= by_whom(entry.changed_by, entry.version)
    time = Instant(max(commit.at, entry.updated_at)) if is_gone else entry.updated_at
    return MadeEvent(
        kind=kind,
        time=time,
        subject=entry.name,
        data=encode(data),
        queue=defined.queue,
        job_type=defined.type,
    )


def _settled(after: CronEntry, latest: Occurrence) -> MadeEvent:
    """Return what became of an occurrence, and who triggered it by hand."""
    defined, due = after.definition, format_instant(latest.scheduled_at)
    data: dict[str, JsonValue] = {
        "cron_name": after.name,
        "cron_expr": defined.expression,
        "cron_expression": defined.expression,
        "timezone": defined.timezone,
        "job_type": defined.type,
        "scheduled_at": due,
        "scheduled_time": due,
        "actual_time": format_instant(latest.claimed_at),
    }
    if latest.outcome is Outcome.TRIGGERED:
        data |= {"job_id": latest.job_id, "run_count": after.run_count}
    else:
        data["reason"] = latest.reason
        if latest.blocked_by:
            data |= {"existing_job_id": latest.blocked_by, "active_job_id": latest.blocked_by}
    return MadeEvent(
        kind=f"cron.{latest.outcome}",
        time=latest.claimed_at,
        subject=after.name,
        data=encode(data | by_whom(after.triggered_by, latest.number)),
        queue=defined.queue,
        job_type=defined.type,
    )
