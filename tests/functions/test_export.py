"""The export of jobs that have ended: every one, in few files, with counted calls."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.s3.export import S3Files
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.local.aws import create_bucket
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.upkeep.export import Export
from ojs_aws.transport.events.export import build_export
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
    found, _ = changes_of(aws.settings.table)()
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
    export = Export(S3Files(aws.clients.s3(), BUCKET).put, backend.ports.store)
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
    export = Export(S3Files(aws.clients.s3(), BUCKET).put, backend.ports.store)
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
