"""Shares the starts of a queue between keys by their weights: start-time fair queueing.

Each job of a fair queue has a virtual start, which is its place in the ready list within its
priority. A key's next job starts one step behind the one before, and never before what is at the
head just now. So keys take turns whatever their backlogs are, and an idle key saves nothing up.

Virtual starts are even numbers of nanoseconds. A key that comes when it has none ahead of the head
begins one before it: it goes first among equals, and FETCH sees in the sort key that it does.

A start may cost the mean run time of the job's type, divided by that of all jobs of the queue. So
the mean cost of the jobs that start is 1, as it is where every start costs the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import FairShare
from ojs_aws.domain.jobs.ready_keys import rank_of, virtual_start
from ojs_aws.domain.limits import KEY_FORM, is_key
from ojs_aws.domain.timestamps import Instant

COST_NS: Final = 2_000
"""How far one start of weight 1 moves its key on in virtual time (nanoseconds).

So little that virtual time never overtakes the clock: a list starts fewer than 500,000 jobs a
second. So an empty queue can begin at the clock's time: each earlier start is before it.
"""

LEAST_WEIGHT: Final = 0.01
MOST_WEIGHT: Final = 1000.0

LEAD_NS: Final = 2_000_000 * COST_NS
"""How far a key of weight 1 may be ahead of the head: two million jobs that wait.

One that is further ahead was placed by a clock that is ahead, and begins again at the head.
"""

EMPTY_STEP_MS: Final = 200
"""An empty list begins at the clock's time, rounded down to this span. So two keys that come at
once begin at the same time, even if the index shows neither to the other yet."""

BY_RUN_TIME: Final = "run_time"
"""The ``cost`` of a queue whose keys share time instead of starts."""

LEAST_COST: Final = 1 / 8
MOST_COST: Final = 8.0
"""No type costs less or more.

What was learnt may be wrong: a type behaves otherwise today, or one job took a day.
"""

UNKNOWN_COST: Final = 1.0

DOUBTS: Final = 5
"""A type counts as if it had run so often at the mean length: its first run moves it by a sixth."""

MOST_RUNS: Final = 5_000
"""Runs of a queue that are remembered, of all types together; older ones fade."""

MOST_TYPES: Final = 50
"""Types of a queue whose run times are remembered: those that ran most."""

LEAST_RUNS: Final = 0.05
"""A type that has faded to fewer runs is forgotten."""

MAX_PATH: Final = 128
_MEMBERS: Final = frozenset({"key", "weight"})
_WEIGHT: Final = f"a number from {LEAST_WEIGHT} to {MOST_WEIGHT:.0f}"
_BY: Final = "tenant, or a path into meta such as meta.tenant_id"


@dataclass(frozen=True, slots=True)
class FairKey:
    """Names a fairness key in one list of ready jobs.

    :ivar line: the queue, or the line of a wide queue that the list belongs to.
    """

    line: str
    priority: int
    key: str


@dataclass(frozen=True, slots=True)
class Charge:
    """Says how a key is moved on.

    :ivar at: where the head of its list is in virtual time (nanoseconds).
    :ivar cost: how far its jobs move it on together.
    :ivar lead: how far ahead of the head it may be.
    """

    at: int
    cost: int
    lead: int


def read_fairness(value: JsonValue) -> FairShare:
    """Read the ``fairness`` attribute of a job: an object with ``key``, ``weight``, or both.

    :raises InvalidRequestError: something in it is malformed.
    """
    if not isinstance(value, dict) or not value:
        raise invalid("fairness", "an object with key, weight or both", value)
    if unknown := sorted(value.keys() - _MEMBERS):
        raise invalid(f"fairness.{unknown[0][:80]}", "key or weight", unknown[0])
    key = value.get("key")
    if key is not None and not (isinstance(key, str) and is_key(key)):
        raise invalid("fairness.key", KEY_FORM, key)
    weight = value.get("weight")
    return FairShare(
        key=key or "", weight=None if weight is None else check_weight(weight, "fairness.weight")
    )


def check_weight(value: JsonValue, field: str) -> float:
    """Return a weight.

    :raises InvalidRequestError: it is no number, too small or too large.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(value, (int, float)) and is_number and LEAST_WEIGHT <= value <= MOST_WEIGHT:
        return float(value)
    raise invalid(field, _WEIGHT, value)


def check_mode(value: JsonValue, field: str) -> dict[str, JsonValue]:
    """Return the ``fairness`` setting of a queue: ``by`` says what the jobs' keys are.

    :raises InvalidRequestError: it is no object, ``by`` is no path, or there is no such ``cost``.
    """
    if not isinstance(value, dict) or value.keys() - {"by", "cost"}:
        raise invalid(field, "an object with by and cost, or {}", value)
    by = value.get("by")
    if "by" in value and not (isinstance(by, str) and len(by) <= MAX_PATH and _is_path(by)):
        raise invalid(f"{field}.by", _BY, by)
    if "cost" in value and value["cost"] != BY_RUN_TIME:
        raise invalid(f"{field}.cost", BY_RUN_TIME, value["cost"])
    return dict(value)


def _is_path(by: str) -> bool:
    root, *names = by.split(".")
    return by == "tenant" or (root == "meta" and bool(names) and all(names))


def share_of(
    job: Job, own: FairShare | None, by: str, tenant: str, tenant_weight: float | None
) -> FairShare:
    """Return whose share a job of a fair queue uses, and with which weight.

    :param own: what the job names; it comes before what the queue and the tenant say.
    :param by: what keys are made of in its queue; empty for nothing.
    """
    given = own or FairShare()
    weight = given.weight or tenant_weight or 1.0
    return replace(given, key=given.key or _key_by(by, job, tenant), weight=weight)


def _key_by(by: str, job: Job, tenant: str) -> str:
    """Return the key that the queue's setting makes of a job; empty where it has no such value."""
    if by in {"", "tenant"}:
        return tenant if by else ""
    found: JsonValue = job.view(("meta",)).get("meta")
    for name in by.split(".")[1:]:
        found = found.get(name) if isinstance(found, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, (str, int)):
        return ""
    text = str(found)
    if is_key(text) or not text:
        return text
    return "sha256-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def cost_ns(weight: float | None) -> int:
    """Return how far one start of a weight, or of a rate, moves its key on (nanoseconds)."""
    return max(2, 2 * round(COST_NS / 2 / (weight or 1.0)))


def lead_ns(weight: float | None) -> int:
    """Return how far a key of a weight may be ahead of the head (nanoseconds)."""
    return LEAD_NS // COST_NS * cost_ns(weight)


def empty_ns(now: Instant) -> int:
    """Return where an empty list is in virtual time (nanoseconds)."""
    return (now - now % EMPTY_STEP_MS) * 1_000_000


def head_ns(first_key: str) -> int:
    """Return where a list is in virtual time, by its first sort key (nanoseconds)."""
    start = virtual_start(first_key)
    return start + start % 2


def begun_at(head: int) -> int:
    """Return the virtual start of a key's first job where the key was not ahead of the head."""
    return head - 1


def starts_of(first: int, cost: int, count: int) -> list[int]:
    """Return the virtual starts of jobs of one key that enter together."""
    base = first + first % 2
    return [first, *(base + cost * number for number in range(1, count))]


def starts_before(job: JobRecord, first_key: str) -> int:
    """Return how many starts of its key come before a job, by the first sort key of its list."""
    share = job.fairness
    if share is None or not share.start or first_key.partition("#")[0] != rank_of(job.ready_key):
        return 0
    return max(0, share.start - virtual_start(first_key)) // cost_ns(share.rate)


def enters_list(before: JobRecord, after: JobRecord) -> bool:
    """Return True if a change puts a job into a ready list; each queue and priority has its own."""
    was = (before.state, before.queue, before.priority)
    is_another = was != (after.state, after.queue, after.priority)
    return is_another and after.state is JobState.AVAILABLE


def placed_at(record: JobRecord, start: int) -> JobRecord:
    """Return a job with its virtual start; one that names no key shares the empty one."""
    return replace(record, fairness=replace(record.fairness or FairShare(), start=start))


@dataclass(frozen=True, slots=True)
class Runs:
    """Holds how long jobs of a type ran.

    :ivar count: how many; older ones count in part.
    :ivar total_ms: the sum of their run times.
    """

    count: float
    total_ms: float

    def plus(self, other: Runs) -> Runs:
        """Return the runs of both."""
        return Runs(self.count + other.count, self.total_ms + other.total_ms)

    def faded(self, share: float) -> Runs:
        """Return a share of the runs, of the same mean length."""
        return Runs(self.count * share, self.total_ms * share)


NO_RUNS: Final = Runs(0, 0)

RunTimes: TypeAlias = Mapping[str, Runs]
"""The runs of a queue's jobs, by their type."""


def added_runs(known: RunTimes, more: RunTimes) -> dict[str, Runs]:
    """Return run times with new ones, at most :data:`MOST_RUNS` of :data:`MOST_TYPES` types.

    What is too much fades in all types alike, so that they keep their shares of the queue.
    """
    found = {**known}
    for name, each in more.items():
        found[name] = found.get(name, NO_RUNS).plus(each)
    runs = sum(each.count for each in found.values())
    share = min(1.0, MOST_RUNS / runs) if runs else 1.0
    order = sorted(found, key=lambda name: (-found[name].count, name))[:MOST_TYPES]
    faded = {name: found[name].faded(share) for name in order}
    return {name: each for name, each in faded.items() if each.count >= LEAST_RUNS}


def costs_of(known: RunTimes) -> dict[str, float]:
    """Return what a start of each type costs; a type that is missing costs 1."""
    runs = sum(each.count for each in known.values())
    total_ms = sum(each.total_ms for each in known.values())
    if runs <= 0 or total_ms < 1:
        return {}
    mean_ms = total_ms / runs
    return {name: _cost(each, mean_ms) for name, each in known.items()}


def _cost(of: Runs, mean_ms: float) -> float:
    cost = (of.total_ms / mean_ms + DOUBTS) / (of.count + DOUBTS)
    return round(min(MOST_COST, max(LEAST_COST, cost)), 3)


def read_run_times(text: str) -> dict[str, Runs]:
    """Read stored run times."""
    return {name: Runs(*row) for name, row in json.loads(text or "{}").items()}


def run_times_text(known: RunTimes) -> str:
    """Write run times as JSON: they are part of an item that is read by the kilobyte."""
    rows = {name: [round(each.count, 2), round(each.total_ms)] for name, each in known.items()}
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
