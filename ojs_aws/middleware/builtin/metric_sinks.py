"""Write metrics to the log in CloudWatch's Embedded Metric Format, or through OpenTelemetry."""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from ojs_aws._version import __version__
from ojs_aws.middleware.results import missing_extra

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, Meter

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


MAX_VALUES: Final = 100
"""Values that one metric of one document may have."""

NAMESPACE: Final = "OJS"
HOLD_S: Final = 10.0

_UNITS: Final = {JOBS: "Count", "ms": "Milliseconds", "s": "Seconds"}

_Key = tuple[tuple[str, str], ...]


class EmfSink:
    """Collects values and writes them as documents: one per type and queue, not one per job.

    Under Lambda a document is written at the end of each invocation, before the environment is
    frozen. Elsewhere values are held for some seconds, and written at the exit of the process at
    the latest. Powertools' own ``Metrics`` of the application is left alone: it is one object for
    the whole process, and shares its dimensions with everybody; each document here is made by a
    provider of its own.
    """

    def __init__(
        self,
        namespace: str | None = None,
        *,
        service: str | None = None,
        hold_s: float | None = None,
        write: Callable[[str], object] | None = None,
    ) -> None:
        """Describe the documents.

        :param namespace: by default ``POWERTOOLS_METRICS_NAMESPACE``, else ``OJS``.
        :param service: a dimension more; by default ``POWERTOOLS_SERVICE_NAME``, else none.
        :param hold_s: seconds for which values are collected; 0, the default under Lambda: until
            nothing is executing any more.
        :param write: takes each document, a line of JSON without its end; standard output by
            default.
        """
        # Powertools, which loads botocore: OpenTelemetry's sink needs neither
        from aws_lambda_powertools.metrics.functions import is_metrics_disabled
        from aws_lambda_powertools.metrics.provider.cloudwatch_emf import cloudwatch

        if hold_s is None:
            hold_s = 0.0 if "AWS_LAMBDA_FUNCTION_NAME" in os.environ else HOLD_S
        self._namespace = namespace
        self._service = service
        self._hold_s = hold_s
        self._write = write or _to_stdout
        self._is_disabled = is_metrics_disabled
        self._provider = cloudwatch.AmazonCloudWatchEMFProvider
        self._forget()
        atexit.register(_flush, weakref.ref(self))
        _SINKS.add(self)

    def _forget(self) -> None:
        """Start without values. Those of a parent process are left to it, and so is its timer."""
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._pending: dict[_Key, dict[str, _Values]] = {}

    def emit(self, name: str, value: float, unit: str, attributes: Mapping[str, str]) -> None:
        """Keep a value until the next document of its attributes."""
        key = tuple(sorted(attributes.items()))
        with self._lock:
            values = self._pending.setdefault(key, {}).setdefault(name, _Values(unit))
            values.add(value)
            if len(values.numbers) == MAX_VALUES:
                self._write_document(key, self._pending.pop(key))
            elif self._hold_s and self._timer is None:
                self._timer = threading.Timer(self._hold_s, _flush, (weakref.ref(self),))
                self._timer.daemon = True
                self._timer.start()

    def idle(self) -> None:
        """Write, unless values are held for a time."""
        if not self._hold_s:
            self.flush()

    def flush(self) -> None:
        """Write everything now."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            pending, self._pending = self._pending, {}
            for key, metrics in pending.items():
                self._write_document(key, metrics)

    def _write_document(self, key: _Key, metrics: Mapping[str, _Values]) -> None:
        if self._is_disabled():
            return
        provider = self._provider(namespace=self._namespace, service=self._service)
        provider.namespace = provider.namespace or NAMESPACE
        for name, value in key:
            provider.add_dimension(name, value)
        described = {name: values.described() for name, values in metrics.items()}
        document = provider.serialize_metric_set(metrics=described)
        self._write(json.dumps(document, separators=(",", ":")))


class _Values:
    """Collects the values of a metric: a counter's sum, or a histogram's values."""

    __slots__ = ("numbers", "unit")

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.numbers: list[float] = []

    def add(self, value: float) -> None:
        if self.unit == JOBS and self.numbers:
            self.numbers[0] += value
        else:
            self.numbers.append(value)

    def described(self) -> dict[str, Any]:
        return {"Unit": _UNITS.get(self.unit, "None"), "Value": self.numbers}


def _flush(reference: weakref.ref[EmfSink]) -> None:
    """Flush for the timer and at exit; neither keeps a sink alive that nobody uses."""
    sink = reference()
    if sink is not None:
        sink.flush()


_SINKS: Final[weakref.WeakSet[EmfSink]] = weakref.WeakSet()
"""Every sink of this process."""


def _forget_all() -> None:
    for sink in _SINKS:
        sink._forget()  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _to_stdout(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


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
