"""The oracle of the soak under threads accepts what may happen, and names what may not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.soak_history import Exchange, Kind, Outcome, Shown, Wanted
from benchmarks.soak_oracle import breaches

DONE = Shown("completed", 1, "1")
PLAIN = Wanted(max_attempts=3)


def of(kind: Kind, at: float, **more: Any) -> Exchange:
    """A request that took ten milliseconds."""
    given: dict[str, Any] = {"outcome": Outcome.DONE, "begun": at, "ended": at + 10, "ids": ("j",)}
    return Exchange(kind=kind, **{**given, **more})


def fetch(at: float, attempt: int = 1, lasts_ms: int = 100, **more: Any) -> Exchange:
    return of(Kind.FETCH, at, attempts=(attempt,), lasts_ms=lasts_ms, **more)


def ack(at: float, attempt: int = 1, result: str = "1", **more: Any) -> Exchange:
    return of(Kind.ACK, at, attempts=(attempt,), result=result, **more)


def fail(at: float, attempt: int = 1, **more: Any) -> Exchange:
    return of(Kind.FAIL, at, attempts=(attempt,), **more)


def info(at: float, state: str, attempt: int) -> Exchange:
    return of(Kind.INFO, at, shown=Shown(state, attempt))


PUSH = of(Kind.PUSH, 0)
LOST: dict[str, Any] = {"outcome": Outcome.UNKNOWN}
REFUSED: dict[str, Any] = {"outcome": Outcome.REFUSED}


def found(*exchanges: Exchange, final: Shown | None = DONE, wanted: Wanted = PLAIN) -> list[str]:
    """What the oracle says of one job."""
    return [*breaches(exchanges, {"j": wanted}, {"j": final} if final else {})]


FINE: Mapping[str, tuple[tuple[Exchange, ...], Shown | None]] = {
    "in one go": ((PUSH, fetch(20), ack(40)), DONE),
    "a lost push that took effect": ((of(Kind.PUSH, 0, **LOST), fetch(20), ack(40)), DONE),
    "a lost push that did not": ((of(Kind.PUSH, 0, **LOST),), None),
    "a refused push": ((of(Kind.PUSH, 0, **REFUSED),), None),
    "a lost ACK that took effect": ((PUSH, fetch(20), ack(40, **LOST)), DONE),
    "a late ACK that was refused": (
        (PUSH, fetch(20), ack(140, **REFUSED), fetch(150, 2), ack(170, 2, "2")),
        Shown("completed", 2, "2"),
    ),
    "an ACK in the time that a heartbeat added": (
        (PUSH, fetch(20), of(Kind.BEAT, 90, attempts=(1,), lasts_ms=100), ack(190)),
        DONE,
    ),
    "the next attempt after a failure": (
        (PUSH, fetch(20), fail(40), fetch(45, 2), ack(60, 2)),
        Shown("completed", 2, "1"),
    ),
    "the next attempt after a lost failure": (
        (PUSH, fetch(20), fail(40, **LOST), fetch(45, 2), ack(60, 2)),
        Shown("completed", 2, "1"),
    ),
    "an attempt that no answer named": (
        (PUSH, fetch(20, ids=(), **LOST), fetch(300, 2), ack(320, 2)),
        Shown("completed", 2, "1"),
    ),
    "all attempts used up": (
        (PUSH, fetch(20), fail(40), fetch(60, 2), fail(80, 2), fetch(100, 3), fail(120, 3)),
        Shown("discarded", 3),
    ),
    "a cancellation under way": (
        (PUSH, fetch(20), of(Kind.CANCEL, 30), ack(35, **REFUSED)),
        Shown("cancelled", 1),
    ),
    "reads that overlap": (
        (PUSH, fetch(20), info(25, "active", 1), info(30, "available", 0), ack(50)),
        DONE,
    ),
}


@pytest.mark.parametrize("name", FINE)
def test_what_may_happen_is_accepted(name: str) -> None:
    exchanges, final = FINE[name]
    assert found(*exchanges, final=final) == []


WRONG: Mapping[str, tuple[tuple[Exchange, ...], Shown | None]] = {
    "it was accepted, and is lost": ((PUSH,), None),
    "it was refused, and is there": ((of(Kind.PUSH, 0, **REFUSED), fetch(20), ack(40)), DONE),
    "it stays available": ((PUSH,), Shown("available", 0)),
    "attempt 1 was given out twice": ((PUSH, fetch(20), fetch(30), ack(50)), DONE),
    "4 attempts, where 1 were": ((PUSH, fetch(20)), Shown("discarded", 4)),
    "1 attempts, where 2 were": ((PUSH, fetch(20), fail(40), fetch(60, 2), ack(70, 1)), DONE),
    "attempt 2 began after its end": (
        (PUSH, fetch(20), ack(40), fetch(300, 2), ack(320, 2)),
        Shown("completed", 2, "1"),
    ),
    "attempt 2 was given out during attempt 1": (
        (PUSH, fetch(20), fetch(60, 2), ack(80, 2)),
        Shown("completed", 2, "1"),
    ),
    "attempt 1 has both succeeded and failed": ((PUSH, fetch(20), fail(40), ack(50)), DONE),
    "a report on attempt 1 counted after the next": (
        (PUSH, fetch(20), fetch(200, 2), fail(220), ack(250, 2)),
        Shown("completed", 2, "1"),
    ),
    "the ACK of attempt 1 counted after its time": ((PUSH, fetch(20), ack(131)), DONE),
    "a report on attempt 1 counted after the cancell": (
        (PUSH, fetch(20), of(Kind.CANCEL, 30), fail(50)),
        Shown("cancelled", 1),
    ),
    "attempt 1 was acknowledged, and the job is": (
        (PUSH, fetch(20), ack(40), of(Kind.CANCEL, 60, **LOST)),
        Shown("cancelled", 1),
    ),
    "it is completed with '2', which no ACK": (
        (PUSH, fetch(20), ack(40)),
        Shown("completed", 1, "2"),
    ),
    "it was cancelled, and is completed": ((PUSH, of(Kind.CANCEL, 5), fetch(6), ack(20)), DONE),
    "nobody cancelled it": ((PUSH, of(Kind.CANCEL, 5, **REFUSED)), Shown("cancelled", 0)),
    "it was discarded after 1 of 3": ((PUSH, fetch(20), fail(40)), Shown("discarded", 1)),
    "attempt 1 failed, and attempt 1 completed": (
        (PUSH, fetch(20), fail(40), ack(50, **LOST)),
        DONE,
    ),
    "it went back from attempt 1 to 0": (
        (PUSH, fetch(20), info(25, "active", 1), info(36, "available", 0), ack(50)),
        DONE,
    ),
    "and later": (
        (PUSH, fetch(20), info(25, "completed", 1), info(36, "active", 1), ack(50)),
        DONE,
    ),
}


@pytest.mark.parametrize("problem", WRONG)
def test_what_may_not_happen_is_named(problem: str) -> None:
    exchanges, final = WRONG[problem]
    assert any(problem in each for each in found(*exchanges, final=final))


def test_a_batch_is_there_whole_or_not_at_all() -> None:
    push = of(Kind.PUSH, 0, ids=("j", "k"), **LOST)
    jobs = {"j": PLAIN, "k": PLAIN}
    ended = [fetch(20), ack(40)]
    assert [*breaches([push, *ended], jobs, {"j": DONE})] == ["1 of 2 jobs of a batch are there"]
    assert [*breaches([push], jobs, {})] == []


@pytest.mark.parametrize(("accepted_at", "problems"), [(35, 1), (45, 0)])
def test_unique_jobs_exclude_each_other_until_the_first_may_have_ended(
    accepted_at: float, problems: int
) -> None:
    """The ACK was sent at 50: before it, nothing can have ended the first one."""
    wanted = Wanted(max_attempts=3, unique="u")
    exchanges = [
        PUSH,
        fetch(20),
        ack(50),
        of(Kind.PUSH, accepted_at, ids=("k",)),
        fetch(70, ids=("k",)),
        ack(90, ids=("k",)),
    ]
    told = [*breaches(exchanges, {"j": wanted, "k": wanted}, {"j": DONE, "k": DONE})]
    assert len(told) == problems


@pytest.mark.parametrize(("second_at", "problems"), [(39, 1), (121, 0)])
def test_a_limit_holds_while_reservations_surely_last(second_at: float, problems: int) -> None:
    wanted = Wanted(max_attempts=3, limit="one", concurrency=1)
    exchanges = [
        of(Kind.PUSH, 0, ids=("j", "k")),
        fetch(20),
        fetch(second_at, ids=("k",)),
        ack(130, **LOST),
        ack(200, ids=("k",), **LOST),
    ]
    told = [*breaches(exchanges, {"j": wanted, "k": wanted}, {"j": DONE, "k": DONE})]
    assert len(told) == problems
