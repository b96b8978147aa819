"""The simulation notices messages without a reason (tests/simulation/sending.py)."""

from __future__ import annotations

import pytest

from ojs_aws.domain.conflicts import AlreadyStoredError
from ojs_aws.domain.envelope import Job
from ojs_aws.services.stored_jobs.messages import MAX_ASIDE_S
from tests.simulation.fault_profile import FaultProfile
from tests.simulation.processes import Process
from tests.simulation.promises import Cause
from tests.simulation.sending import AGAIN_MS, MOST_BY_OTHERS, READY_MS
from tests.simulation.simulation import FAR, QUEUES, BrokenPromiseError, Simulation


def ready_job(sim: Simulation) -> None:
    """Push a job, and wait until the sweep may send for it."""

    def push(process: Process) -> None:
        process.backend.jobs.push(Job("a.b", [], id=sim.ids.job_id()))

    sim.begin(Cause(kind="push"), push, FAR)
    sim.advance(READY_MS)


def send(sim: Simulation, kind: str) -> None:
    """Send a message for the job that is ready, in an operation of this kind."""
    (job,) = sim.stored.jobs.values()

    def again(process: Process) -> None:
        process.backend.job_messages.send_for([job], process.clock.now())

    sim.begin(Cause(kind=kind), again, FAR)
    sim.check()


def test_a_sweep_that_sends_again_too_soon_is_noticed() -> None:
    """Where the queue has more messages than jobs."""
    with Simulation(FaultProfile()) as sim:
        ready_job(sim)
        send(sim, "tick")
        sim.advance(AGAIN_MS - 1)
        with pytest.raises(BrokenPromiseError, match=r"the sweep sent a message for job .* again"):
            send(sim, "tick")


def test_a_cron_job_that_is_enqueued_again_is_no_sweep() -> None:
    """The process that stored its job may have died before it sent a message."""
    with Simulation(FaultProfile()) as sim:
        ready_job(sim)
        (job,) = sim.stored.jobs.values()

        def again(process: Process) -> None:
            with pytest.raises(AlreadyStoredError):
                process.backend.stores.store.insert(job)
            process.backend.job_messages.send_for([job], process.clock.now())

        for _ in range(3):
            sim.begin(Cause(kind="tick"), again, FAR)
            sim.check()
        send(sim, "tick")
        with pytest.raises(BrokenPromiseError, match=r"the sweep sent a message for job .* again"):
            send(sim, "tick")


def test_a_sweep_that_waits_before_it_sends_again_is_right() -> None:
    """The message before may be in the hands of a worker that fails at its start."""
    with Simulation(FaultProfile()) as sim:
        ready_job(sim)
        for _ in range(10):
            send(sim, "tick")
            sim.advance(AGAIN_MS)


def test_many_messages_for_one_job_by_others_are_noticed() -> None:
    """Each is one too many that a request sends without a reason."""
    with Simulation(FaultProfile()) as sim:
        ready_job(sim)
        for _ in range(MOST_BY_OTHERS - 1):
            send(sim, "push")
        with pytest.raises(BrokenPromiseError, match=f"has {MOST_BY_OTHERS + 1} messages"):
            send(sim, "push")


def replace_messages(sim: Simulation, calls: int, *, is_deleting: bool = True) -> None:
    """Put new messages in the place of ten, as a Lambda worker does whose jobs must wait for long.

    :param calls: how many calls it makes before others go on.
    """
    (queue, _), received = QUEUES, sim.messages.receive(QUEUES[0], 10, 30)

    def aside(process: Process) -> None:
        now, later = process.clock.now(), [(each, 2 * MAX_ASIDE_S) for each in received]
        if is_deleting:
            process.backend.job_messages.set_aside(queue, later, now)
        else:
            messages = [(each.message, seconds) for each, seconds in later]
            process.backend.job_messages.send(queue, messages, now)

    sim.begin(Cause(kind="lambda"), aside, calls)
    sim.check()


def test_workers_that_die_while_they_replace_messages_double_them() -> None:
    """They delete the old ones last, so that none is lost."""
    with Simulation(FaultProfile()) as sim:
        ready_job(sim)
        for _ in range(9):
            send(sim, "stream")
        for _ in range(3):
            replace_messages(sim, calls=1)
            sim.kill_one()
            sim.advance(60_000)
        replace_messages(sim, FAR)
        assert sim.messages.count() == 40


def test_a_worker_that_doubles_messages_is_noticed() -> None:
    """Without a fault it leaves as many as there were."""
    with Simulation(FaultProfile()) as sim:
        ready_job(sim)
        for _ in range(9):
            send(sim, "stream")
        replace_messages(sim, FAR, is_deleting=False)
        sim.advance(60_000)
        with pytest.raises(BrokenPromiseError, match="has 21 messages"):
            replace_messages(sim, FAR, is_deleting=False)
