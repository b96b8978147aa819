"""Create the ids that clients and workers choose themselves."""

from __future__ import annotations

import uuid_utils


class UuidV7:
    """Makes UUIDv7 identifiers."""

    def job_id(self) -> str:
        """Return a new lowercase UUIDv7."""
        return str(uuid_utils.uuid7())

    def request_id(self) -> str:
        """Return a new request id."""
        return f"req_{uuid_utils.uuid7()}"
