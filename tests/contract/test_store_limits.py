"""The table at its limits: large partitions, histories and policies; ids that are used again.

Each runs on moto and on the emulator, which judges sizes by DynamoDB's own rules.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from ojs_aws.adapters.dynamodb.columns import (
    encode_cursor,
    item_bytes,
    packed,
    stored_bytes,
    write_units,
)
from ojs_aws.adapters.dynamodb.jobs.codec import MAX_HISTORY_BYTES
from ojs_aws.adapters.dynamodb.names import JOB_SK, PK, SK, VERSION, job_pk
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.errors import InvalidRequestError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, JobState, StoredElsewhere
from ojs_aws.domain.jobs import held_job, lifecycle
from ojs_aws.domain.jobs.failures import read_failure
from ojs_aws.domain.jobs.held_job import Holder
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.json_text import RawJson, encode, parse_object
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.timestamps import Instant
from ojs_aws.pricing.units import move_units, push_units
from tests.aws import EmbeddedAws, embedded
from tests.contract.test_job_store import NOW, a_job, a_reservation, big_document
from tests.jobs import noise

pytestmark = pytest.mark.thorough

KINDS = ["moto", pytest.param("emulator", marks=pytest.mark.emulator)]


@pytest.fixture(params=KINDS)
def aws(request: pytest.FixtureRequest) -> Iterator[EmbeddedAws]:
    """A fresh AWS of each kind."""
    if request.param == "emulator":
        yield request.getfixturevalue("emulated_aws")
        return
    with embedded() as aws:
        yield aws


def hot_item(aws: EmbeddedAws, job_id: str) -> dict[str, Any]:
    """The item of a job as it is stored."""
    key = {PK: {"S": job_pk(job_id)}, SK: {"S": JOB_SK}}
    answer = aws.clients.dynamodb.get_item(
        TableName=aws.settings.table, Key=key, ConsistentRead=True
    )
    return dict(answer["Item"])


@pytest.mark.parametrize(("size", "storage"), [(10, ""), (6_000, "item"), (600_000, "s3")])
def test_documents_are_kept_where_these_tests_believe_them_to_be(
    aws: EmbeddedAws, size: int, storage: str
) -> None:
    """The sizes that the contract uses lead to the three places, after compression."""
    store = job_store(aws.settings, aws.clients)
    store.insert(a_job(document=big_document(size)))
    loaded = store.load(a_job().id)
    assert loaded is not None
    found = loaded.document
    assert (found.storage if isinstance(found, StoredElsewhere) else "") == storage


def test_an_envelope_that_an_older_version_kept_inline_stays_there(aws: EmbeddedAws) -> None:
    """Through every transition, and read as it was; the older version reads what this one puts."""
    older = replace(aws.settings, inline_envelope_bytes=4096, s3_threshold_bytes=300_000)
    old, new = job_store(older, aws.clients), job_store(aws.settings, aws.clients)
    job = a_job(document=big_document(3_000))
    old.insert(job)
    claimed = new.claim("default", job.id, a_reservation(), NOW)
    assert claimed.document == job.document
    extended = held_job.extend(claimed, Instant(NOW + 1))
    new.save(claimed, extended)
    assert new.load(job.id) == old.load(job.id) == extended
    for number, size in enumerate((10, 3_000, 6_000, 30_000), 2):
        other = a_job(number, document=big_document(size))
        new.insert(other)
        assert old.load_whole(other.id) == new.load_whole(other.id) == other
        before = old.load(other.id)
        assert before is not None
        after = replace(before, priority=3, version=before.version + 1)
        old.save(before, after)
        assert new.fill_many([after]) == [replace(other, priority=3, version=after.version)]


@pytest.mark.parametrize("write", ["save", "delete"])
def test_a_change_that_left_the_token_alone_is_not_overlooked(aws: EmbeddedAws, write: str) -> None:
    """An earlier version counted the version up, and wrote no token."""
    store = job_store(aws.settings, aws.clients)
    store.insert(a_job())
    read = store.load(a_job().id)
    assert read is not None
    aws.clients.dynamodb.update_item(
        TableName=aws.settings.table,
        Key={PK: {"S": job_pk(read.id)}, SK: {"S": JOB_SK}},
        UpdateExpression="ADD #v :one",
        ExpressionAttributeNames={"#v": VERSION},
        ExpressionAttributeValues={":one": {"N": "1"}},
    )
    writes: dict[str, Callable[[], object]] = {
        "save": lambda: store.save(read, lifecycle.reprioritise(read, 1)),
        "delete": lambda: store.delete(read),
    }
    with pytest.raises(StaleJobError):
        writes[write]()
    assert store.load(read.id) == replace(read, version=read.version + 1)


def test_a_job_is_found_whatever_lies_beside_it(aws: EmbeddedAws) -> None:
    """A query ends at a megabyte; results that were never accepted must not hide the job."""
    store = job_store(aws.settings, aws.clients)
    job = a_job(document=encode(noise(380_000, 1)))
    store.insert(job)
    for seed in range(2, 7):
        store.keep_result(job.id, encode(noise(380_000, seed)))
    with aws.calls.counted() as calls:
        assert store.load_whole(job.id) == job
    assert sum(calls.values()) <= 2


def failed_attempts(store: Any, job: JobRecord, count: int, error: Callable[[int], str]) -> Any:
    """Let a job fail so often; returns it as it is stored in the end."""
    for attempt in range(1, count + 1):
        held = replace(
            job,
            state=JobState.ACTIVE,
            attempt=attempt,
            version=job.version + 1,
            reservation=a_reservation(),
            retry=replace(job.retry, max_attempts=1000),
        )
        held = store.save(job, held)
        failure = read_failure(parse_object(error(attempt)), attempt, NOW)
        store.save(held, lifecycle.fail(held, failure, NOW))
        job = store.load(job.id)
    return job


def test_a_job_can_always_fail_again(aws: EmbeddedAws) -> None:
    """Errors of the largest size, one after the other: the item stays small, the latest whole."""

    def huge(attempt: int) -> str:
        frames = [noise(200, attempt * 100 + frame) for frame in range(50)]
        error = {
            "type": "Broken",
            "message": noise(10_000, attempt),
            "details": {"x": noise(10_000, attempt + 1000)},
            "backtrace": cast("Any", frames),
        }
        return str(encode(cast("Any", error)))

    store = job_store(aws.settings, aws.clients)
    store.insert(a_job())
    job = failed_attempts(store, a_job(), 25, huge)
    assert [failure.attempt for failure in job.failures] == list(range(6, 26))
    assert job.failures[-1].message == noise(10_000, 25)
    assert job.failures[-1].extra
    assert job.failures[0].message == noise(10_000, 6)[:500]
    assert item_bytes(hot_item(aws, job.id)) < MAX_HISTORY_BYTES + 2000


def test_not_even_the_worst_error_makes_an_item_too_large(aws: EmbeddedAws) -> None:
    """Texts that do not compress, in characters of several bytes, in both histories."""

    def worst(attempt: int) -> str:
        letters = random.Random(attempt)
        text = "".join(chr(letters.randrange(0x4E00, 0x9FFF)) for _ in range(30_000))
        return f'{{"message":"{text}","details":{{"x":"{text}"}}}}'

    store = job_store(aws.settings, aws.clients)
    store.insert(a_job())
    job = failed_attempts(store, a_job(), 4, worst)
    dead = replace(job, state=JobState.DISCARDED, version=job.version + 1, discarded_at=NOW)
    dead = store.save(job, dead)
    again = lifecycle.retry_discarded(dead, NOW, 1)
    store.save(dead, again)
    job = failed_attempts(store, again, 4, worst)
    assert item_bytes(hot_item(aws, job.id)) < 2 * MAX_HISTORY_BYTES + 2000


def test_ordinary_errors_are_kept_whole(aws: EmbeddedAws) -> None:
    """Nothing is shortened before it has to be."""

    def usual(attempt: int) -> str:
        return f'{{"message":"attempt {attempt}: timed out","details":{{"host":"db-1"}}}}'

    store = job_store(aws.settings, aws.clients)
    store.insert(a_job())
    job = failed_attempts(store, a_job(), 20, usual)
    assert all(failure.extra for failure in job.failures)


def test_a_policy_that_no_item_can_hold_is_refused(aws: EmbeddedAws) -> None:
    """As too large, and not as a failure of ours that a client would repeat."""
    store = job_store(aws.settings, aws.clients)
    with pytest.raises(PayloadTooLargeError, match="retry"):
        store.insert(a_job(retry_document=encode({"note": noise(600_000, 1)})))
    assert store.load(a_job().id) is None


def test_what_was_accepted_can_be_read_again(aws: EmbeddedAws) -> None:
    """Also a policy with an extension as deep as any setting allows."""
    store = job_store(aws.settings, aws.clients)
    job = a_job(
        retry_document=RawJson('{"max_attempts":5,"x":' + "[" * 450 + "]" * 450 + "}"),
        retry=parse_retry_policy({"max_attempts": 5}),
    )
    store.insert(job)
    assert store.load(job.id) == job


def test_a_batch_that_no_transaction_can_hold_is_refused(aws: EmbeddedAws) -> None:
    """Before anything of it is stored."""
    store = job_store(aws.settings, aws.clients)
    jobs = [
        a_job(
            number,
            document=big_document(6_000),
            retry_document=encode({"note": noise(90_000, number)}),
        )
        for number in range(1, 101)
    ]
    with aws.calls.counted() as calls, pytest.raises(PayloadTooLargeError):
        store.insert_all(jobs)
    assert not calls


@pytest.mark.parametrize("size", [6_000, 600_000])
def test_the_rest_of_a_deleted_job_can_be_removed_late(aws: EmbeddedAws, size: int) -> None:
    """Promise 1: stream records come late and twice; the id may be in use again by then."""
    store = job_store(aws.settings, aws.clients)
    old = a_job(document=big_document(size))
    store.insert(old)
    stored = store.load(old.id)
    assert stored is not None
    key = {PK: {"S": job_pk(old.id)}, SK: {"S": JOB_SK}}
    aws.clients.dynamodb.delete_item(TableName=aws.settings.table, Key=key)
    new = replace(old, created_at=Instant(NOW + 1))
    store.insert(new)
    for _ in range(2):
        store.forget_documents(stored)
    assert store.load_whole(old.id) == new


class _ClaimsBetweenTries:
    """A client whose transactions lose their first answer; a worker is quicker than the second."""

    def __init__(self, client: DynamoDBClient, meanwhile: Callable[[], object]) -> None:
        self._client = client
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, **arguments: Any) -> Any:
        self._client.transact_write_items(**arguments)
        self._meanwhile()
        return self._client.transact_write_items(**arguments)


def test_a_batch_is_recognised_though_one_of_its_jobs_runs_already(aws: EmbeddedAws) -> None:
    """All or none: one item that is ours shows that all of them were stored."""
    store = job_store(aws.settings, aws.clients)

    def claim() -> object:
        return store.claim("default", a_job(2).id, a_reservation(), NOW)

    client = cast("DynamoDBClient", _ClaimsBetweenTries(aws.clients.dynamodb, claim))
    job_store(aws.settings, replace(aws.clients, dynamodb=client)).insert_all(
        [a_job(number) for number in range(1, 4)]
    )
    with pytest.raises(StaleJobError):
        claim()


@pytest.mark.parametrize("part", ["", "\ud800", "ключ"])
def test_cursors_with_parts_that_are_never_ours_are_refused(aws: EmbeddedAws, part: str) -> None:
    """Before DynamoDB has to refuse them."""
    store = job_store(aws.settings, aws.clients)
    with pytest.raises(InvalidRequestError, match="cursor"):
        store.listed("default", JobList.READY, 5, cursor=encode_cursor("1", part, "job"))


def counted_units(aws: EmbeddedAws) -> list[float]:
    """The write units that the emulator counts from now on, one number per write."""
    units: list[float] = []
    events = aws.clients.dynamodb.meta.events

    def ask(params: dict[str, Any], **_: Any) -> None:
        params["ReturnConsumedCapacity"] = "INDEXES"

    def note(parsed: dict[str, Any], **_: Any) -> None:
        units.append(parsed["ConsumedCapacity"]["CapacityUnits"])

    for operation in ("PutItem", "UpdateItem"):
        events.register(f"provide-client-params.dynamodb.{operation}", ask)
        events.register(f"after-call.dynamodb.{operation}", note)
    return units


@pytest.mark.emulator
def test_the_emulator_counts_the_write_units_that_we_do(emulated_aws: EmbeddedAws) -> None:
    """8 from PUSH to ACK of a kilobyte, with a receipt handle as long as those of AWS."""
    check_write_units(emulated_aws)


@pytest.mark.dynamodb_local
def test_dynamodb_local_counts_the_write_units_that_we_do() -> None:
    """Amazon's own count of single writes is that of the cost model."""
    with embedded() as aws:
        check_write_units(aws)


def check_write_units(aws: EmbeddedAws) -> None:
    """Compare the units that DynamoDB reports with those that the cost model computes."""
    store = job_store(aws.settings, aws.clients)
    units = counted_units(aws)
    text = '{"args":[{"to":"someone@example.com","note":"' + "Lorem ipsum dolor sit amet. " * 33
    job = a_job(document=RawJson(text + '"}]}'))
    assert 950 < job.document_bytes <= 1024
    handle = "AQEB" + "Wm9v" * 102  # 412 characters of base64
    sizes = []
    store.insert(job)
    sizes.append(item_bytes(hot_item(aws, job.id)))
    store.claim("default", job.id, a_reservation(handle=handle), NOW)
    sizes.append(item_bytes(hot_item(aws, job.id)))
    store.acknowledge(job.id, Holder("w1"), None, NOW)
    sizes.append(item_bytes(hot_item(aws, job.id)))
    assert write_units(*sizes) == 3
    ratio = job.document_bytes / stored_bytes(packed(text + '"}]}'))
    model = push_units(job.document_bytes, ratio), move_units(job.document_bytes, ratio)
    assert units == [2.0, 3.0, 3.0] == [model[0], model[1], model[1]]
    units.clear()
    large = a_job(2, document=big_document(6_000))
    store.insert(large)
    ratio = large.document_bytes / stored_bytes(packed(str(large.document)))
    assert sum(units) == push_units(large.document_bytes, ratio)
