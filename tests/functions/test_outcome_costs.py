"""Results, progress and checkpoints in the table: their calls, their items, and what goes when."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.columns import item_bytes, write_units
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ResultTooLargeError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.progress import read_report
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.render import render_job
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.events.stream import build_stream
from tests.aws import EmbeddedAws
from tests.clocks import advance
from tests.functions.test_retention import items_of
from tests.job_steps import active
from tests.jobs import noise

DAY_S = 86_400
WEEK_S = 7 * DAY_S


def incompressible(size: int) -> RawJson:
    """A JSON text of about so many bytes."""
    return RawJson(f'"{noise(size)}"')


def hot(aws: EmbeddedAws, job: JobRecord) -> dict[str, Any]:
    """The hot item of a job."""
    return next(item for item in items_of(aws, job.id) if item["sk"]["S"] == "job")


# ------------------------------------------------------------------------------------ results
@pytest.mark.parametrize("attributes", [{}, {"result_ttl": 3600}, {"result_ttl": 90 * DAY_S}])
def test_a_time_to_live_costs_ack_nothing(
    aws: EmbeddedAws, backend: Backend, attributes: dict[str, int]
) -> None:
    """One conditional update without a read, whatever the job asks for."""
    job = active(backend, **attributes)
    with aws.calls.counted() as calls:
        backend.jobs.ack(job.id, "w", RawJson("1"))
    assert calls == {"UpdateItem": 1, "DeleteMessage": 1}


@pytest.mark.parametrize(
    ("ttl", "kept_s"),
    [(None, WEEK_S), (60, WEEK_S), (90 * DAY_S, 90 * DAY_S), (-1, 10_000_000_000)],
)
@pytest.mark.parametrize("end", ["ack", "cancel"])
def test_the_item_lives_as_long_as_its_outcome(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock, ttl: int | None, kept_s: int, end: str
) -> None:
    """ojs-results, section 7.1; never shorter than the job is kept anyway."""
    job = active(backend, **{} if ttl is None else {"result_ttl": ttl})
    if end == "ack":
        backend.jobs.ack(job.id, "w", RawJson("1"))
    else:
        backend.jobs.cancel(job.id)
    assert int(hot(aws, job)["ttl"]["N"]) == clock.at // 1000 + kept_s


def test_without_a_time_to_live_the_outcome_lives_as_long_as_the_job(
    backend: Backend, clock: FakeClock
) -> None:
    """What is said is what DynamoDB gets."""
    job = active(backend)
    backend.jobs.ack(job.id, "w", RawJson("1"))
    kept = backend.jobs.info(job.id).kept_until
    assert kept == Instant(clock.at // 1000 * 1000 + WEEK_S * 1000)
    assert "result_expires_at" in render_job(backend.jobs.info(job.id))


@pytest.mark.parametrize("size", [10, 6_000])
def test_an_ephemeral_result_leaves_nothing(aws: EmbeddedAws, backend: Backend, size: int) -> None:
    """Section 7.1, ``result_ttl`` of 0: neither in the item nor beside it."""
    job = active(backend, result_ttl=0)
    backend.jobs.ack(job.id, "w", incompressible(size))
    (item,) = items_of(aws, job.id)
    assert "rs" not in item
    assert backend.jobs.info(job.id).state is JobState.COMPLETED


def test_an_ephemeral_result_of_a_job_with_a_limit_gives_its_place_back(backend: Backend) -> None:
    """Both kinds of ACK that need a second write, together."""
    job = active(backend, result_ttl=0, rate_limit={"key": "k", "concurrency": 1})
    backend.jobs.ack(job.id, "w", RawJson("1"))
    assert backend.jobs.info(job.id).state is JobState.COMPLETED
    other = active(backend, rate_limit={"key": "k", "concurrency": 1})
    assert other.state is JobState.ACTIVE


def test_a_result_beyond_the_jobs_own_limit_is_refused_by_the_write(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Section 7.2: without a read before it; the job stays active."""
    job = active(backend, result_size_limit=3)
    with aws.calls.counted() as calls, pytest.raises(ResultTooLargeError):
        backend.jobs.ack(job.id, "w", RawJson("1000"))
    assert calls == {"UpdateItem": 1}
    backend.jobs.ack(job.id, "w", RawJson("100"))
    assert backend.jobs.info(job.id).result == "100"


@pytest.mark.parametrize(("size", "cost"), [(10, {"GetItem": 1}), (7_000, {"GetItem": 2})])
def test_reading_a_result_reads_the_job_and_the_result(
    aws: EmbeddedAws, backend: Backend, size: int, cost: dict[str, int]
) -> None:
    """Not the document of its client, however large."""
    backend.jobs.push(Job("data.import", [incompressible(60_000)]))
    (job,) = backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    backend.jobs.ack(job.id, "w", incompressible(size))
    with aws.calls.counted() as calls:
        assert backend.outcomes.results(job.id).result == incompressible(size)
    assert calls == cost
    with aws.calls.counted() as calls:
        assert backend.outcomes.results.many([job.id])[job.id] is not None
    assert calls == {"BatchGetItem": 1, **({"GetItem": 1} if size > 10 else {})}


# ----------------------------------------------------------------------------------- progress
REPORT = read_report(parse_object('{"progress": 0.5, "data": {"rows": 14000}}'))


def test_progress_costs_a_read_and_a_write_and_extends_once_a_second(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """The write is the heartbeat, too; the message follows only an extension."""
    job = active(backend, visibility_timeout_s=60)
    clock.advance(s=2)
    with aws.calls.counted() as calls:
        backend.outcomes.progress(job.id, "w", REPORT)
    assert calls == {"GetItem": 1, "UpdateItem": 1, "ChangeMessageVisibility": 1}
    place = hot(aws, job)["gsk"]
    clock.advance(ms=500)
    with aws.calls.counted() as calls:
        backend.outcomes.progress(job.id, "w", REPORT)
    assert calls == {"GetItem": 1, "UpdateItem": 1}
    item = hot(aws, job)
    assert item["gsk"] == place, "no index write"
    assert write_units(item_bytes(item)) == 1


def test_a_worker_that_has_the_job_saves_the_read(aws: EmbeddedAws, backend: Backend) -> None:
    """Lambda workers know what they claimed, and what they wrote since."""
    job = active(backend)
    with aws.calls.counted() as calls:
        job, _ = backend.outcomes.progress(job.id, "w", REPORT, start=job, has_message=False)
        backend.outcomes.progress(job.id, "w", REPORT, start=job, has_message=False)
    assert calls == {"UpdateItem": 2}


# -------------------------------------------------------------------------------- checkpoints
def test_a_small_checkpoint_stays_with_the_job(aws: EmbeddedAws, backend: Backend) -> None:
    """A read and a write; FETCH and ACK cost what they did, and it goes with the ACK."""
    retry = {"max_attempts": 3, "initial_interval": "PT1S", "jitter": False}
    job = active(backend, retry=retry)
    with aws.calls.counted() as calls:
        backend.outcomes.checkpoints.save(job.id, "w", RawJson('{"row": 14000}'))
    assert calls == {"GetItem": 1, "UpdateItem": 1}
    backend.jobs.fail(job.id, "w", parse_object('{"type": "Broken", "message": "x"}'))
    advance(backend, s=2)
    with aws.calls.counted() as calls:
        (again,) = backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    assert calls["GetItem"] <= 1, "of the job that its backoff is over for, not of its checkpoint"
    assert render_job(again)["last_checkpoint"] == '{"row": 14000}'
    with aws.calls.counted() as calls:
        backend.jobs.ack(again.id, "w", None)
    assert calls.keys() - {"DeleteMessage"} == {"UpdateItem"}
    assert "cp" not in hot(aws, job)


@pytest.mark.parametrize(("size", "in_s3"), [(7_000, False), (700_000, True)])
def test_a_large_checkpoint_is_kept_elsewhere_and_removed_by_the_stream(
    aws: EmbeddedAws, backend: Backend, size: int, in_s3: bool
) -> None:
    """DUR-005: one that is replaced, and the last one when the job is over; repeats do no harm."""
    consume = build_stream(backend, read_image)

    def publish(before: dict[str, Any]) -> None:
        change = {"SequenceNumber": str(publish.__dict__.setdefault("n", 1)), "OldImage": before}
        publish.__dict__["n"] += 1
        change |= {"NewImage": hot(aws, job), "Keys": {"pk": before["pk"], "sk": before["sk"]}}
        for _ in range(2):
            record = {"eventName": "MODIFY", "dynamodb": change}
            assert consume({"Records": [record]}, None) == {"batchItemFailures": []}

    def kept() -> int:
        objects = aws.clients.s3().list_objects_v2(Bucket="documents")["KeyCount"]
        return objects if in_s3 else len(items_of(aws, job.id)) - 1

    job = active(backend)
    state = incompressible(size)
    backend.outcomes.checkpoints.save(job.id, "w", state)
    assert write_units(item_bytes(hot(aws, job))) == 1
    assert backend.outcomes.checkpoints.get(job.id).checkpoint.state == state
    before = hot(aws, job)
    backend.outcomes.checkpoints.save(job.id, "w", state)
    assert kept() == 2, "the same text again does not take the place of the one before"
    publish(before)
    assert kept() == 1
    assert backend.outcomes.checkpoints.get(job.id).checkpoint.state == state
    before = hot(aws, job)
    backend.jobs.ack(job.id, "w", None)
    publish(before)
    assert kept() == 0


def test_a_large_checkpoint_of_another_workers_job_is_not_kept(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Bad input changes nothing, not even beside the job."""
    job = active(backend)
    with aws.calls.counted() as calls, pytest.raises(Exception, match="another worker"):
        backend.outcomes.checkpoints.save(job.id, "other", incompressible(7_000))
    assert calls == {"GetItem": 1}
    with aws.calls.counted() as calls:
        _, is_noted = backend.outcomes.progress(job.id, "other", REPORT, incompressible(7_000))
    assert (calls, is_noted) == ({"GetItem": 1}, False)


def test_what_nobody_uses_takes_no_room(aws: EmbeddedAws, backend: Backend) -> None:
    """A job without these attributes is stored as before."""
    job = active(backend)
    assert not {"rt", "rl", "rk", "pg", "cp", "cn"} & hot(aws, job).keys()
