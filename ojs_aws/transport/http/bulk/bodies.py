"""Declares the bodies of bulk operations."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ojs_aws.transport.http.bodies import Body, JobId
from ojs_aws.transport.http.jobs.bodies import PushBody


class BulkEnqueueBody(Body):
    """Holds a bulk enqueue (ojs-bulk-operations, section 5)."""

    jobs: Annotated[list[PushBody], Field(min_length=1, max_length=1000)]
    atomicity: Literal["atomic", "partial"] = "partial"
    idempotency_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None


class BulkFilterBody(Body):
    """Which jobs are meant (ojs-bulk-operations, section 6.1)."""

    queue: str | None = None
    type: str | None = None
    state: list[str] | None = None
    enqueued_before: str | None = None
    enqueued_after: str | None = None
    priority: int | None = None
    meta: dict[str, Any] | None = None


class BulkChangeBody(Body):
    """Jobs to be changed, by their ids or by a filter (ojs-bulk-operations, sections 6 to 8)."""

    job_ids: Annotated[list[JobId], Field(min_length=1, max_length=1000)] | None = None
    filter: BulkFilterBody | None = None
    atomicity: Literal["atomic", "partial"] = "partial"
    idempotency_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    cursor: str | None = None
