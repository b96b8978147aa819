"""Publishes that operators changed many jobs, and who did it."""

from __future__ import annotations

from collections.abc import Sequence

from ojs_aws.services.bulk.engine import BulkReport
from ojs_aws.transport.http.calls import Call


def publish_change(call: Call, operation: str, reports: Sequence[BulkReport]) -> None:
    """Publish one event for what a request changed: one write, and none if it met no job."""
    total = sum(len(report.outcomes) for report in reports)
    if total:
        done = sum(report.done for report in reports)
        call.backend.bulk.completion_events(operation, total, done, is_atomic=False, by=call.actor)
