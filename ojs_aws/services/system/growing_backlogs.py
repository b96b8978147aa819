"""Finds queues to which more jobs come than their workers begin, before any job waits for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ojs_aws.domain.queues.tallies import MINUTE_MS, TallyKind
from ojs_aws.domain.timestamps import span_text
from ojs_aws.services.system.finding import MAX_NAMED, Finding, FindingCode

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.services.system.statistics import Totals

LONG_MS: Final = 300_000
"""A backlog that takes longer at the pace of its workers is found while it grows."""

MIN_GROWTH: Final = 60
"""Jobs by which it has grown in the last minute or two."""


def growing_backlogs(totals: Totals) -> list[Finding]:
    """Say whose backlogs grow, those that take longest first. Reads nothing.

    A burst that the workers will soon have begun is none, and neither are jobs that were enqueued
    for later: the queue must have as many available jobs as it has grown by.
    """
    found = []
    for queue, did in totals.paces.items():
        came, began = did.counts[TallyKind.ENQUEUED], did.counts[TallyKind.STARTED]
        available = totals.by_queue[queue][0].counts["available"]
        if queue in totals.paused or came - began < MIN_GROWTH or available < came - began:
            continue
        takes_ms = available * totals.pace_ms // began if began else None
        if takes_ms is None or takes_ms > LONG_MS:
            found.append((takes_ms, queue, came, began))
    found.sort(key=lambda each: (each[0] is not None, -(each[0] or 0), each[1]))
    return [_finding(totals, *each) for each in found[:MAX_NAMED]]


def _finding(totals: Totals, takes_ms: int | None, queue: str, came: int, began: int) -> Finding:
    """Say what comes in and goes out each minute, and how long the backlog takes."""
    minutes = totals.pace_ms / MINUTE_MS
    available = totals.by_queue[queue][0].counts["available"]
    comes, begins = round(came / minutes), round(began / minutes)
    data: dict[str, JsonValue] = {
        "queue": queue,
        "available": available,
        "enqueued_per_minute": comes,
        "started_per_minute": begins,
    }
    text = f"The backlog of queue '{queue}' grows: {comes} jobs a minute come, "
    if takes_ms is None:
        text += f"and none has begun. {available} are available."
    else:
        data["wait_ms"] = takes_ms
        text += (
            f"{begins} begin. {available} are available; at this pace the last of them begins in "
            f"about {span_text(takes_ms)}."
        )
    return Finding(
        code=FindingCode.BACKLOG_GROWS,
        check="queues",
        message=text,
        hint=f"Start more workers, or slow the senders: ojs-aws queues show {queue}",
        data=data,
    )
