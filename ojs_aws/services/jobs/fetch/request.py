"""Says what a worker asks for with FETCH, and checks it (core, section 7.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.jobs.held_job import ASSUMED_SILENCE_MS
from ojs_aws.domain.jobs.validation import MAX_VISIBILITY_MS
from ojs_aws.services.workers import MISSED_HEARTBEATS, check_heartbeat_interval

MAX_QUEUES: Final = 100


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """Says what a worker asks for.

    :ivar queues: names, in the order in which they are to be emptied.
    :ivar count: jobs wanted at most.
    :ivar worker_id: empty for a worker that gives no name.
    :ivar visibility_timeout_ms: reservation length for jobs that have none of their own.
    :ivar heartbeat_interval_ms: how often the worker promises to beat; None for no promise, and
        then its reservations end by their visibility timeout alone until it beats.
    :ivar tenant: whose jobs alone it may get; empty for those of all tenants.
    """

    queues: tuple[str, ...]
    count: int = 1
    worker_id: str = ""
    visibility_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    tenant: str = ""

    @property
    def silence_ms(self) -> int | None:
        """Return how long the worker may be silent; None if it named no interval."""
        interval = self.heartbeat_interval_ms
        return None if interval is None else MISSED_HEARTBEATS * interval

    @property
    def listed_ms(self) -> int | None:
        """Return how soon its jobs are listed as due, if it may beat and has not said so.

        Then its first heartbeat finds their rows where they may stay. One that names how long it
        wants a job is taken to name it with each heartbeat, too.
        """
        is_silent = self.heartbeat_interval_ms is None and self.visibility_timeout_ms is None
        return ASSUMED_SILENCE_MS if self.worker_id and is_silent else None

    def check(self, max_count: int) -> None:
        """Refuse what no FETCH can do.

        :raises InvalidRequestError: no queue, a bad name, or a number out of range.
        """
        if not 0 < len(self.queues) <= MAX_QUEUES:
            raise InvalidRequestError(
                f"The 'queues' attribute must name from 1 to {MAX_QUEUES} queues; received "
                f"{len(self.queues)}.",
                details={"field": "queues", "received": len(self.queues)},
            )
        for queue in self.queues:
            check_queue(queue)
        if not 0 < self.count <= max_count:
            raise InvalidRequestError(
                f"The 'count' attribute must be from 1 to {max_count}; received {self.count}.",
                details={"field": "count", "received": self.count},
            )
        visibility = self.visibility_timeout_ms
        if visibility is not None and not 0 < visibility <= MAX_VISIBILITY_MS:
            raise InvalidRequestError(
                "The 'visibility_timeout_ms' attribute must be from 1 to "
                f"{MAX_VISIBILITY_MS}; received {visibility}.",
                details={"field": "visibility_timeout_ms", "received": visibility},
            )
        check_heartbeat_interval(self.heartbeat_interval_ms)
