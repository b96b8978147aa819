"""How late a job may be held after healing (tests/simulation/lateness.py)."""

from __future__ import annotations

from dataclasses import replace

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord, JobState, Reservation
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.timestamps import Instant
from tests.simulation.fault_profile import FaultProfile
from tests.simulation.lateness import NEW, REPAIRED, TICK_MS, Lateness
from tests.simulation.processes import Process
from tests.simulation.promises import Cause
from tests.simulation.simulation import FAR, START, Simulation

TOO_LATE = START + (NEW + 1) * TICK_MS


def ready_job() -> JobRecord:
    """Return a job that was enqueued when the healing began."""

    def push(process: Process) -> None:
        process.backend.jobs.push(Job("a.b", [], id=sim.ids.job_id()))

    with Simulation(FaultProfile()) as sim:
        sim.begin(Cause(kind="push"), push, FAR)
        (job,) = sim.stored.jobs.values()
        return job


def test_a_new_job_whose_message_brought_nobody_is_noticed() -> None:
    """After one tick."""
    lateness = Lateness(START, is_polled=False)
    assert not lateness.problems([ready_job()], TOO_LATE - 1)
    assert lateness.problems([ready_job()], TOO_LATE)


def test_a_new_job_may_wait_behind_one_without_a_message() -> None:
    """Its own message runs the one before it; then the sweep sends another."""
    lateness = Lateness(START, is_polled=False)
    job = ready_job()
    failed = replace(job, id="older", attempt=1)
    assert not lateness.problems([failed, job], TOO_LATE)
    assert not lateness.problems([job], TOO_LATE)
    assert lateness.problems([job], START + (REPAIRED + 1) * TICK_MS)


def test_a_job_in_an_empty_queue_no_longer_waits_behind_others() -> None:
    """Nothing of before is left there."""
    lateness = Lateness(START, is_polled=False)
    job = ready_job()
    lateness.look([replace(job, id="older", attempt=1)], START)
    lateness.look([], START)
    late = replace(job, created_at=Instant(START + 1), enqueued_at=Instant(START + 1))
    assert lateness.problems([late], TOO_LATE + 1)


def test_a_limited_job_may_wait_until_hidden_messages_come_back() -> None:
    """The sweep counts them, and its own was lost; a job that is due later does not wait."""
    limit = Limit(key="alpha", concurrency=1)
    lost = replace(ready_job(), attempt=1)
    too_late = START + (REPAIRED + 1) * TICK_MS
    hidden = Lateness(START, is_polled=False, hidden_until={lost.queue: START + 1})
    assert hidden.problems([lost], too_late)
    assert not hidden.problems([replace(lost, limit=limit)], too_late)
    is_back = Lateness(START, is_polled=False, hidden_until={lost.queue: START})
    assert is_back.problems([replace(lost, limit=limit)], too_late)


def test_a_job_may_wait_until_the_limit_has_room() -> None:
    """From then on it is due as every other one."""
    lateness = Lateness(START, is_polled=False)
    job = replace(ready_job(), limit=Limit(key="alpha", concurrency=1))
    held = Reservation(
        id="r",
        worker_id="w",
        expires_at=Instant(TOO_LATE + 1),
        execution_ends_at=Instant(TOO_LATE + 1),
        slots=("alpha",),
    )
    runs = replace(job, id="runs", state=JobState.ACTIVE, reservation=held)
    assert not lateness.problems([runs, job], TOO_LATE)
    assert not lateness.problems([job], TOO_LATE + TICK_MS - 1)
    assert lateness.problems([job], TOO_LATE + (REPAIRED + 1) * TICK_MS)
