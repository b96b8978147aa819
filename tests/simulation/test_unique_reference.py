"""Unique jobs beside the specification taken by its word, job by job."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World

pytestmark = pytest.mark.thorough

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
LIVE = ["available", "active", "scheduled", "retryable", "pending"]
STATES = [None, LIVE, [*LIVE, "completed"], ["scheduled"]]
"""Sets that no job comes back into once it has left them; see docs/unique-jobs.md for others."""
STRATEGIES = ["reject", "ignore", "replace", "replace_except_schedule"]


class Pair:
    """A world, and what the specification says of it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.world = World()
        self.states = chance.choice(STATES)
        self.period_s = chance.choice([None, 5, 60])
        self.replaced: set[str] = set()  # also ended ones: they keep nobody out any more

    def duplicate(self, user: int) -> JobRecord | None:
        """Section 7.4: same key, in one of the states, and its period not over."""
        now = Instant(self.world.clock.at)
        for job in reversed([*self.world.stored.jobs.values()]):
            is_same = f'"user": {user},' in str(job.document).replace('":', '": ').replace(
                "  ", " "
            )
            settled = deadlines.settle(job, now)
            is_over = self.period_s and settled.created_at + self.period_s * 1000 <= now
            if job.id in self.replaced:
                continue
            if is_same and settled.state in (self.states or LIVE) and not is_over:
                return settled
        return None

    def push(self) -> None:
        """A job comes; what becomes of it, and of the one that is there, is foretold."""
        user, strategy = self.chance.randint(1, 2), self.chance.choice(STRATEGIES)
        unique: dict[str, Any] = {"keys": ["type", "args"], "args_keys": ["user"]}
        unique["on_conflict"] = strategy
        if self.states is not None:
            unique["states"] = self.states
        if self.period_s is not None:
            unique["period"] = f"PT{self.period_s}S"
        more: dict[str, Any] = {"scheduled_at": "+PT4S"} if self.chance.random() < 0.4 else {}
        args: list[Any] = [{"user": user, "n": self.chance.random()}]
        there = self.duplicate(user)
        before = {*self.world.stored.jobs}
        job = Job("a.b", args, unique=unique, retry={"max_attempts": 2}, **more)
        try:
            made = self.world.backend.jobs.push(job)
        except DuplicateError as problem:
            kept_out_by = problem.details["existing_job_id"]
            assert (strategy, there and there.id) == ("reject", kept_out_by)
            assert {*self.world.stored.jobs} == before
            return
        new = {*self.world.stored.jobs} - before
        if there is None:
            assert len(new) == 1
            return
        assert strategy != "reject"
        after = self.world.stored.jobs[there.id]
        keeps = strategy == "replace_except_schedule" and there.state is JobState.SCHEDULED
        if strategy == "ignore" or keeps:
            assert not new
            assert made.record is not None
            assert made.record.id == there.id
            assert (after.scheduled_at, after.created_at) == (there.scheduled_at, there.created_at)
        else:
            self.replaced.add(there.id)
            assert len(new) == 1
            assert after.state is (there.state if there.state.is_terminal else JobState.CANCELLED)

    def work(self) -> None:
        """A job is executed, and may fail, or be left to its reservation's end."""
        for job in self.world.backend.jobs.fetch(FetchRequest(("default",), 1, "w", 3000)):
            match self.chance.randint(0, 2):
                case 0:
                    self.world.backend.jobs.ack(job.id, "w", None)
                case 1:
                    self.world.backend.jobs.fail(job.id, "w", ERROR)

    def wait(self) -> None:
        """Time passes."""
        self.world.clock.advance(s=self.chance.choice([1, 3, 5, 30]))


@pytest.mark.parametrize("most", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_a_job_is_a_duplicate_exactly_if_the_specification_says_so(most: int) -> None:
    """And whatever its policy says becomes of it and of the one that is there."""

    @settings(max_examples=most, deadline=None)
    @given(st.integers(0, 2**32))
    def push(seed: int) -> None:
        chance = random.Random(seed)
        pair = Pair(chance)
        for _ in range(40):
            chance.choice([pair.push, pair.push, pair.work, pair.wait])()

    push()
