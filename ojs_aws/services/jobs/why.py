"""Says why a job does not run now: what holds it back, and when that ends.

Reads a bounded number of rows whatever the backlog, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.bindings.tasks import task_of
from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.credentials import read_actor
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord, JobState, is_blocked
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.jobs.ready_keys import ready_since
from ojs_aws.domain.jobs.reasons import Reason, ReasonCode, reasons_of
from ojs_aws.domain.limits import LimitRefusal, binding_in, queue_key, tenant_key, type_key
from ojs_aws.domain.queues.tallies import MINUTE_MS, Tally, TallyKind, total
from ojs_aws.domain.timestamps import Instant, format_instant, span_text
from ojs_aws.services.jobs.fetch.candidates import MARKS
from ojs_aws.services.jobs.next_in_line import (
    full_workers,
    lately_limited,
    next_in_line,
    over_share,
    pace,
    unserved,
)
from ojs_aws.services.limits.check import LimitCheck
from ojs_aws.services.workers.service import STALE, Selection, state_of

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
    from ojs_aws.adapters.dynamodb.sequences import Sequences
    from ojs_aws.adapters.dynamodb.workers import WorkerRegistry
    from ojs_aws.adapters.sqs import MessageQueue
    from ojs_aws.domain.queues import QueueInfo
    from ojs_aws.services.jobs.one_job import Info

MAX_COUNTED: Final = 1_000
"""At most so many jobs before a job are counted; the answer says "more than" if there are more."""

MAX_WORKERS: Final = 500
MAX_HOLDERS: Final = 100
"""Active jobs of the queue that are looked at to find those that fill a limit."""

RECENT_MINUTES: Final = 5
FRESH_MS: Final = 60_000
"""A job that is ready may wait so long before a reason is looked for."""

_CHECKED: Final = ("job", "queue", "limits", "workers", "line", "messages", "sweep")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Holds the reasons why a job does not run, the most important one first.

    :ivar checked: what was looked at.
    """

    job: JobRecord
    at: Instant
    reasons: tuple[Reason, ...]
    checked: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Finds what holds a job back.

    :ivar lines: how many lines each wide queue has.
    """

    info: Info
    store: JobStore
    queues: QueueRegistry
    messages: MessageQueue
    workers: Callable[[], WorkerRegistry]
    minutes: Callable[[str, int, int], list[tuple[Instant, Tally]]]
    sequences: Callable[[], Sequences]
    limit_of_binding: Callable[[JobRecord], Limit | None]
    lines: Mapping[str, int]
    most_of_tenant: int | None = None

    def __call__(self, job_id: str, *, names_others: bool = True) -> Diagnosis:
        """Return the reasons, as of now.

        :param names_others: whether the caller may see which other jobs hold a limit, and who
            paused the queue.
        :raises NotFoundError: there is no such job. Steps of a workflow whose dependencies have not
            completed are no jobs yet.
        """
        job = self.info(job_id)
        now = self.info.changer.clock.now()
        reasons = reasons_of(job, now, task_of(job))
        checked: tuple[str, ...] = ("job",)
        if job.state is JobState.AVAILABLE:
            reasons = [*self._held_back(job, now, names_others=names_others), *reasons]
            checked = _CHECKED
        elif is_blocked(job):
            from ojs_aws.services.sequences.service import why_blocked  # few jobs are

            blocked = why_blocked(self.sequences(), job, now, names_others=names_others)
            reasons, checked = [blocked, *reasons], ("job", "sequence")
        elif job.state in {JobState.SCHEDULED, JobState.RETRYABLE}:
            reasons += self._late_sweep(now)
            checked = ("job", "sweep")
        elif job.state is JobState.ACTIVE:
            reasons = [*self._silent(job, now), *reasons]
            checked = ("job", "worker")
        return Diagnosis(job, now, tuple(reasons), checked)

    def _held_back(self, job: JobRecord, now: Instant, *, names_others: bool) -> list[Reason]:
        """Return what holds an available job back, in the order in which to remove it."""
        did = dict(self.minutes(job.queue, now - 60 * MINUTE_MS, now))
        since = now - RECENT_MINUTES * MINUTE_MS
        recent = total(tally for minute, tally in did.items() if minute >= since)
        found = self._paused(job, now, names_others=names_others)
        found += self._say_limited(job, now, names_others=names_others)
        workers = self.workers().page("", MAX_WORKERS, now)
        alive = [each for each in workers if state_of(each, now) != STALE]
        serving = [each for each in workers if Selection(queue=job.queue).chooses(each)]
        taking = [each for each in serving if each in alive and not each.is_draining]
        if not taking:
            found += unserved(job, alive, serving, did, now)
        found += self._in_line(job, recent, is_blocked=bool(found))
        if found:
            return found
        if now - ready_since(job.ready_key) <= FRESH_MS:
            return [next_in_line(taking, now)]
        waits = span_text(now - ready_since(job.ready_key))
        full = full_workers(taking, f"It has been first in line for {waits}")
        return [full] if full else self._unsent(job, now)

    def _paused(self, job: JobRecord, now: Instant, *, names_others: bool) -> list[Reason]:
        info = self.queues.load(job.queue)
        if info is None or info.paused_at is None:
            return [] if info is None else _say_suspended(info, now)
        actor = read_actor(info.paused_by, info.paused_at) if names_others else None
        whom = f" by {actor}" if actor else ""
        span = span_text(now - info.paused_at)
        text = f"The queue '{job.queue}' has been paused{whom} for {span}."
        data: dict[str, JsonValue] = {"since": format_instant(info.paused_at)}
        if actor:
            data["by"] = actor.members
        hint = f"ojs-aws queues resume {job.queue}"
        return [Reason(ReasonCode.QUEUE_PAUSED, text, data=data, hint=hint)]

    def _say_limited(self, job: JobRecord, now: Instant, *, names_others: bool) -> list[Reason]:
        """Say which limit the job would exceed: its own, its queue's, its type's or binding's."""
        bound = self.limit_of_binding(job)
        own = [job.limit.key] if job.limit is not None else []
        scopes = [queue_key(job.queue), type_key(job.type), type_key(job.type, job.queue)]
        scopes += [tenant_key(job.tenant)] if job.tenant else []
        scopes += [bound.key] if bound is not None else []
        current, buckets = self.store.load_with_buckets(job.id, sorted({*own, *scopes}))
        if current is None:
            return []
        check = LimitCheck(
            job.queue, of_binding=lambda _type: bound, most_of_tenant=self.most_of_tenant
        )
        taken = check.take(current, buckets, now)
        if not isinstance(taken, tuple):
            is_fresh = now - ready_since(job.ready_key) <= FRESH_MS
            return [] if is_fresh else lately_limited(buckets.values(), now)
        bucket, refusal = taken
        data: dict[str, JsonValue] = {
            "key": bucket.key,
            "strategy": refusal.strategy,
            "limit": refusal.limit,
            "current": refusal.current,
        }
        if names_others and refusal.strategy == "concurrency":
            data["held_by"] = [*self._holders(job.queue, bucket.key)]
        is_known = refusal.strategy != "concurrency"
        text = _limit_text(bucket.key, refusal, now)
        of_tenant = bucket.key == tenant_key(job.tenant)
        what = f"tenants show {job.tenant}" if of_tenant else f"rate-limits show {bucket.key}"
        if binding := binding_in(bucket.key):
            what = f"bindings show {job.queue} {binding}"
        hint = f"ojs-aws {what}"
        return [Reason(ReasonCode.LIMIT, text, refusal.until if is_known else None, data, hint)]

    def _holders(self, queue: str, key: str) -> list[str]:
        """Return ids of jobs of the queue that hold a slot of a limit."""
        page = self.store.listed(queue, JobList.WAITING, MAX_HOLDERS, newest_first=False)
        ids = [row.id for row in page.jobs if row.state is JobState.ACTIVE]
        jobs = self.store.load_many(ids) if ids else {}
        return [
            job.id
            for job in jobs.values()
            if job.reservation is not None and key in job.reservation.slots
        ]

    def _in_line(self, job: JobRecord, recent: Tally, *, is_blocked: bool) -> list[Reason]:
        """Say how many jobs are before it, and how fast the line moves.

        Each line of a fair wide queue has a virtual time of its own: then its own line counts.

        :param is_blocked: something else holds the job back, so that the pace says nothing.
        """
        is_fair = job.fairness is not None
        lines, own_line = (self.lines.get(job.queue, 1), (job.shard,)) if is_fair else (1, ())
        rows = self.store.head(job.queue, MAX_COUNTED + 1 + MARKS, *own_line).jobs
        before = sum(row.sort_key < job.ready_key for row in rows)
        if not before:
            return []
        is_exact, before = before <= MAX_COUNTED, min(before, MAX_COUNTED)
        started = recent.counts[TallyKind.STARTED]
        data: dict[str, JsonValue] = {
            "before": before,
            "is_exact": is_exact,
            "started_per_minute": round(started / RECENT_MINUTES, 1),
        }
        more = "" if is_exact else "More than "
        where = "queue" if lines == 1 else f"line, one of {lines} of the queue"
        text = f"{more}{before} job{'s are' if before > 1 else ' is'} before it in its {where}."
        if job.fairness is not None:
            text += over_share(job, rows[0].sort_key, data)
        if not is_blocked:
            text += pace(before * lines, started, RECENT_MINUTES, data)
        return [Reason(ReasonCode.IN_LINE, text, data=data)]

    def _unsent(self, job: JobRecord, now: Instant) -> list[Reason]:
        """Say whether a message is missing for a job that nothing else holds back."""
        late = self._late_sweep(now)
        waits = span_text(now - ready_since(job.ready_key))
        try:
            there = self.messages.backlog(job.queue).total
        except QueueMissingError:
            there = 0
        if not there:
            text = (
                f"It has been first in line for {waits}, and its queue has no message for "
                "workers. The next sweep sends one; workers that poll find it without."
            )
            return [Reason(ReasonCode.MESSAGE_MISSING, text), *late]
        data: dict[str, JsonValue] = {"messages": there}
        text = f"Nothing that was checked holds it back, and it has been first in line for {waits}."
        return [*late, Reason(ReasonCode.UNKNOWN, text, data=data)]

    def _late_sweep(self, now: Instant) -> list[Reason]:
        """Say that the sweep, which comes each minute, did not."""
        last = self.queues.last_tick()
        if last is not None and not last.is_late(now):
            return []
        ended = f"ended {span_text(now - last.at)} ago" if last is not None else "has never run"
        data: dict[str, JsonValue] = {"last_at": format_instant(last.at)} if last else {}
        text = f"The sweep {ended}; it should run each minute. Look at the tick function's log."
        return [Reason(ReasonCode.SWEEP_LATE, text, data=data, hint="ojs-aws doctor")]

    def _silent(self, job: JobRecord, now: Instant) -> list[Reason]:
        """Say that the worker of an active job sends no heartbeats any more."""
        held = job.reservation
        worker = self.workers().load(held.worker_id, now) if held and held.worker_id else None
        if held is None or worker is None or state_of(worker, now) != STALE:
            return []
        silent = span_text(now - worker.last_seen)
        text = f"Worker '{worker.id}' has sent no heartbeat for {silent}; it may be dead."
        data: dict[str, JsonValue] = {"worker_id": worker.id}
        data["last_seen"] = format_instant(worker.last_seen)
        hint = f"ojs-aws workers show {worker.id}"
        return [Reason(ReasonCode.WORKER_SILENT, text, held.due_at, data, hint)]


def _say_suspended(info: QueueInfo, now: Instant) -> list[Reason]:
    """Say which bindings of the queue are suspended, and why."""
    return [
        Reason(
            ReasonCode.BINDING_SUSPENDED,
            f"The binding '{name}' of its queue has been suspended for "
            f"{span_text(now - each.since)}: {each.reason}.",
            data={"binding": name, "since": format_instant(each.since)},
            hint="ojs-aws doctor",
        )
        for name, each in sorted(info.suspended.items())
    ]


def _limit_text(key: str, refusal: LimitRefusal, now: Instant) -> str:
    """Return a sentence about the limit that is reached."""
    match refusal.strategy:
        case "concurrency":
            return (
                f"The limit '{key}' is reached: {refusal.current} of {refusal.limit} jobs that may "
                "run at the same time do."
            )
        case "rate":
            what = f"{refusal.current} of {refusal.limit} jobs have started in its window"
        case "throttle":
            what = "it spaces the starts of jobs"
        case _:
            what = "a handler reported that its service is exhausted"
    return f"The limit '{key}' is reached: {what}. It opens in {span_text(refusal.until - now)}."
