"""Judges a history of requests and answers, and knows nothing else of the backend.

What a request asked and what was answered, with the times before and after, decides what must and
what may have happened between. A request without an answer may have taken effect or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from benchmarks.soak_history import (
    FOR_EVER,
    Exchange,
    JobHistory,
    Kind,
    Outcome,
    Shown,
    Wanted,
    histories,
)

ENDED: Final = frozenset({"completed", "discarded", "cancelled"})


def breaches(
    exchanges: Sequence[Exchange], jobs: Mapping[str, Wanted], finals: Mapping[str, Shown]
) -> Iterator[str]:
    """Yield whatever no backend that keeps its promises would have answered.

    :param finals: what INFO shows of each job that exists, once all is quiet.
    """
    found = histories(exchanges, jobs, finals)
    for job_id, history in found.items():
        for check in (_existence, _attempts, _reservations, _reports, _end, _reads):
            yield from (f"{job_id}: {problem}" for problem in check(history))
    yield from _batches(exchanges, finals)
    yield from _unique(found)
    yield from _limits(found)


def _existence(history: JobHistory) -> Iterator[str]:
    if history.done(Kind.PUSH) and history.final is None:
        yield "it was accepted, and is lost"
    if history.final is not None and not history.sent(Kind.PUSH):
        yield "it was refused, and is there"
    if history.final is not None and history.final.state not in ENDED:
        yield f"it stays {history.final.state}"


def _attempts(history: JobHistory) -> Iterator[str]:
    final = history.final
    yield from (f"attempt {each} was given out twice" for each in history.twice)
    last = max(history.holds, default=0)
    if final is not None and not last <= final.attempt <= history.wanted.max_attempts:
        yield (
            f"{final.attempt} attempts, where {last} were given out and "
            f"{history.wanted.max_attempts} are allowed"
        )
    ends = [each.ended for kind in (Kind.ACK, Kind.CANCEL) for each in history.done(kind)]
    for attempt, hold in history.holds.items():
        if hold.fetch.begun > min(ends, default=FOR_EVER):
            yield f"attempt {attempt} began after its end"


def _reservations(history: JobHistory) -> Iterator[str]:
    """Yield attempts that began while the one before was surely running."""
    for before, after in pairwise(sorted(history.holds)):
        held = history.holds[before]
        until = min(held.surely_until, history.released_at(before))
        if history.holds[after].fetch.ended < until:
            yield f"attempt {after} was given out during attempt {before}"


def _reports(history: JobHistory) -> Iterator[str]:
    for attempt, hold in history.holds.items():
        done = [each for each in hold.reports if each.outcome is Outcome.DONE]
        if len({each.kind for each in done}) > 1:
            yield f"attempt {attempt} has both succeeded and failed"
        later = [each.fetch.ended for other, each in history.holds.items() if other > attempt]
        for report in done:
            if report.begun > min(later, default=FOR_EVER):
                yield f"a report on attempt {attempt} counted after the next one had begun"
            if report.kind is Kind.ACK and report.begun > hold.maybe_until:
                yield f"the ACK of attempt {attempt} counted after its time was over"
        cancelled = min((each.ended for each in history.done(Kind.CANCEL)), default=FOR_EVER)
        if any(report.begun > cancelled for report in done):
            yield f"a report on attempt {attempt} counted after the cancellation"


def _end(history: JobHistory) -> Iterator[str]:
    """Yield ends that nobody asked for, and ends other than those that were answered."""
    final = history.final
    if final is None:
        return
    acks = [each for each in history.sent(Kind.ACK) if each.attempts == (final.attempt,)]
    for ack in history.done(Kind.ACK):
        if (final.state, final.attempt) != ("completed", ack.attempts[0]):
            yield f"attempt {ack.attempts[0]} was acknowledged, and the job is {final}"
    if final.state == "completed" and final.result not in {each.result for each in acks}:
        yield f"it is completed with {final.result!r}, which no ACK of attempt {final.attempt} sent"
    if history.done(Kind.CANCEL) and final.state != "cancelled":
        yield f"it was cancelled, and is {final.state}"
    if final.state == "cancelled" and not history.sent(Kind.CANCEL):
        yield "nobody cancelled it"
    if final.state == "discarded" and final.attempt != history.wanted.max_attempts:
        yield f"it was discarded after {final.attempt} of {history.wanted.max_attempts} attempts"
    for fail in history.done(Kind.FAIL):
        if final.state == "completed" and final.attempt <= fail.attempts[0]:
            yield f"attempt {fail.attempts[0]} failed, and attempt {final.attempt} completed"


def _reads(history: JobHistory) -> Iterator[str]:
    """Yield what a later INFO shows as it was before an earlier one."""
    reads = sorted(history.done(Kind.INFO), key=lambda each: each.ended)
    for first, then in pairwise(reads):
        before, after = first.shown, then.shown
        if before is None or after is None or then.begun < first.ended:
            continue
        if after.attempt < before.attempt:
            yield f"it went back from attempt {before.attempt} to {after.attempt}"
        if before.state in ENDED and after != before:
            yield f"it was {before}, and later {after}"


def _batches(exchanges: Iterable[Exchange], finals: Mapping[str, Shown]) -> Iterator[str]:
    for each in exchanges:
        there = sum(job_id in finals for job_id in each.ids)
        if each.kind is Kind.PUSH and 0 < there < len(each.ids):
            yield f"{there} of {len(each.ids)} jobs of a batch are there"


def _unique(found: Mapping[str, JobHistory]) -> Iterator[str]:
    """Yield jobs that were accepted while another one with the same key had surely not ended."""
    by_key: dict[str, list[tuple[float, float, float, str]]] = defaultdict(list)
    for job_id, history in found.items():
        pushes = history.done(Kind.PUSH)
        if history.wanted.unique and pushes:
            ends = [*history.sent(Kind.ACK), *history.sent(Kind.CANCEL), *history.sent(Kind.FAIL)]
            is_by_request = history.final is not None and history.final.state != "discarded"
            over = min((each.begun for each in ends), default=FOR_EVER) if is_by_request else 0.0
            by_key[history.wanted.unique].append((pushes[0].begun, pushes[0].ended, over, job_id))
    for rows in by_key.values():
        for (_, there, over, first), (begun, ended, _, second) in pairwise(sorted(rows)):
            if begun > there and ended < over:
                yield f"{second} was accepted while {first} excluded it"


def _limits(found: Mapping[str, JobHistory]) -> Iterator[str]:
    """Yield limits that had surely more holders than they have places."""
    changes: dict[tuple[str, int], list[tuple[float, int]]] = defaultdict(list)
    for history in found.values():
        for attempt, hold in history.holds.items():
            until = min(hold.surely_until, history.released_at(attempt))
            if history.wanted.limit and until > hold.fetch.ended:
                key = history.wanted.limit, history.wanted.concurrency
                changes[key] += [(hold.fetch.ended, 1), (until, -1)]
    for (name, most), moments in changes.items():
        held = highest = 0
        for _, change in sorted(moments):
            held += change
            highest = max(highest, held)
        if highest > most:
            yield f"{highest} jobs ran at once under the limit {name!r} of {most}"
