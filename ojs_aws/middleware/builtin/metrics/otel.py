"""Write metrics through OpenTelemetry's API, to the SDK that the application has set up."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ojs_aws._version import __version__
from ojs_aws.middleware.builtin.metrics import JOBS
from ojs_aws.middleware.errors import missing_extra

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, Meter

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_BOUNDARIES: Final[Mapping[str, list[float]]] = {
    "s": [*_SECONDS],
    "ms": [seconds * 1000 for seconds in _SECONDS],
}
"""Of histograms, as ojs-observability, section 8.2, recommends; a view of the SDK outweighs it."""


class OpenTelemetrySink:
    """Fills counters and histograms of one Meter; each is made when its name is first seen.

    It never flushes: that is the business of the SDK's reader, and under Lambda of the
    OpenTelemetry layer.
    """

    def __init__(self, meter: Meter | None = None) -> None:
        """Use ``meter``, by default the global provider's ``ojs_aws``.

        :raises ImportError: the extra ``telemetry`` is not installed.
        """
        try:
            from opentelemetry import metrics  # an extra
        except ImportError as missing:
            raise missing_extra("OpenTelemetrySink", "telemetry") from missing
        self._meter = meter or metrics.get_meter("ojs_aws", __version__)
        self._lock = threading.Lock()
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}

    def emit(self, name: str, value: float, unit: str, attributes: Mapping[str, str]) -> None:
        """Add to a counter, or record in a histogram."""
        if unit == JOBS:
            (self._counters.get(name) or self._new_counter(name)).add(value, attributes)
        else:
            histogram = self._histograms.get(name) or self._new_histogram(name, unit)
            histogram.record(value, attributes)

    def idle(self) -> None:
        """Do nothing: the SDK decides when it exports."""

    def _new_counter(self, name: str) -> Counter:
        with self._lock:
            if name not in self._counters:
                self._counters[name] = self._meter.create_counter(name, unit=JOBS)
            return self._counters[name]

    def _new_histogram(self, name: str, unit: str) -> Histogram:
        with self._lock:
            if name not in self._histograms:
                self._histograms[name] = self._meter.create_histogram(
                    name, unit=unit, explicit_bucket_boundaries_advisory=_BOUNDARIES.get(unit)
                )
            return self._histograms[name]
