"""Makes the events of schemas of job types: extensions of the specification."""

from __future__ import annotations

from ojs_aws.domain.actor import by_whom
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.schemas.schema import SchemaName
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.events.commit import Commit, MadeEvent


def schema_events(
    before: SchemaName | None, after: SchemaName | None, commit: Commit
) -> list[MadeEvent]:
    """Return ``schema.registered`` or ``schema.deleted``; a removal does not say by whom."""
    if after is not None and before is None:
        return [_made("schema.registered", after, after.created_at, by_whom(after.by))]
    if after is None and before is not None:
        at = Instant(max(commit.at, before.created_at))
        return [_made("schema.deleted", before, at, {})]
    return []


def _made(kind: str, name: SchemaName, at: Instant, by: dict[str, JsonValue]) -> MadeEvent:
    data: dict[str, JsonValue] = {
        "job_type": name.type,
        "version": name.version,
        "uri": name.uri,
        **by,
    }
    return MadeEvent(kind=kind, time=at, subject=name.uri, data=encode(data))
