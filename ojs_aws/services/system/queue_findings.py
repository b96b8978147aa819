"""Describes what a finding is, and finds queues with growing backlogs or busy lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.reasons import Reason, ReasonCode
from ojs_aws.domain.queues.config import QueueConfig, read_config
from ojs_aws.domain.queues.line_advice import LINE_PER_S, fewer_lines, line_load, more_lines
from ojs_aws.domain.queues.tallies import DAY_MS, MINUTE_MS, WINDOW_MS, Tally, TallyKind, window_of
from ojs_aws.domain.timestamps import Instant, span_text
from ojs_aws.services.jobs.next_in_line import BUSY_SLOTS
from ojs_aws.services.system.statistics import RECENT_MS, Totals

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
    from ojs_aws.services.queues.stats import QueueStatistics

Sees = Callable[[str, str | None], bool]
"""Says whether the caller may see a queue, and jobs of a type if one is given."""

MAX_NAMED: Final = 20
"""Names that one finding lists."""
LONG_MS: Final = 300_000
"""A backlog that takes longer at the pace of its workers is found while it grows."""
MIN_GROWTH: Final = 60
"""Jobs by which it has grown in the last minute or two."""

SECOND_MS: Final = 1000


class FindingCode(StrEnum):
    """Names what can be found."""

    SWEEP_NEVER = "sweep_never"
    SWEEP_LATE = "sweep_late"
    QUEUE_PAUSED = "queue_paused"
    BINDING_SUSPENDED = "binding_suspended"
    BACKLOG_GROWS = "backlog_grows"
    JOB_WAITS = "job_waits"
    LINES_BUSY = "lines_busy"
    JOBS_FAIL = "jobs_fail"
    WORKERS_SILENT = "workers_silent"
    WORKERS_QUIET = "workers_quiet"
    JOBS_RUN_LONG = "jobs_run_long"
    JOBS_HANG = "jobs_hang"
    WORKERS_DIE = "workers_die"
    HANDLERS_MISSING = "handlers_missing"
    DEAD_LETTERS = "dead_letters"
    SEQUENCE_STOPPED = "sequence_stopped"


class Severity(StrEnum):
    """Says how bad a finding is."""

    WARNING = "warning"
    """Perhaps as it should be; somebody should look."""
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Describes one thing that needs attention.

    :ivar check: what was looked at when it was found.
    :ivar message: one or two sentences for people.
    :ivar hint: what to do: a command or a sentence.
    :ivar data: the values that the message was made of.
    """

    code: FindingCode
    check: str
    message: str
    hint: str
    severity: Severity = Severity.WARNING
    data: Mapping[str, JsonValue] = field(default_factory=dict)


def growing_backlogs(totals: Totals) -> list[Finding]:
    """Say whose backlogs grow, those that take longest first. Reads nothing.

    A burst that the workers will soon have begun is none, and neither are jobs that were enqueued
    for later: the queue must have as many available jobs as it has grown by.
    """
    found = []
    for queue, did in totals.paces.items():
        came, began = did.counts[TallyKind.ENQUEUED], did.counts[TallyKind.STARTED]
        available = totals.by_queue[queue][0].counts["available"]
        if queue in totals.paused or came - began < MIN_GROWTH or available < came - began:
            continue
        takes_ms = available * totals.pace_ms // began if began else None
        if takes_ms is None or takes_ms > LONG_MS:
            found.append((takes_ms, queue, came, began))
    found.sort(key=lambda each: (each[0] is not None, -(each[0] or 0), each[1]))
    return [_finding(totals, *each) for each in found[:MAX_NAMED]]


def _finding(totals: Totals, takes_ms: int | None, queue: str, came: int, began: int) -> Finding:
    """Say what comes in and goes out each minute, and how long the backlog takes."""
    minutes = totals.pace_ms / MINUTE_MS
    available = totals.by_queue[queue][0].counts["available"]
    comes, begins = round(came / minutes), round(began / minutes)
    data: dict[str, JsonValue] = {
        "queue": queue,
        "available": available,
        "enqueued_per_minute": comes,
        "started_per_minute": begins,
    }
    span = span_text(totals.pace_ms)
    text = f"The backlog of queue '{queue}' grows: in the last {span}, {comes} jobs a minute came "
    if takes_ms is None:
        text += f"and none began. {available} are available."
    else:
        data["wait_ms"] = takes_ms
        text += (
            f"and {begins} began. {available} are available; a job that comes now waits for about "
            f"{span_text(takes_ms)}."
        )
    return Finding(
        code=FindingCode.BACKLOG_GROWS,
        check="queues",
        message=text,
        hint=f"Start more workers, or slow the senders: ojs-aws queues show {queue}",
        data=data,
    )


def caused_by(finding: Finding, reason: Reason) -> Finding:
    """Return the finding of a growing backlog with why the next job of its queue waits.

    Where a limit holds it up, more workers would not help.
    """
    data = {**finding.data, "reason": str(reason.code)}
    if reason.code is ReasonCode.LIMIT:
        hint = f"Raise the limit, or slow the senders: {reason.hint}"
        message = f"{finding.message} {reason.message}"
        return replace(finding, message=message, hint=hint, data=data)
    if reason.code not in {ReasonCode.READY, ReasonCode.UNKNOWN}:
        return replace(finding, message=f"{finding.message} {reason.message}", data=data)
    slots = reason.data.get(BUSY_SLOTS)
    if not isinstance(slots, int):
        return finding
    busy = (
        f"All {slots} slots of its workers are" if slots > 1 else "The only slot of its worker is"
    )
    return replace(finding, message=f"{finding.message} {busy} busy.", data=data)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFindings:
    """Compares what queues do with the lines that they have.

    :ivar declared: how many lines the deployment declares for its wide queues.
    """

    settings: Callable[[], QueueSettingsStore]
    statistics: QueueStatistics
    declared: Mapping[str, int]

    def __call__(self, totals: Totals, checks: dict[str, str], *, advice: bool) -> list[Finding]:
        """Return which queues come near what their lines take, the busiest first.

        Makes a read only if a queue is too busy for one line, or if advice is asked for.

        :param advice: add a sentence about wide queues with far more lines than they need to the
            checks, which costs a read and a query for each.
        """
        loads = {name: _load_now(totals, name) for name in totals.by_queue}
        busy = [name for name, load in loads.items() if more_lines(load, 1) is not None]
        busy.sort(key=lambda name: (-loads[name], name))
        wide = [name for name in totals.by_queue if advice and name in self.declared]
        names = [*dict.fromkeys([*busy[:MAX_NAMED], *wide[:MAX_NAMED]])]
        if not names:
            return []
        stored = self.settings().load(names)
        configs = {
            name: read_config(stored[name].members) if name in stored else QueueConfig()
            for name in names
        }
        if wide:
            found = (self._too_many(name, configs[name], totals) for name in wide[:MAX_NAMED])
            checks["lines"] = " ".join(filter(None, found)) or "No queue has far too many lines."
        more = (
            self._too_few(name, configs[name], totals, loads[name]) for name in busy[:MAX_NAMED]
        )
        return [each for each in more if each is not None]

    def _lines(self, name: str, config: QueueConfig) -> int:
        """Return over how many lines new jobs of a queue are spread."""
        return min(config.shards, self.declared.get(name, 1))

    def _too_few(
        self, name: str, config: QueueConfig, totals: Totals, load: float
    ) -> Finding | None:
        """Say that the lines of a queue are nearly full, and how many it should have."""
        lines = self._lines(name, config)
        advised = more_lines(load, lines)
        if advised is None:
            return None
        per_s = _started_per_s(totals, name)
        return Finding(
            code=FindingCode.LINES_BUSY,
            check="queues",
            message=f"The queue '{name}' has {_counted(lines)}, and {per_s:,.0f} of its jobs a "
            f"second began in the last {span_text(_recent_ms(totals))}. A line takes {LINE_PER_S} "
            f"jobs a second, or {LINE_PER_S // 2} that are scheduled.",
            hint=self._how(name, advised),
            data={
                "queue": name,
                "lines": lines,
                "advised_lines": advised,
                "started_per_s": round(per_s),
            },
        )

    def _how(self, name: str, advised: int) -> str:
        """Return how a queue gets so many lines."""
        change = f"ojs-aws queues configure {name} ordering_shards={advised}"
        if advised <= self.declared.get(name, 1):
            return f"Spread new jobs over {advised} lines: {change}"
        wide = {**self.declared, name: advised}
        value = ",".join(f"{queue}={lines}" for queue, lines in sorted(wide.items()))
        return f"Deploy with OJS_WIDE_QUEUES={value}, upgrade all Lambda workers, then: {change}"

    def _too_many(self, name: str, config: QueueConfig, totals: Totals) -> str:
        """Say that a queue has far more lines than its busiest minutes of a day need."""
        lines = self._lines(name, config)
        busiest = self._busiest(name, totals.computed_at)
        load = max(busiest, _most(totals.by_queue[name][1], _recent_ms(totals)))
        enough = fewer_lines(load, lines)
        if enough is None:
            return ""
        return (
            f"The queue '{name}' has {lines} lines. {_counted(enough).capitalize()} would do for "
            "what it did in the last 24 hours: "
            f"ojs-aws queues configure {name} ordering_shards={enough}."
        )

    def _busiest(self, name: str, now: Instant) -> float:
        """Return the largest load of five minutes in the last 24 hours: a read and a query."""
        windows: dict[Instant, Tally] = {}
        for minute, tally in self.statistics.minutes(name, now - DAY_MS + MINUTE_MS, now):
            windows.setdefault(window_of(minute), Tally()).merge(tally)
        return max((_most(tally, WINDOW_MS) for tally in windows.values()), default=0.0)


def _recent_ms(totals: Totals) -> int:
    """Return how long the minutes are whose tallies the totals have."""
    since = totals.computed_at - RECENT_MS
    return totals.computed_at - -(-since // MINUTE_MS) * MINUTE_MS


def _started_per_s(totals: Totals, name: str) -> float:
    _, did = totals.by_queue[name]
    return did.counts[TallyKind.STARTED] * SECOND_MS / _recent_ms(totals)


def _load_now(totals: Totals, name: str) -> float:
    """Return the load of a queue in the last minutes.

    Nobody counts which jobs were scheduled. Those that were scheduled for at least a second later
    are among the jobs that are scheduled now, whose number is a bound.
    """
    counts, did = totals.by_queue[name]
    started = _started_per_s(totals, name)
    retried = did.counts[TallyKind.RETRIED] * SECOND_MS / _recent_ms(totals)
    return line_load(started, retried, min(started, counts.counts["scheduled"]))


def _most(did: Tally, span_ms: int) -> float:
    """Return the load of what a queue did, if each of its jobs was scheduled."""
    started = did.counts[TallyKind.STARTED] * SECOND_MS / span_ms
    return line_load(started, did.counts[TallyKind.RETRIED] * SECOND_MS / span_ms, started)


def _counted(lines: int) -> str:
    return "one line" if lines == 1 else f"{lines} lines"
