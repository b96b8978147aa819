"""Repair after a restore of the table (docs/operations-restore.md)."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.validation import invalid
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.dialects.pages import read_mark, write_mark

_MARK: Final = "r:"


def repair(call: Call) -> Answer:
    """Do the next part of a repair, or only count what it would do."""
    values = {name: member.value for name, member in call.members(optional=True).items()}
    is_dry, cursor = values.get("dry_run", False), values.get("cursor") or ""
    if not isinstance(is_dry, bool):
        raise invalid("dry_run", "true or false", is_dry)
    if not isinstance(cursor, str):
        raise invalid("cursor", "a text", cursor)
    report = call.backend.repair(read_mark(_MARK, cursor), is_dry=is_dry)
    body: dict[str, JsonValue] = {
        "dry_run": is_dry,
        "queues": [*report.queues],
        "ready": report.ready,
        "waiting": report.waiting,
        "paused": report.paused,
        "workflows": report.workflows,
        "has_more": bool(report.cursor),
    }
    if report.cursor:
        body["next_cursor"] = write_mark(_MARK, report.cursor)
    return Answer(encode(body))
