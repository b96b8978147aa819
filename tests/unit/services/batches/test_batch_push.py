"""Batches beyond one transaction: all of the jobs or none, whatever fails (OP-013)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendError,
    DuplicateError,
    InvalidRequestError,
    NotFoundError,
    OjsError,
    PayloadTooLargeError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.queues import Backlog
from ojs_aws.services.batches import BatchPush
from ojs_aws.services.batches.roll_forward import GIVE_UP_MS, QUIET_MS
from ojs_aws.services.bulk import BulkAction
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.new_jobs import MAX_TRANSACTION
from ojs_aws.services.unique import WantedJob
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World

pytestmark = pytest.mark.thorough

MANY = MAX_TRANSACTION + 3

FEW = 11
"""More than a transaction holds where `small_transactions` are, in searches through every call."""

PART_OF_FEW = 4
"""Jobs in a part of the log then: three parts, as `MANY` have."""


def name(number: int) -> str:
    """A valid id."""
    return f"01990000-0000-7000-8000-{number:012x}"


def jobs_of(count: int = MANY, *, start: int = 1, **more: Any) -> list[Job]:
    """A batch with ids of its own, some of its jobs scheduled."""
    jobs = [Job("a.b", [at], id=name(at), **more) for at in range(start, start + count)]
    for at, job in enumerate(jobs, start):
        if at % 5 == 0:
            job["scheduled_at"] = "+PT10S"
    return jobs


def world_of(part_jobs: int = 40) -> World:
    """A world whose logs have few parts."""
    world = World()
    world.part_batches(part_jobs)
    return world


def push(world: World, jobs: Sequence[Job]) -> list[str]:
    """Push a batch."""
    pushed = world.backend.jobs.push.all([job.copy() for job in jobs])
    return [one.record.id if one.record else "" for one in pushed]


def batches_of(world: World) -> BatchPush:
    """The service that puts the jobs of batches into their places."""
    return world.backend.jobs.new_jobs.batch_push()


def outcome(call: Callable[[], Any]) -> Any:
    """What a request came to."""
    try:
        return call()
    except (OjsError, ProcessDiedError) as problem:
        return problem


def seen(world: World, jobs: Sequence[Job]) -> int:
    """How many jobs INFO shows."""
    count = 0
    for job in jobs:
        try:
            world.backend.jobs.info(job.id)
        except NotFoundError:
            continue
        count += 1
    return count


def drained(world: World) -> list[str]:
    """Execute what there is to execute; the jobs in the order of their fetches."""
    ran: list[str] = []
    while fetched := world.backend.jobs.fetch(FetchRequest(("default",), 100, "w")):
        for job in fetched:
            ran.append(job.id)
            world.backend.jobs.ack(job.id, "w", None)
    return ran


def recover(world: World) -> None:
    """Time passes, and the sweep runs."""
    world.faults.faulty = None
    for _ in range(2):
        world.clock.advance(s=61)
        world.backend.upkeep.sweep.tick()


def test_a_thousand_jobs_are_stored_in_one_request() -> None:
    """In their order, each with its message."""
    world = world_of(250)
    jobs = jobs_of(1000)
    assert push(world, jobs) == [job.id for job in jobs]
    assert drained(world) == [job.id for at, job in enumerate(jobs, 1) if at % 5]
    assert world.stored.open_batches == {}
    world.clock.advance(s=11)
    assert len(drained(world)) == 200


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("fault", list(Fault))
def test_op_013_a_crash_at_any_call_leaves_all_or_none(fault: Fault) -> None:
    """For each call: what INFO shows is all or nothing, at once and after the sweep."""
    clean = world_of(PART_OF_FEW)
    jobs = jobs_of(FEW)
    push(clean, jobs)
    kinds: set[int] = set()
    for faulty, called in enumerate(clean.faults.calls):
        if called == "insert" and faulty % 4:
            continue  # they are all alike
        world = world_of(PART_OF_FEW)
        world.faults.faulty, world.faults.fault = faulty, fault
        answer = outcome(lambda world=world: push(world, jobs))  # type: ignore[misc]
        world.faults.faulty = None
        count = seen(world, jobs)
        assert count in {0, FEW}, called
        assert count == FEW or isinstance(answer, (BackendError, ProcessDiedError))
        recover(world)
        assert len(world.stored.jobs) == count
        assert world.stored.open_batches == {}
        kinds.add(count)
    assert kinds == ({0, FEW})


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("fault", list(Fault))
def test_a_batch_that_is_left_is_rolled_forward_by_the_sweep(fault: Fault) -> None:
    """Also where nobody looks at its jobs; each gets a message, and runs once."""
    clean = world_of(PART_OF_FEW)
    jobs = jobs_of(FEW)
    push(clean, jobs)
    for faulty in (at for at, call in enumerate(clean.faults.calls) if call != "insert"):
        world = world_of(PART_OF_FEW)
        world.faults.faulty, world.faults.fault = faulty, fault
        outcome(lambda world=world: push(world, jobs))  # type: ignore[misc]
        recover(world)
        stored = set(world.stored.jobs)
        assert len(stored) in {0, FEW}
        assert sorted(drained(world)) == sorted(stored)


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("fault", list(Fault))
def test_the_same_batch_again_finds_the_jobs_it_made(fault: Fault) -> None:
    """A client that got no answer sends it again, with the same ids."""
    clean = world_of(PART_OF_FEW)
    jobs = jobs_of(FEW)
    push(clean, jobs)
    for faulty in range(0, len(clean.faults.calls), 2):
        world = world_of(PART_OF_FEW)
        world.faults.faulty, world.faults.fault = faulty, fault
        if not isinstance(outcome(lambda world=world: push(world, jobs)), list):  # type: ignore[misc]
            assert push(world, jobs) == [job.id for job in jobs]
        world.faults.faulty = None
        again = world.backend.jobs.push.all([job.copy() for job in jobs])
        assert not any(one.is_new for one in again)
        recover(world)
        assert len(world.stored.jobs) == FEW


def test_a_taken_id_refuses_the_batch_and_names_the_index() -> None:
    """Nothing of it is stored; the job that was there stays."""
    world = world_of()
    world.backend.jobs.push(Job("other", [], id=name(50)))
    with pytest.raises(DuplicateError) as refused:
        push(world, jobs_of())
    assert refused.value.details["index"] == 49
    assert refused.value.details["existing_job_id"] == name(50)
    assert len(world.stored.jobs) == 1


def test_a_stored_envelope_of_one_of_its_jobs_refuses_the_batch_too() -> None:
    """Some of the jobs being there is not the batch being there."""
    world = world_of()
    jobs = jobs_of()
    world.backend.jobs.push(jobs[3].copy())
    with pytest.raises(DuplicateError) as refused:
        push(world, jobs)
    assert refused.value.details["index"] == 3
    assert len(world.stored.jobs) == 1


def test_all_faults_are_reported_with_their_indices() -> None:
    """And nothing is stored."""
    world = world_of()
    jobs = jobs_of()
    jobs[2]["priority"] = 1000
    jobs[90].type = "Not A Type"
    with pytest.raises(InvalidRequestError) as refused:
        push(world, jobs)
    details = refused.value.details
    assert (details["index"], details["error_count"]) == (2, 2)
    errors: Any = details["errors"]
    assert [(each["index"], each["field"]) for each in errors] == [(2, "priority"), (90, "type")]
    assert not world.stored.jobs


def test_a_single_fault_is_reported_as_itself() -> None:
    """There is no list of one."""
    jobs = jobs_of()
    jobs[2]["priority"] = 1000
    with pytest.raises(InvalidRequestError) as refused:
        push(world_of(), jobs)
    assert "error_count" not in refused.value.details
    assert "more of the batch" not in refused.value.message


def test_each_part_but_the_last_is_noted_as_done() -> None:
    """The end of the batch says the rest."""
    world = world_of()
    push(world, jobs_of())
    assert world.faults.calls.count("advance") == -(-MANY // 40) - 1
    assert world.faults.calls.count("close") == 1


def test_a_batch_whose_decision_has_expired_is_found_by_its_jobs() -> None:
    """The same request again, days later."""
    world = world_of()
    made = push(world, jobs_of())
    world.stored.decisions.clear()
    assert push(world, jobs_of()) == made
    assert len(world.stored.jobs) == MANY


@pytest.mark.parametrize(("after_ms", "placed"), [(0, 0), (QUIET_MS - 1, 0), (QUIET_MS, MANY)])
def test_a_batch_is_left_to_its_own_process_for_a_while(after_ms: int, placed: int) -> None:
    """The sweep takes it over half a minute after it was committed."""
    world, _ = left_open()
    world.clock.advance(ms=after_ms)
    batches_of(world).tick(lambda: False)
    assert len(world.stored.jobs) == placed


def test_no_batch_is_looked_at_when_the_time_is_over() -> None:
    world, _ = left_open()
    world.clock.advance(ms=QUIET_MS)
    before = len(world.faults.calls)
    batches_of(world).tick(lambda: True)
    assert world.faults.calls[before:] == ["open"]


@pytest.mark.parametrize(("after_ms", "lost"), [(GIVE_UP_MS - 1, 0), (GIVE_UP_MS, 1)])
def test_a_batch_is_given_up_after_an_hour_to_the_instant(after_ms: int, lost: int) -> None:
    world, _ = left_open()
    world.stored.decisions.clear()
    world.clock.advance(ms=after_ms)
    assert batches_of(world).tick(lambda: False).lost == lost


def test_one_job_that_is_in_no_batch_is_read_by_itself() -> None:
    """Several are read together."""
    world, _ = left_open()
    batches, calls = batches_of(world), world.faults.calls
    for count, read in ((1, "load"), (2, "load_many")):
        before = len(calls)
        assert batches.rescue([name(900 + each) for each in range(count)]) == {}
        assert calls[before:] == ["open", read]


def test_no_batch_is_larger_than_the_setting_says() -> None:
    """413, with the limit."""
    world = World(settings=Settings(max_batch_jobs=100))
    with pytest.raises(PayloadTooLargeError) as refused:
        push(world, jobs_of(101))
    assert refused.value.details["max_batch_size"] == 100
    assert len(push(world, jobs_of(100))) == 100


def test_a_cancel_finds_a_job_that_is_not_in_its_place_yet() -> None:
    """Whoever misses a job of a committed batch puts it there first."""
    world = world_of()
    jobs = jobs_of()
    die_after(world, "decide")
    outcome(lambda: push(world, jobs))
    assert not world.stored.jobs
    world.faults.faulty = None
    assert world.backend.jobs.cancel(jobs[77].id).after.state is JobState.CANCELLED
    recover(world)
    assert world.stored.jobs[jobs[77].id].state is JobState.CANCELLED
    assert len(world.stored.jobs) == MANY


def test_a_job_that_is_gone_does_not_come_back() -> None:
    """Parts that are known to be in their places are not looked at again."""
    world = world_of()
    jobs = jobs_of()
    die_after(world, "advance", 2)
    outcome(lambda: push(world, jobs))
    world.faults.faulty = None
    gone = world.backend.jobs.cancel(jobs[0].id).after
    world.store.delete(gone)
    with pytest.raises(NotFoundError):
        world.backend.jobs.info(gone.id)
    recover(world)
    assert gone.id not in world.stored.jobs
    assert len(world.stored.jobs) == MANY - 1


def die_after(world: World, call: str, times: int = 1) -> None:
    """Let the process die after a call of the next request."""

    def watch(number: int) -> None:
        calls = world.faults.calls
        if calls.count(call) == times and calls[-1] == call:
            world.faults.faulty, world.faults.fault = number + 1, Fault.DIES_BEFORE

    world.faults.afterwards = watch


def left_open(world: World | None = None, start: int = 1) -> tuple[World, list[Job]]:
    """A committed batch, none of whose jobs is in its place, and nobody at work on it."""
    world = world or world_of()
    jobs = jobs_of(start=start)
    world.faults.calls.clear()
    die_after(world, "decide")
    outcome(lambda: push(world, jobs))
    world.faults.faulty = None
    world.faults.afterwards = lambda _: None
    assert not {job.id for job in jobs} & world.stored.jobs.keys()
    return world, jobs


def test_results_of_many_find_jobs_that_are_not_in_their_places_yet() -> None:
    """They exist: null would say that they do not."""
    world, jobs = left_open()
    found = world.backend.outcomes.results.many([jobs[0].id, jobs[101].id, name(0xFFFF)])
    assert [job and job.state for job in found.values()] == [
        JobState.AVAILABLE,
        JobState.AVAILABLE,
        None,
    ]


def test_an_atomic_change_finds_jobs_that_are_not_in_their_places_yet() -> None:
    """All of them are cancelled, or none."""
    world, jobs = left_open()
    ids = [jobs[3].id, jobs[99].id]
    world.backend.bulk.changes.named(BulkAction.CANCEL, ids, is_atomic=True)
    assert {world.backend.jobs.info(each).state for each in ids} == {JobState.CANCELLED}


def test_a_job_that_gets_into_its_place_while_it_is_looked_for_is_found() -> None:
    """Its batch may be closed between the look at the job and the look at the batches."""
    asks: list[Callable[[World, str], object]] = [
        lambda world, job_id: world.backend.jobs.info(job_id),
        lambda world, job_id: world.backend.jobs.cancel(job_id),
    ]
    for ask in asks:
        world, jobs = left_open()
        world.clock.advance(s=61)

        def sweep(_: int, world: World = world) -> None:
            if world.faults.calls[-1] in {"load", "load_whole"}:
                world.faults.afterwards = lambda _: None
                world.backend.upkeep.sweep.tick()

        world.faults.afterwards = sweep
        ask(world, jobs[7].id)
        assert world.stored.open_batches == {}


def test_a_batch_closed_during_the_lookup_is_not_committed_again() -> None:
    """The same request twice at once: the first commits and dies, and the sweep puts its jobs in.

    The second, which began before, is between its looks at the table and at the batches then.
    """
    world, jobs = world_of(), jobs_of()
    happened: list[str] = []

    def meanwhile(_: int) -> None:
        called = world.faults.calls[-1]
        if called == "open" and not happened:
            happened.append("committed")
            die_after(world, "decide")
            wanted = [WantedJob(world.backend.jobs.push.check(job.copy())) for job in jobs]
            same = world.backend.jobs.push.new_jobs.same
            outcome(lambda: world.backend.batch_push.store_all(wanted, same))
            world.faults.faulty, world.faults.afterwards = None, meanwhile
        elif called == "load_many" and happened == ["committed"]:
            happened.append("swept")
            world.clock.advance(s=61)
            world.backend.upkeep.sweep.tick()

    world.faults.afterwards = meanwhile
    assert push(world, jobs) == [job.id for job in jobs]
    assert happened == ["committed", "swept"]
    assert len(world.stored.decisions) == 1


def test_a_sweep_sends_one_message_for_each_job_that_it_rolls_forward(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SQS does not count at once what was just sent; a lost message is sent again anyway."""
    world, jobs = left_open()
    [other] = push(world, jobs_of(1, start=5001))
    world.lose_messages()
    monkeypatch.setattr(world.messages, "backlog", lambda _: Backlog())
    world.clock.advance(s=61)
    world.backend.upkeep.sweep.tick()
    assert world.stored.jobs.keys() == {job.id for job in jobs} | {other}
    named = Counter(held.message.job_id for held in world.held())
    assert set(named.values()) == {1}
    assert other in named


def test_a_batch_that_stays_unfinished_hides_no_lost_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its jobs whose messages were sent are sent for again, too, with growing pauses."""
    world, jobs = left_open()
    [other] = push(world, jobs_of(1, start=5001))
    insert = world.store.insert

    def refused(job: JobRecord) -> None:
        if job.id == jobs[0].id:
            raise BackendError("throttled")
        insert(job)

    monkeypatch.setattr(world.store, "insert", refused)
    monkeypatch.setattr(world.messages, "backlog", lambda _: Backlog())
    for _ in range(2):
        world.lose_messages()
        world.clock.advance(s=121)
        assert world.backend.upkeep.sweep.tick().batches_failed == 1
        named = {held.message.job_id for held in world.held()}
        assert other in named


@pytest.mark.parametrize("is_first", [True, False])
def test_a_batch_that_cannot_be_rolled_forward_does_not_stop_the_next(*, is_first: bool) -> None:
    """Whatever its error is, and whichever of them comes first."""
    world, one = left_open()
    _, other = left_open(world, start=1000)
    first, second = (one, other) if is_first else (other, one)
    whole = world.faults.around

    def around(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def observed(*given: Any) -> Any:
            if name == "part" and given[0].holds_any([first[0].id]):
                raise ValueError("unreadable")
            return whole(name, call)(*given)

        return observed

    world.faults.around = around  # type: ignore[method-assign]
    world.clock.advance(s=61)
    report = world.backend.upkeep.sweep.tick()
    assert report.batches_failed == 1
    assert world.stored.jobs.keys() == {job.id for job in second}


@pytest.mark.parametrize("gone", ["part", "decision"])
def test_a_batch_of_whose_log_something_is_gone_is_given_up_after_an_hour(
    gone: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What is left of it is put into its place, unless its jobs may have been there before."""
    world, jobs = left_open()
    [batch] = world.stored.open_batches.values()
    first = world.batches.done(batch)
    stored = len(world.stored.jobs)
    if gone == "part":
        world.table.write((f"batch#{batch.id}", f"{batch.token}#{first + 1:04d}#0"), None)
    else:
        del world.stored.decisions[batch.id]
    world.clock.advance(s=61)
    report = world.backend.upkeep.sweep.tick()
    assert (report.batches_failed, report.batches_lost) == (1, 0)
    assert world.stored.open_batches
    with pytest.raises(NotFoundError):  # not an error of the backend, for ever
        world.backend.jobs.info(jobs[sum(batch.sizes[: first + 1])].id)
    world.clock.advance(s=3600)
    report = world.backend.upkeep.sweep.tick()
    assert (report.batches_failed, report.batches_lost) == (0, 1)
    assert world.stored.open_batches == {}
    assert [each.id for each in world.stored.lost_batches.values()] == [batch.id]
    missing = len(jobs) - len(world.stored.jobs)
    assert missing == (batch.sizes[first + 1] if gone == "part" else len(jobs) - stored)
    assert "was given up" in caplog.text
    assert world.backend.upkeep.sweep.tick().batches_lost == 0
