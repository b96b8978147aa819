"""The keys of large batches: how they are taken, and what a job in its place does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ojs_aws.domain.conflicts import BatchDecidedError, NotAdmittedError
from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.batches import StoredJob
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.unique import WantedJob, entries_of
from ojs_aws.services.unique.batches import BatchPlan, KeyReservation, take_place
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.unique.scripted import BATCH, KEY, Table, policy_of, same, wanted

HOLDER = a_job(7, unique_key=KEY)
S = JobState


# ------------------------------------------------------------------ before the commit
def reserve(table: Table, job: WantedJob, *, is_decided: bool = False) -> BatchPlan:
    """Take the lock of a job for the batch, which meets the lock that the table has."""
    if KEY in table.locks:
        table.refusals = [NotAdmittedError({}, {0: table.locks[KEY]})]
    taking = KeyReservation(table.unique, BATCH, same, lambda: is_decided)
    return taking.plan([job], IN_ORDER)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_batch_that_was_decided_takes_no_lock_from_a_holder(is_there: bool) -> None:
    """A lock that belongs to nobody any more may be taken: the decision is not read for it."""
    table = Table()
    table.lock_for(HOLDER)
    if not is_there:
        reserve(table, wanted(policy=policy_of("replace")), is_decided=True)
        assert [each.job_id for each in table.reserved] == [wanted().record.id]
        return
    table.put(HOLDER)
    with pytest.raises(BatchDecidedError):
        reserve(table, wanted(policy=policy_of("replace")), is_decided=True)
    assert table.reserved == []


def test_a_job_that_holds_its_key_already_is_not_staged_again() -> None:
    """It is stored, and its lock is none that this batch took."""
    table, job = Table(), wanted()
    table.put(job.record)
    table.lock_for(job.record)
    assert reserve(table, job).staged == []


@pytest.mark.parametrize("is_own", [False, True])
def test_a_lock_of_the_batch_is_kept_for_the_job_that_took_it(is_own: bool) -> None:
    """Another request may have had the same ids, and so the batch, but other keys."""
    table, job = Table(), wanted()
    table.lock_for(job.record if is_own else HOLDER, batch=BATCH)
    [staged] = reserve(table, job).staged
    assert staged.replaces is is_own
    assert table.decisions == ([] if is_own else [BATCH])
    assert len(table.reserved) == (0 if is_own else 1)


# ------------------------------------------------------------------ what became of the jobs
@pytest.mark.parametrize(
    ("stored", "is_own"),
    [
        (a_job(1), True),
        (a_job(1, state=S.ACTIVE), True),
        (a_job(1, order=1), False),
        (a_job(1, created_at=Instant(NOW - 1)), False),
    ],
)
def test_a_job_in_its_place_is_new_if_it_came_from_the_log(stored: JobRecord, is_own: bool) -> None:
    """Whoever put it there, and whatever became of it."""
    plan = BatchPlan(entries_of([WantedJob(a_job(1))]))
    placed = {stored.id: StoredJob(stored)}
    if is_own:
        assert [each.is_new for each in plan.lets(placed)] == [True]
        return
    with pytest.raises(DuplicateError, match="took the id"):
        plan.lets(placed)


# ------------------------------------------------------------------ after the commit
def logged(strategy: str = "replace", **policy: object) -> JobRecord:
    """A job as the log has it."""
    unique = encode({"keys": ["type"], "on_conflict": strategy, **policy})  # type: ignore[dict-item]
    return a_job(1, unique_key=KEY, document=RawJson(f'{{"args":[2],"unique":{unique}}}'))


def placed(table: Table, job: JobRecord, holder: JobRecord, *, brings: bool = False) -> StoredJob:
    """Put a job into its place whose lock was taken from a holder."""
    table.put(holder)
    taken_for = holder if brings else job
    applied = {"applied_id": job.id} if brings else {}
    table.lock_for(taken_for, batch=BATCH, previous=holder.id, **applied)
    return take_place(table.unique, job, BATCH)


@pytest.mark.parametrize(
    ("strategy", "state"),
    [
        ("reject", S.AVAILABLE),
        ("ignore", S.AVAILABLE),
        ("replace", S.CANCELLED),
        ("replace_except_schedule", S.CANCELLED),
    ],
)
def test_a_job_in_its_place_cancels_the_holder_only_if_it_replaces_it(
    strategy: str, state: JobState
) -> None:
    """One that was to be kept out leaves the holder alone: its batch is committed."""
    table = Table()
    stored = placed(table, logged(strategy), HOLDER)
    assert (stored.record, table.jobs[logged().id]) == (logged(strategy), logged(strategy))
    assert table.jobs[HOLDER.id].state is state
    assert stored.replaced == (HOLDER if state is S.CANCELLED else None)


def test_a_holder_that_ended_is_replaced_and_stays_as_it_is() -> None:
    """Where the policy counts jobs that ended."""
    table = Table()
    ended = replace(HOLDER, state=S.COMPLETED, completed_at=NOW)
    stored = placed(table, logged(states=["completed"]), ended)
    assert (stored.record, stored.replaced) == (logged(states=["completed"]), None)
    assert table.jobs[HOLDER.id] == ended


@pytest.mark.parametrize("ahead_ms", [-5, 0, 5])
def test_a_holder_is_cancelled_now_but_not_before_its_last_change(ahead_ms: int) -> None:
    """A process whose clock is ahead may have changed it."""
    table = Table()
    placed(table, logged(), replace(HOLDER, enqueued_at=Instant(NOW + ahead_ms)))
    assert table.jobs[HOLDER.id].cancelled_at == NOW + max(0, ahead_ms)


@pytest.mark.parametrize("is_scheduled", [False, True])
def test_arguments_are_brought_only_into_a_job_that_is_still_scheduled(
    is_scheduled: bool,
) -> None:
    """Else the holder is replaced, and the key is the new job's."""
    table, job = Table(), logged("replace_except_schedule")
    at = {"state": S.SCHEDULED, "scheduled_at": Instant(NOW + 9)} if is_scheduled else {}
    stored = placed(table, job, a_job(7, unique_key=KEY, **at), brings=True)
    assert stored.is_update is is_scheduled
    expected = (S.SCHEDULED, HOLDER.id) if is_scheduled else (S.CANCELLED, job.id)
    assert (table.jobs[HOLDER.id].state, table.locks[KEY].job_id) == expected


@pytest.mark.parametrize(("strategy", "count"), [("replace", 1), ("ignore", 0)])
def test_a_lock_that_a_job_has_already_is_not_written_again(strategy: str, count: int) -> None:
    """The batch took it: to write it again would cost units, and a transaction for one job."""
    table = Table()
    placed(table, logged(strategy), HOLDER)
    assert [(each.lock, each.seen) for each in table.admissions] == [(None, None)] * count


@pytest.mark.parametrize("batch", ["", "another-0"])
@pytest.mark.parametrize("is_applied", [False, True])
def test_a_job_whose_lock_is_another_requests_is_not_stored(is_applied: bool, batch: str) -> None:
    """It was replaced since, unless the holder has its arguments."""
    table, job = Table(), logged()
    table.put(HOLDER)
    table.lock_for(HOLDER, batch=batch, applied_id=job.id if is_applied else "someone else's")
    expected = StoredJob(HOLDER, is_update=True) if is_applied else StoredJob(None)
    assert take_place(table.unique, job, BATCH) == expected
    assert job.id not in table.jobs
    assert table.admissions == []


def test_a_job_without_a_lock_is_not_stored_again() -> None:
    """The lock expired with it."""
    assert take_place(Table().unique, logged(), BATCH) == StoredJob(None)


def test_a_lock_of_an_uncommitted_batch_is_taken_with_its_job() -> None:
    table = Table()
    table.put(HOLDER)
    seen = table.lock_for(HOLDER)
    reserve(table, wanted(policy=policy_of("replace")))
    [lock] = table.reserved
    assert (lock.batch, lock.previous) == (BATCH, HOLDER.id)
    assert lock.key == seen.key
