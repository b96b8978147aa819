"""Who holds a key, and what becomes of a newcomer, one decision after the other."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.conflicts import NotAdmittedError, TransactionTooLargeError
from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.batches import MAX_ACTIONS, UniqueLock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.unique import WantedJob
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.unique.scripted import BATCH, KEY, Table, policy_of, same, wanted

HOLDER = a_job(7, unique_key=KEY)


# ------------------------------------------------------------------ the holder of a lock
def test_a_lock_whose_job_is_there_costs_no_look_at_its_batch() -> None:
    table = Table()
    table.put(HOLDER)
    table.lock_for(HOLDER, batch=BATCH)
    assert table.unique.holder(KEY) == HOLDER
    assert table.decisions == []


def test_a_lock_of_no_batch_whose_job_is_gone_is_free() -> None:
    """And no batch is asked for."""
    table = Table()
    table.lock_for(HOLDER)
    assert table.unique.holder(KEY) is None
    assert table.decisions == []


@pytest.mark.parametrize(("previous", "reads"), [("", [HOLDER.id]), ("x", [HOLDER.id, "x"])])
def test_the_holder_before_a_batch_is_read_if_there_was_one(
    previous: str, reads: list[str]
) -> None:
    """DynamoDB refuses to read a job without an id."""
    table = Table()
    table.lock_for(HOLDER, batch=BATCH, previous=previous)
    assert table.unique.holder(KEY) is None
    assert table.decisions == [BATCH]
    assert table.reads == reads


@pytest.mark.parametrize("is_committed", [False, True])
def test_arguments_of_a_batch_count_as_brought_only_once_it_put_them_there(
    is_committed: bool,
) -> None:
    """Its lock alone does not say so; so the same job again is kept out like any other."""
    table = Table(committed={BATCH} if is_committed else set())
    table.put(HOLDER)
    again = wanted()
    applied = again.record.id
    table.lock_for(HOLDER, batch=BATCH, previous=HOLDER.id, applied_id=applied)
    with pytest.raises(DuplicateError):
        table.unique.admission(again, same)
    table.lock_for(HOLDER, applied_id=applied)
    assert table.unique.admission(again, same)[0].is_update


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_lock_that_changed_while_its_batch_was_finished_is_read_again(is_changed: bool) -> None:
    other = a_job(8, unique_key=KEY)

    def change() -> None:
        table.put(other)
        if is_changed:
            table.locks[KEY] = UniqueLock(key=KEY, job_id=other.id, version="2")

    table = Table(committed={BATCH}, meanwhile=change)
    table.lock_for(HOLDER, batch=BATCH)
    assert table.unique.holder(KEY) == (other if is_changed else None)


# ------------------------------------------------------------------ what becomes of a newcomer
@pytest.mark.parametrize(
    ("strategy", "scheduled_at", "is_update", "state"),
    [
        ("replace", None, False, JobState.CANCELLED),
        ("replace", NOW + 9, False, JobState.CANCELLED),
        ("replace_except_schedule", None, False, JobState.CANCELLED),
        ("replace_except_schedule", NOW + 9, True, JobState.SCHEDULED),
    ],
)
def test_a_scheduled_job_keeps_its_time_only_where_the_policy_says_so(
    strategy: str, scheduled_at: int | None, is_update: bool, state: JobState
) -> None:
    table = Table()
    at = {"state": JobState.SCHEDULED, "scheduled_at": Instant(scheduled_at or 0)}
    holder = a_job(7, unique_key=KEY, **(at if scheduled_at else {}))
    table.put(holder)
    table.lock_for(holder)
    let, admission = table.unique.admission(wanted(policy=policy_of(strategy)), same)
    assert let.is_update is is_update
    assert admission is not None
    assert admission.after is not None
    assert admission.after.state is state


@pytest.mark.parametrize(
    ("keys", "queue", "is_kept_out"),
    [
        ({"type"}, "default", True),
        ({"type"}, "elsewhere", True),
        ({"type", "queue"}, "default", True),
        ({"type", "queue"}, "elsewhere", False),
    ],
)
def test_a_holder_that_was_moved_counts_unless_the_queue_is_in_its_key(
    keys: set[str], queue: str, is_kept_out: bool
) -> None:
    holder = a_job(7, unique_key=KEY, queue=queue)
    policy = policy_of(keys=frozenset(keys))
    found = Table().unique.blocker(wanted(policy=policy), holder, NOW)
    assert found == (holder if is_kept_out else None)


# ------------------------------------------------------------------ several jobs at once
def many(plain: int) -> list[WantedJob]:
    """As many unique jobs as a transaction holds with their locks, and some plain ones."""
    half = MAX_ACTIONS // 2
    jobs = [wanted(each, unique_key=f"{each:064x}") for each in range(half)]
    return [*jobs, *(WantedJob(a_job(half + each)) for each in range(plain))]


def test_one_transaction_takes_as_many_writes_as_it_may_and_no_more() -> None:
    """Its jobs and their locks, and nothing is sent if they are too many."""
    table = Table()
    assert all(each.is_new for each in table.unique.admit(many(0), same))
    assert len(table.admissions) == MAX_ACTIONS // 2
    with pytest.raises(TransactionTooLargeError) as error:
        Table().unique.admit(many(1), same)
    assert error.value.actions == MAX_ACTIONS + 1


def test_only_the_locks_that_stood_in_the_way_are_looked_at_again() -> None:
    """They came with the refusal; the key of the other job is not read."""
    table = Table()
    table.put(HOLDER)
    table.refusals = [NotAdmittedError({}, {1: table.lock_for(HOLDER)})]
    jobs = [wanted(1, unique_key="cd" * 32), wanted(2, policy_of("ignore"))]
    lets = table.unique.admit(jobs, same)
    assert [each.is_duplicate for each in lets] == [False, True]
    assert table.looks == []


def test_all_locks_are_read_when_nobody_knows_what_stood_in_the_way() -> None:
    table = Table(refusals=[NotAdmittedError({}, {})])
    keys = ["cd" * 32, "ef" * 32]
    table.unique.admit([wanted(each, unique_key=key) for each, key in enumerate(keys)], same)
    assert table.looks == keys


@pytest.mark.parametrize("others", [0, 1])
def test_the_error_of_a_batch_names_the_job_and_that_of_one_job_does_not(others: int) -> None:
    table = Table()
    table.put(HOLDER)
    table.refusals = [NotAdmittedError({}, {0: table.lock_for(HOLDER)})]
    plain: list[Any] = [WantedJob(a_job(9)) for _ in range(others)]
    with pytest.raises(DuplicateError) as refused:
        table.unique.admit([wanted(), *plain], same)
    assert ("index" in refused.value.details) is bool(others)
