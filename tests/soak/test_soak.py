"""Whole local servers under stress, in small: what ``benchmarks.soak`` does for minutes."""

from __future__ import annotations

import pytest

from benchmarks.crash import Plan as CrashPlan
from benchmarks.crash import crash
from benchmarks.lateness import Plan as TimersPlan
from benchmarks.lateness import measure
from benchmarks.soak import Plan, soak

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def test_every_job_ends_once_whatever_its_workers_do() -> None:
    """Promises 1 to 3 and 6: no job lost, no reservations overlap, each transition reported."""
    result = soak(Plan(jobs=120, workers=4, seed=1, longest_s=120))
    assert result.problems == []
    assert sum(result.states.values()) == 120
    assert set(result.states) <= {"completed", "discarded", "cancelled"}
    assert result.diary.deaths > 0
    assert result.diary.lost_heartbeats > 0


def test_every_timer_fires_once_and_none_before_its_time() -> None:
    """Promise 5; how late they are is the benchmark's affair."""
    found = measure(TimersPlan(timers=60, window_s=3, seed=3))
    assert (found.early, found.missing, found.repeated) == (0, 0, 0)
    assert len(found.late) == 60


@pytest.mark.emulator
def test_every_job_ends_once_whatever_is_killed() -> None:
    """Promises 1 to 3 and 6, with SIGKILL for the server and for workers."""
    plan = CrashPlan(jobs=60, workers=2, server_lives_s=(3, 6), worker_lives_s=(1, 2))
    result = crash(plan)
    assert result.problems == []
    assert result.survives
    assert result.worker_kills > 0
    assert sum(result.states.values()) == 60
