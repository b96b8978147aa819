"""Answers of bulk operations, kept under the keys that clients gave them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ojs_aws.domain.timestamps import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRequest:
    """A bulk operation with an idempotency key (ojs-bulk-operations, section 10).

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
    """A bulk operation that is over, to be told of by the stream.

    :ivar id: names it.
    :ivar operation: enqueue, cancel, retry or delete.
    :ivar total: jobs that it was about.
    :ivar done: those that it did it to.
    :ivar is_atomic: all or none.
    """

    id: str
    operation: str
    total: int
    done: int
    is_atomic: bool
    at: Instant


class BulkRequests(Protocol):
    """Bulk operations by their idempotency keys."""

    def begin(self, request: BulkRequest, forgotten_before: Instant) -> BulkRequest:
        """Store a request, unless its key is taken since ``forgotten_before``.

        :returns: what stands under the key.
        """

    def answer(self, request: BulkRequest) -> None:
        """Keep the answer of a request that was begun."""

    def tell(self, done: BulkDone) -> None:
        """Let the stream tell of an operation; one write."""
