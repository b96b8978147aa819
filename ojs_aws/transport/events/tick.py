"""Handles the timer's event: sweeps every queue and fires cron jobs, also by their alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.events import HANDLED_MARK
from ojs_aws.domain.queues import QueueState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import (
    AGE_METRIC,
    EVENTS_LAG_METRIC,
    LAG_METRIC,
    LEFT_METRIC,
    LOST_METRIC,
    QUEUE_DIMENSION,
    SUSPENDED_METRIC,
    UNDECLARED_METRIC,
)
from ojs_aws.transport.events.job_metrics import MetricNames, publish
from ojs_aws.transport.function_tracing import function_tracing
from ojs_aws.transport.tracing import CRON_SPAN, SWEEP_SPAN, Tracing

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from ojs_aws.services.backend import Backend

MARGIN_MS: Final = 5_000
"""Kept back from the invocation's time for the calls that have begun."""

MAX_AGES: Final = 50
"""Queues whose ages one tick publishes."""

Handler = Callable[[Mapping[str, Any], object], dict[str, int]]


def build_tick(
    backend: Backend,
    logger: Logger | None = None,
    *,
    start_cron: Callable[[], None] | None = None,
    tracing: Tracing | None = None,
) -> Handler:
    """Return the handler of the timer's events and of the alarms of cron jobs.

    A timer's event says nothing but that it is time. Alarms come from SQS, each with the name of
    the cron job that is due.

    :param start_cron: called before the cron jobs are looked at for the first time; while it
        raises, none is fired by ticks.
    :param tracing: has spans of the cron jobs and of the sweep; by default as the settings say.
    """
    from ojs_aws.transport.logs import function_logger, invocation_logged

    unstarted = [] if start_cron is None else [start_cron]
    logger = logger or function_logger()
    traced = tracing or function_tracing(backend.settings)
    queues = MetricNames(backend.settings.queues)

    def handle(event: Mapping[str, Any], context: object) -> dict[str, int]:
        """Do what is due, and return what was done."""
        with invocation_logged(logger, context):
            if "Records" in event:
                with traced.span(CRON_SPAN, operation="alarm"):
                    return _alarms(backend, event, logger)
            return tick(context)

    def tick(context: object) -> dict[str, int]:
        with traced.span(CRON_SPAN, operation="tick"):
            report = _cron(backend, logger, unstarted)
        with traced.span(SWEEP_SPAN, operation="tick"):
            return sweep(context, report)

    def sweep(context: object, report: dict[str, int]) -> dict[str, int]:
        ends_at = _ends_at(backend, context)
        swept = asdict(backend.upkeep.sweep.tick(ends_at))
        oldest_ms, suspended = swept.pop("oldest_ms"), swept.pop("suspended")
        report |= swept
        logger.info("Swept", extra=report)
        try:
            upkeep = asdict(backend.dead_letters.upkeep.tick(ends_at))
        except Exception:
            logger.exception("The dead letters were not looked after")
        else:
            if any(upkeep.values()):
                logger.info("Looked after dead letters", extra=upkeep)
        deleted = _recount(backend, logger)
        undeclared = report.pop("known") - len(backend.settings.queues) - deleted
        report["undeclared_queues"] = max(0, undeclared)
        if name := getattr(context, "function_name", ""):
            measure(report, oldest_ms, name, _events_lag(backend, logger))
            measure_ages(oldest_ms, name, queues)
            measure_suspended(suspended, name, queues)
        return report

    return handle


def _ends_at(backend: Backend, context: object) -> Instant | None:
    """Return when the sweep must start nothing more, so that the invocation ends in time."""
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    if remaining is None:
        return None
    return Instant(backend.clock.now() + max(0, remaining() - MARGIN_MS))


def _events_lag(backend: Backend, logger: Logger) -> int | None:
    """Return for how long the stream's consumer has handled nothing, by its mark.

    None if there is no mark, or if it cannot be read: the alarm rings for missing values, too.
    """
    try:
        handled = backend.stores.watermarks().read(HANDLED_MARK)
    except OjsError:
        logger.warning("Could not read how far events are", exc_info=True)
        return None
    return None if handled is None else max(0, backend.clock.now() - handled)


def measure(
    report: Mapping[str, int],
    oldest_ms: Mapping[str, int],
    function_name: str,
    events_lag: int | None = None,
) -> None:
    """Publish how far behind sweep and events are, and the longest wait of all queues.

    They are CloudWatch metrics of the function.

    Embedded in a line of the log: no call is made. The alarm of the infrastructure watches them.
    """
    left = sum(report[each] for each in ("failed", "skipped", "jobs_failed", "batches_failed"))
    values: list[tuple[str, str, float]] = [
        (LAG_METRIC, "Milliseconds", report["lag_ms"]),
    ]
    lost, undeclared = report["batches_lost"], report["undeclared_queues"]
    for name, count in ((LEFT_METRIC, left), (LOST_METRIC, lost), (UNDECLARED_METRIC, undeclared)):
        if count:  # a metric costs by the hour in which it comes; most have none
            values.append((name, "Count", count))
    if events_lag is not None:
        values.append((EVENTS_LAG_METRIC, "Milliseconds", events_lag))
    if oldest_ms:
        values.append((AGE_METRIC, "Milliseconds", max(oldest_ms.values())))
    publish(function_name, values)


def _recount(backend: Backend, logger: Logger) -> int:
    """Correct the counters of bounded queues; return how many queues were deleted."""
    deleted = 0
    try:
        states = backend.queues.config.states().values()
        deleted = sum(each.state is QueueState.DELETED for each in states)
        corrected = backend.queues.depth_recount.tick(
            states, lambda: [info.name for info in backend.queues.service.list()]
        )
    except Exception:
        logger.exception("Bounded queues were not recounted")
        return deleted
    if corrected:
        logger.warning("Corrected the depths of queues", extra={"corrected": corrected})
    return deleted


def measure_ages(oldest_ms: Mapping[str, int], function_name: str, names: MetricNames) -> None:
    """Publish how long jobs have been waiting in the queues with the longest waits."""
    longest: dict[str, int] = {}
    for queue in sorted(oldest_ms, key=lambda each: -oldest_ms[each])[:MAX_AGES]:
        longest.setdefault(names.name_of(queue), oldest_ms[queue])
    for queue, age_ms in longest.items():
        publish(function_name, [(AGE_METRIC, "Milliseconds", age_ms)], {QUEUE_DIMENSION: queue})


def measure_suspended(suspended: Mapping[str, int], function_name: str, names: MetricNames) -> None:
    """Publish how many bindings are suspended, by queue and of all; nothing where none are."""
    counts: Counter[str] = Counter()
    for queue, count in suspended.items():
        counts[names.name_of(queue)] += count
    for queue, count in counts.items():
        publish(function_name, [(SUSPENDED_METRIC, "Count", count)], {QUEUE_DIMENSION: queue})
    if counts:
        publish(function_name, [(SUSPENDED_METRIC, "Count", counts.total())])


def _cron(backend: Backend, logger: Logger, unstarted: list[Callable[[], None]]) -> dict[str, int]:
    """Fire the cron jobs; a failure here does not fail the sweep."""
    try:
        if unstarted:
            unstarted[0]()
            unstarted.clear()
        return asdict(backend.cron.scheduler.tick())
    except Exception:  # whatever it was, the sweep must go on
        logger.exception("Could not fire the cron jobs")
        return {"cron_failed": 1}


def _alarms(backend: Backend, event: Mapping[str, Any], logger: Logger) -> dict[str, int]:
    """Fire the cron jobs whose alarms came. The next tick repeats what fails."""
    names = dict.fromkeys(str(record.get("body", "")) for record in event["Records"])
    fired = failed = 0
    for name in names:
        try:
            fired += len(backend.cron.scheduler.fire(name))
        except Exception:
            logger.exception("Cron job could not be fired", extra={"cron_name": name})
            failed += 1
    report = {"cron_due": len(names), "cron_fired": fired, "cron_failed": failed}
    logger.info("Alarms", extra=report)
    return report
