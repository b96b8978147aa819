"""Pauses of a wait, the size of an answer, and reports that come too late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.errors import PayloadTooLargeError
from ojs_aws.domain.jobs.held_job import ASSUMED_SILENCE_MS
from ojs_aws.domain.jobs.progress import read_report
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.services.outcomes import results
from ojs_aws.services.outcomes.progress import EXTENDS_EVERY_MS
from ojs_aws.services.outcomes.results import FIRST_PAUSE_MS, LONGEST_PAUSE_MS, pauses
from tests.contract.test_job_store import a_job
from tests.job_steps import active, fetched, pushed
from tests.simulation.world import World

REPORT = read_report(parse_object('{"progress": 0.5}'))


@pytest.mark.parametrize(
    ("total_ms", "expected"),
    [
        (0, []),
        (1, [1]),
        (FIRST_PAUSE_MS, [FIRST_PAUSE_MS]),
        (FIRST_PAUSE_MS + 1, [FIRST_PAUSE_MS, 1]),
        (250, [100, 150]),
    ],
)
def test_the_pauses_of_a_wait_last_as_long_as_it(total_ms: int, expected: list[int]) -> None:
    assert [*pauses(total_ms)] == expected
    assert max(pauses(60_000)) == LONGEST_PAUSE_MS


def test_the_results_of_one_answer_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [a_job(number, result=RawJson('"1234"')) for number in range(2)]
    monkeypatch.setattr(results, "MAX_TOGETHER_BYTES", 12)
    results._check_together([*jobs, a_job(3)])
    monkeypatch.setattr(results, "MAX_TOGETHER_BYTES", 11)
    with pytest.raises(PayloadTooLargeError):
        results._check_together(jobs)


def test_a_report_that_comes_too_late_keeps_no_checkpoint(world: World) -> None:
    """Neither if the job as claimed says so, nor if that is out of date."""
    job = active(world.backend)
    ended = world.backend.jobs.ack(job.id, "w", None)
    kept: list[str] = []

    class Checkpoints:
        """Notes what is kept."""

        def keep(self, job_id: str, _state: RawJson) -> RawJson:
            kept.append(job_id)
            return RawJson("1")

    checkpoints: Any = Checkpoints()
    reporting = replace(world.backend.outcomes.progress, checkpoints=checkpoints)
    assert reporting(job.id, "w", REPORT, RawJson("1"), start=ended) == (ended, False)
    assert kept == []
    after, is_noted = reporting(job.id, "w", REPORT, RawJson("1"), start=job)
    assert (after.state, is_noted) == (ended.state, False)


@pytest.mark.parametrize(("after_ms", "is_moved"), [(-1, False), (0, True)])
def test_a_report_moves_the_workers_death_once_it_moves_far_enough(
    world: World, after_ms: int, is_moved: bool
) -> None:
    """Each move is a message that is hidden again."""
    job = pushed(world.backend)
    (claimed,) = fetched(world.backend, heartbeat_interval_ms=ASSUMED_SILENCE_MS // 3)
    world.clock.advance(ms=EXTENDS_EVERY_MS + after_ms)
    after, is_noted = world.backend.outcomes.progress(job.id, "w", REPORT)
    assert is_noted
    assert claimed.reservation is not None
    assert after.reservation is not None
    assert (after.reservation.alive_until != claimed.reservation.alive_until) is is_moved
