"""Describes requests with their answers, and what they say of each job and its reservations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """Names what was asked for."""

    PUSH = "push"
    FETCH = "fetch"
    BEAT = "heartbeat"
    ACK = "ack"
    FAIL = "fail"
    CANCEL = "cancel"
    INFO = "info"


class Outcome(StrEnum):
    """Says what the requester knows."""

    DONE = "done"
    REFUSED = "refused"
    """It certainly changed nothing."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Shown:
    """Holds what INFO shows of a job."""

    state: str
    attempt: int
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Holds a request with its answer.

    :ivar begun: before it was sent, in milliseconds.
    :ivar ended: after the answer, or when it was given up.
    :ivar ids: the jobs that it is about; of a FETCH or a heartbeat, those that it was given.
    :ivar attempts: of these jobs, where the answer or the report names them.
    :ivar lasts_ms: how long a FETCH or a heartbeat wants its jobs.
    :ivar result: what an ACK sent.
    """

    kind: Kind
    outcome: Outcome
    begun: float
    ended: float
    ids: tuple[str, ...] = ()
    attempts: tuple[int, ...] = ()
    lasts_ms: int = 0
    result: str = ""
    shown: Shown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Says what a job was enqueued with.

    :ivar unique: jobs with the same text exclude each other until they have ended.
    :ivar limit: at most so many jobs with the same text run at once, by ``concurrency``.
    """

    max_attempts: int
    unique: str = ""
    limit: str = ""
    concurrency: int = 0


REPORTS: Final = frozenset({Kind.ACK, Kind.FAIL})
FOR_EVER: Final = float("inf")


@dataclass
class Hold:
    """Describes one reservation as its worker knows it.

    :ivar surely_until: nobody else may have the job before, unless the worker gives it up.
    :ivar maybe_until: a report that is sent later is too late.
    """

    fetch: Exchange
    surely_until: float
    maybe_until: float
    reports: list[Exchange] = field(default_factory=list)


@dataclass
class JobHistory:
    """Collects what was asked and answered about one job."""

    wanted: Wanted
    final: Shown | None
    asked: dict[Kind, list[Exchange]] = field(default_factory=lambda: defaultdict(list))
    holds: dict[int, Hold] = field(default_factory=dict)
    twice: list[int] = field(default_factory=list)

    def sent(self, kind: Kind) -> list[Exchange]:
        """Return the requests of one kind that may have taken effect."""
        return [each for each in self.asked[kind] if each.outcome is not Outcome.REFUSED]

    def done(self, kind: Kind) -> list[Exchange]:
        """Return the requests of one kind that took effect."""
        return [each for each in self.asked[kind] if each.outcome is Outcome.DONE]

    def released_at(self, attempt: int) -> float:
        """Return the first moment at which a request may have ended an attempt."""
        ends = [*self.holds[attempt].reports, *self.sent(Kind.CANCEL)]
        return min((each.begun for each in ends), default=FOR_EVER)


def histories(
    exchanges: Iterable[Exchange], jobs: Mapping[str, Wanted], finals: Mapping[str, Shown]
) -> dict[str, JobHistory]:
    """Return the history of each job."""
    found = {each: JobHistory(wanted, finals.get(each)) for each, wanted in jobs.items()}
    ordered = sorted(exchanges, key=lambda each: (each.begun, each.ended))
    for exchange in ordered:
        for at, job_id in enumerate(exchange.ids):
            history = found[job_id]
            history.asked[exchange.kind].append(exchange)
            if exchange.kind is Kind.FETCH:
                attempt = exchange.attempts[at]
                if attempt in history.holds:
                    history.twice.append(attempt)
                lasts = exchange.lasts_ms
                history.holds[attempt] = Hold(
                    exchange, exchange.begun + lasts, exchange.ended + lasts
                )
    for exchange in ordered:
        for job_id, attempt in zip(exchange.ids, exchange.attempts, strict=False):
            _note(found[job_id].holds.get(attempt), exchange)
    return found


def _note(hold: Hold | None, exchange: Exchange) -> None:
    """Add a report or a heartbeat to its reservation."""
    if hold is None:
        return
    if exchange.kind in REPORTS and exchange.outcome is not Outcome.REFUSED:
        hold.reports.append(exchange)
    elif exchange.kind is Kind.BEAT and exchange.outcome is not Outcome.REFUSED:
        hold.maybe_until = max(hold.maybe_until, exchange.ended + exchange.lasts_ms)
        if exchange.outcome is Outcome.DONE:
            hold.surely_until = max(hold.surely_until, exchange.begun + exchange.lasts_ms)
