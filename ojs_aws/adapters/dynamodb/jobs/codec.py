"""Converts between a job, its failed attempts and its row of the index, and its item."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    Value,
    number,
    packed,
    read_number,
    read_string,
    stored_bytes,
    string,
    unpacked,
)
from ojs_aws.adapters.dynamodb.jobs.blobs import document_value, read_document
from ojs_aws.adapters.dynamodb.jobs.reservations import (
    OUTCOME,
    read_reservation,
    reservation_values,
)
from ojs_aws.adapters.dynamodb.table import item_key
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import Failure, JobRecord, JobState, Replay, is_blocked
from ojs_aws.domain.job_policies import FairShare, Limit, OnDiscard, SequencePlace
from ojs_aws.domain.job_policies import Retention as Kept
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.lists import JobList, ListedJob
from ojs_aws.domain.jobs.outcomes import kept_s
from ojs_aws.domain.jobs.ready_keys import read_line
from ojs_aws.domain.json_text import RawJson, decode, encode
from ojs_aws.domain.limits.policies import read_limit
from ojs_aws.domain.retry import RetryPolicy, read_retry_policy
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import MAX_DELAY_S

MAX_HISTORY_BYTES: Final = 32_768
"""Each history of failures, compressed: every transition pays for it."""

SHORT_MESSAGE: Final = 500
"""Characters that are left of the message of a failure that was shortened."""

_LETTERS: Final = {
    "t": "type",
    "m": "message",
    "a": "attempt",
    "o": "occurred_at",
    "c": "code",
    "r": "retryable",
    "b": "backtrace",
    "e": "error_class",
}
"""Members of a failure; items of earlier versions have fewer."""


def history_value(failures: tuple[Failure, ...]) -> Value:
    """Return the failures as text; if they are too large, the oldest lose details first."""
    value = packed(_text(failures))
    for count in range(1, len(failures) + 1):
        if stored_bytes(value) <= MAX_HISTORY_BYTES:
            break
        short = tuple(_shortened(failure) for failure in failures[:count])
        value = packed(_text(short + failures[count:]))
    return value


def _shortened(failure: Failure) -> Failure:
    return replace(failure, message=failure.message[:SHORT_MESSAGE], backtrace=(), extra={})


def _text(failures: tuple[Failure, ...]) -> str:
    rows = [
        {letter: getattr(failure, name) for letter, name in _LETTERS.items()}
        | {"x": dict(failure.extra)}
        for failure in failures
    ]
    return json.dumps(rows, separators=(",", ":"))


def read_history(value: Value) -> tuple[Failure, ...]:
    """Read what :func:`history_value` wrote."""
    return tuple(
        Failure(
            **{name: entry[letter] for letter, name in _LETTERS.items() if letter in entry}
            | {
                "backtrace": tuple(entry.get("b", ())),
                "extra": {key: RawJson(raw) for key, raw in entry.get("x", {}).items()},
            }
        )
        for entry in json.loads(unpacked(value))
    )


IN_LINES: Final = frozenset({JobList.READY, JobList.WAITING})
"""The lists that each line of a wide queue has; the others are the queue's."""


def listing(job: JobRecord) -> tuple[str, str]:
    """Return the job's keys in the index."""
    name, key = _listing(job)
    return n.list_key(job.queue, name, job.shard if name in IN_LINES else 0), key


def _listing(job: JobRecord) -> tuple[JobList, str]:
    match job.state:
        case JobState.AVAILABLE:
            return JobList.READY, job.ready_key
        case JobState.SCHEDULED | JobState.RETRYABLE | JobState.ACTIVE:
            held = job.reservation
            due = (held.row_at if held else deadlines.next_due(job)) or 0
            is_far = deadlines.wait_ms(job) > MAX_DELAY_S * 1000
            if is_blocked(job):
                due, is_far = job.expires_at or NEVER, True
            return JobList.WAITING, n.due_key(due, is_far=is_far, priority=job.priority)
        case JobState.PENDING:
            return JobList.PENDING, n.instant_key(job.created_at)
        case JobState.COMPLETED:
            return JobList.COMPLETED, n.instant_key(job.completed_at or 0)
        case JobState.CANCELLED:
            return JobList.CANCELLED, n.instant_key(job.cancelled_at or 0)
        case JobState.DISCARDED:
            name = JobList.DEAD_LETTER if job.is_dead_letter else JobList.DISCARDED
            return name, n.instant_key(job.discarded_at or 0)


def from_row(row: Item) -> ListedJob:
    """Return the job that a row of the index describes."""
    key = read_string(row, n.GSK)
    line, _, name = read_string(row, n.GPK).rpartition("|")
    queue, shard = read_line(line)
    waits = name == JobList.WAITING
    return ListedJob(
        id=n.job_id_of(read_string(row, n.PK)),
        queue=queue,
        sort_key=key.partition(n.RANK)[0].removesuffix(n.FAR) if waits else key,
        is_far=waits and key.endswith(n.FAR),
        priority=n.priority_of(key) if waits else None,
        state=JobState(read_string(row, n.STATE)),
        type=read_string(row, n.TYPE),
        timeout_ms=read_number(row, n.TIMEOUT),
        visibility_timeout_ms=read_number(row, n.VISIBILITY),
        shard=shard,
    )


NEVER: Final = 999_999_999_999_999
"""The due time, in the index, of a job that waits for no instant: a blocked one of a sequence."""

Retention = Callable[[JobState, bool], int]
"""Seconds that a job in a terminal state is kept, by the state and whether it is a dead letter; 0
means for ever."""

MAX_DEPTH: Final = 500
"""The deepest nesting that the settings can allow."""


_REPLAY: Final[c.Columns] = {c.NUMBER: {"n": "count", "a": "at"}, c.TEXT: {"r": "rule"}}
_KEPT: Final[c.Columns] = {c.OPTIONAL_NUMBER: n.KEPT_SPANS}
_SEQUENCE: Final[c.Columns] = {
    c.TEXT: {"k": "key"},
    c.NUMBER: {"p": "position"},
    c.FLAG: {"b": "is_blocked", "c": "checks"},
    c.Kind(string, lambda value: OnDiscard(value["S"])): {"d": "on_discard"},
}
_FAIRNESS: Final[c.Columns] = {
    c.OPTIONAL_TEXT: {"k": "key"},
    c.Kind(lambda number: string(repr(number)), lambda value: float(value["S"])): {
        "w": "weight",
        "c": "cost",
    },
    c.COUNT: {"s": "start"},
}
_COLUMNS: Final[c.Columns] = {
    c.TEXT: n.TEXTS,
    c.OPTIONAL_TEXT: n.OPTIONAL_TEXTS,
    c.NUMBER: n.NUMBERS,
    c.COUNT: n.COUNTS,
    c.OPTIONAL_NUMBER: n.OPTIONAL_NUMBERS,
    c.FLAG: n.FLAGS,
    c.Kind(document_value, read_document): {n.RESULT: "result"},
    c.PACKED: {n.RETRY: "retry_document"},
    c.Kind(history_value, read_history, (), is_sparse=True): {
        n.FAILURES: "failures",
        n.PAST_FAILURES: "past_failures",
    },
    c.map_of(_REPLAY, Replay): {n.REPLAY: "replay"},
    c.map_of(_SEQUENCE, SequencePlace): {n.SEQUENCE: "sequence"},
    c.map_of(_FAIRNESS, FairShare): {n.FAIRNESS: "fairness"},
    **OUTCOME,
}


def to_item(job: JobRecord, retention: Retention) -> Item:
    """Return the hot item of a job, without its write token."""
    item: Item = {
        **item_key(n.job_pk(job.id), n.JOB_SK),
        n.STATE: string(job.state),
        n.DOCUMENT: document_value(job.document),
        **c.attributes(job, _COLUMNS),
        **c.attributes(job.kept, _KEPT),
    }
    if not job.is_listing_left:
        item |= {name: string(key) for name, key in zip((n.GPK, n.GSK), listing(job), strict=True)}
    if job.unique_key:
        item[n.UNIQUE_KEY] = {"B": bytes.fromhex(job.unique_key)}
    if job.workflow_step is not None:
        item[n.WORKFLOW] = string(job.workflow_id)
    if job.limit is not None:
        item[n.LIMIT] = packed(encode(job.limit.render()))
    if job.reservation is not None:
        item |= reservation_values(job.id, job.reservation)
        item[n.DONE_LIST] = string(n.list_key(job.queue, JobList.COMPLETED))
    seconds = kept_s(job, _usual_s(job, retention))
    if job.state.is_terminal and seconds:
        item[n.TTL] = number(_ended(job) // 1000 + seconds)
    elif seconds and seconds != retention(JobState.COMPLETED, False):
        item[n.KEPT] = number(seconds)
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
    members = c.read_members(item, _COLUMNS)
    ttl = read_number(item, n.TTL)
    return JobRecord(
        id=job_id,
        state=JobState(read_string(item, n.STATE)),
        document=read_document(item[n.DOCUMENT]),
        retry=_policy(members["retry_document"]),
        reservation=read_reservation(job_id, item),
        workflow_id=read_string(item, n.WORKFLOW),
        limit=_limit(item),
        kept=Kept(**c.read_members(item, _KEPT)),
        kept_until=None if ttl is None else Instant(ttl * 1000),
        token=read_string(item, n.TOKEN),
        unique_key=bytes(item[n.UNIQUE_KEY]["B"]).hex() if n.UNIQUE_KEY in item else "",
        **members,
    )


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
