"""What a committed change means for a sequence, and how changes are applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import OnDiscard, SequencePlace
from ojs_aws.domain.sequences import BlockedJob
from ojs_aws.services.sequences.advance import SequenceStage, follow, sequence_stage
from tests.contract.test_job_store import a_job as job

S = JobState
PLACE = SequencePlace(key="k", position=5)
MOVES = SequenceStage(tenant="t", key="k")
HEAD = job(id="job-1", tenant="t", sequence=PLACE)
WAITS = replace(HEAD, state=S.PENDING, sequence=replace(PLACE, is_blocked=True))
ROW = replace(MOVES, ended=BlockedJob(5, "job-1"))
CHECKING = replace(WAITS, sequence=replace(PLACE, is_blocked=True, checks=True))
SKIPPING = replace(PLACE, on_discard=OnDiscard.SKIP)


def discarded(**more: Any) -> JobRecord:
    """A head that failed."""
    return replace(HEAD, **{"state": S.DISCARDED, "attempt": 1, **more})


@pytest.mark.parametrize(
    ("before", "after", "stage"),
    [
        (None, None, None),
        (None, replace(HEAD, sequence=None), None),
        (None, HEAD, None),
        (None, WAITS, None),
        (None, CHECKING, MOVES),
        (HEAD, replace(HEAD, state=S.ACTIVE), None),
        (HEAD, replace(HEAD, state=S.COMPLETED), MOVES),
        (replace(HEAD, state=S.COMPLETED), replace(HEAD, state=S.COMPLETED, version=9), None),
        (HEAD, None, MOVES),
        (replace(HEAD, state=S.COMPLETED), None, None),
        (discarded(), None, MOVES),
        (discarded(attempt=0), None, None),
        (discarded(sequence=SKIPPING), None, None),
        (discarded(), replace(HEAD, attempt=0), None),
        (WAITS, HEAD, None),
        (WAITS, replace(WAITS, priority=9), None),
        (WAITS, replace(HEAD, state=S.CANCELLED), None),
        (WAITS, replace(WAITS, state=S.CANCELLED), ROW),
        (WAITS, None, ROW),
    ],
)
def test_an_end_moves_a_sequence_on_or_removes_a_row(
    before: JobRecord | None, after: JobRecord | None, stage: SequenceStage | None
) -> None:
    assert sequence_stage(before, after) == stage


@dataclass
class Moves:
    """Stands for the service; notes what it is asked for."""

    done: bool = True
    problem: Exception | None = None
    asked: list[Any] = field(default_factory=list)

    @property
    def sequences(self) -> Moves:
        return self

    def advance(self, tenant: str, key: str, *, has_time: Callable[[], bool]) -> bool:
        self.asked.append((tenant, key))
        if self.problem is not None:
            raise self.problem
        return self.done

    def forget(self, tenant: str, key: str, row: BlockedJob) -> None:
        self.asked.append((tenant, key, row))


CHANGES = [("1", MOVES), ("2", ROW), ("3", MOVES)]


def applied(moves: Moves, **more: Any) -> dict[str, Exception | None]:
    """Which changes must be applied again."""
    return follow(lambda: cast("Any", moves), CHANGES, **more)


def test_changes_of_one_sequence_are_one_look() -> None:
    moves = Moves()
    assert applied(moves) == {}
    assert moves.asked == [("t", "k"), ("t", "k", BlockedJob(5, "job-1"))]


def test_what_is_not_done_comes_again() -> None:
    assert applied(Moves(done=False)) == {"1": None, "3": None}
    problem = ValueError("x")
    assert applied(Moves(problem=problem)) == {"1": problem, "3": problem}


def test_nothing_begins_without_time() -> None:
    moves = Moves()
    assert applied(moves, has_time=lambda: False) == {"1": None, "2": None, "3": None}
    assert moves.asked == []
