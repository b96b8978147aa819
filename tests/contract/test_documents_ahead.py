"""Documents that are put before a write: refused, it leaves none; stored, it keeps its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from ojs_aws.adapters.dynamodb.names import DOCUMENT
from ojs_aws.adapters.dynamodb.unique import DynamoUniqueJobs
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.errors import OjsError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson
from ojs_aws.ports import Admission, AlreadyStoredError, NotAdmittedError, UniqueLock
from tests.aws import EmbeddedAws
from tests.contract.test_job_store import a_job, big_document

IN_TABLE, IN_BUCKET = 20_000, 600_000
LOCK = UniqueLock(key="ab" * 32, job_id=a_job(1).id)


def documents(aws: EmbeddedAws) -> int:
    """How many documents are kept outside of their jobs' items."""
    objects = aws.clients.s3().list_objects_v2(Bucket=aws.settings.bucket)["KeyCount"]
    items: list[Any] = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    blobs = [item for item in items if item["sk"]["S"].startswith("blob#") and DOCUMENT in item]
    assert all("ttl" in item or DOCUMENT in item for item in items if "blob#" in item["sk"]["S"])
    return objects + len(blobs)


def large(number: int, size: int, **changes: Any) -> JobRecord:
    """A job whose document is kept elsewhere."""
    return a_job(number, document=big_document(size), **changes)


@pytest.mark.parametrize("size", [IN_TABLE, IN_BUCKET])
def test_a_refused_batch_leaves_no_documents(aws: EmbeddedAws, size: int) -> None:
    store = job_store(aws.settings, aws.clients)
    store.insert(a_job(3))
    jobs = [large(number, size, priority=5) for number in (1, 2, 3)]
    with pytest.raises(AlreadyStoredError):
        store.insert_all(jobs)
    assert documents(aws) == 0


def test_a_refused_push_leaves_none_and_the_stored_job_keeps_its_own(aws: EmbeddedAws) -> None:
    """The same job again, in the same millisecond: its document has another name."""
    store = job_store(aws.settings, aws.clients)
    job = large(1, IN_BUCKET)
    store.insert(job)
    with pytest.raises(AlreadyStoredError):
        store.insert(job)
    assert documents(aws) == 1
    assert store.load_whole(job.id) == job


@pytest.mark.parametrize("size", [IN_TABLE, IN_BUCKET])
def test_a_refused_batch_leaves_the_documents_of_stored_jobs(aws: EmbeddedAws, size: int) -> None:
    store = job_store(aws.settings, aws.clients)
    jobs = [large(number, size) for number in (1, 2)]
    store.insert_all(jobs)
    with pytest.raises(AlreadyStoredError):
        store.insert_all(jobs)
    assert documents(aws) == 2
    assert [store.load_whole(job.id) for job in jobs] == jobs


def locked(job: JobRecord, seen: UniqueLock | None = None) -> Admission:
    return Admission(job=job, lock=replace(LOCK, job_id=job.id), seen=seen)


def test_a_unique_job_that_is_kept_out_leaves_none(aws: EmbeddedAws) -> None:
    """Of a batch, too, whose first job has put its document when the second meets a lock."""
    store = job_store(aws.settings, aws.clients)
    unique = DynamoUniqueJobs(store)
    unique.admit([locked(a_job(1))])
    plain = Admission(job=large(2, IN_BUCKET))
    for wanted in ([locked(large(3, IN_BUCKET))], [plain, locked(large(3, IN_BUCKET))]):
        with pytest.raises(NotAdmittedError):
            unique.admit(wanted)
        assert documents(aws) == 0
    with pytest.raises(NotAdmittedError):
        unique.admit([plain, locked(a_job(3))])
    assert documents(aws) == 0


def test_arguments_that_are_brought_too_late_leave_none(aws: EmbeddedAws) -> None:
    """Two bring the same ones to the same version: the document of who came first stays."""
    store = job_store(aws.settings, aws.clients)
    unique = DynamoUniqueJobs(store)
    unique.admit([locked(a_job(1))])
    seen, holder = unique.lock(LOCK.key), store.load(a_job(1).id)
    assert holder is not None
    after = replace(holder, document=big_document(IN_BUCKET), version=holder.version + 1)
    bringing = Admission(lock=LOCK, seen=seen, before=holder, after=after)
    unique.admit([bringing])
    with pytest.raises(NotAdmittedError):
        unique.admit([bringing])
    assert documents(aws) == 1
    assert store.load_whole(holder.id) == after


def test_what_is_too_large_to_be_stored_leaves_none(aws: EmbeddedAws) -> None:
    store = job_store(aws.settings, aws.clients)
    huge = a_job(2, retry_document=RawJson(f'"{big_document(600_000)[9:-2]}"'))
    with pytest.raises(PayloadTooLargeError):
        DynamoUniqueJobs(store).admit([locked(large(1, IN_BUCKET)), Admission(job=huge)])
    assert documents(aws) == 0


@pytest.mark.parametrize("size", [IN_TABLE, IN_BUCKET])
def test_an_update_of_a_job_that_was_filled_in_keeps_its_document(
    aws: EmbeddedAws, size: int
) -> None:
    """As the retry of a dead letter with another queue does."""
    store = job_store(aws.settings, aws.clients)
    job = large(1, size)
    store.insert(job)
    before = store.load(job.id)
    assert before is not None
    after = replace(store.fill(before), queue="other", version=before.version + 1)
    store.save(before, after)
    assert store.load_whole(job.id) == after
    again = replace(after, priority=3, version=after.version + 1)
    store.save(after, again)
    assert store.load_whole(job.id) == again


def failing(aws: EmbeddedAws, operation: str, after: Callable[[], bool]) -> None:
    """Let a call of DynamoDB fail with an error of the service, where ``after`` says so."""

    def fail(**_: Any) -> None:
        if after():
            answer: Any = {"Error": {"Code": "InternalServerError", "Message": "no"}}
            raise ClientError(answer, operation)

    aws.clients.dynamodb.meta.events.register(f"before-call.dynamodb.{operation}", fail)


def test_documents_stay_while_nobody_knows_whether_the_write_took_effect(aws: EmbeddedAws) -> None:
    store = job_store(aws.settings, aws.clients)
    failing(aws, "TransactWriteItems", lambda: True)
    with pytest.raises(OjsError):
        store.insert_all([large(1, IN_BUCKET)])
    assert documents(aws) == 1


def test_documents_go_when_the_write_was_never_sent(aws: EmbeddedAws) -> None:
    """The second document of two could not be put."""
    store = job_store(aws.settings, aws.clients)
    puts = itertools.count(1)
    failing(aws, "PutItem", lambda: next(puts) == 2)
    with pytest.raises(OjsError):
        store.insert_all([large(1, IN_TABLE), large(2, IN_TABLE)])
    assert documents(aws) == 0


def test_a_refusal_is_told_though_its_documents_cannot_be_removed(aws: EmbeddedAws) -> None:
    store = job_store(aws.settings, aws.clients)
    store.insert(a_job(1))
    failing(aws, "BatchGetItem", lambda: True)
    with pytest.raises(AlreadyStoredError):
        store.insert(large(1, IN_BUCKET))


@pytest.mark.parametrize("size", [IN_TABLE, IN_BUCKET])
def test_the_document_of_a_job_that_is_gone_is_removed(aws: EmbeddedAws, size: int) -> None:
    """From the place where it is kept."""
    store = job_store(aws.settings, aws.clients)
    store.insert(large(1, size))
    stored = store.load(a_job(1).id)
    assert stored is not None
    assert documents(aws) == 1
    store.forget_documents(stored)
    assert documents(aws) == 0
