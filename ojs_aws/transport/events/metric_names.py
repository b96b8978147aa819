"""Publishes metrics, and limits which names have their own: CloudWatch bills each dimension.

Producers make up job types and, where they may, queues. So a process names the first ones it meets
and counts the others together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from ojs_aws.topology import METRICS

MAX_NAMES: Final = 200
OTHER: Final = "other"
NO_DIMENSIONS: Final[Mapping[str, str]] = {}


def publish(
    function_name: str,
    values: Iterable[tuple[str, str, float]],
    dimensions: Mapping[str, str] = NO_DIMENSIONS,
) -> None:
    """Publish values, each a name, a unit and a number: in a line of the log, without a call."""
    from aws_lambda_powertools.metrics import EphemeralMetrics

    metrics = EphemeralMetrics(namespace=METRICS, service=function_name)
    for name, value in dimensions.items():
        metrics.add_dimension(name, value)
    for name, unit, number in values:
        metrics.add_metric(name, unit, number)
    if metrics.metric_set:
        metrics.flush_metrics()


class MetricNames:
    """Gives the first names metrics of their own, and all later ones the name ``other``."""

    def __init__(self, always: Collection[str] = (), most: int = MAX_NAMES) -> None:
        """Start with no name.

        :param always: names that have metrics of their own in any case, beside the first ones.
        """
        self._always = frozenset(always)
        self._most = most
        self._first: set[str] = set()

    def name_of(self, name: str) -> str:
        """Return the name under which to count something."""
        if name in self._always or name in self._first:
            return name
        if len(self._first) >= self._most:
            return OTHER
        self._first.add(name)
        return name
