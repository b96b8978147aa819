"""Random workflows: random outcomes, repeated and shuffled records, crashes at any call."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.domain.errors import ConflictError, NotFoundError, OjsError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.workflows.graph import ROOT, Kind
from ojs_aws.domain.workflows.workflow import WorkflowState
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World
from tests.unit.services.workflows.test_advance import ERROR, Record, Stream, create, job

pytestmark = pytest.mark.thorough

MAX_DEPTH = 5


def graph(chance: random.Random, names: Iterator[str], depth: int = 1) -> dict[str, Any]:
    """A workflow of any kind, with others in it."""

    def part() -> dict[str, Any]:
        if depth < MAX_DEPTH and chance.random() < 0.3:
            return graph(chance, names, depth + 1)
        return job(next(names))

    kind = chance.choice(["chain", "group", "batch", "dag"])
    parts = [part() for _ in range(chance.randint(1, 4))]
    if kind == "chain":
        return {"type": "chain", "steps": parts}
    if kind == "group":
        return {"type": "group", "jobs": parts}
    if kind == "batch":
        triggers = ["on_complete", "on_success", "on_failure"]
        chosen = chance.sample(triggers, chance.randint(1, 3))
        return {
            "type": "batch",
            "jobs": parts,
            "callbacks": {each: job(next(names)) for each in chosen},
        }
    steps = []
    for number, each in enumerate(parts):
        before = [f"s{other}" for other in range(number) if chance.random() < 0.4]
        steps.append({**each, "id": f"s{number}", "depends_on": before})
    chance.shuffle(steps)
    return {"steps": steps}


class Life:
    """One workflow from its creation to its end, and what is done to it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.world = World()
        self.stream = Stream(self.world)
        self.body = graph(chance, (f"t.n{number}" for number in range(10_000))) | {"id": "w"}
        self.late: list[Record] = []
        self.past: list[Record] = []
        self.is_cancelled = False

    def step(self) -> None:
        """Something happens; a process that dies is started again."""
        try:
            self._step()
        except (OjsError, ProcessDiedError):
            self._set_fault(None)
            self.world = World(
                clock=self.world.clock,
                shared=self.world.aws,
                faults=self.world.faults,
            )
            self.stream.world = self.world

    def _set_fault(self, ahead: int | None) -> None:
        faults = self.world.faults
        faults.faulty = None if ahead is None else len(faults.calls) + ahead
        faults.fault = self.chance.choice([*Fault])

    def _step(self) -> None:
        if self.chance.random() < 0.15:
            self._set_fault(self.chance.randint(0, 6))
        if "w" not in self.world.stored.workflows:
            create(self.world, self.body)
            return
        if self.chance.random() < 0.01:
            self.is_cancelled = True
            with contextlib.suppress(ConflictError, NotFoundError):
                self.world.backend.workflows.service.cancel("w")
        self._work()
        self._deliver(self.chance.random())

    def _work(self) -> None:
        count = self.chance.randint(1, 4)
        for each in self.world.backend.jobs.fetch(FetchRequest(("default",), count, "w")):
            if self.chance.random() < 0.3:
                self.world.backend.jobs.fail(each.id, "w", ERROR)
            else:
                self.world.backend.jobs.ack(each.id, "w", None)
        self.world.clock.advance(s=1)

    def _deliver(self, share: float) -> None:
        self.late += self.stream.news()
        self.chance.shuffle(self.late)
        some = self.late[: round(share * len(self.late))]
        again = self.chance.sample(self.past, min(len(self.past), 3))
        left = self.stream.deliver([*some, *again])
        wanted = {record[0] for record in left}
        self.past += [record for record in some if record[0] not in wanted]
        self.late = [record for record in self.late if record not in some or record[0] in wanted]

    def heal(self) -> None:
        """Nothing fails any more; everything that is left happens."""
        self._set_fault(None)
        for _ in range(400):
            if "w" not in self.world.stored.workflows:
                create(self.world, self.body)
            self.world.clock.advance(s=400)
            self._work()
            self._deliver(1.0)
            states = {each.state for each in self.world.stored.jobs.values()}
            workflow = self.world.stored.workflows["w"]
            if workflow.state.is_terminal and not self.late and all(s.is_terminal for s in states):
                return

    def check(self) -> None:
        """The promises of workflows (sections 4 to 9)."""
        workflow = self.world.stored.workflows["w"]
        jobs = self.world.stored.jobs
        plan = self.world.backend.workflows.advance.plan(workflow).graph
        assert workflow.state.is_terminal
        assert all(each.state.is_terminal for each in jobs.values())
        ids = {workflow.job_id(index): index for index in plan.jobs}
        assert {*jobs} <= {*ids}
        for index in plan.jobs:
            found = jobs.get(workflow.job_id(index))
            state = workflow.states[index]
            if found is None:
                assert state in "-x", (index, state)
                continue
            if workflow.state is not WorkflowState.CANCELLED:
                wanted = {JobState.COMPLETED: "c", JobState.DISCARDED: "f", JobState.CANCELLED: "x"}
                assert state == wanted[found.state], (index, state, found.state)
        if workflow.state is WorkflowState.CANCELLED:
            assert self.is_cancelled
            return
        self._check_order(plan, workflow.states)
        failed = workflow.state is WorkflowState.FAILED
        assert failed == (workflow.states[ROOT] == "f")
        counted = [workflow.states[index] for index in plan.counted]
        assert workflow.completed_count == counted.count("c")
        assert workflow.failed_count == counted.count("f")

    def _check_order(self, plan: Any, states: str) -> None:
        """Nothing ran that had to wait for what failed; callbacks get the truth."""
        for index, step in enumerate(plan.steps):
            before = [states[other] for other in step.waits_for]
            parts = [states[part] for part in plan.parts[index]]
            ran = states[index] in "cf" if step.kind is Kind.JOB else any(p in "cf" for p in parts)
            if not ran or index == ROOT:
                continue
            parent = plan.steps[step.parent]
            if not step.is_callback:
                assert all(state == "c" for state in before), (index, before)
            elif step.trigger == "on_success":
                assert all(state == "c" for state in before)
            elif step.trigger == "on_failure":
                assert any(state != "c" for state in before)
            assert parent.kind is not Kind.JOB
        for index, step in enumerate(plan.steps):
            if step.is_callback and states[step.parent] in "cf" and step.trigger == "on_complete":
                assert states[index] in "cf", index


@pytest.mark.parametrize("most", [30, pytest.param(120, marks=pytest.mark.slow)])
def test_any_workflow_ends_as_its_jobs_did_whatever_happens(most: int) -> None:
    """Each job runs once at most, and only after what it waits for; nothing is left over."""

    @settings(max_examples=most, deadline=None)
    @given(st.integers(0, 2**32))
    def live(seed: int) -> None:
        life = Life(random.Random(seed))
        for _ in range(40):
            life.step()
        life.heal()
        life.check()

    live()
