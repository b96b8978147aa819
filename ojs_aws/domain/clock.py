"""Declares the sources of time and identifiers."""

from __future__ import annotations

from typing import Protocol

from ojs_aws.domain.timestamps import Instant


class Clock(Protocol):
    """Provides the time."""

    def now(self) -> Instant:
        """Return the current instant (milliseconds)."""

    def order(self) -> int:
        """Return microseconds since the epoch, strictly increasing within the process.

        Jobs of one priority are fetched in this order, so that two jobs enqueued within one
        millisecond keep theirs.
        """


class IdGenerator(Protocol):
    """Makes identifiers."""

    def job_id(self) -> str:
        """Return a new lowercase UUIDv7."""

    def request_id(self) -> str:
        """Return a new request id, ``req_`` and a UUIDv7."""
