"""Priority is strict within a queue and FIFO within a priority, whatever made a job available."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.memory_aws.queues import oldest
from ojs_aws.services.jobs.fetch.candidates import PAGE
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World, newest

pytestmark = pytest.mark.thorough

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
RETRY: dict[str, Any] = {
    "max_attempts": 100,
    "initial_interval": "PT2S",
    "backoff_coefficient": 1.0,
    "jitter": False,
}
HELD_MS = 5_000
PRIORITIES = (-100, -10, 0, 0, 1, 10, 100)


@dataclass
class Line:
    """The queue as the specification has it: jobs, when each may run, and its place from then on.

    A place is the priority, the higher the earlier, then the instant in microseconds.
    """

    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    held_until: dict[str, int] = field(default_factory=dict)

    def joins(self, job: JobRecord, at_us: int) -> None:
        """A job is available from that instant on."""
        self.places[job.id] = (-job.priority, at_us)
        self.held_until.pop(job.id, None)

    def first(self, now: int, count: int) -> list[tuple[int, int]]:
        """The places of those who are to be served, in order."""
        for job_id, until in [*self.held_until.items()]:
            if until <= now:
                self.places[job_id] = (self.places[job_id][0], until * 1000)
                del self.held_until[job_id]
        there = (
            place
            for job_id, place in self.places.items()
            if place[1] <= now * 1000 + 999 and job_id not in self.held_until
        )
        return sorted(there)[:count]


class Run:
    """One world, one line, and what is done to both."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.world = World()
        self.line = Line()
        self.held: list[str] = []

    def push(self) -> None:
        """A job that is available at once."""
        job = self._pushed()
        self.line.joins(job, job.order)

    def schedule(self) -> None:
        """A job that becomes available later; its message may get lost."""
        at = self.world.clock.at + self.chance.randint(1, 6000)
        job = self._pushed(scheduled_at=f"+PT{(at - self.world.clock.at) / 1000}S")
        assert job.scheduled_at is not None
        self.line.joins(job, job.scheduled_at * 1000)

    def _pushed(self, **more: Any) -> JobRecord:
        priority = self.chance.choice(PRIORITIES)
        job = self.world.backend.jobs.push(
            Job("a.b", [], priority=priority, retry=RETRY, **more)
        ).record
        assert job is not None
        return job

    def wait(self) -> None:
        """Time passes."""
        self.world.clock.advance(ms=self.chance.choice([1, 700, 2000, 6000]))

    def lose(self) -> None:
        """SQS forgets a message, or is slow with the others."""
        queue = self.world.queue()
        if queue is not None and queue.messages:
            queue.remove(self.chance.choice([*queue.messages.values()]))
        queues = self.world.aws.queues
        queues.pick = oldest if queues.pick is newest else newest

    def end(self) -> None:
        """A held job completes, or fails and comes again after its backoff."""
        now = self.world.clock.at
        held = [each for each in self.held if self.line.held_until.get(each, 0) > now]
        if not held:
            return
        job_id = self.chance.choice(held)
        self.held.remove(job_id)
        if self.chance.random() < 0.5:
            self.world.backend.jobs.ack(job_id, "w", None)
            del self.line.places[job_id], self.line.held_until[job_id]
            return
        self.world.backend.jobs.fail(job_id, "w", ERROR)
        job = self.world.stored.jobs[job_id]
        assert job.state is JobState.RETRYABLE
        assert job.next_attempt_at is not None
        self.line.joins(job, job.next_attempt_at * 1000)

    def overdue(self) -> int:
        """Return how many jobs time made due and nobody made available."""
        now, jobs = self.world.clock.at, self.world.stored.jobs
        return sum(
            jobs[job_id].state is not JobState.AVAILABLE
            and self.line.held_until.get(job_id, place[1] // 1000) <= now
            for job_id, place in self.line.places.items()
        )

    def fetch(self) -> None:
        """Whoever asks is given the first of the line, and nobody else.

        More overdue jobs than a fetch looks at hide each other until the sweep (docs/priority.md).
        """
        if self.overdue() > PAGE:
            return
        count = self.chance.randint(1, 4)
        wanted = self.line.first(self.world.clock.at, count)
        given_out = self.world.backend.jobs.fetch(FetchRequest(("default",), count, "w", HELD_MS))
        places = [self.line.places[job.id] for job in given_out]
        assert places == wanted
        for job in given_out:
            self.line.held_until[job.id] = self.world.clock.at + HELD_MS
            self.held.append(job.id)


@pytest.mark.parametrize("most", [30, pytest.param(150, marks=pytest.mark.slow)])
def test_env_031_env_032_fetch_serves_the_line_in_order(most: int) -> None:
    """Pushed, scheduled and retried jobs, and those of lost workers, with messages lost or not."""

    @settings(max_examples=most, deadline=None)
    @given(st.integers(0, 2**32))
    def serve(seed: int) -> None:
        chance = random.Random(seed)
        run = Run(chance)
        actions = [run.push, run.push, run.schedule, run.wait]
        actions += [run.fetch, run.fetch, run.end, run.lose]
        for _ in range(60):
            chance.choice(actions)()

    serve()


def test_env_031_a_due_job_goes_before_a_backlog_of_lower_priority() -> None:
    """Although the messages at hand name the others, and nobody has made it available yet."""
    world = World()
    for number in range(50):
        world.backend.jobs.push(Job("low", [number]))
    world.backend.jobs.push(Job("high", [], priority=10, scheduled_at="+PT2S"))
    request = FetchRequest(("default",), 1, "w")
    assert [job.type for job in world.backend.jobs.fetch(request)] == ["low"]
    world.clock.advance(s=2)
    assert [job.type for job in world.backend.jobs.fetch(request)] == ["high"]
    assert [job.args for job in map(_envelope, world.backend.jobs.fetch(request))] == [[1]]


def _envelope(job: JobRecord) -> Job:
    assert isinstance(job.document, str)
    return Job.from_members({n: m.raw for n, m in parse_object(job.document).items()})


def test_a_worker_claims_due_jobs_before_the_one_its_message_names() -> None:
    """Lambda workers keep the order, too."""
    world = World()
    world.backend.jobs.push(Job("low", []))
    world.backend.jobs.push(Job("high", [], priority=10, scheduled_at="+PT2S"))
    received = world.messages.receive("default", 1, 30)
    world.clock.advance(s=2)
    [outcome] = world.backend.jobs.fetch.claim_messages("default", received, "w")
    assert outcome.record is not None
    assert outcome.record.type == "high"


def test_a_crowd_of_due_jobs_of_low_priority_costs_a_fetch_no_writes() -> None:
    """What is due is made available when its turn comes, not because somebody saw it."""
    world = World()
    for _ in range(40):
        world.backend.jobs.push(Job("low", [], priority=-10, scheduled_at="+PT1S"))
    world.backend.jobs.push(Job("high", []))
    world.lose_messages()
    world.clock.advance(s=2)
    world.faults.calls.clear()
    [job] = world.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    assert job.type == "high"
    assert world.faults.calls == ["receive", "head", "due", "scopes", "claim"]
