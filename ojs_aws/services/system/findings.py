"""Finds what needs somebody's attention: late sweeps, old jobs, failures, silent workers.

Reads a bounded number of rows, whatever the backlog and the number of queues, and writes nothing.
``GET /admin/findings``, the dashboard and ``ojs-aws doctor`` show the same findings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue, NotFoundError
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.jobs.ready_keys import ready_since
from ojs_aws.domain.queues.tallies import DEAD_LETTER
from ojs_aws.domain.timestamps import Instant, format_instant, span_text
from ojs_aws.services.system.failure_findings import (
    NONE_FAILING,
    failing_queues,
    missing_handlers,
    worker_deaths,
)
from ojs_aws.services.system.queue_findings import (
    MAX_NAMED,
    Finding,
    FindingCode,
    Sees,
    Severity,
    caused_by,
    growing_backlogs,
)
from ojs_aws.services.system.worker_findings import worker_findings

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
    from ojs_aws.adapters.dynamodb.sequences import Sequences
    from ojs_aws.adapters.dynamodb.workers import WorkerRegistry
    from ojs_aws.domain.jobs.lists import ListedJob
    from ojs_aws.domain.jobs.reasons import Reason
    from ojs_aws.services.jobs.why import Why
    from ojs_aws.services.system.failure_groups import FailureStatistics
    from ojs_aws.services.system.queue_findings import LineFindings
    from ojs_aws.services.system.statistics import Statistics, Totals

OLD_MS: Final = 300_000
"""A job that has been ready for longer waits too long."""

MAX_QUEUES: Final = 20
"""Queues whose first job is looked at: those with the most available jobs."""

MAX_EXPLAINED: Final = 5
"""Queues whose first job is asked why it waits: those that wait longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsReport:
    """Holds all findings, the most severe ones first.

    :ivar checks: what was looked at, with a sentence about its state.
    """

    at: Instant
    findings: tuple[Finding, ...]
    checks: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Looks at the deployment for an operator."""

    statistics: Statistics
    queues: QueueRegistry
    store: JobStore
    workers: Callable[[], WorkerRegistry]
    failures: Callable[[], FailureStatistics]
    lines: LineFindings
    why: Callable[[], Why]
    sequences: Callable[[], Sequences]

    def __call__(self, sees: Sees | None = None, *, advice: bool = False) -> FindingsReport:
        """Return what needs attention now.

        :param sees: what a caller with bounds may see; None for everything. Workers are left out
            for such a caller, since they belong to no single queue.
        :param advice: say in the checks which wide queues have far more lines than they need.
        """
        totals = self.statistics.totals(sees=lambda queue: sees is None or sees(queue, None))
        now = totals.computed_at
        checks: dict[str, str] = {}
        found = _say_paused(totals, now)
        found += _say_suspended(totals, now)
        found += self._growing(totals, sees)
        found += self.lines(totals, checks, advice=advice)
        found += self._old_jobs(totals, sees, now, checks)
        failures = self.failures().report(sees=lambda queue: sees is None or sees(queue, None))
        failing = failing_queues(totals, failures.groups if sees is None else ())
        found += failing
        found += worker_deaths(self.store, failures, sees, checks, "" if failing else NONE_FAILING)
        found += missing_handlers(self.store, failures, sees)
        if sees is None:
            found += worker_findings(self.workers(), self.store, totals, checks)
        found += _dead_letters(checks, totals)
        if sees is None and totals.jobs.get("discarded", 0):  # a sequence stops on such a job
            found += self._stopped_sequences(now)
        found += self._sweep(checks, now)
        found.sort(key=lambda each: each.severity is not Severity.ERROR)
        return FindingsReport(at=now, findings=tuple(found), checks=checks)

    def _sweep(self, checks: dict[str, str], now: Instant) -> list[Finding]:
        """Say that the sweep, which comes each minute, did not."""
        last = self.queues.last_tick()
        if last is None:
            text = checks["sweep"] = "The sweep has not ended yet."
            hint = "Within two minutes of a deployment it should have."
            return [Finding(code=FindingCode.SWEEP_NEVER, check="sweep", message=text, hint=hint)]
        ago = span_text(now - last.at)
        text = f"The sweep last ended {ago} ago, and was {span_text(last.lag_ms)} behind."
        checks["sweep"] = text
        if not last.is_late(now):
            return []
        data: dict[str, JsonValue] = {"last_at": format_instant(last.at), "lag_ms": last.lag_ms}
        late = Finding(
            code=FindingCode.SWEEP_LATE,
            check="sweep",
            message=f"{text} It should run each minute.",
            hint="Look at the log of the tick function; docs/operations.md: the sweep is late.",
            severity=Severity.ERROR,
            data=data,
        )
        return [late]

    def _stopped_sequences(self, now: Instant) -> list[Finding]:
        """Say how many sequences are stopped, and which one was stopped first."""
        stopped = self.sequences().stopped
        page = stopped.page(MAX_NAMED)
        if not page.sequences:
            return []
        _, first = page.sequences[0]
        count, is_exact = stopped.count() if page.cursor else (len(page.sequences), True)
        since = first.stopped_at or now
        whose = f" --tenant {first.tenant}" if first.tenant else ""
        text = (
            f"The sequence '{first.key}' has been stopped for {span_text(now - since)} on job "
            f"{first.job_id}, which was discarded."
        )
        hint = (
            f"Let it run in its place: ojs-aws jobs retry {first.job_id}; or go on without it: "
            f"ojs-aws sequences skip {first.key}{whose}"
        )
        if count > 1:
            text = f"{'' if is_exact else 'At least '}{count} sequences are stopped. {text}"
            hint = "See all of them, and let each go on: ojs-aws sequences list"
        data: dict[str, JsonValue] = {
            "count": count,
            "key": first.key,
            "job_id": first.job_id,
            "since": format_instant(since),
        }
        if first.tenant:
            data["tenant_id"] = first.tenant
        code, check = FindingCode.SEQUENCE_STOPPED, "sequences"
        return [Finding(code=code, check=check, message=text, hint=hint, data=data)]

    def _growing(self, totals: Totals, sees: Sees | None) -> list[Finding]:
        """Say whose backlogs grow, and why the next job of the first ones waits."""
        found = growing_backlogs(totals)
        for at, finding in enumerate(found[:MAX_EXPLAINED]):
            for row in self._first(str(finding.data["queue"])):
                is_seen = sees is None or sees(row.queue, row.type)
                for reason in self._reasons(row.id, sees)[:1] if is_seen else ():
                    found[at] = caused_by(finding, reason)
        return found

    def _old_jobs(
        self, totals: Totals, sees: Sees | None, now: Instant, checks: dict[str, str]
    ) -> list[Finding]:
        """Say of which queues the next job waits too long, and why, the oldest first.

        Jobs of a higher priority that came later hide older ones behind them.
        """
        is_counted = totals.counted == totals.queues
        available = {name: each.counts["available"] for name, (each, _) in totals.by_queue.items()}
        names = [
            name
            for name in sorted(available, key=lambda name: (-available[name], name))
            if name not in totals.paused and (available[name] > 0 or not is_counted)
        ]
        first = [row for name in names[:MAX_QUEUES] for row in self._first(name)]
        checks["queues"] = _queues_text(totals, [now - ready_since(row.sort_key) for row in first])
        old = [row for row in first if now - ready_since(row.sort_key) > OLD_MS]
        old.sort(key=lambda row: ready_since(row.sort_key))
        return [
            self._old_job(row, sees, now, explains=at < MAX_EXPLAINED) for at, row in enumerate(old)
        ]

    def _first(self, queue: str) -> tuple[ListedJob, ...]:
        return tuple(self.store.listed(queue, JobList.READY, 1, newest_first=False).jobs)

    def _old_job(
        self, row: ListedJob, sees: Sees | None, now: Instant, *, explains: bool
    ) -> Finding:
        """Say how long the next job of a queue has waited, and why if it is to be explained."""
        since = ready_since(row.sort_key)
        text = f"The next job of queue '{row.queue}' has waited for {span_text(now - since)}."
        data: dict[str, JsonValue] = {"queue": row.queue, "since": format_instant(since)}
        hint = f"ojs-aws queues show {row.queue}"
        if sees is None or sees(row.queue, row.type):
            data["job_id"], hint = row.id, f"ojs-aws why {row.id}"
            if explains:
                reasons = self._reasons(row.id, sees)
                data |= {"reasons": [str(each.code) for each in reasons]} if reasons else {}
                text += "".join(f" {each.message}" for each in reasons[:1])
        return Finding(
            code=FindingCode.JOB_WAITS, check="queues", message=text, hint=hint, data=data
        )

    def _reasons(self, job_id: str, sees: Sees | None) -> Sequence[Reason]:
        """Return why a job waits; nothing of one that was deleted meanwhile."""
        try:
            return self.why()(job_id, names_others=sees is None).reasons
        except NotFoundError:
            return ()


def _queues_text(totals: Totals, waits: Sequence[int]) -> str:
    """Return sentences about all queues.

    :param waits: for how long the next job of each queue that is not paused has waited.
    """
    text = f"{_count(totals.queues, 'queue')}, {len(totals.paused) or 'none'} paused."
    available = max(totals.jobs.get("available", 0), len(waits))
    if not available:
        return f"{text} No job waits."
    text += f" {_count(available, 'job')} available"
    if not waits:
        return f"{text}, in paused queues."
    return f"{text}; the next of each queue has waited for {span_text(max(waits))} at most."


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _say_paused(totals: Totals, now: Instant) -> list[Finding]:
    """Say which queues are paused, those paused longest first; of many, the first ones."""
    longest = sorted(totals.paused.items(), key=lambda each: (each[1], each[0]))
    return [
        Finding(
            code=FindingCode.QUEUE_PAUSED,
            check="queues",
            message=f"The queue '{name}' has been paused for {span_text(now - since)}.",
            hint=f"Nothing of it runs until somebody resumes it: ojs-aws queues resume {name}",
            data={"queue": name, "since": format_instant(since)},
        )
        for name, since in longest[:MAX_NAMED]
    ]


def _say_suspended(totals: Totals, now: Instant) -> list[Finding]:
    """Say to which functions nothing is dispatched, and why; of many, the first ones."""
    each_of = [
        (queue, name, each)
        for queue, some in sorted(totals.suspended.items())
        for name, each in sorted(some.items())
    ]
    return [
        Finding(
            code=FindingCode.BINDING_SUSPENDED,
            check="queues",
            message=f"The binding '{name}' of queue '{queue}' has been suspended for "
            f"{span_text(now - each.since)}: {each.reason}.",
            hint=f"Its jobs wait until somebody resumes it: ojs-aws bindings resume {queue} {name}"
            if each.is_lasting
            else "Its jobs wait. Put the function or the endpoint right; within some minutes after "
            "that a job is tried, and the binding resumes.",
            severity=Severity.ERROR,
            data={"queue": queue, "binding": name, "since": format_instant(each.since)},
        )
        for queue, name, each in each_of[:MAX_NAMED]
    ]


def _dead_letters(checks: dict[str, str], totals: Totals) -> list[Finding]:
    """Say that there are dead letters, and in which queues most."""
    kept = {name: each.counts[DEAD_LETTER] for name, (each, _) in totals.by_queue.items()}
    count = sum(kept.values())
    text = f"There are {count} dead letters." if count != 1 else "There is 1 dead letter."
    checks["dead_letters"] = text
    if not count:
        return []
    most = sorted((name for name in kept if kept[name]), key=lambda name: (-kept[name], name))
    data: dict[str, JsonValue] = {"count": count, "queues": [*most[:MAX_NAMED]]}
    hint = "ojs-aws dead-letter stats"
    code, check = FindingCode.DEAD_LETTERS, "dead_letters"
    return [Finding(code=code, check=check, message=text, hint=hint, data=data)]
