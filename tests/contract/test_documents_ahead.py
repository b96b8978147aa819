"""Documents that are put before a write: refused, it leaves none; stored, it keeps its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from ojs_aws.adapters.dynamodb.names import DOCUMENT
from ojs_aws.adapters.dynamodb.unique import UniqueJobs
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.conflicts import AlreadyStoredError, NotAdmittedError
from ojs_aws.domain.errors import (
    BackendUnavailableError,
    DocumentMissingError,
    OjsError,
    PayloadTooLargeError,
)
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import Admission, UniqueLock
from ojs_aws.domain.json_text import RawJson
from tests.aws import EmbeddedAws
from tests.contract.test_job_store import a_job, big_document

IN_TABLE, IN_BUCKET = 6_000, 600_000
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
    unique = UniqueJobs(store)
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
    unique = UniqueJobs(store)
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
        UniqueJobs(store).admit([locked(large(1, IN_BUCKET)), Admission(job=huge)])
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
    after = store.save(before, after)
    assert store.load_whole(job.id) == after
    again = replace(after, priority=3, version=after.version + 1)
    store.save(after, again)
    assert store.load_whole(job.id) == again


def failing(
    aws: EmbeddedAws, operation: str, after: Callable[[], bool], code: str = "InternalServerError"
) -> None:
    """Let a call of DynamoDB fail with an error of the service, where ``after`` says so."""

    def fail(**_: Any) -> None:
        if after():
            answer: Any = {"Error": {"Code": code, "Message": "no"}}
            raise ClientError(answer, operation)

    aws.clients.dynamodb.meta.events.register(f"before-call.dynamodb.{operation}", fail)


def test_documents_stay_while_nobody_knows_whether_the_write_took_effect(aws: EmbeddedAws) -> None:
    store = job_store(aws.settings, aws.clients)
    failing(aws, "TransactWriteItems", lambda: True)
    with pytest.raises(OjsError):
        store.insert_all([large(1, IN_BUCKET)])
    assert documents(aws) == 1


def test_documents_go_when_the_write_was_never_sent(aws: EmbeddedAws) -> None:
    """The second batch of documents could not be put."""
    store = job_store(aws.settings, aws.clients)
    puts = itertools.count(1)
    failing(aws, "BatchWriteItem", lambda: next(puts) == 2)
    with pytest.raises(OjsError):
        store.insert_all([large(number, IN_TABLE) for number in range(1, 31)])
    assert documents(aws) == 0


@pytest.mark.parametrize("size", [IN_TABLE, IN_BUCKET])
def test_the_document_of_a_throttled_push_goes(aws: EmbeddedAws, size: int) -> None:
    """It certainly had no effect: the client repeats it, with a document of its own."""
    store = job_store(aws.settings, aws.clients)
    puts = itertools.count(1)
    is_job = 1 if size == IN_BUCKET else 2
    code = "ProvisionedThroughputExceededException"
    failing(aws, "PutItem", lambda: next(puts) == is_job, code)
    with pytest.raises(BackendUnavailableError):
        store.insert(large(1, size))
    assert documents(aws) == 0


class Killed(BaseException):
    """The process ends: nothing more of it runs."""


@pytest.mark.parametrize("dies", [1, 2], ids=["before the document", "before the job"])
@pytest.mark.parametrize("has_effect", [False, True], ids=["without effect", "with effect"])
def test_a_push_that_dies_at_a_put_is_repeated_whole(
    aws: EmbeddedAws, dies: int, has_effect: bool
) -> None:
    """What the dead process has put is nobody's; the same request stores its own document."""
    store = job_store(aws.settings, aws.clients)
    puts = itertools.count(1)

    def die(**_: Any) -> None:
        if next(puts) == dies:
            raise Killed

    moment = "after-call" if has_effect else "before-call"
    aws.clients.dynamodb.meta.events.register(f"{moment}.dynamodb.PutItem", die)
    job = large(1, IN_TABLE)
    with pytest.raises(Killed):
        store.insert(job)
    is_stored = has_effect and dies == 2
    assert (store.load(job.id) is not None) is is_stored
    if is_stored:
        with pytest.raises(AlreadyStoredError):
            store.insert(job)
    else:
        store.insert(job)
    assert store.load_whole(job.id) == job
    assert store.fill_many([store.load(job.id) or job]) == [job]


def test_documents_that_a_batch_write_leaves_out_are_put_all_the_same(aws: EmbeddedAws) -> None:
    """DynamoDB answers with what it had no capacity for."""
    store = job_store(aws.settings, aws.clients)

    def leave_out(parsed: Any, context: Any, **_: Any) -> None:
        parsed["UnprocessedItems"] = {aws.settings.table: context["puts"][:2]}

    def note(params: Any, context: Any, **_: Any) -> None:
        context["puts"] = params["RequestItems"][aws.settings.table]
        params["RequestItems"] = {aws.settings.table: context["puts"][2:]}

    events = aws.clients.dynamodb.meta.events
    events.register("provide-client-params.dynamodb.BatchWriteItem", note)
    events.register("after-call.dynamodb.BatchWriteItem", leave_out)
    jobs = [large(number, IN_TABLE) for number in range(1, 4)]
    store.insert_all(jobs)
    assert documents(aws) == 3
    assert [store.load_whole(job.id) for job in jobs] == jobs


def test_who_may_not_write_batches_puts_documents_one_by_one(aws: EmbeddedAws) -> None:
    """Programs with policies of their own, from before there were batches of documents."""
    store = job_store(aws.settings, aws.clients)
    failing(aws, "BatchWriteItem", lambda: True, "AccessDeniedException")
    jobs = [large(number, IN_TABLE) for number in range(1, 4)]
    store.insert_all(jobs)
    assert [store.load_whole(job.id) for job in jobs] == jobs


def stale(aws: EmbeddedAws) -> list[str]:
    """Let eventually consistent reads find nothing; the names of the consistent ones."""
    strong: list[str] = []

    def look(params: Any, model: Any, **_: Any) -> None:
        wanted = params.get("RequestItems", {}).get(aws.settings.table, params)
        if wanted.get("ConsistentRead"):
            strong.append(model.name)
            return
        if "Keys" in wanted:  # each another one: a batch has no key twice
            wanted["Keys"] = [{**key, "sk": {"S": "no"}} for key in wanted["Keys"]]
        else:
            wanted["Key"] = {**wanted["Key"], "sk": {"S": "no"}}

    for name in ("GetItem", "BatchGetItem"):
        aws.clients.dynamodb.meta.events.register(f"provide-client-params.dynamodb.{name}", look)
    return strong


def test_a_document_that_a_late_read_misses_is_read_strongly(aws: EmbeddedAws) -> None:
    store = job_store(aws.settings, aws.clients)
    jobs = [large(number, IN_TABLE) for number in range(1, 4)]
    store.insert_all(jobs)
    hot = [loaded for job in jobs if (loaded := store.load(job.id)) is not None]
    strong = stale(aws)
    assert store.fill_many(hot) == jobs
    assert strong == ["GetItem"] * 3
    assert store.fill(hot[0]) == jobs[0]


def test_one_missing_document_does_not_keep_others_from_being_read(aws: EmbeddedAws) -> None:
    store = job_store(aws.settings, aws.clients)
    sizes = (IN_TABLE, IN_BUCKET, IN_TABLE)
    jobs = [large(number, size) for number, size in enumerate(sizes, 1)]
    for job in jobs:
        store.insert(job)
    hot = [loaded for job in jobs if (loaded := store.load(job.id)) is not None]
    store.forget_documents(hot[0])
    missing, *others = store.fill_many(hot)
    assert isinstance(missing, DocumentMissingError)
    assert others == jobs[1:]


def test_a_push_is_refused_though_its_documents_cannot_be_removed(aws: EmbeddedAws) -> None:
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
