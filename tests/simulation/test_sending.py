"""The simulation notices messages without a reason (tests/simulation/sending.py)."""

from __future__ import annotations

import pytest

from ojs_aws.domain.envelope import Job
from tests.simulation.processes import Process
from tests.simulation.promises import Cause
from tests.simulation.sending import AGAIN_MS, MOST_BY_OTHERS, READY_MS
from tests.simulation.simulation import FAR, BrokenPromiseError, Simulation
from tests.simulation.weather import Weather


def ready_job(sim: Simulation) -> None:
    """Push a job, and wait until the sweep may send for it."""

    def push(process: Process) -> None:
        process.backend.jobs.push(Job("a.b", [], id=sim.ids.job_id()))

    sim.begin(Cause(kind="push"), push, FAR)
    sim.advance(READY_MS)


def send(sim: Simulation, kind: str) -> None:
    """Send a message for the job that is ready, in an operation of this kind."""
    (job,) = sim.store.jobs.values()

    def again(process: Process) -> None:
        process.backend.job_messages.send_for([job], process.clock.now())

    sim.begin(Cause(kind=kind), again, FAR)
    sim.check()


def test_a_sweep_that_sends_again_too_soon_is_noticed() -> None:
    """Where the queue has more messages than jobs."""
    with Simulation(Weather()) as sim:
        ready_job(sim)
        send(sim, "tick")
        sim.advance(AGAIN_MS - 1)
        with pytest.raises(BrokenPromiseError, match=r"the sweep sent a message for job .* again"):
            send(sim, "tick")


def test_a_sweep_that_waits_before_it_sends_again_is_right() -> None:
    """The message before may be in the hands of a worker that fails at its start."""
    with Simulation(Weather()) as sim:
        ready_job(sim)
        for _ in range(10):
            send(sim, "tick")
            sim.advance(AGAIN_MS)


def test_many_messages_for_one_job_by_others_are_noticed() -> None:
    """Each is one too many that a request sends without a reason."""
    with Simulation(Weather()) as sim:
        ready_job(sim)
        for _ in range(MOST_BY_OTHERS - 1):
            send(sim, "push")
        with pytest.raises(BrokenPromiseError, match=f"has {MOST_BY_OTHERS + 1} messages"):
            send(sim, "push")
