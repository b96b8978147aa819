"""Makes the events of cron jobs (ojs-events, section 4.5; ojs-cron, section 9)."""

from __future__ import annotations

from ojs_aws.domain.credentials import by_whom
from ojs_aws.domain.cron.entry import CronEntry, Occurrence, Outcome
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.events.commit import Commit, MadeEvent


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
