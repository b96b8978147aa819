"""Records what callers did where no changed item says who did it: removals, limits, API keys.

The stream publishes each record as ``operation.completed``. A record costs one write, and only
requests of operators make them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.domain.credentials import Actor, stored_actor
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.batches import OperationDone
from ojs_aws.domain.json_text import encode

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.bulk import BulkRequests
    from ojs_aws.domain.runtime import Clock, IdGenerator

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OperationAudit:
    """Lets the stream publish who did an operation."""

    requests: BulkRequests
    clock: Clock
    ids: IdGenerator

    def __call__(self, operation: str, target: Mapping[str, JsonValue], by: Actor) -> None:
        """Record an operation that is done; if that fails, it stays done.

        :param operation: its id in the OpenAPI document.
        :param target: what it was done to, and how much of it.
        """
        now = self.clock.now()
        done = OperationDone(
            id=self.ids.request_id(),
            operation=operation,
            target=encode({**target}),
            queue=str(target.get("queue", "")),
            at=now,
            by=stored_actor(by, now),
        )
        try:
            self.requests.record_operation(done)
        except Exception:  # whatever it was, the operation is done
            _logger.warning("Could not publish who did %s", operation, exc_info=True)
