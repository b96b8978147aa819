"""Unique jobs in batches beyond one transaction, under every single fault."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.bootstrap import InThreads
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, DuplicateError, OjsError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.batches import UniqueLock
from ojs_aws.domain.unique.keys import DEFAULT_STATES, parse_unique_policy
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.unique import WantedJob
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World

pytestmark = pytest.mark.thorough

MANY = 52
"""Unique jobs of a batch: with their locks more than a transaction holds."""

FEW = 8
"""The same where `small_transactions` are: searches through every call are as long as a batch."""

STRATEGIES = ["reject", "ignore", "replace", "replace_except_schedule"]


def name(number: int) -> str:
    """A valid id."""
    return f"01990000-0000-7000-8000-{number:012x}"


def unique(number: int, strategy: str, *, key: int | None = None, **more: Any) -> Job:
    """A job whose uniqueness key is its first argument."""
    policy: Any = {"keys": ["type", "args"], "args_keys": ["key"], "on_conflict": strategy}
    args: list[Any] = [{"key": number if key is None else key, "from": number}]
    return Job("a.b", args, id=name(number), unique=policy, **more)


def batch_of(
    strategy: str, start: int = 1000, *, first_key: int = 1000, count: int = MANY
) -> list[Job]:
    """A batch whose first job has another key, perhaps one that is taken."""
    first = unique(start, strategy, key=first_key)
    return [first, *(unique(at, strategy) for at in range(start + 1, start + count))]


def world_of(part_jobs: int = 30) -> World:
    """A world whose logs have few parts."""
    world = World()
    world.part_batches(part_jobs)
    return world


def small_world_of() -> World:
    """A world in whose logs few jobs have more than one part."""
    return world_of(5)


def push_all(world: World, jobs: list[Job]) -> Any:
    """Push a batch; what it came to."""
    return outcome(lambda: world.backend.jobs.push.all([job.copy() for job in jobs]))


def outcome(call: Callable[[], Any]) -> Any:
    """What a request came to."""
    try:
        return call()
    except (OjsError, ProcessDiedError) as problem:
        return problem


def settled(world: World) -> dict[str, JobState]:
    """The states of all jobs."""
    now = world.clock.now()
    return {job.id: deadlines.settle(job, now).state for job in world.stored.jobs.values()}


def live(world: World, key: int) -> list[str]:
    """The jobs of a key that keep others out."""
    states = settled(world)
    found = []
    for job in world.stored.jobs.values():
        assert isinstance(job.document, str)
        if f'"key":{key},' in job.document and states[job.id] in DEFAULT_STATES:
            found.append(job.id)
    return found


def recover(world: World) -> None:
    """Time passes, and the sweep runs."""
    world.faults.faulty = None
    world.clock.advance(s=61)
    world.backend.upkeep.sweep.tick()


def test_unique_jobs_beyond_a_transaction_are_stored() -> None:
    """Each under its lock."""
    world = world_of()
    pushed = push_all(world, batch_of("reject"))
    assert [one.is_new for one in pushed] == [True] * MANY
    for at in range(1000, 1000 + MANY):
        with pytest.raises(DuplicateError):
            world.backend.jobs.push(unique(at + 500, "reject", key=at))
    assert len(world.stored.jobs) == MANY


def test_a_rejected_job_keeps_all_of_the_batch_out_and_locks_nothing() -> None:
    """With its index and the job that it met."""
    world = world_of()
    world.backend.jobs.push(unique(7, "reject"))
    jobs = batch_of("reject")
    jobs[30] = unique(1030, "reject", key=7)
    refused = push_all(world, jobs)
    assert isinstance(refused, DuplicateError)
    assert (refused.details["index"], refused.details["existing_job_id"]) == (30, name(7))
    assert list(world.stored.jobs) == [name(7)]
    for at in (1000, 1000 + MANY - 1):
        assert world.backend.jobs.push(unique(at + 500, "reject", key=at)).is_new


def test_a_batch_is_refused_when_nothing_is_at_work_for_it_any_more() -> None:
    """A thread that went on after the answer could be frozen with its process."""
    world = world_of()
    world.backend.jobs.push(unique(7, "reject"))
    jobs = batch_of("reject", first_key=7)
    is_refused, done = threading.Event(), list[str]()
    reserve = world.unique.reserve

    def slowly(lock: UniqueLock, seen: UniqueLock | None) -> UniqueLock:
        if lock.job_id == jobs[1].id:
            is_refused.wait(0.2)
            done.append(lock.job_id)
        return reserve(lock, seen)

    world.unique.reserve = slowly  # type: ignore[method-assign]
    batch_push = replace(world.backend.batch_push, parallel=InThreads())
    check = world.backend.jobs.push.check
    wanted = [WantedJob(check(job.copy()), parse_unique_policy(job["unique"])) for job in jobs]
    with pytest.raises(DuplicateError):
        batch_push.store_all(wanted, world.backend.jobs.push.new_jobs.same)
    at_the_end = [*done]
    is_refused.set()
    assert at_the_end == [jobs[1].id]


def test_two_jobs_of_a_batch_with_one_key() -> None:
    """The second is a duplicate: ignored, or a reason to refuse the batch."""
    world = world_of()
    jobs = batch_of("ignore")
    jobs[40] = unique(1040, "ignore", key=1001)
    pushed = push_all(world, jobs)
    assert pushed[40].is_duplicate
    assert pushed[40].record.id == name(1001)
    assert len(world.stored.jobs) == MANY - 1
    again = push_all(world, jobs)
    assert not any(one.is_new for one in again)
    assert again[40].record.id == name(1001)
    clash = [*batch_of("reject")[:-1], unique(2000, "reject", key=1001)]
    refused = push_all(world_of(), clash)
    assert isinstance(refused, DuplicateError)


@pytest.mark.parametrize("is_scheduled", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_a_job_of_the_batch_does_to_the_holder_of_its_key(
    strategy: str, is_scheduled: bool
) -> None:
    """As a single push, or a small batch, would do."""
    more: dict[str, Any] = {"scheduled_at": "+PT1H"} if is_scheduled else {}
    small, large = world_of(), world_of()
    for world in (small, large):
        world.backend.jobs.push(unique(7, strategy, **more))
    jobs = batch_of(strategy, first_key=7)
    single, many = push_all(small, jobs[:1]), push_all(large, jobs)
    if strategy == "reject":
        assert isinstance(single, DuplicateError)
        assert isinstance(many, DuplicateError)
    else:
        for flag in ("is_new", "is_duplicate", "is_update"):
            assert getattr(single[0], flag) == getattr(many[0], flag), flag
    for job_id in (name(7), name(1000)):
        one, other = small.stored.jobs.get(job_id), large.stored.jobs.get(job_id)
        assert (one and one.state) == (other and other.state)
        assert (one and one.document) == (other and other.document)
    assert live(small, 7) == live(large, 7)


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize(
    ("strategy", "is_scheduled"),
    [
        ("reject", False),
        ("ignore", False),
        ("replace", False),
        ("replace", True),
        ("replace_except_schedule", False),
        ("replace_except_schedule", True),
    ],
)
def test_no_fault_makes_two_jobs_of_a_key_or_half_a_batch(
    strategy: str, is_scheduled: bool, fault: Fault
) -> None:
    """Sent again after an ambiguous failure, it comes to what it would have come to at first."""
    more: dict[str, Any] = {"scheduled_at": "+PT1H"} if is_scheduled else {}
    jobs = batch_of(strategy, first_key=7, count=FEW)

    def begin() -> World:
        world = small_world_of()
        world.backend.jobs.push(unique(7, strategy, **more))
        world.faults.calls.clear()
        return world

    clean = begin()
    push_all(clean, jobs)
    calls = list(clean.faults.calls)
    clean_states = settled(clean)
    documents = {job.id: job.document for job in clean.stored.jobs.values()}
    chosen = [
        at for at, call in enumerate(calls) if call not in {"insert", "reserve"} or at % 7 == 0
    ]
    for faulty in chosen:
        world = begin()
        world.faults.faulty, world.faults.fault = faulty, fault
        answer = push_all(world, jobs)
        world.faults.faulty = None
        recover(world)
        counted = sum(job.id in world.stored.jobs for job in jobs)
        assert counted in {0, sum(job.id in clean_states for job in jobs)}, calls[faulty]
        if isinstance(answer, (BackendError, ProcessDiedError)):
            push_all(world, jobs)
        recover(world)
        assert settled(world) == clean_states, calls[faulty]
        assert {job.id: job.document for job in world.stored.jobs.values()} == documents
        assert len(live(world, 7)) == 1


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_whoever_wants_a_key_meanwhile_gets_it_or_the_batch_does(strategy: str) -> None:
    """At every call of the batch another request wants the key of one of its jobs."""
    jobs = batch_of("reject", count=FEW)
    clean = small_world_of()
    push_all(clean, jobs)
    calls = list(clean.faults.calls)
    seen = set()
    for at in range(0, len(calls), 2):
        world = small_world_of()
        answers: list[Any] = []

        def meanwhile(
            number: int, world: World = world, at: int = at, answers: list[Any] = answers
        ) -> None:
            if number == at and not answers:
                answers.append(None)
                rival = unique(1, strategy, key=1007)
                answers[0] = outcome(lambda: world.backend.jobs.push(rival))

        world.faults.afterwards = meanwhile
        answer = push_all(world, jobs)
        world.faults.afterwards = lambda _: None
        recover(world)
        stored = [job.id for job in jobs if job.id in world.stored.jobs]
        assert len(stored) in {0, FEW}
        assert len(live(world, 1007)) == 1, calls[at]
        if isinstance(answer, list):
            assert len(stored) == FEW
        else:
            assert isinstance(answer, DuplicateError)
            assert not stored
        seen.add(type(answer))
    assert seen == {list, DuplicateError}


def test_the_keys_are_free_when_the_jobs_have_ended() -> None:
    """No lock of a batch outlives its job, nor one of a batch that never was."""
    world = world_of()
    push_all(world, batch_of("reject"))
    while fetched := world.backend.jobs.fetch(FetchRequest(("default",), 50, "w")):
        for job in fetched:
            world.backend.jobs.ack(job.id, "w", None)
    assert [one.is_new for one in push_all(world, batch_of("reject", 3000))] == [True] * MANY
    for at in range(1001, 1000 + MANY):
        assert world.backend.jobs.push(unique(at + 5000, "reject", key=at)).is_new


def store(world: World, jobs: list[Job]) -> list[str]:
    """Store a batch; the ids of the jobs that it came to."""
    check = world.backend.jobs.push.check
    wanted = [WantedJob(check(job.copy()), parse_unique_policy(job["unique"])) for job in jobs]
    stored = world.backend.batch_push.store_all(wanted, world.backend.jobs.push.new_jobs.same)
    return [one.record.id for one in stored]


def fetch_holder(world: World, jobs: list[Job]) -> None:
    """A worker starts the job that is to be replaced."""
    del jobs
    world.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))


def store_copy(world: World, jobs: list[Job]) -> None:
    """Another copy of the same request is done first."""
    store(world, jobs)


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("rival", [fetch_holder, store_copy])
@pytest.mark.parametrize("is_scheduled", [False, True])
def test_a_replacement_begins_again_when_another_one_was_first(
    rival: Callable[[World, list[Job]], None],
    is_scheduled: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At every call of a committed batch, the holder of a key changes, or the job is stored."""
    more: dict[str, Any] = {"scheduled_at": "+PT1H"} if is_scheduled else {}
    jobs = batch_of("replace", first_key=7, count=FEW)

    def begin() -> World:
        world = small_world_of()
        world.backend.jobs.push(unique(7, "replace", **more))
        world.faults.calls.clear()
        return world

    clean = begin()
    store(clean, jobs)
    calls = list(clean.faults.calls)
    committed = calls.index("decide")
    chosen = [at for at, call in enumerate(calls) if at > committed and call in {"load", "lock"}]
    assert chosen
    for at in chosen:
        world = begin()

        def meanwhile(number: int, world: World = world, at: int = at) -> None:
            if number == at:
                world.faults.afterwards = lambda _: None
                rival(world, jobs)

        world.faults.afterwards = meanwhile
        assert store(world, jobs) == [job.id for job in jobs], calls[at]
        assert not caplog.records  # nothing is left to the sweep
        assert live(world, 7) == [name(1000)], calls[at]
        assert sum(job.id in world.stored.jobs for job in jobs) == FEW


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_late_copy_of_a_batch_takes_no_key_from_a_later_job(strategy: str) -> None:
    """One copy is done, and its job replaced, while the other still takes locks."""
    jobs = batch_of("replace", first_key=7, count=FEW)
    later = unique(8, "replace_except_schedule", key=7, scheduled_at="+PT1H")
    for at in (0, 1, 3):  # once it looked for its jobs, for them again, and at the lock's holder
        world = small_world_of()
        world.backend.jobs.push(unique(6, "reject", key=7))
        world.faults.calls.clear()
        policy = parse_unique_policy(later["unique"])
        wanted = WantedJob(world.backend.jobs.push.check(later.copy()), policy)

        def meanwhile(
            number: int, world: World = world, at: int = at, wanted: WantedJob = wanted
        ) -> None:
            if number == at:
                world.faults.afterwards = lambda _: None
                store(world, jobs)
                same = world.backend.jobs.new_jobs.same
                let = world.backend.batch_push.unique().admit([wanted], same)
                assert let[0].is_new

        world.faults.afterwards = meanwhile
        late = store(world, jobs)
        assert live(world, 7) == [name(8)], at
        outcome(lambda world=world: world.backend.jobs.push(unique(9, strategy, key=7)))  # type: ignore[misc]
        assert len(live(world, 7)) == 1, world.faults.calls[: at + 1]
        assert late == [job.id for job in jobs]
