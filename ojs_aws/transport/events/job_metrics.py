"""Publishes the standard metrics of jobs from the stream's events (ojs-observability, 8).

Counted where every transition passes, whoever made it: workers of any language, time, an operator.
Embedded in lines of the function's log: no call is made. By queue; by job type or tenant as well
only where it is asked for, since each value of a dimension is a metric that costs. A batch that is
repeated is counted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.events import Event
from ojs_aws.domain.json_text import decode
from ojs_aws.topology import DEAD_LETTERED_METRIC, METRICS, QUEUE_DIMENSION

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

    def __init__(
        self, always: Collection[str] = (), most: int = MAX_NAMES, other: str = OTHER
    ) -> None:
        """Start with no name.

        :param always: names that have metrics of their own in any case, beside the first ones.
        :param other: the name of all later ones.
        """
        self._other = other
        self._always = frozenset(always)
        self._most = most
        self._first: set[str] = set()

    def name_of(self, name: str) -> str:
        """Return the name under which to count something."""
        if name in self._always or name in self._first:
            return name
        if len(self._first) >= self._most:
            return self._other
        self._first.add(name)
        return name


COUNTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "job.enqueued": ("ojs.job.enqueued",),
    "job.completed": ("ojs.job.completed",),
    "job.discarded": ("ojs.job.failed",),
    "job.retrying": ("ojs.job.retried",),
    "job.cancelled": ("ojs.job.cancelled",),
    "job.expired": ("ojs.job.expired", "ojs.job.failed"),
}
"""Counters by the event that counts (section 8.1); a job that expires ends discarded, too."""

DURATION: Final = "ojs.job.duration"
QUEUE_TIME: Final = "ojs.job.queue_time"
"""Histograms, in seconds (section 8.2)."""

_SPANS: Final = {"duration_ms": DURATION, "queue_time_ms": QUEUE_TIME}
_DEPTH: Final = 1000


@dataclass(slots=True)
class JobMetrics:
    """Counts what happened to the jobs of one queue in a batch.

    :ivar counts: by the names of the counters.
    :ivar seconds: by the names of the histograms.
    """

    counts: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)


Measure = Callable[[Mapping[str, JobMetrics], str], None]
"""Gets what happened, by queue, and by which function."""


def measured(events: Iterable[Event]) -> dict[str, JobMetrics]:
    """Count by queue what events say happened."""
    found: dict[str, JobMetrics] = {}
    for event in events:
        if not event.queue or not event.type.startswith("job."):
            continue
        metrics = found.setdefault(event.queue, JobMetrics())
        metrics.counts.update(COUNTERS.get(event.type, ()))
        if event.type in _WITH_DATA:
            _read(event, metrics)
    return {queue: each for queue, each in found.items() if each.counts or each.seconds}


_WITH_DATA: Final = frozenset({"job.started", "job.completed", "job.failed", "job.discarded"})


def _read(event: Event, metrics: JobMetrics) -> None:
    data = decode(event.data, max_depth=_DEPTH)
    about: Mapping[str, JsonValue] = data if isinstance(data, dict) else {}
    if event.type == "job.discarded":
        metrics.counts[DEAD_LETTERED_METRIC] += about.get("dead_letter") is True
        return
    for member, name in _SPANS.items():
        span = about.get(member)
        if isinstance(span, int) and not isinstance(span, bool):
            metrics.seconds.setdefault(name, []).append(span / 1000)


def measure_in_log(queues: Mapping[str, JobMetrics], function_name: str) -> None:
    """Publish metrics as lines of the log: one for each queue, and one for all dead letters."""
    for queue, found in queues.items():
        _publish(found, function_name, {QUEUE_DIMENSION: queue})
    dead = sum(found.counts[DEAD_LETTERED_METRIC] for found in queues.values())
    _publish(JobMetrics(counts=Counter({DEAD_LETTERED_METRIC: dead})), function_name, {})


class MeasuredByQueue:
    """Publishes metrics in the log for as many queues as may have metrics of their own."""

    def __init__(self, queues: MetricNames) -> None:
        """Publish metrics of queues under these names."""
        self._queues = queues

    def __call__(self, queues: Mapping[str, JobMetrics], function_name: str) -> None:
        """Publish metrics as lines of the log, one for each name."""
        named: dict[str, JobMetrics] = {}
        for queue, found in queues.items():
            together = named.setdefault(self._queues.name_of(queue), JobMetrics())
            together.counts.update(found.counts)
            for name, seconds in found.seconds.items():
                together.seconds.setdefault(name, []).extend(seconds)
        measure_in_log(named, function_name)


class MeasuredByLabel:
    """Publishes the same by queue and another label, for deployments that pay for it."""

    def __init__(self, queues: MetricNames, dimension: str, labels: MetricNames) -> None:
        """Publish metrics under these names.

        :param queues: the names of queues, which are those without the label.
        :param dimension: what the label is.
        """
        self._queues = queues
        self._dimension = dimension
        self._labels = labels

    def __call__(self, labelled: Iterable[tuple[str, Event]], function_name: str) -> None:
        """Publish metrics as lines of the log, one for each queue and label.

        :param labelled: events with their labels; those without one are left out.
        """
        found: dict[str, list[Event]] = {}
        for label, event in labelled:
            if label:
                named = replace(event, queue=event.queue and self._queues.name_of(event.queue))
                found.setdefault(self._labels.name_of(label), []).append(named)
        for label, some in found.items():
            for queue, metrics in measured(some).items():
                _publish(metrics, function_name, {QUEUE_DIMENSION: queue, self._dimension: label})


def _publish(found: JobMetrics, function_name: str, dimensions: Mapping[str, str]) -> None:
    counts = [(name, "Count", count) for name, count in found.counts.items() if count]
    spans = [
        (name, "Seconds", second)
        for name, values in found.seconds.items()
        for second in _sampled(values)
    ]
    publish(function_name, [*counts, *spans], dimensions)


TYPE_DIMENSION: Final = "type"
TENANT_DIMENSION: Final = "tenant_id"
MAX_TENANTS: Final = 1000

MAX_VALUES: Final = 99
"""Values of one line; CloudWatch takes a hundred."""


def _sampled(values: Sequence[float]) -> Sequence[float]:
    """Return values spread over a long list; a batch of the stream is hardly ever longer."""
    step = -(-len(values) // MAX_VALUES)
    return values[:: max(1, step)]
