"""Converts between a job and its item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.jobs.documents import document_value, read_document
from ojs_aws.adapters.dynamodb.jobs.history import history_value, read_history
from ojs_aws.adapters.dynamodb.jobs.index_rows import listing
from ojs_aws.adapters.dynamodb.jobs.outcomes import outcome_values, read_outcome
from ojs_aws.adapters.dynamodb.jobs.reservations import read_reservation, reservation_values
from ojs_aws.adapters.dynamodb.values import (
    Item,
    number,
    packed,
    read_number,
    read_string,
    string,
    unpacked,
)
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord, JobState, Replay
from ojs_aws.domain.jobs.results import kept_s
from ojs_aws.domain.json_text import RawJson, decode, encode
from ojs_aws.domain.limit import Limit
from ojs_aws.domain.limits.policies import read_limit
from ojs_aws.domain.retention import NO_RETENTION
from ojs_aws.domain.retention import Retention as Kept
from ojs_aws.domain.retry import RetryPolicy, read_retry_policy
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import JobList

Retention = Callable[[JobState, bool], int]
"""Seconds that a job in a terminal state is kept, by the state and whether it is a dead letter; 0
means for ever."""

MAX_DEPTH: Final = 500
"""The deepest nesting that the settings can allow."""


def to_item(job: JobRecord, retention: Retention) -> Item:
    """Return the hot item of a job, without its write token."""
    gpk, gsk = listing(job)
    item: Item = {
        n.PK: string(n.job_pk(job.id)),
        n.SK: string(n.JOB_SK),
        n.GPK: string(gpk),
        n.GSK: string(gsk),
        n.STATE: string(job.state),
        n.TYPE: string(job.type),
        n.QUEUE: string(job.queue),
        n.ATTEMPT: number(job.attempt),
        n.VERSION: number(job.version),
        n.ORDER: number(job.order),
        n.CREATED: number(job.created_at),
        n.TIMEOUT: number(job.timeout_ms),
        n.DOCUMENT: document_value(job.document),
    }
    item |= _optional(job)
    if job.unique_key:
        item[n.UNIQUE_KEY] = {"B": bytes.fromhex(job.unique_key)}
    if job.workflow_step is not None:
        item[n.WORKFLOW] = string(job.workflow_id)
        item[n.WORKFLOW_STEP] = number(job.workflow_step)
    item |= {name: {"BOOL": True} for name, flag in n.FLAGS.items() if getattr(job, flag)}
    if job.kept is not NO_RETENTION:
        item |= {
            name: number(seconds)
            for name, attribute in n.KEPT_SPANS.items()
            if (seconds := getattr(job.kept, attribute)) is not None
        }
    item |= {
        name: number(instant)
        for name, attribute in n.INSTANTS.items()
        if (instant := getattr(job, attribute)) is not None
    }
    if job.limit is not None:
        item[n.LIMIT] = packed(encode(job.limit.render()))
    if job.reservation is not None:
        item |= reservation_values(job.id, job.reservation)
        item[n.DONE_LIST] = string(n.list_key(job.queue, JobList.COMPLETED))
    item |= outcome_values(job)
    seconds = kept_s(job, _usual_s(job, retention))
    if job.state.is_terminal and seconds:
        item[n.TTL] = number(_ended(job) // 1000 + seconds)
    elif seconds and seconds != retention(JobState.COMPLETED, False):
        item[n.KEPT] = number(seconds)
    return item


def _optional(job: JobRecord) -> Item:
    item: Item = {
        name: number(value)
        for name, attribute in n.COUNTS.items()
        if (value := getattr(job, attribute))
    }
    item |= {
        name: number(value)
        for name, attribute in n.NUMBERS.items()
        if (value := getattr(job, attribute)) is not None
    }
    if job.retry_document is not None:
        item[n.RETRY] = packed(job.retry_document)
    if job.failures:
        item[n.FAILURES] = history_value(job.failures)
    if job.past_failures:
        item[n.PAST_FAILURES] = history_value(job.past_failures)
    if job.result is not None:
        item[n.RESULT] = document_value(job.result)
    if job.is_dead_letter:
        item[n.DEAD_LETTER] = {"BOOL": True}
    if job.replay is not None:
        item[n.REPLAY] = {
            "M": {
                "n": number(job.replay.count),
                "a": number(job.replay.at),
                "r": string(job.replay.rule),
            }
        }
    return item


def _usual_s(job: JobRecord, retention: Retention) -> int:
    """Return how many seconds an ended job stays, 0 for ever; others count as completing."""
    match job.state:
        case JobState.CANCELLED:
            own = job.kept.cancelled_s
        case JobState.DISCARDED:
            own = job.kept.dead_letter_s if job.is_dead_letter else job.kept.discarded_s
        case _:
            own = job.kept.completed_s
    if own is not None:
        return own
    ends = job.state if job.state.is_terminal else JobState.COMPLETED
    return retention(ends, job.is_dead_letter)


def _ended(job: JobRecord) -> int:
    return job.completed_at or job.cancelled_at or job.discarded_at or job.created_at


def from_item(item: Item) -> JobRecord:
    """Return the job that an item holds."""
    job_id = n.job_id_of(read_string(item, n.PK))
    retry = RawJson(unpacked(item[n.RETRY])) if n.RETRY in item else None
    return JobRecord(
        id=job_id,
        type=read_string(item, n.TYPE),
        queue=read_string(item, n.QUEUE),
        state=JobState(read_string(item, n.STATE)),
        attempt=read_number(item, n.ATTEMPT) or 0,
        version=read_number(item, n.VERSION) or 0,
        order=read_number(item, n.ORDER) or 0,
        document=read_document(item[n.DOCUMENT]),
        timeout_ms=read_number(item, n.TIMEOUT) or 0,
        created_at=Instant(read_number(item, n.CREATED) or 0),
        retry=_policy(retry),
        retry_document=retry,
        reservation=read_reservation(job_id, item),
        failures=read_history(item, n.FAILURES),
        past_failures=read_history(item, n.PAST_FAILURES),
        result=read_document(item[n.RESULT]) if n.RESULT in item else None,
        is_dead_letter=n.DEAD_LETTER in item,
        workflow_id=read_string(item, n.WORKFLOW),
        workflow_step=read_number(item, n.WORKFLOW_STEP),
        limit=_limit(item),
        replay=_replay(item),
        kept=_kept(item),
        unique_key=bytes(item[n.UNIQUE_KEY]["B"]).hex() if n.UNIQUE_KEY in item else "",
        **read_outcome(item),
        **_columns(item),
    )


def _columns(item: Item) -> dict[str, Any]:
    """Read the attributes of a job record that one attribute of the item holds each."""
    counts = {attribute: read_number(item, name) or 0 for name, attribute in n.COUNTS.items()}
    numbers = {attribute: read_number(item, name) for name, attribute in n.NUMBERS.items()}
    flags = {attribute: name in item for name, attribute in n.FLAGS.items()}
    instants = {
        attribute: None if (value := read_number(item, name)) is None else Instant(value)
        for name, attribute in n.INSTANTS.items()
    }
    return {**counts, **numbers, **flags, **instants}


def _kept(item: Item) -> Kept:
    spans = {
        attribute: seconds
        for name, attribute in n.KEPT_SPANS.items()
        if (seconds := read_number(item, name)) is not None
    }
    return Kept(**spans) if spans else NO_RETENTION


def _limit(item: Item) -> Limit | None:
    """Return the job's limit, which was valid when it was stored."""
    if n.LIMIT not in item:
        return None
    return read_limit(decode(unpacked(item[n.LIMIT])), read_string(item, n.QUEUE))


def _policy(retry: RawJson | None) -> RetryPolicy:
    """Return the policy of a stored retry object, valid by the rules of its time."""
    if retry is None:
        return RetryPolicy()
    try:
        return read_retry_policy(decode(retry, max_depth=MAX_DEPTH))
    except OjsError:
        return RetryPolicy()


def _replay(item: Item) -> Replay | None:
    if n.REPLAY not in item:
        return None
    kept: Item = item[n.REPLAY]["M"]
    return Replay(
        count=read_number(kept, "n") or 0,
        at=Instant(read_number(kept, "a") or 0),
        rule=read_string(kept, "r"),
    )
