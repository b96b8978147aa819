"""Measure jobs in both chains, and write the metrics to a sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

JOBS: Final = "{job}"
"""Unit of what is counted; any other unit (``ms``, ``s``) is of what is measured."""


class MetricSink(Protocol):
    """Takes metrics. It is called from several threads and tasks, and must not block."""

    def emit(self, name: str, value: float, unit: str, attributes: Mapping[str, str]) -> None:
        """Take one value.

        :param unit: ``{job}`` for a counter's increment, else the unit of a histogram's value.
        :param attributes: ``type`` and ``queue``, or ``queue`` alone; never more values than the
            middleware's ``max_series``.
        """

    def idle(self) -> None:
        """Write what is held, if that is due: no job is executed or enqueued at the moment."""
