"""Where time and identifiers come from."""

from __future__ import annotations

from typing import Protocol

from ojs_aws.domain.timestamps import Instant


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> Instant:
        """The current instant (milliseconds)."""

    def order(self) -> int:
        """Microseconds since the epoch, strictly increasing within the process.

        Jobs of one priority are fetched in this order, so that two jobs enqueued within one
        millisecond keep theirs.
        """


class IdGenerator(Protocol):
    """Where identifiers come from."""

    def job_id(self) -> str:
        """A new lowercase UUIDv7."""

    def request_id(self) -> str:
        """A new request id, ``req_`` and a UUIDv7."""
