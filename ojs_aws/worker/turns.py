"""Orders a worker's queues: always the same, or by weights (ojs-priority, section 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


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
