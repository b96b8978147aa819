"""Makes the events of cron jobs (ojs-events, section 4.5; ojs-cron, section 9)."""

from __future__ import annotations

from ojs_aws.domain.cron.entry import CronEntry, Outcome
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.events.commit import Commit, MadeEvent


def cron_events(before: CronEntry | None, after: CronEntry | None, _: Commit) -> list[MadeEvent]:
    """Return ``cron.triggered`` or ``cron.skipped`` for an occurrence that was settled.

    The data has the names of both documents.
    """
    latest = after.latest if after else None
    if after is None or latest is None or latest.outcome is Outcome.CLAIMED:
        return []
    if before is not None and before.latest == latest:
        return []
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
    return [
        MadeEvent(
            kind=f"cron.{latest.outcome}",
            time=latest.claimed_at,
            subject=after.name,
            data=encode(data),
            queue=defined.queue,
            job_type=defined.type,
        )
    ]
