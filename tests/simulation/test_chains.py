"""Lambda's limit on chains of invocations is part of the simulation (docs/decisions/0049)."""

from __future__ import annotations

import pytest

from ojs_aws.domain.queues import Message
from tests.simulation import chains
from tests.simulation.chains import MAX_LINKS, SHORT_MS
from tests.simulation.fault_profile import FaultProfile
from tests.simulation.processes import Process
from tests.simulation.promises import Cause
from tests.simulation.simulation import FAR, BrokenPromiseError, Simulation


def invoke(sim: Simulation, kind: str, times: int, every_ms: int = 1000) -> None:
    """Invoke a function with a message each time, in answer to which it sends another."""

    def again(process: Process) -> None:
        process.backend.job_messages.send("default", [(Message("job"), 0)], process.clock.now())

    if not sim.messages.count():
        sim.begin(Cause(kind="push"), again, FAR)
    for _ in range(times):
        (received,) = sim.messages.receive("default", 10, 30)
        sim.messages.delete("default", [received.handle])
        sim.begin(Cause(kind=kind), again, FAR, sim.chain_of([received]))
        sim.advance(every_ms)
        sim.check()


def test_a_long_chain_of_a_function_that_may_not_loop_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the link that Lambda would stop."""
    monkeypatch.setattr(chains, "LOOPS", frozenset({"tick"}))
    with Simulation(FaultProfile()) as sim:
        invoke(sim, "lambda", MAX_LINKS, every_ms=SHORT_MS)
        with pytest.raises(BrokenPromiseError, match="Lambda stops the worker function after 17"):
            invoke(sim, "lambda", 1)


def test_a_chain_of_invocations_that_change_nothing_is_noticed() -> None:
    """Nobody would stop it: its function may loop."""
    with Simulation(FaultProfile()) as sim:
        invoke(sim, "lambda", MAX_LINKS)
        with pytest.raises(BrokenPromiseError, match="17 invocations of a chain changed nothing"):
            invoke(sim, "lambda", 1)


def test_a_slow_chain_of_a_function_that_may_loop_goes_on() -> None:
    """Messages of jobs that wait for a limit are sent again every quarter of an hour."""
    with Simulation(FaultProfile()) as sim:
        invoke(sim, "lambda", 3 * MAX_LINKS, every_ms=SHORT_MS)
