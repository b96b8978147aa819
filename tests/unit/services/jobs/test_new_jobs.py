"""How the jobs of one request are stored: by a transaction or a log, and once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    DuplicateError,
    InvalidRequestError,
    PayloadTooLargeError,
    QueueFullError,
)
from ojs_aws.services.jobs.build import ADDED_BYTES, check_envelope_size
from ojs_aws.services.jobs.new_jobs import MAX_TRANSACTION
from tests.job_steps import pushed
from tests.jobs import any_job
from tests.simulation.world import World

BY_TYPE: dict[str, Any] = {"keys": ["type"]}


def an_id(number: int) -> str:
    return f"01990000-0000-7000-8000-f000000{number:05x}"


def batch(count: int, **members: Any) -> list[Job]:
    return [any_job("demo.echo", [1], id=an_id(number), **members) for number in range(count)]


@pytest.mark.parametrize("over", [0, 1])
def test_jobs_that_fit_are_stored_by_one_transaction(world: World, over: int) -> None:
    """Others by a log, which one record commits."""
    world.backend.jobs.push.all(batch(MAX_TRANSACTION + over))
    assert ("insert_all" in world.faults.calls) is not over
    assert ("stage" in world.faults.calls) is bool(over)
    assert len(world.stored.jobs) == MAX_TRANSACTION + over


@pytest.mark.parametrize("count", [1, MAX_TRANSACTION, MAX_TRANSACTION + 1])
def test_a_repeated_push_finds_its_jobs_though_their_queue_is_full_now(
    world: World, count: int
) -> None:
    """They have their places; others are refused."""
    world.backend.queues.config.change("default", {"max_size": count})
    jobs = batch(count)
    world.backend.jobs.push.all(jobs)
    before = len(world.faults.calls)
    again = world.backend.jobs.push.all(batch(count))
    assert [each.is_new for each in again] == [False] * count
    calls = world.faults.calls[before:]
    assert ("open" in calls) is (count > MAX_TRANSACTION)
    with pytest.raises(QueueFullError):
        world.backend.jobs.push(any_job("demo.echo"))


def test_the_first_job_of_a_batch_that_is_stored_already_is_named(world: World) -> None:
    """Where others of the batch are not: this is no repetition."""
    first, second, third = batch(3)
    for job in (third, second):
        world.backend.jobs.push(job)
    with pytest.raises(DuplicateError) as error:
        world.backend.jobs.push.all([first, second, third])
    assert error.value.details["index"] == 1


def test_two_jobs_of_a_batch_never_have_the_same_id(world: World) -> None:
    (job,) = batch(1)
    with pytest.raises(DuplicateError, match="index 0 and 1"):
        world.backend.jobs.push.all([job, *batch(1)])
    assert world.stored.jobs == {}


@pytest.mark.parametrize(
    ("count", "keys", "needed"), [(49, 1, 99), (50, 1, 101), (33, 33, 99), (34, 34, 102)]
)
def test_a_batch_of_sequences_is_one_transaction_where_it_surely_fits(
    world: World, count: int, keys: int, needed: int
) -> None:
    """Jobs, a row for each, and the sequences, whatever is in them; else a log."""
    jobs = [batch(count, sequence=f"k{at % keys}")[at] for at in range(count)]
    world.backend.jobs.push.all(jobs)
    assert len(world.stored.jobs) == count
    assert ("stage" in world.faults.calls) == (needed > MAX_TRANSACTION)


@pytest.mark.parametrize(("count", "needed"), [(33, 100), (34, 103)])
def test_unique_jobs_of_a_sequence_are_one_transaction_or_refused(
    world: World, count: int, needed: int
) -> None:
    unique = {"keys": ["type", "args"]}
    jobs = [any_job("a.b", [number], sequence="k", unique=unique) for number in range(count)]
    if needed <= MAX_TRANSACTION:
        world.backend.jobs.push.all(jobs)
    else:
        with pytest.raises(PayloadTooLargeError, match="one transaction") as error:
            world.backend.jobs.push.all(jobs)
        assert error.value.details["size"] == needed
    assert len(world.stored.jobs) == (count if needed <= MAX_TRANSACTION else 0)
    assert "stage" not in world.faults.calls


@pytest.mark.parametrize(
    ("on_conflict", "waits", "sends"),
    [("ignore", False, 0), ("replace", False, 1), ("replace_except_schedule", True, 0)],
)
def test_a_message_is_sent_for_a_unique_job_that_is_new(
    world: World, on_conflict: str, waits: bool, sends: int
) -> None:
    """Not for one that is there: it has its message."""
    unique = {**BY_TYPE, "on_conflict": on_conflict}
    pushed(world.backend, unique=unique, **({"scheduled_at": "+PT1M"} if waits else {}))
    before = len(world.faults.calls)
    world.backend.jobs.push(any_job("demo.echo", [2], unique=unique))
    sent = [call for call in world.faults.calls[before:] if call.startswith("send")]
    assert len(sent) == sends


def test_an_envelope_may_be_as_large_as_its_limit() -> None:
    """And what middleware adds has room beyond it."""
    check_envelope_size(1000, 1000)
    check_envelope_size(1000 + ADDED_BYTES, 1000, room=ADDED_BYTES)
    for size, room in ((1001, 0), (1001 + ADDED_BYTES, ADDED_BYTES)):
        with pytest.raises(PayloadTooLargeError):
            check_envelope_size(size, 1000, room=room)


@pytest.mark.parametrize(
    ("members", "is_checked"),
    [
        ({}, False),
        ({"meta": {"ojs_validate": True}}, True),
        ({"schema": "urn:ojs:schema:demo.echo:v1"}, True),
    ],
)
def test_the_schemas_are_asked_for_by_jobs_that_name_or_need_one(
    world: World, members: dict[str, Any], is_checked: bool
) -> None:
    builder = world.backend.jobs.push.job_builder

    def ask() -> Any:
        raise InvalidRequestError("asked")

    asking = replace(builder, schemas=ask)
    job = any_job("demo.echo", [1], **members)
    if is_checked:
        with pytest.raises(InvalidRequestError, match="asked"):
            asking.complete(job, world.clock.now())
    else:
        asking.complete(job, world.clock.now())


def test_the_limit_of_a_unique_job_is_seen_before_it_begins(world: World) -> None:
    """So that whoever changes it wakes the workers of its queue."""
    limit = {"key": "k", "concurrency": 1}
    pushed(world.backend, unique={"keys": ["type"]}, rate_limit=limit)
    assert world.backend.limits.get("k").bucket.queues == ("default",)
