"""Says what jobs wait for where nothing holds them back: their turn, or a worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.reasons import Reason, ReasonCode
from ojs_aws.domain.queues.tallies import MINUTE_MS, Tally, TallyKind
from ojs_aws.domain.timestamps import Instant, format_instant, span_text
from ojs_aws.services.workers import silence_ms
from ojs_aws.services.workers.service import read_about, slots_of

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.limits import Bucket
    from ojs_aws.domain.workers import WorkerInfo

LATELY_MS: Final = 60_000
MAX_NAMED: Final = 100
"""Workers that a reason names."""

BUSY_SLOTS: Final = "places"
"""Names in the data of a reason how many slots the workers have, where all are busy."""


def next_in_line(workers: Sequence[WorkerInfo], now: Instant) -> Reason:
    """Return the reason of a job that has just become the next of its queue.

    Workers that hang are not known to do so before they have missed three heartbeats, and those
    that are full say so: neither takes it now.

    :param workers: those of its queue that send heartbeats, and take new jobs.
    """
    text = "It is the next of its queue"
    if workers and all(_is_late(each, now) for each in workers):
        last = max(each.last_seen for each in workers)
        until = max(each.last_seen + silence_ms(each) for each in workers)
        late: dict[str, JsonValue] = {
            "workers": [each.id for each in workers],
            "last_seen": format_instant(last),
        }
        text += (
            f", but its workers may hang: the last heartbeat was {span_text(now - last)} ago. "
            f"Without another one they count as dead in {span_text(until - now)}."
        )
        return Reason(ReasonCode.READY, text, data=late, hint="ojs-aws workers list")
    if full := full_workers(workers, text):
        return full
    return Reason(ReasonCode.READY, f"{text}, and any worker can take it.")


def full_workers(workers: Sequence[WorkerInfo], text: str) -> Reason | None:
    """Return that all slots of a queue's workers are taken; None if one is free, or unknown.

    :param text: what is said before it.
    """
    if not workers or not all(0 < slots_of(each) <= each.active_jobs for each in workers):
        return None
    slots = sum(map(slots_of, workers))
    busy = f"all {slots} slots" if slots > 1 else "the only slot"
    whole = f"{text}, and {busy} of its workers {'are' if slots > 1 else 'is'} busy."
    return Reason(ReasonCode.READY, whole, data={BUSY_SLOTS: slots})


def over_share(job: JobRecord, first_key: str, data: dict[str, JsonValue]) -> str:
    """Return that the fairness key of a job is over its share; empty if it is not.

    :param data: gets the values that the sentence is made of.
    """
    from ojs_aws.domain.fairness import starts_before  # few queues are fair

    starts = starts_before(job, first_key)
    if not starts or job.fairness is None:
        return ""
    key = job.fairness.key
    data |= {"fairness_key": key, "starts_before": starts}
    whose = f"Its key '{key}' is" if key else "Jobs without a fairness key are"
    return f" {whose} over {'its' if key else 'their'} share: {starts} of them start first."


def pace(before: int, started: int, minutes: int, data: dict[str, JsonValue]) -> str:
    """Return when a job's turn comes if as many start as before; empty if more may be before it.

    :param started: jobs of its queue that have started in these minutes.
    :param data: says whether the number before it is exact; gets the time.
    """
    if not started:
        return f" None has started in the last {minutes} minutes."
    if not data["is_exact"]:
        return ""
    wait_ms = before * minutes * MINUTE_MS // started
    data["wait_ms"] = wait_ms
    return f" At the pace of the last minutes its turn comes in about {span_text(wait_ms)}."


def unserved(
    job: JobRecord,
    alive: Sequence[WorkerInfo],
    serving: Sequence[WorkerInfo],
    did: Mapping[Instant, Tally],
    now: Instant,
) -> list[Reason]:
    """Say that no worker serves the queue, or none that takes new jobs.

    Workers need not send heartbeats, and those in Lambda do not: so starts count, too.

    :param serving: the workers of the queue, none of which takes new jobs.
    :param did: what the queue did in each minute of the last hour.
    """
    data: dict[str, JsonValue] = {"workers": [each.id for each in serving[:MAX_NAMED]]}
    if any(each in alive for each in serving):
        text = f"The workers of '{job.queue}' take no new jobs: they are quiet or terminate."
        hint = f"ojs-aws workers resume --queue {job.queue}"
        return [Reason(ReasonCode.WORKERS_QUIET, text, data=data, hint=hint)]
    if any("queues" not in read_about(each) for each in alive):
        return []
    last = max(serving, key=lambda each: each.last_seen, default=None)
    since = last.last_seen if last is not None else Instant(0)
    if any(tally.counts[TallyKind.STARTED] for minute, tally in did.items() if minute > since):
        return []
    text = f"No worker that sends heartbeats serves the queue '{job.queue}'"
    if last is None:
        text += ", and no job of it has started in the last hour."
    else:
        silent = span_text(now - last.last_seen)
        text += f". Worker '{last.id}' did, and has been silent for {silent}: it died or hangs."
    return [Reason(ReasonCode.NO_WORKER, text, data=data, hint="ojs-aws workers list")]


def lately_limited(buckets: Iterable[Bucket], now: Instant) -> list[Reason]:
    """Return the limit that has kept jobs waiting since one began last, or in the last minute.

    A limit is free for a moment whenever a job ends. It is the cause all that time.
    """
    for bucket in buckets:
        at = bucket.exhausted_at
        if at is not None and (bucket.exhausted or now - at <= LATELY_MS):
            text = f"The limit '{bucket.key}' kept jobs waiting {span_text(now - at)} ago."
            data: dict[str, JsonValue] = {"key": bucket.key, "exhausted_at": format_instant(at)}
            hint = f"ojs-aws rate-limits show {bucket.key}"
            return [Reason(ReasonCode.LIMIT, text, data=data, hint=hint)]
    return []


def _is_late(worker: WorkerInfo, now: Instant) -> bool:
    """Return whether a worker has missed a heartbeat, with half an interval to spare."""
    return now - worker.last_seen > silence_ms(worker) / 2
