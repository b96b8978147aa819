"""Describes bulk operations, and what the stream publishes of finished ones."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain.timestamps import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRequest:
    """Describes a bulk operation with an idempotency key (ojs-bulk-operations, section 10).

    :ivar key: of the operation, the caller and the client's own key.
    :ivar digest: of the request's body.
    :ivar begun_at: when it was first seen.
    :ivar status: of the answer; 0 while there is none.
    :ivar answer: JSON text.
    """

    key: str
    digest: str
    begun_at: Instant
    status: int = 0
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkDone:
    """Describes a finished bulk operation, which the stream publishes.

    :ivar id: names it.
    :ivar operation: enqueue, cancel, retry or delete.
    :ivar total: jobs that it was about.
    :ivar done: those that it did it to.
    :ivar is_atomic: all or none.
    :ivar by: who did it, as ``domain.actor`` stores it; empty where nobody knows.
    """

    id: str
    operation: str
    total: int
    done: int
    is_atomic: bool
    at: Instant
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDone:
    """Describes an operation of somebody, which the stream publishes.

    :ivar id: names the record.
    :ivar operation: id of the operation.
    :ivar target: what it was done to: a JSON object.
    :ivar queue: that it concerns, or empty.
    :ivar by: who did it, as ``domain.actor`` stores it.
    """

    id: str
    operation: str
    target: str
    at: Instant
    by: str
    queue: str = ""
