"""Large batches of sequenced jobs: what their sequences name, for how long, and what that costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import OnDiscard
from ojs_aws.domain.jobs.batches import StagedJob
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.sequences import DEAD_MS, Sequence
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.jobs import any_job
from tests.simulation.world import World

KEY = "order-4711"
ERROR = parse_object('{"type": "Broken", "message": "it broke"}')


@pytest.fixture
def world() -> World:
    """A backend without jobs, which knows the settings of its queue."""
    made = World()
    made.backend.queues.push_settings.of("default")
    return made


def jobs_of(count: int, *keys: str) -> list[Job]:
    """Jobs whose keys take turns."""
    return [
        any_job("a.b", [at], id=an_id(at), sequence=keys[at % len(keys)]) for at in range(count)
    ]


def an_id(number: int) -> str:
    return f"01990000-0000-7000-8000-f000000{number:05x}"


def pushed(world: World, key: str = KEY) -> JobRecord:
    """One more job of a sequence."""
    record = world.backend.jobs.push(any_job("a.b", [], sequence=key)).record
    assert record is not None
    return record


def seen(world: World, key: str = KEY) -> Sequence:
    """The sequence as it is."""
    found = world.backend.stores.sequences().load("", key)
    assert found is not None
    return found


def cost_of(world: World, act: Callable[[], object]) -> Counter[str]:
    """The AWS calls of something."""
    world.aws.calls.made.clear()
    act()
    return Counter(world.aws.calls.made)


def position(job: JobRecord) -> int:
    """Where a job stands in its sequence."""
    assert job.sequence is not None
    return job.sequence.position


def interrupted(world: World, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Push sixty jobs by a process that stores so many transactions of jobs, and dies."""
    admit, left = world.unique.admit, [after]

    def dies(*given: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise BackendUnavailableError("died")
        admit(*given)

    with monkeypatch.context() as patch:
        patch.setattr(world.unique, "admit", dies, raising=False)
        world.backend.jobs.push.all(jobs_of(60, KEY))


@pytest.mark.parametrize(("after", "stored"), [(0, 0), (1, 49)])
def test_a_sequence_names_a_batch_until_its_last_job_is_there(
    world: World, monkeypatch: pytest.MonkeyPatch, after: int, stored: int
) -> None:
    """Whoever comes before that puts the others there first."""
    interrupted(world, monkeypatch, after)
    assert len(world.stored.jobs) == stored
    assert len(seen(world).batches) == 1
    assert position(pushed(world)) == 61
    assert seen(world).batches == ()
    assert len(world.stored.jobs) == 61


def uncommitted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Push sixty jobs by a process that dies before it commits them."""

    def dies(*_: object) -> None:
        raise BackendUnavailableError("died")

    with monkeypatch.context() as patch:
        patch.setattr(world.batches, "decide", dies, raising=False)
        with pytest.raises(BackendUnavailableError):
            world.backend.jobs.push.all(jobs_of(60, KEY))


@pytest.mark.parametrize(("after_ms", "names"), [(DEAD_MS - 1, 1), (DEAD_MS, 0)])
def test_a_batch_that_nobody_commits_is_named_for_an_hour(
    world: World, monkeypatch: pytest.MonkeyPatch, after_ms: int, names: int
) -> None:
    """However busy the sequence is; then its jobs pay nothing for it any more."""
    uncommitted(world, monkeypatch)
    assert position(pushed(world)) == 1
    world.clock.advance(ms=after_ms)
    pushed(world)
    assert len(seen(world).batches) == names
    calls = cost_of(world, lambda: pushed(world))
    assert calls["GetItem"] == 1 + names


def test_a_batch_that_was_given_up_for_dead_is_begun_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process was only slow, or its request is repeated: all its jobs are stored, once."""
    decide = world.batches.decide

    def waits(batch_id: str, commit: Any, now: Any) -> Any:
        if commit is not None and batch_id.endswith("-0"):
            world.clock.advance(ms=DEAD_MS)
            pushed(world)
        return decide(batch_id, commit, now)

    with monkeypatch.context() as patch:
        patch.setattr(world.batches, "decide", waits, raising=False)
        world.backend.jobs.push.all(jobs_of(60, KEY))
    world.backend.jobs.push.all(jobs_of(60, KEY))
    assert len(world.stored.jobs) == 61
    assert seen(world).batches == ()


@pytest.mark.parametrize(
    ("count", "keys", "transactions"),
    [(98, 1, 2), (99, 1, 3), (98, 2, 2), (99, 2, 3), (66, 66, 2), (67, 67, 3)],
)
def test_a_transaction_holds_as_many_jobs_as_surely_fit(
    world: World, count: int, keys: int, transactions: int
) -> None:
    """A job, its row, and an item for each key: a hundred at most; one more commits the log."""
    jobs = jobs_of(count, *(f"k{number}" for number in range(keys)))
    calls = cost_of(world, lambda: world.backend.jobs.push.all(jobs))
    assert calls["TransactWriteItems"] == 1 + transactions
    assert len(world.stored.jobs) == count


def test_what_names_no_batch_is_settled_by_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would import something and ask for nothing."""
    asked: list[Sequence] = []
    monkeypatch.setattr(type(world.backend), "settle_batches", lambda _, each: asked.append(each))
    pushed(world)
    assert pushed(world).state is JobState.PENDING
    assert asked == []


@pytest.mark.parametrize(
    ("choice", "names", "asks"),
    [
        (OnDiscard.CANCEL, ("b",), True),
        (OnDiscard.CANCEL, (), False),
        (OnDiscard.SKIP, ("b",), False),
        (OnDiscard.STOP, ("b",), False),
    ],
)
def test_of_discarded_jobs_only_one_that_cancels_asks_for_batches(
    world: World, choice: OnDiscard, names: tuple[str, ...], asks: bool
) -> None:
    """The others go on with what is there."""
    sequence = {"key": KEY, "on_discard": str(choice)}
    job = any_job("a.b", [], sequence=sequence, retry={"max_attempts": 1})
    world.backend.jobs.push(job)
    [head] = world.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    world.backend.jobs.fail(head.id, "w", ERROR)
    named = seen(world)
    sequences = world.backend.stores.sequences()
    assert sequences.name_batches(named, replace(named, batches=names, version=9))
    asked: list[Sequence] = []

    def settle(found: Sequence) -> bool:
        asked.append(found)
        return False

    advance = replace(world.backend.sequence_advance, settle=settle)
    assert advance.advance("", KEY)
    assert bool(asked) is asks


def test_a_batch_is_named_once(world: World) -> None:
    """Also by two copies of its request."""
    pushed(world)
    batches = world.backend.batch_push.sequence_batches()
    jobs = [StagedJob(replace(pushed(world, key), id=an_id(at))) for at, key in enumerate("kkm")]
    found: list[StagedJob] = []
    for written in (2, 0):
        calls = cost_of(world, lambda: found.extend(batches.announce("b-0", jobs)))
        assert calls["UpdateItem"] + calls["PutItem"] == written
    assert [each.is_last for each in found] == [False, True, True] * 2
    assert [seen(world, key).batches for key in "km"] == [("b-0",)] * 2


def test_an_idle_sequence_is_left_as_it_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often somebody looks at it."""
    interrupted(world, monkeypatch, 0)
    before = seen(world)
    assert before.job_id == ""
    for _ in range(2):
        assert world.backend.sequence_advance.advance("", KEY)
    assert seen(world) == before


def test_a_batch_that_is_settled_is_named_no_longer_by_its_last_write(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to write for it after that."""
    interrupted(world, monkeypatch, 0)
    calls = cost_of(world, lambda: world.backend.settle_batches(seen(world)))
    assert calls["UpdateItem"] == 0
    assert calls["TransactWriteItems"] == 2


@pytest.mark.parametrize(("unique", "sequenced", "stages"), [(32, 2, False), (33, 1, True)])
def test_jobs_that_replace_others_may_be_too_many_for_the_transaction(
    world: World, unique: int, sequenced: int, stages: bool
) -> None:
    """A job, its lock and the one that it replaces; and a job with its sequence, or its row."""
    policy: Any = {"keys": ["type", "args"], "on_conflict": "replace"}

    def batch() -> list[Job]:
        return [any_job("a.b", [at], unique=policy) for at in range(unique)]

    world.backend.jobs.push.all(batch())
    world.faults.calls.clear()
    world.backend.jobs.push.all([*batch(), *jobs_of(sequenced, KEY)])
    assert ("stage" in world.faults.calls) is stages
    assert len(world.stored.jobs) == 2 * unique + sequenced
