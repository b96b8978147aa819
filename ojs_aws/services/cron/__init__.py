"""Fires cron jobs: makes their jobs, and recognises these when they end (ojs-cron, 6.3)."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.cron.entry import CronEntry, Occurrence, OverlapPolicy
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import (
    ANY_DEPTH,
    RawJson,
    assemble,
    encode,
    parse_object,
    stored_texts,
)
from ojs_aws.domain.timestamps import format_instant

NAME: Final = "cron_name"
SEQUENTIAL: Final = "cron_sequential"
"""Marks runs that others may wait for."""


def job_of(entry: CronEntry) -> Job:
    """Return the job of an entry's latest occurrence; always the same."""
    occurrence = entry.latest
    assert occurrence is not None  # noqa: S101 - what is_claimed says
    envelope = stored_texts(entry.definition.envelope)
    envelope["id"] = encode(occurrence.job_id)
    envelope["meta"] = _meta(envelope.get("meta"), entry, occurrence)
    if occurrence.is_held:
        envelope["pending"] = RawJson("true")
    return Job.from_members(envelope)


def _meta(own: RawJson | None, entry: CronEntry, occurrence: Occurrence) -> RawJson:
    """Return the client's own metadata, and which cron job the job comes from."""
    meta = {} if own is None else stored_texts(own)
    meta[NAME] = encode(entry.name)
    meta["cron_triggered_at"] = encode(format_instant(occurrence.claimed_at))
    meta["cron_scheduled_at"] = encode(format_instant(occurrence.scheduled_at))
    if entry.definition.overlap is OverlapPolicy.ENQUEUE:
        meta[SEQUENTIAL] = RawJson("true")
    return assemble(meta)


def ended_run(before: object | None, after: object | None) -> str:
    """Return the cron job whose run ended while others may wait for it; empty for other changes.

    :param before: what an item of the table stood for before a write, and ``after``: after it.
    """
    if not isinstance(before, JobRecord) or before.state.is_terminal:
        return ""
    if isinstance(after, JobRecord) and not after.state.is_terminal:
        return ""
    text = before.document
    if not isinstance(text, str) or SEQUENTIAL not in text:
        return ""  # a document that is kept elsewhere is not fetched: the tick does it, too
    meta = parse_object(text, max_depth=ANY_DEPTH).get("meta")
    if meta is None or not isinstance(meta.value, dict) or not meta.value.get(SEQUENTIAL):
        return ""
    name = meta.value.get(NAME)
    return name if isinstance(name, str) else ""
