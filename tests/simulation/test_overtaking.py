"""How far a job can be overtaken when many fetch from one queue at the same instant."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.domain.runtime import InOrder
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.load import HUNG_S
from tests.simulation.world import World

pytestmark = pytest.mark.thorough

A = TypeVar("A")
B = TypeVar("B")


def backlog(world: World, size: int, priority: int = 0) -> list[str]:
    """Jobs in line."""
    pushed = [
        world.backend.jobs.push(Job("a.b", [number], priority=priority)).record
        for number in range(size)
    ]
    return [job.id for job in pushed if job is not None]


# ------------------------------------------------------------------------------- in lockstep


class OneAtATime:
    """A port whose calls do not run into one another, as DynamoDB's and SQS's do not."""

    def __init__(self, port: object, lock: threading.Lock) -> None:
        self._port = port
        self._lock = lock

    def __getattr__(self, name: str) -> Any:
        """The port's attribute; its calls behind the lock."""
        value = getattr(self._port, name)

        def call(*args: Any, **more: Any) -> Any:
            with self._lock:
                return value(*args, **more)

        return call if callable(value) else value


def lockstep(world: World, fetchers: int, count: int = 1) -> list[list[str]]:
    """Fetches that all have looked at the queue before any of them claims; what each was given."""
    lock, barrier = threading.Lock(), threading.Barrier(fetchers)
    has_looked = threading.local()

    class Meeting(InOrder):
        def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
            nested = getattr(has_looked, "is_so", False)
            has_looked.is_so = True
            answers = first(), second()
            if not nested:
                barrier.wait(HUNG_S)
            return answers

    stores = replace(
        world.backend.stores,
        store=cast("JobStore", OneAtATime(world.backend.stores.store, lock)),
        messages=cast("MessageQueue", OneAtATime(world.backend.stores.messages, lock)),
        parallel=Meeting(),
    )
    backend = Backend(world.settings, stores)
    fetch = backend.jobs.fetch

    def one(number: int) -> list[str]:
        return [job.id for job in fetch(FetchRequest(("default",), count, f"w{number}"))]

    world.faults.calls.clear()
    with ThreadPoolExecutor(fetchers) as pool:
        return list(pool.map(one, range(fetchers)))


@pytest.mark.parametrize("newest_first", [False, True])
def test_sixteen_that_meet_get_a_job_each_and_hardly_hinder_one_another(
    newest_first: bool,
) -> None:
    """Each loses one claim at most to the one who is first in line; then it takes its own."""
    world = World()
    if newest_first:
        world.receive_newest_first()
    backlog(world, 40)
    given_out = lockstep(world, 16)
    assert [len(jobs) for jobs in given_out] == [1] * 16
    assert len({job for jobs in given_out for job in jobs}) == 16
    assert Counter(world.faults.calls)["claim"] <= 3 * 16


def test_op_015_sixteen_that_meet_take_all_of_high_priority_first() -> None:
    """Eight of them get those; the messages at hand name jobs of low priority."""
    world = World()
    low = backlog(world, 40)
    high = backlog(world, 8, priority=10)
    assert low
    given_out = {job for jobs in lockstep(world, 16) for job in jobs}
    assert len(given_out) == 16
    assert {*high} <= given_out


def test_those_that_meet_look_behind_a_head_that_others_took() -> None:
    """More jobs of high priority stand in line than one look shows."""
    world = World()
    backlog(world, 40)
    high = backlog(world, 14, priority=10)
    given_out = {job for jobs in lockstep(world, 16) for job in jobs}
    assert len(given_out) == 16
    assert {*high} <= given_out


def test_workers_that_ask_for_several_get_them() -> None:
    """And leave each other in peace."""
    world = World()
    backlog(world, 100)
    given_out = lockstep(world, 8, count=5)
    assert [len(jobs) for jobs in given_out] == [5] * 8
    assert Counter(world.faults.calls)["claim"] <= 4 * 40


# ------------------------------------------------------------------------------- the bound


@dataclass
class Meeting:
    """Fetches that begin in the middle of one another, and jobs that arrive among them.

    :ivar under_way: the numbers of the fetches that have begun and not ended.
    :ivar met: the numbers of the fetches that others overlapped.
    :ivar events: what happened, in order: a job came or was claimed, a fetch began or ended.
    """

    chance: random.Random
    world: World
    fetchers: int
    count: int
    under_way: list[int] = field(default_factory=list)
    met: set[int] = field(default_factory=set)
    events: list[tuple[str, Any]] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)

    def arrive(self) -> None:
        """A job is pushed."""
        priority = self.chance.choice([0, 0, 0, 10])
        job = self.world.backend.jobs.push(Job("a.b", [], priority=priority)).record
        assert job is not None
        self.ranks[job.id] = -priority
        self.events.append(("came", job.id))

    def between(self, number: int) -> None:
        """What happens after a call: nothing, another fetch from begin to end, or an arrival."""
        name = self.world.faults.calls[number]
        if name == "claim":
            known = {what for kind, what in self.events if kind == "claimed"}
            for job in self.world.stored.jobs.values():
                if job.state is JobState.ACTIVE and job.id not in known:
                    self.events.append(("claimed", job.id))
        if name in {"insert", "send"}:
            return
        if self.chance.random() < 0.2:
            self.arrive()
        if self.fetchers and self.chance.random() < 0.4:
            self.fetch()

    def fetch(self) -> None:
        """One worker asks."""
        self.fetchers -= 1
        number = self.fetchers
        if self.under_way:
            self.met |= {number, *self.under_way}
        self.under_way.append(number)
        self.events.append(("began", number))
        self.world.backend.jobs.fetch(FetchRequest(("default",), self.count, f"w{number}"))
        self.events.append(("ended", number))
        self.under_way.remove(number)

    def check(self, job_id: str) -> None:
        """The bound, for one job: who overtook it, and which fetches overlapped its wait."""
        fetches: set[int] = set()
        already: set[int] = set()
        came, later, lower = False, 0, 0
        earlier: set[str] = set()
        for kind, what in self.events:
            if kind == "began":
                fetches.add(what)
            elif kind == "ended" and not came:
                fetches.discard(what)
            elif kind == "came" and what == job_id:
                came, already = True, {*fetches}
            elif kind == "came" and not came:
                earlier.add(what)
            elif kind == "claimed" and what == job_id:
                break
            elif kind == "claimed" and came:
                lower += self.ranks[what] > self.ranks[job_id]
                later += self.ranks[what] == self.ranks[job_id] and what not in earlier
        assert lower <= len(already) * self.count
        assert later <= len(fetches & self.met) * self.count


@pytest.mark.parametrize("most", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_a_job_is_overtaken_only_where_fetches_overlap(most: int) -> None:
    """By how many, and by which.

    By lower priority: only by fetches that had begun before it came. By later jobs of its own
    priority: by as many as a fetch asks for, for each that overlaps another one and its wait. Not
    at all when none overlap.
    """

    @settings(max_examples=most, deadline=None)
    @given(st.integers(0, 2**32), st.integers(1, 4))
    def meet(seed: int, count: int) -> None:
        meeting = Meeting(random.Random(seed), World(), fetchers=12, count=count)
        for _ in range(60):
            meeting.arrive()
        meeting.world.faults.afterwards = meeting.between
        while meeting.fetchers:
            meeting.fetch()
        for job_id in meeting.ranks:
            meeting.check(job_id)

    meet()


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("count", [1, 4])
def test_fetches_that_do_not_overlap_keep_the_order(count: int, *, newest_first: bool) -> None:
    """Whatever their messages name, and although more jobs stand in line than one look shows."""
    world = World()
    if newest_first:
        world.receive_newest_first()
    low = backlog(world, 30)
    high = backlog(world, 30, priority=10)
    begun: list[str] = []
    for number in range(60 // count):
        jobs = world.backend.jobs.fetch(FetchRequest(("default",), count, f"w{number}"))
        begun += [job.id for job in jobs]
    assert begun == high + low
