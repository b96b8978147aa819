"""The export of jobs that have ended: every one, in few files, with counted calls."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.s3 import S3Files
from ojs_aws.bootstrap import record_tries
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, DocumentMissingError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.local.aws import create_bucket
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.upkeep.export import Export
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.events.export import build_export
from ojs_aws.transport.events.stream_reader import MAX_ENDED, StreamReader
from tests.api import Api
from tests.aws import EmbeddedAws, changes_of, embedded

BUCKET = "exported"
LARGE = "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(20))


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A deployment that keeps documents outside their items early, with a bucket for files."""
    with embedded(Settings(inline_limit_bytes=100)) as aws:
        create_bucket(aws.clients.s3(), BUCKET)
        yield aws


def lines(aws: EmbeddedAws) -> dict[str, list[dict[str, Any]]]:
    """What the files say, by their keys."""
    client = aws.clients.s3()
    found = {}
    for each in client.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        body = client.get_object(Bucket=BUCKET, Key=each["Key"])["Body"].read()
        text = gzip.decompress(body).decode()
        found[each["Key"]] = [json.loads(line) for line in text.splitlines()]
    return found


def play(backend: Backend) -> list[str]:
    """A job for each way to end, in two queues; one that has not ended; the ended ones' ids."""
    done = [Job("demo.echo", [n]) for n in range(3)]
    other = Job("demo.large", [LARGE], queue="email", retry={"max_attempts": 1})
    backend.jobs.push.all([*done, other])
    for job in backend.jobs.fetch(FetchRequest(("default",), 3, "w")):
        backend.jobs.ack(job.id, "w", RawJson('{"n": 1}'))
    backend.jobs.fetch(FetchRequest(("email",), 1, "w"))
    backend.jobs.fail(other.id, "w", _error())
    waiting = Job("demo.echo", [9], queue="email")
    backend.jobs.push(waiting)
    cancelled = Job("demo.echo", [10], queue="email")
    backend.jobs.push(cancelled)
    backend.jobs.cancel(cancelled.id)
    return [*(job.id for job in done), other.id, cancelled.id]


def _error() -> Any:
    return parse_object('{"type": "Broken", "message": "it broke"}')


def records(aws: EmbeddedAws) -> list[dict[str, Any]]:
    """All changes of the table, as the stream has them."""
    found, _ = changes_of(aws)()
    return list(found)


def test_every_ended_job_is_a_line_of_its_day_and_queue(aws: EmbeddedAws, backend: Backend) -> None:
    """One file for each day and queue of a batch: two calls for five jobs, and no reads."""
    ended = play(backend)
    changes = records(aws)
    handler = build_export(Export(S3Files(aws.clients.s3(), BUCKET).put), read_image)
    with aws.calls.counted() as calls:
        assert handler({"Records": changes}, None) == {"batchItemFailures": []}
    assert calls == {"PutObject": 2}
    files = lines(aws)
    assert {key.rsplit("/", 1)[0] for key in files} == {
        "jobs/date=2025-10-09/queue=default",
        "jobs/date=2025-10-09/queue=email",
    }
    exported = {line["id"]: line for each in files.values() for line in each}
    assert set(exported) == set(ended)
    assert {line["state"] for line in exported.values()} == {"completed", "cancelled", "discarded"}
    assert all(line["ended_at"].startswith("2025-10-09T") for line in exported.values())
    secret = {"args", "meta", "result"}
    assert not any(secret & set(line) for line in exported.values())
    assert exported[ended[3]]["error"] == {"type": "Broken", "message": "it broke"}


def test_a_repeated_batch_writes_the_same_files_again(aws: EmbeddedAws, backend: Backend) -> None:
    """Names are made of what is in them; a batch that is cut differently repeats lines."""
    play(backend)
    changes = records(aws)
    handler = build_export(Export(S3Files(aws.clients.s3(), BUCKET).put), read_image)
    handler({"Records": changes}, None)
    first = lines(aws)
    handler({"Records": changes}, None)
    assert lines(aws) == first
    handler({"Records": changes[len(changes) // 2 :]}, None)
    repeated = [(line["id"], line["ended_at"]) for each in lines(aws).values() for line in each]
    assert len(set(repeated)) == 5


def test_documents_are_exported_where_that_is_asked_for(aws: EmbeddedAws, backend: Backend) -> None:
    """Those with a place of their own cost a read each."""
    ended = play(backend)
    changes = records(aws)
    export = Export(S3Files(aws.clients.s3(), BUCKET).put, backend.stores.store)
    handler = build_export(export, read_image)
    with aws.calls.counted() as calls:
        handler({"Records": changes}, None)
    assert calls == {"PutObject": 2, "GetItem": 1}
    exported = {line["id"]: line for each in lines(aws).values() for line in each}
    assert exported[ended[0]]["args"] == [0]
    assert exported[ended[0]]["result"] == {"n": 1}
    assert exported[ended[3]]["args"] == [LARGE]


def test_a_job_deleted_meanwhile_is_exported_without_its_documents(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """What the stream still has of it is kept."""
    ended = play(backend)
    changes = records(aws)
    confirmed = {"queue": "email", "confirm": True}
    assert Api(backend).post("/admin/jobs/bulk/delete", confirmed).json["succeeded"] == 2
    export = Export(S3Files(aws.clients.s3(), BUCKET).put, backend.stores.store)
    build_export(export, read_image)({"Records": changes}, None)
    exported = {line["id"]: line for each in lines(aws).values() for line in each}
    assert "args" not in exported[ended[3]]


def test_unwritten_jobs_come_again_and_unreadable_ones_are_left_out(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """An outage loses nothing; a broken record does not hold up the others."""
    play(backend)
    changes = records(aws)

    def refuse(_: str, __: str) -> None:
        raise BackendError("PutObject failed.")

    failed = build_export(Export(refuse), read_image)({"Records": changes}, None)
    first = changes[0]["dynamodb"]["SequenceNumber"]
    assert failed == {"batchItemFailures": [{"itemIdentifier": first}]}
    broken = [{"dynamodb": {"NewImage": {"pk": {"S": "job#1"}, "sk": {"S": "job"}}}}, *changes]
    handler = build_export(Export(S3Files(aws.clients.s3(), BUCKET).put), read_image)
    assert handler({"Records": broken}, None) == {"batchItemFailures": []}
    assert sum(map(len, lines(aws).values())) == 5
    assert build_export(Export(refuse), read_image)({}, None) == {"batchItemFailures": []}


def test_a_later_change_of_an_ended_job_is_no_second_line(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Such as a result that is removed: only coming to an end counts."""
    play(backend)
    ended = [each for each in records(aws) if "OldImage" in each["dynamodb"]][-1]
    image = ended["dynamodb"]["NewImage"]
    again = {**ended, "dynamodb": {**ended["dynamodb"], "OldImage": image}}
    handler = build_export(Export(S3Files(aws.clients.s3(), BUCKET).put), read_image)
    with aws.calls.counted() as calls:
        handler({"Records": [again]}, None)
    assert not calls
    with aws.calls.counted() as calls:
        handler({"Records": [ended]}, None)
    assert calls == {"PutObject": 1}


def test_an_export_that_has_no_time_left_goes_on_where_it_was(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Each invocation gets further by a job or a file at least, and none runs into its end."""
    ended = play(backend)
    changes = records(aws)
    handler = build_export(Export(S3Files(aws.clients.s3(), BUCKET).put), read_image)
    failed: list[dict[str, str]] = [{}]
    for _ in range(len(changes)):
        failed = handler({"Records": changes}, Context(left_ms=1))["batchItemFailures"]
        if not failed:
            break
        numbers = [each["dynamodb"]["SequenceNumber"] for each in changes]
        changes = changes[numbers.index(failed[0]["itemIdentifier"]) :]
    assert not failed
    assert {line["id"] for each in lines(aws).values() for line in each} == set(ended)


def test_files_are_left_to_the_next_invocation_from_their_first_job_on(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """The second file begins with the fourth job."""
    play(backend)
    changes = records(aws)
    looks = iter([True] * 4 + [False])
    put: list[str] = []
    jobs = [job for each in changes if (job := ended_job(each)) is not None]
    done = Export(lambda key, _: put.append(key))(jobs, lambda: next(looks))
    assert (done.files, done.jobs, len(put)) == (1, 3, 1)


def test_a_job_that_ends_the_export_each_time_is_left_out_and_counted(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """An error that is none of AWS ends the invocation, so that Lambda halves the batch."""
    play(backend)
    clock, counted = FakeClock(), list[int]()
    change = records(aws)[-1]
    change["dynamodb"]["ApproximateCreationDateTime"] = clock.at / 1000 - 3600

    def broken(_: str, __: str) -> None:
        raise ValueError("a defect")

    reader = StreamReader(
        tries=record_tries(aws.settings, aws.clients, "tries#export"),
        clock=clock,
        sleep=lambda _: None,
        chance=lambda: 0.0,
    )
    handler = build_export(
        Export(broken), read_image, reader=reader, count=lambda value, _: counted.append(value)
    )
    for _ in range(MAX_ENDED):
        with pytest.raises(ValueError, match="defect"):
            handler({"Records": [change]}, Context())
    assert handler({"Records": [change]}, Context()) == {"batchItemFailures": []}
    assert counted == [1]


def test_a_job_whose_document_is_lost_is_exported_without_it(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """It would hold up all others for a day."""
    ended = play(backend)
    changes = records(aws)

    class Lossy:
        def fill(self, job: JobRecord) -> JobRecord:
            raise DocumentMissingError("gone")

    export = Export(S3Files(aws.clients.s3(), BUCKET).put, cast("JobStore", Lossy()))
    assert build_export(export, read_image)({"Records": changes}, None) == {"batchItemFailures": []}
    exported = {line["id"]: line for each in lines(aws).values() for line in each}
    assert set(exported) == set(ended)
    assert not any("args" in line for line in exported.values())


def ended_job(record: dict[str, Any]) -> JobRecord | None:
    """The job that ended with a change."""
    image = record["dynamodb"].get("NewImage")
    job = read_image(image) if image else None
    return job if isinstance(job, JobRecord) and job.state.is_terminal else None


@dataclass(frozen=True)
class Context:
    """An invocation of the deployed function."""

    function_name: str = "Jobs-Export"
    left_ms: int = 60_000

    def get_remaining_time_in_millis(self) -> int:
        """Until Lambda ends it."""
        return self.left_ms
