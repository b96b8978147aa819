"""Makes the services of workers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.workers.heartbeat import Heartbeat
    from ojs_aws.services.workers.pools import Pools
    from ojs_aws.services.workers.service import Workers


class WorkerServices:
    """Holds the registry of workers, their heartbeats, and their pools."""

    def __init__(self, shared: Foundation) -> None:
        """Make nothing yet."""
        self._shared = shared

    @cached_property
    def service(self) -> Workers:
        """Return the service of workers."""
        from ojs_aws.services.workers.service import Workers

        return Workers(self._shared.stores.workers(), self._shared.changer)

    @cached_property
    def heartbeat(self) -> Heartbeat:
        """Return the operation BEAT."""
        from ojs_aws.services.workers.heartbeat import Heartbeat

        shared = self._shared
        return Heartbeat(
            shared.stores.workers(),
            shared.changer,
            shared.job_messages,
            shared.visibility,
            shared.drain_state,
        )

    @cached_property
    def pools(self) -> Pools:
        """Return the service of worker pools."""
        from ojs_aws.services.workers.pools import Pools

        stores = self._shared.stores
        return Pools(stores.pools(), stores.workers(), stores.clock, stores.new_reservation_id)
