"""Dispatcher, settler and sweep of tasks meet a fault, or die, at each of their calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ojs_aws.adapters.aws_errors import AwsError
from ojs_aws.adapters.tasks import Tasks
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobState
from ojs_aws.memory_aws.calls import Call, carry_out
from ojs_aws.topology import TASK_LEASE_S
from ojs_aws.worker.delivery.inputs import TaskStarter
from ojs_aws.worker.delivery.task_sweep import TaskSweep
from tests.fake_ecs import FakeEcs
from tests.unit.worker.test_bound_functions import DeathError, FaultAt
from tests.unit.worker.test_bound_tasks import GROUP, URL, Bench


@dataclass
class FaultyEcs(FakeEcs):
    """A region's ECS whose calls may fail as those of the table do."""

    fault: FaultAt | None = None

    def _call(self, operation: str, effect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if self.fault is None:
            return super()._call(operation, effect)
        return self.fault(Call("ecs", operation, {}), lambda _: effect())


class Faulty(Bench):
    """A queue whose jobs run in tasks, with a fault at one call."""

    def __init__(self, at: int, when: str, *, is_death: bool) -> None:
        super().__init__()
        self.job_id = self.push(retry={"initial_interval": "PT1S", "jitter": False})
        self.fault = FaultAt(at, when, is_death)
        self.faulty_ecs = FaultyEcs(lambda: self.world.clock.at)
        self.ecs = self.faulty_ecs
        tasks = Tasks(self.ecs)
        self.dispatcher.tasks = TaskStarter(tasks, GROUP, URL, self.token)
        self.sweep = TaskSweep(self.backend, tasks, self.settler)

    def run_round(self) -> None:
        """Dispatch, run, settle and sweep; what ends in the middle leaves its messages."""
        self.calls.inject = self.faulty_ecs.fault = self.fault
        try:
            self.dispatch()
            for arn, task in self.ecs.tasks.items():
                if task["lastStatus"] != "STOPPED":
                    self.ecs.end(arn, 0)
            if self.ecs.tasks:
                self.settle()
            self.sweep()
        except (AwsError, BackendError, DeathError):
            pass
        finally:
            self.calls.inject, self.faulty_ecs.fault = carry_out, None

    def run(self) -> JobState:
        """Let time pass until the job has ended; return how it did."""
        for _ in range(8):
            self.run_round()
            if self.job(self.job_id).state.is_terminal:
                break
            self.pass_s(TASK_LEASE_S / 2 + 1)
            self.backend.upkeep.sweep.tick()
        return self.job(self.job_id).state


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_death", [False, True], ids=["error", "death"])
def test_7_1_whatever_call_fails_each_job_has_one_outcome(when: str, is_death: bool) -> None:
    """A call that fails, or a process that ends, before or after each call took effect."""
    whole = Faulty(0, when, is_death=False)
    assert whole.run() is JobState.COMPLETED
    for at in range(1, whole.fault.count + 1):
        bench = Faulty(at, when, is_death=is_death)
        assert bench.run() is JobState.COMPLETED, at
        done = bench.job(bench.job_id)
        assert done.attempt <= 2, at
        assert len(bench.ecs.tasks) <= done.attempt, at
        bench.run_round()
        assert bench.job(bench.job_id) == done, at
