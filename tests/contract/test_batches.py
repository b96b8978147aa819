"""What every log of large batches must do; each engine passes the same suite."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from string import ascii_lowercase
from typing import cast

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from ojs_aws.adapters.dynamodb.batches import LOST, PART_JOBS, Batches
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.conflicts import LogLostError
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.jobs.batches import Decision, OpenBatch, StagedJob, mark_of
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from tests.aws import EmbeddedAws, embedded, items_of
from tests.contract.test_job_store import KINDS, NOW, a_job, big_document
from tests.contract.test_lost_answers import LosesFirstAnswers


def batches_of(aws: EmbeddedAws, client: DynamoDBClient | None = None) -> Batches:
    """The adapter over a deployment."""
    backend = build_backend(aws.settings, aws.clients, parallel=IN_ORDER)
    made = backend.stores.batches()
    assert isinstance(made, Batches)
    return made if client is None else replace(made, client=client)


@pytest.fixture(params=[*KINDS, "lost answers"])
def batches(request: pytest.FixtureRequest) -> Iterator[Batches]:
    """Fresh logs of each kind; of one, every first answer to a write is lost."""
    if request.param == "emulator":
        yield batches_of(request.getfixturevalue("emulated_aws"))
        return
    with embedded() as aws:
        client = cast("DynamoDBClient", LosesFirstAnswers(aws.clients.dynamodb))
        yield batches_of(aws, client if request.param == "lost answers" else None)


def staged(count: int) -> list[StagedJob]:
    """Jobs of a batch, of many kinds."""
    jobs = [
        a_job(number, order=number, document=RawJson(f'{{"args":[{number},"ü"]}}'))
        for number in range(count)
    ]
    jobs[0] = replace(
        jobs[0],
        state=JobState.SCHEDULED,
        enqueued_at=None,
        scheduled_at=Instant(NOW + 1000),
        unique_key="ab" * 32,
        retry_document=RawJson('{"max_attempts":7}'),
        limit=Limit(key="k", concurrency=2),
        document=big_document(6_000),
    )
    return [StagedJob(job, replaces=at == 0) for at, job in enumerate(jobs)]


def opened(batches: Batches, name: str, jobs: list[StagedJob], at: int = NOW) -> OpenBatch:
    """A batch whose log is written."""
    token = batches.token()
    return OpenBatch(
        id=name,
        token=token,
        committed_at=Instant(at),
        sizes=batches.stage(name, token, jobs),
        marks=b"".join(mark_of(job.record.id) for job in jobs),
    )


def test_a_log_comes_back_exactly(batches: Batches) -> None:
    """Every attribute of its jobs, in their order, in parts of bounded size."""
    jobs = staged(PART_JOBS + 7)
    batch = opened(batches, "one", jobs)
    assert batch.sizes == (PART_JOBS, 7)
    read = [job for number in range(2) for job in batches.part(batch, number)]
    assert [job.replaces for job in read] == [job.replaces for job in jobs]
    first, wanted = read[0].record, jobs[0].record
    assert replace(first, retry=wanted.retry, limit=wanted.limit) == wanted
    assert [job.record for job in read[1:]] == [job.record for job in jobs[1:]]


def test_a_log_says_which_jobs_are_the_last_of_their_sequences(batches: Batches) -> None:
    jobs = [replace(each, is_last=number == 2) for number, each in enumerate(staged(4))]
    sizes = batches.stage("b-1", "t1", jobs)
    batch = OpenBatch(id="b-1", token="t1", committed_at=NOW, sizes=sizes, marks=b"")
    assert [each.is_last for each in batches.part(batch, 0)] == [False, False, True, False]


def test_documents_that_are_alike_share_the_bytes_of_a_part() -> None:
    """Each by itself they are too large for one: they are deflated together."""
    chance = random.Random(1)
    words = ["".join(chance.choices(ascii_lowercase, k=40)) for _ in range(200)]
    texts = [" ".join(chance.sample(words, len(words))) for _ in range(PART_JOBS)]
    jobs = [
        StagedJob(a_job(at, document=RawJson(f'{{"args":["{text}"]}}')))
        for at, text in enumerate(texts)
    ]
    with embedded() as aws:
        batches = batches_of(aws)
        assert opened(batches, "one", jobs).sizes == (PART_JOBS,)


def test_the_first_decision_is_the_last(batches: Batches) -> None:
    """Whether to commit or to give up; the same one again is no other."""
    one, two = opened(batches, "one", staged(3)), opened(batches, "two", staged(3))
    assert batches.decided("one") is None
    assert batches.decide("one", one, NOW) == Decision(one.token)
    assert batches.decide("one", None, NOW) == Decision(one.token)
    assert batches.decide("one", one, NOW).is_committed
    assert not batches.decide("two", None, NOW).is_committed
    assert not batches.decide("two", two, NOW).is_committed
    assert (batches.decided("one"), batches.decided("two")) == (Decision(one.token), Decision())
    rival = opened(batches, "one", staged(3))
    assert batches.decide("one", rival, NOW).token == one.token
    assert batches.open() == [one]


def test_committed_batches_are_open_until_they_are_closed(batches: Batches) -> None:
    """The oldest first; closing twice is no error."""
    later = opened(batches, "a", staged(2), NOW + 5)
    sooner = opened(batches, "b", staged(2), NOW)
    for batch in (later, sooner):
        batches.decide(batch.id, batch, NOW)
    assert batches.open() == [sooner, later]
    assert (batches.done(sooner), batches.done(later)) == (0, 0)
    batches.advance(sooner, 1)
    assert (batches.done(sooner), batches.done(later)) == (1, 0)
    batches.close(sooner)
    batches.close(sooner)
    assert batches.open() == [later]


def test_a_batch_that_is_given_up_is_not_open_any_more(batches: Batches) -> None:
    """And what was never written, or is gone, is kept apart from errors of AWS."""
    batch = opened(batches, "one", staged(2))
    with pytest.raises(LogLostError):
        batches.done(batch)
    batches.decide(batch.id, batch, NOW)
    with pytest.raises(LogLostError):
        batches.part(batch, len(batch.sizes))
    for _ in range(2):
        batches.abandon(batch, NOW)
        assert batches.open() == []


def test_a_lost_batch_is_kept_for_people_to_look_at() -> None:
    """Its row moves to another partition, for some months."""
    with embedded() as aws:
        batches = batches_of(aws)
        batch = opened(batches, "one", staged(2))
        batches.decide(batch.id, batch, NOW)
        batches.abandon(batch, NOW)
        kept = items_of(aws, LOST)
    assert [item["sk"]["S"].partition("#")[2] for item in kept] == [batch.id]
    assert int(kept[0]["ttl"]["N"]) > NOW // 1000


def test_an_open_batch_says_where_its_jobs_are(batches: Batches) -> None:
    """Without reading its log."""
    jobs = staged(PART_JOBS + 2)
    batch = opened(batches, "one", jobs)
    assert batch.part_of(jobs[3].record.id) == 0
    assert batch.part_of(jobs[PART_JOBS].record.id) == 1
    assert batch.part_of("01990000-0000-7000-8000-ffffffffffff") is None
    assert batch.holds_any([jobs[3].record.id])
    assert not batch.holds_any(["01990000-0000-7000-8000-ffffffffffff"])


def test_documents_that_do_not_compress_make_smaller_parts() -> None:
    """No part is larger than an item may be; a job may have a part for itself."""
    chosen = random.Random(1)
    noise = [encode([chosen.randbytes(60_000).hex()]) for _ in range(12)]
    with embedded() as aws:
        batches = batches_of(aws)
        jobs = [
            StagedJob(a_job(at, order=at, document=RawJson(f'{{"args":{text}}}')))
            for at, text in enumerate(noise)
        ]
        batch = opened(batches, "one", jobs)
        assert sum(batch.sizes) == 12
        assert len(batch.sizes) > 1
        read = [job for number in range(len(batch.sizes)) for job in batches.part(batch, number)]
        assert [job.record for job in read] == [job.record for job in jobs]


def test_large_documents_of_refused_batches_leave_no_object() -> None:
    """They go to S3 when the batch is committed, and not before."""
    with embedded() as aws:
        backend = build_backend(aws.settings, aws.clients, parallel=IN_ORDER)
        text = random.Random(1).randbytes(400_000).hex()
        jobs = [
            Job("a.b", [text] if at == 1 else [], id=f"01990000-0000-7000-8000-{at:012x}")
            for at in range(101)
        ]
        backend.jobs.push(Job("other", [], id=jobs[50].id))
        with pytest.raises(DuplicateError):
            backend.jobs.push.all([job.copy() for job in jobs])
        objects = aws.clients.s3().list_objects_v2(Bucket=aws.settings.bucket)
        assert objects["KeyCount"] == 0
        jobs[50] = Job("a.b", [])
        backend.jobs.push.all(jobs)
        assert backend.jobs.info(jobs[1].id).document_bytes > 700_000
