"""What every UniqueJobs must do; each engine passes the same suite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.unique import UniqueJobs
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.conflicts import NotAdmittedError
from ojs_aws.domain.job import JobRecord, StoredElsewhere
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.batches import Admission, UniqueLock
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from tests.aws import embedded
from tests.contract.test_job_store import KINDS, NOW, a_job, a_reservation, big_document
from tests.contract.test_lost_answers import losing

KEY = "ab" * 32


@dataclass
class Stores:
    """Jobs, and their locks."""

    jobs: JobStore
    unique: UniqueJobs


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    """Fresh stores of each kind."""
    if request.param == "emulator":
        aws = request.getfixturevalue("emulated_aws")
        store = job_store(aws.settings, aws.clients)
        yield Stores(store, UniqueJobs(store))
        return
    with embedded() as aws:
        store = job_store(aws.settings, aws.clients)
        yield Stores(store, UniqueJobs(store))


def unique_job(number: int = 1, **changes: object) -> JobRecord:
    """A job with a uniqueness key."""
    return a_job(number, unique_key=KEY, **changes)


def new(job: JobRecord, seen: UniqueLock | None = None) -> Admission:
    """A new job with its lock."""
    return Admission(job=job, lock=UniqueLock(key=job.unique_key, job_id=job.id), seen=seen)


def refused(stores: Stores, *admissions: Admission) -> NotAdmittedError:
    """Why jobs are not admitted."""
    with pytest.raises(NotAdmittedError) as error:
        stores.unique.admit(admissions)
    return error.value


@pytest.mark.parametrize("size", [10, 6_000])
def test_a_job_and_its_lock_are_stored_together(stores: Stores, size: int) -> None:
    """Also with a document that has an item of its own."""
    job = unique_job(document=big_document(size))
    stores.unique.admit([new(job)])
    assert stores.jobs.load_whole(job.id) == job
    lock = stores.unique.lock(KEY)
    assert lock is not None
    assert (lock.key, lock.job_id, lock.applied_id) == (KEY, job.id, "")


def test_a_lock_that_exists_keeps_the_next_job_out_and_is_shown(stores: Stores) -> None:
    """Nothing is stored for it."""
    stores.unique.admit([new(unique_job(1))])
    error = refused(stores, new(unique_job(2)))
    assert error.locks == {0: stores.unique.lock(KEY)}
    assert error.existing == {}
    assert stores.jobs.load(unique_job(2).id) is None


def test_an_id_that_exists_is_shown(stores: Stores) -> None:
    """With the job that has it."""
    first = unique_job(1)
    stores.unique.admit([new(first)])
    error = refused(stores, new(first))
    assert error.existing[0].id == first.id


def test_a_lock_is_taken_over_by_naming_the_write_that_made_it(stores: Stores) -> None:
    """Whoever saw an older one is refused, and sees the newer."""
    stores.unique.admit([new(unique_job(1))])
    seen = stores.unique.lock(KEY)
    stores.unique.admit([new(unique_job(2), seen)])
    error = refused(stores, new(unique_job(3), seen))
    assert error.locks[0].job_id == unique_job(2).id
    assert stores.jobs.load(unique_job(3).id) is None


def test_a_lock_that_the_same_job_has_again_is_another_one(stores: Stores) -> None:
    """Its job has been given other arguments since it was seen."""
    job = unique_job(1)
    stores.unique.admit([new(job)])
    seen = stores.unique.lock(KEY)
    lock = UniqueLock(key=KEY, job_id=job.id, applied_id="x")
    stores.unique.admit(
        [Admission(lock=lock, seen=seen, before=job, after=replace(job, version=2))]
    )
    assert refused(stores, new(unique_job(2), seen)).locks[0].applied_id == "x"


def test_a_lock_that_vanished_is_taken_as_if_there_had_been_none(stores: Stores) -> None:
    """DynamoDB removes locks whose period is over."""
    stores.unique.admit([new(unique_job(1))])
    seen = stores.unique.lock(KEY)
    stores.unique.forget(KEY, unique_job(1).id)
    assert stores.unique.lock(KEY) is None
    stores.unique.admit([new(unique_job(2), seen)])


def test_the_lock_of_another_job_is_not_forgotten(stores: Stores) -> None:
    """It was taken over meanwhile; and again is no error."""
    stores.unique.admit([new(unique_job(1))])
    stores.unique.admit([new(unique_job(2), stores.unique.lock(KEY))])
    stores.unique.forget(KEY, unique_job(1).id)
    lock = stores.unique.lock(KEY)
    assert lock is not None
    assert lock.job_id == unique_job(2).id
    for _ in range(2):
        stores.unique.forget(KEY, unique_job(2).id)
    assert stores.unique.lock(KEY) is None


def test_a_job_is_cancelled_in_the_transaction_that_stores_the_next(stores: Stores) -> None:
    """UNQ section 8.4: neither both nor none."""
    old = unique_job(1)
    stores.unique.admit([new(old)])
    seen = stores.unique.lock(KEY)
    admission = replace(new(unique_job(2), seen), before=old, after=lifecycle.cancel(old, NOW))
    stores.unique.admit([admission])
    assert stores.jobs.load(old.id) == lifecycle.cancel(old, NOW)
    assert stores.jobs.load(unique_job(2).id) == unique_job(2)


def test_nothing_happens_when_the_replaced_job_has_changed(stores: Stores) -> None:
    """The caller has to look again; nobody else is to blame."""
    old = unique_job(1)
    stores.unique.admit([new(old)])
    seen = stores.unique.lock(KEY)
    stores.jobs.claim("default", old.id, a_reservation(), NOW)
    admission = replace(new(unique_job(2), seen), before=old, after=lifecycle.cancel(old, NOW))
    assert refused(stores, admission).existing == {}
    assert stores.jobs.load(unique_job(2).id) is None
    assert stores.unique.lock(KEY) == seen


@pytest.mark.parametrize("sizes", [(10, 20), (6_000, 7_000), (6_000, 6_000)])
def test_a_job_gets_another_document(stores: Stores, sizes: tuple[int, int]) -> None:
    """Every version has a document of its own, wherever it is kept, and transitions keep it."""
    old = unique_job(1, document=big_document(sizes[0]))
    stores.unique.admit([new(old)])
    before = stores.jobs.load(old.id)
    assert before is not None
    changed = RawJson(big_document(sizes[1]).replace("[", "[0,", 1))
    after = replace(before, document=changed, version=2)
    lock = UniqueLock(key=KEY, job_id=old.id, applied_id="x")
    seen = stores.unique.lock(KEY)
    stores.unique.admit([Admission(lock=lock, seen=seen, before=before, after=after)])
    stored = stores.jobs.load_whole(old.id)
    assert stored is not None
    assert stored.document == changed
    if isinstance(before.document, StoredElsewhere):
        stores.jobs.forget_documents(replace(before, result=None))
    stores.jobs.save(stored, replace(stored, version=3, expires_at=Instant(NOW + 1000)))
    whole = stores.jobs.load_whole(old.id)
    assert whole is not None
    assert whole.document == changed


def test_a_document_that_comes_back_is_not_the_one_that_is_removed(stores: Stores) -> None:
    """The stream removes what the first change left when a later one brought the same text."""
    first, second = big_document(6_000), big_document(6_001)
    stores.unique.admit([new(unique_job(1, document=first))])
    versions = []
    for document in (second, first):
        before = stores.jobs.load(unique_job().id)
        assert before is not None
        versions.append(before)
        after = replace(before, document=document, version=before.version + 1)
        lock = UniqueLock(key=KEY, job_id=before.id)
        seen = stores.unique.lock(KEY)
        stores.unique.admit([Admission(lock=lock, seen=seen, before=before, after=after)])
    for left in versions:
        if isinstance(left.document, StoredElsewhere):
            stores.jobs.forget_documents(left)
    whole = stores.jobs.load_whole(unique_job().id)
    assert whole is not None
    assert whole.document == first


def test_a_batch_is_stored_whole_or_not_at_all(stores: Stores) -> None:
    """Positions are those of the batch."""
    stores.unique.admit([new(unique_job(1))])
    batch = [Admission(job=a_job(2)), new(a_job(3, unique_key="cd" * 32)), new(unique_job(4))]
    error = refused(stores, *batch)
    assert [*error.locks] == [2]
    assert stores.jobs.load_many([a_job(n).id for n in (2, 3, 4)]) == {}
    stores.unique.admit(batch[:2])
    assert len(stores.jobs.load_many([a_job(n).id for n in (2, 3)])) == 2


def test_a_transaction_whose_answer_was_lost_is_recognised() -> None:
    """botocore sends it again: it must not be taken for somebody else's."""
    with embedded() as aws:
        store = losing(aws)
        unique = UniqueJobs(store)
        old, young = unique_job(1), unique_job(2)
        unique.admit([new(old)])
        seen = unique.lock(KEY)
        unique.admit(
            [replace(new(young, seen), before=old, after=lifecycle.cancel(old, NOW))],
        )
        assert store.load(young.id) == young
        unique.forget(KEY, young.id)
        assert unique.lock(KEY) is None


def test_a_lock_with_a_period_expires_after_it() -> None:
    """By DynamoDB's time to live, in whole seconds and never early; others have none."""
    with embedded() as aws:
        unique = UniqueJobs(job_store(aws.settings, aws.clients))
        lock = UniqueLock(key=KEY, job_id=unique_job().id, until=Instant(NOW + 1500))
        unique.admit([Admission(job=unique_job(), lock=lock)])
        unique.admit([new(a_job(2, unique_key="cd" * 32))])
        for key, ttl in ((KEY, {"N": str(NOW // 1000 + 2)}), ("cd" * 32, None)):
            item = aws.clients.dynamodb.get_item(
                TableName=aws.settings.table,
                Key={"pk": {"S": f"uniq#{key}"}, "sk": {"S": "lock"}},
            )["Item"]
            assert item.get("ttl") == ttl


def test_a_lock_is_reserved_as_it_was_seen_or_not_at_all(stores: Stores) -> None:
    """By a batch that is not committed; the lock says which, and who had it before."""
    job, rival = unique_job(1), unique_job(2)
    stores.unique.admit([new(job)])
    seen = stores.unique.lock(KEY)
    wanted = UniqueLock(key=KEY, job_id=rival.id, batch="batch", previous=job.id)
    with pytest.raises(NotAdmittedError) as error:
        stores.unique.reserve(wanted, None)
    assert error.value.locks == {0: seen}
    reserved = stores.unique.reserve(wanted, seen)
    assert stores.unique.lock(KEY) == reserved
    assert replace(reserved, version="") == wanted
    with pytest.raises(NotAdmittedError):
        stores.unique.reserve(wanted, seen)
    stores.unique.admit([new(rival, reserved)])
    after = stores.unique.lock(KEY)
    assert after is not None
    assert (after.batch, after.previous) == ("", "")
