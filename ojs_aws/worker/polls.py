"""Decides how often an idle worker asks for jobs, and in which order of its queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.client.timer import Timer

MAX_FETCH: Final = 100
"""Jobs that one FETCH asks for at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polls:
    """Sets the pace of polling: at once after a find, then slower and slower, at random.

    :ivar first_s: pause after the first empty answer, in seconds.
    :ivar growth: how much longer each further one is.
    :ivar longest_s: the longest pause while there is nothing to do.
    :ivar longest_failing_s: the longest pause while the backend cannot be asked.
    """

    first_s: float = 0.1
    growth: float = 1.5
    longest_s: float = 2.0
    longest_failing_s: float = 15.0

    def start(self, timer: Timer) -> Polling:
        """Return the pace of one worker."""
        return Polling(self, timer)


@dataclass(slots=True)
class Polling:
    """Holds the present pace of one worker."""

    polls: Polls
    timer: Timer
    _empty: int = 0

    def pause_s(self, *, found: bool, failed: bool) -> float:
        """Return the seconds until the next poll: 0 after a find, else half to all of the pause."""
        if found:
            self._empty = 0
            return 0.0
        longest = self.polls.longest_failing_s if failed else self.polls.longest_s
        full = min(self.polls.first_s * self.polls.growth ** min(self._empty, 64), longest)
        self._empty += 1
        return full * (0.5 + self.timer.chance() / 2)


class Turns:
    """Orders the queues for each fetch.

    Weights are served by smooth round robin: each queue is first in just its share of any
    ``sum(weights)`` fetches, spread evenly, so none waits for ever. The others follow it, so that
    a fetch finds work wherever there is some.
    """

    def __init__(self, queues: Sequence[str] | Mapping[str, int]) -> None:
        """Start with the first fetch.

        :param queues: names, the most urgent first; or their weights.
        :raises ValueError: a weight that is no positive integer.
        """
        self._strict = tuple(queues)
        self._weights = dict(queues) if isinstance(queues, Mapping) else {}
        for name, weight in self._weights.items():
            if type(weight) is not int or weight < 1:
                raise ValueError(f"the weight of '{name}' must be a positive integer: {weight!r}")
        self._credit = dict.fromkeys(self._weights, 0)

    def next(self) -> tuple[str, ...]:
        """Return the order for the next fetch."""
        if not self._weights:
            return self._strict
        for name, weight in self._weights.items():
            self._credit[name] += weight
        order = sorted(self._strict, key=lambda name: -self._credit[name])
        self._credit[order[0]] -= sum(self._weights.values())
        return tuple(order)
