"""Provides the backend whose calls are counted, and the items that they write."""

from __future__ import annotations

from typing import Any

from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock
from tests.aws import EmbeddedAws


def warm_backend(aws: EmbeddedAws) -> Backend:
    """Return a backend in a process that has fetched before from its usual queues."""
    made = build_backend(aws.settings, aws.clients, clock=FakeClock(), parallel=IN_ORDER)
    made.stores.queues.register("default", made.clock.now())  # as the first sweep does
    for queue in ("default", "later"):
        made.queues.push_settings.of(queue)
    made.jobs.fetch.limited_types.of("default")
    return made


def job_item(aws: EmbeddedAws, job_id: str) -> dict[str, Any]:
    """Return the item that a job has in the table."""
    key = {"pk": {"S": f"job#{job_id}"}, "sk": {"S": "job"}}
    answer = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)
    item: dict[str, Any] = answer["Item"]
    return item
