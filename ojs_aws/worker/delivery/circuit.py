"""Stops deliveries to an endpoint that fails (ojs-serverless, 7.2)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

OPENS_AFTER: Final = 5
"""Failed deliveries in a row after which none is tried for a while (7.2)."""
COOLDOWN_S: Final = 60.0


@dataclass(slots=True)
class Circuit:
    """Stops deliveries to an endpoint that failed several times in a row. Threads may share it.

    After :data:`COOLDOWN_S` one delivery is tried; the others wait for its end.
    """

    monotonic: Callable[[], float]
    failures: int = 0
    reason: str = ""
    _tried_at: float = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refuses(self) -> str:
        """Return why nothing is delivered now; empty if this delivery is to be tried."""
        with self._lock:
            now = self.monotonic()
            if not self.reason or now >= self._tried_at + COOLDOWN_S:
                self._tried_at = now
                return ""
            return self.reason

    def close(self) -> None:
        """Note an answer that came from the handler."""
        with self._lock:
            self.failures, self.reason = 0, ""

    def note_failure(self, reason: str, *, is_certain: bool = False) -> None:
        """Note a failed delivery.

        :param is_certain: the next one would fail, too.
        """
        with self._lock:
            self.failures += 1
            if is_certain or self.failures >= OPENS_AFTER:
                self.reason, self._tried_at = reason, self.monotonic()
