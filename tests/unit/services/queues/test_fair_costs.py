"""Learning what starts cost: what is written, when, and what AWS does not take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.fairness import MOST_TYPES, Runs, read_run_times
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import FairShare
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.queues import QueueSettings
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.counters import MAX_QUEUES, WRITE_EVERY_MS, Changed, CostLearner
from ojs_aws.testing.deployment import FakeClock

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore

ACTIVE = JobRecord(
    id="j",
    type="t",
    queue="q",
    priority=0,
    state=JobState.ACTIVE,
    attempt=1,
    version=1,
    order=0,
    document=RawJson("{}"),
    timeout_ms=1,
    created_at=Instant(0),
    started_at=Instant(1_000),
    fairness=FairShare(cost=1.0),
)


@dataclass
class Stored:
    """The settings of a queue, and what was asked for."""

    own: QueueSettings | None = field(default_factory=lambda: QueueSettings(queue="q", revision=1))
    asked: list[str] = field(default_factory=list)
    is_stale: bool = False
    fails: bool = False

    def load(self, queues: list[str]) -> dict[str, QueueSettings]:
        self.asked.append("load")
        if self.fails:
            raise BackendError("down")
        return {queue: self.own for queue in queues if self.own is not None}

    def learn(self, before: QueueSettings, run_times: str) -> bool:
        self.asked.append("learn")
        if self.is_stale:
            return False
        assert before is self.own
        self.own = replace(before, run_times=run_times)
        return True

    @property
    def known(self) -> dict[str, Runs]:
        return read_run_times(self.own.run_times if self.own else "")


@pytest.fixture
def stored() -> Stored:
    """Nothing is known."""
    return Stored()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def learner(stored: Stored, clock: FakeClock) -> CostLearner:
    """A process that has seen nothing."""
    return CostLearner(lambda: cast("QueueSettingsStore", stored), clock)


def ran(ms: int, **more: Any) -> Changed:
    """A job that has completed after so long."""
    before = replace(ACTIVE, **more)
    after = replace(before, state=JobState.COMPLETED, completed_at=Instant(1_000 + ms))
    return Changed("1", Instant(0), before, after)


def test_a_process_writes_what_it_learnt_once_in_a_minute(
    learner: CostLearner, stored: Stored, clock: FakeClock
) -> None:
    """The first time at once: a process may end after any batch."""
    learner.note([ran(100), ran(300), ran(7, type="u")])
    assert stored.known == {"t": Runs(2, 400), "u": Runs(1, 7)}
    clock.advance(ms=WRITE_EVERY_MS - 1)
    learner.note([ran(100)])
    assert stored.asked == ["load", "learn"]
    clock.advance(ms=1)
    learner.note([ran(200)])
    assert stored.asked == ["load", "learn"] * 2
    assert stored.known == {"t": Runs(4, 700), "u": Runs(1, 7)}


@pytest.mark.parametrize("trouble", ["is_stale", "fails"])
def test_what_cannot_be_written_is_written_later(
    trouble: str, learner: CostLearner, stored: Stored, clock: FakeClock
) -> None:
    """With what comes meanwhile; nobody is disturbed."""
    setattr(stored, trouble, True)
    learner.note([ran(100)])
    learner.note([ran(100)])
    setattr(stored, trouble, False)
    assert stored.known == {}
    clock.advance(ms=WRITE_EVERY_MS)
    learner.note([ran(400)])
    assert stored.known == {"t": Runs(3, 600)}


def test_types_that_clients_make_up_are_not_kept_without_end(
    learner: CostLearner, stored: Stored, clock: FakeClock
) -> None:
    """Even while nothing can be written."""
    stored.fails = True
    for batch in range(3):
        learner.note([ran(1, type=f"t{batch}-{number}") for number in range(100)])
        clock.advance(ms=WRITE_EVERY_MS)
    [learnt] = learner._queues.values()
    assert len(learnt.runs) == MOST_TYPES


def test_nor_are_queues(learner: CostLearner, stored: Stored) -> None:
    stored.own = None
    learner.note([ran(1, queue=f"q{number}") for number in range(MAX_QUEUES)])
    assert len(learner._queues) == MAX_QUEUES
    learner.note([ran(1, queue="q0")])
    assert len(learner._queues) == MAX_QUEUES
    learner.note([ran(1, queue="more")])
    assert len(learner._queues) == 1


def test_a_queue_without_settings_learns_nothing(learner: CostLearner, stored: Stored) -> None:
    """They are gone: its jobs are from before."""
    stored.own = None
    learner.note([ran(100)])
    assert stored.asked == ["load"]
    assert learner._queues["q"].runs == {}


def test_only_a_completed_run_of_a_queue_that_learns_counts() -> None:
    """A clock that differs makes no time negative."""
    assert ran(5).run_ms == 5
    assert ran(-5).run_ms == 0
    assert ran(5, fairness=None).run_ms is None
    assert ran(5, fairness=FairShare(key="a")).run_ms is None
    assert ran(5, started_at=None).run_ms is None
    done = ran(5)
    assert done.after is not None
    for before, after in (
        (done.after, done.after),
        (None, done.after),
        (done.before, None),
        (done.before, replace(done.after, state=JobState.RETRYABLE, completed_at=None)),
    ):
        assert Changed("1", Instant(0), before, after).run_ms is None
