"""Says when a queue has its next message, from moto's own list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ojs_aws.local.aws import ACCOUNT, AWS_LOCK, REGION


@dataclass(frozen=True)
class EmbeddedMessages:
    """Looks into a queue that moto keeps.

    Not through moto's API: an empty receive takes a hundred times as long.
    """

    queue_name: str

    def due_s(self) -> float | None:
        """Return the seconds until a message can be received: 0 for now, None without messages."""
        from moto.core.utils import unix_time_millis  # an extra
        from moto.sqs.models import sqs_backends

        with AWS_LOCK:
            queue: Any = sqs_backends[ACCOUNT][REGION].queues.get(self.queue_name)
            messages = queue._messages if queue is not None else ()  # noqa: SLF001 - no other way
            due = min((max(each.visible_at, each.delayed_until) for each in messages), default=None)
        return None if due is None else max(0.0, (due - unix_time_millis()) / 1000)
