"""Holds how long the ended jobs of a queue stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long ended jobs of a queue stay, in seconds; None where the deployment says it."""

    completed_s: int | None = None
    cancelled_s: int | None = None
    discarded_s: int | None = None
    dead_letter_s: int | None = None


NO_RETENTION: Final = Retention()
