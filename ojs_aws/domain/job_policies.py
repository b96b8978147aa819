"""Holds two policies of jobs: how many of a key may begin, and how long ended ones stay."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import format_duration


class OnLimit(StrEnum):
    """Says what happens to a job that may not begin."""

    WAIT = "wait"
    DROP = "drop"
    RESCHEDULE = "reschedule"


@dataclass(frozen=True, slots=True)
class Window:
    """Holds how many jobs may start in a period (milliseconds)."""

    limit: int
    period_ms: int

    @property
    def per_s(self) -> float:
        """Return how many jobs start per second on average."""
        return self.limit * 1000 / self.period_ms

    @property
    def spacing_ms(self) -> int:
        """Return the milliseconds between two evenly spaced starts."""
        return -(-self.period_ms // self.limit)

    def render(self) -> dict[str, JsonValue]:
        """Return it as the specification writes it."""
        return {"limit": self.limit, "period": format_duration(self.period_ms)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Holds a limit policy (ojs-rate-limiting, section 6).

    :ivar key: the bucket.
    :ivar concurrency: most active jobs; 0 lets none begin, None any number.
    """

    key: str
    concurrency: int | None = None
    rate: Window | None = None
    throttle: Window | None = None
    on_limit: OnLimit = OnLimit.WAIT

    @property
    def limits_nothing(self) -> bool:
        """Return whether any number of jobs may begin."""
        return self.concurrency is None and self.rate is None and self.throttle is None

    def render(self) -> dict[str, JsonValue]:
        """Return it as the specification writes it."""
        members: dict[str, JsonValue] = {"key": self.key}
        if self.concurrency is not None:
            members["concurrency"] = self.concurrency
        if self.rate is not None:
            members["rate"] = self.rate.render()
        if self.throttle is not None:
            members["throttle"] = self.throttle.render()
        if self.on_limit is not OnLimit.WAIT:
            members["on_limit"] = str(self.on_limit)
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long ended jobs of a queue stay, in seconds; None where the deployment says it."""

    completed_s: int | None = None
    cancelled_s: int | None = None
    discarded_s: int | None = None
    dead_letter_s: int | None = None


NO_RETENTION: Final = Retention()
