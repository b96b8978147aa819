"""The queues there are (HTTP binding, section 11)."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.ports import QueueInfo, QueueRegistry


@dataclass(frozen=True, slots=True)
class Queues:
    """Lists queues."""

    registry: QueueRegistry

    def list(self) -> list[QueueInfo]:
        """Every queue that is declared or was used, by name."""
        return self.registry.all()
