"""Documents in S3 that no job names: found, deleted, and never one that a job needs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from ojs_aws.adapters.document_sweep import Swept, UnreferencedDocuments
from ojs_aws.bootstrap import SystemClock, build_backend, job_store
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, InvalidRequestError
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api
from tests.aws import EmbeddedAws, embedded
from tests.commands import run_command

pytestmark = pytest.mark.moto

BUCKET = "documents"
EVER = Instant(4_000_000_000_000)
"""A moment before which every document was put."""


def text(number: int) -> str:
    """A document that does not fit into its job."""
    return f"{number} {'x' * 100}"


def large(number: int) -> Job:
    """A job with its document in S3."""
    return Job("demo.large", [text(number)], id=f"019539a4-b68c-7def-8000-{number:012d}")


class Died(BaseException):
    """A process that was killed: nothing catches it."""


class Deployment:
    """A backend that keeps everything in a bucket with versions, and the sweep over it."""

    def __init__(self, aws: EmbeddedAws) -> None:
        self.aws = aws
        self.s3 = aws.clients.s3()
        self.s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        self.clock = FakeClock()
        self.backend = build_backend(aws.settings, aws.clients, clock=self.clock, parallel=IN_ORDER)
        self.store = job_store(aws.settings, aws.clients)
        self.api = Api(self.backend)

    def existing(self, ids: Sequence[str]) -> Collection[str]:
        """Which of some jobs are there."""
        return self.store.load_many(ids).keys()

    def sweep(self, *, before: Instant = EVER, is_dry: bool = False) -> list[Swept]:
        """Sweep the bucket."""
        documents = UnreferencedDocuments(self.s3, BUCKET, self.existing)
        return [*documents.sweep(before, is_dry=is_dry)]

    def stored(self) -> list[str]:
        """What is in the bucket."""
        return [each["Key"] for each in self.s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])]

    def done(self, path: str, **body: object) -> None:
        """Have the worker send something."""
        reply = self.api.post(path, {"worker_id": "w", **body})
        assert reply.status in {200, 201}, reply.text

    def leave(self, count: int = 1) -> list[str]:
        """Put documents, and die before the write that stores their jobs."""
        before = self.stored()

        def die(**_: object) -> None:
            raise Died

        events = self.aws.clients.dynamodb.meta.events
        for name in ("PutItem", "TransactWriteItems"):
            events.register(f"before-call.dynamodb.{name}", die)
        for number in range(count):
            with pytest.raises(Died):
                self.backend.jobs.push(large(900_000 + number))
        for name in ("PutItem", "TransactWriteItems"):
            events.unregister(f"before-call.dynamodb.{name}", die)
        return [key for key in self.stored() if key not in before]


@pytest.fixture
def deployed() -> Iterator[Deployment]:
    """The deployment."""
    with embedded(Settings(inline_limit_bytes=20, s3_threshold_bytes=20)) as aws:
        yield Deployment(aws)


def total(found: Sequence[Swept]) -> tuple[int, int, int]:
    """Documents, unreferenced ones, deleted ones."""
    return (
        sum(each.documents for each in found),
        sum(each.unreferenced for each in found),
        sum(each.deleted for each in found),
    )


def test_what_a_process_left_that_died_before_the_write_goes(deployed: Deployment) -> None:
    """A dry run only counts it; again finds nothing."""
    (left,) = deployed.leave()
    deployed.backend.jobs.push(large(1))
    assert total(deployed.sweep(is_dry=True)) == (2, 1, 0)
    assert left in deployed.stored()
    assert total(deployed.sweep()) == (2, 1, 1)
    assert left not in deployed.stored()
    assert total(deployed.sweep()) == (1, 0, 0)


def test_nothing_that_a_job_names_goes(deployed: Deployment) -> None:
    """Args, results and checkpoints of jobs that wait, run, failed and have ended."""
    backend = deployed.backend
    for number in range(5):
        backend.jobs.push(large(number))
    jobs = backend.jobs.fetch(FetchRequest(("default",), 4, "w"))
    ended, running, failed, _ = (job.id for job in jobs)
    deployed.done("/workers/ack", job_id=ended, result=text(10))
    deployed.done(f"/jobs/{running}/checkpoint", state=text(11))
    deployed.done("/workers/nack", job_id=failed, error={"message": "no", "retryable": False})
    kept = deployed.stored()
    assert len(kept) == 7
    left = deployed.leave(2)
    assert total(deployed.sweep()) == (9, 2, 2)
    assert sorted(deployed.stored()) == sorted(kept)
    assert not set(left) & set(deployed.stored())
    for number in range(5):
        assert backend.jobs.info(large(number).id).document


def test_a_job_that_one_answer_leaves_out_keeps_its_documents(deployed: Deployment) -> None:
    """DynamoDB answers with 16 MB at most, and with less where it is throttled."""
    for number in range(3):
        deployed.backend.jobs.push(large(number))
    table = deployed.aws.settings.table

    def leave_out(parsed: dict[str, Any], **_: object) -> None:
        first, *others = parsed["Responses"][table]
        parsed["Responses"][table] = [first]
        keys = [{name: each[name] for name in ("pk", "sk")} for each in others]
        if keys:
            parsed["UnprocessedKeys"] = {table: {"Keys": keys, "ConsistentRead": True}}

    events = deployed.aws.clients.dynamodb.meta.events
    events.register("after-call.dynamodb.BatchGetItem", leave_out)
    assert total(deployed.sweep()) == (3, 0, 0)


def test_young_documents_stay(deployed: Deployment) -> None:
    """The write that names them may still come."""
    deployed.leave()
    assert total(deployed.sweep(before=Instant(1_000_000_000_000))) == (1, 0, 0)


def test_a_job_that_comes_in_that_very_moment_keeps_its_result(deployed: Deployment) -> None:
    """Results are named by their text: one of long ago may be the one that is put now."""
    job = large(1)

    def live() -> None:
        deployed.backend.jobs.push(job)
        deployed.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
        deployed.done("/workers/ack", job_id=job.id, result=text(5))

    live()
    key = {"pk": {"S": f"job#{job.id}"}, "sk": {"S": "job"}}
    deployed.aws.clients.dynamodb.delete_item(TableName=deployed.aws.settings.table, Key=key)
    looks: list[Collection[str]] = []

    def existing(ids: Sequence[str]) -> Collection[str]:
        there = deployed.existing(ids)
        if not looks:
            live()
        looks.append(there)
        return there

    documents = UnreferencedDocuments(deployed.s3, BUCKET, existing)
    (page,) = documents.sweep(EVER, is_dry=False)
    assert (page.unreferenced, page.deleted) == (2, 0)
    assert [len(there) for there in looks] == [0, 1]
    result = deployed.api.get(f"/jobs/{job.id}").json["job"]["result"]
    assert result == text(5)


def test_a_bucket_without_versions_is_left_alone(deployed: Deployment) -> None:
    """A deletion could not be taken back; counting is no harm."""
    deployed.leave()
    deployed.s3.put_bucket_versioning(
        Bucket=BUCKET, VersioningConfiguration={"Status": "Suspended"}
    )
    assert total(deployed.sweep(is_dry=True)) == (1, 1, 0)
    with pytest.raises(InvalidRequestError, match="keeps no versions"):
        deployed.sweep()


def test_the_wrong_table_is_noticed(deployed: Deployment) -> None:
    """To it every document is unreferenced; who is sure says so."""
    for number in range(25):
        deployed.backend.jobs.push(large(number))
    documents = UnreferencedDocuments(deployed.s3, BUCKET, lambda _: ())
    with pytest.raises(InvalidRequestError, match="25 of 25 documents"):
        list(documents.sweep(EVER, is_dry=False))
    assert len(deployed.stored()) == 25
    assert total([*documents.sweep(EVER, is_dry=True)]) == (25, 25, 0)
    assert total([*documents.sweep(EVER, is_dry=False, takes_most=True)]) == (25, 25, 25)


@pytest.mark.parametrize("operation", ["ListObjectsV2", "BatchGetItem", "DeleteObjects"])
@pytest.mark.parametrize("is_done", [False, True])
def test_whatever_fails_another_run_does_it(
    deployed: Deployment, operation: str, *, is_done: bool
) -> None:
    """Each call once fails before it took effect, or after."""
    deployed.leave(3)
    deployed.backend.jobs.push(large(1))
    service = "dynamodb" if operation == "BatchGetItem" else "s3"
    client = deployed.aws.clients.dynamodb if service == "dynamodb" else deployed.s3
    when = "after-call" if is_done else "before-call"

    def fail(**_: object) -> None:
        client.meta.events.unregister(f"{when}.{service}.{operation}", fail)
        raise EndpointConnectionError(endpoint_url="https://aws")

    client.meta.events.register(f"{when}.{service}.{operation}", fail)
    with pytest.raises(BackendError):
        deployed.sweep()
    deployed.sweep()
    assert total(deployed.sweep()) == (1, 0, 0)
    assert deployed.backend.jobs.info(large(1).id).document


def test_it_costs_a_list_and_a_read_for_each_hundred_jobs(deployed: Deployment) -> None:
    """And where something is deleted one call more, and another read of those."""
    for number in range(101):
        deployed.s3.put_object(Bucket=BUCKET, Key=f"jobs/{number:036d}/digest", Body=b"x")
    deployed.s3.put_object(Bucket=BUCKET, Key="jobs/strange", Body=b"not ours")
    with deployed.aws.calls.counted() as made:
        assert total(deployed.sweep(is_dry=True)) == (102, 101, 0)
    assert made == {"ListObjectsV2": 1, "BatchGetItem": 2}
    documents = UnreferencedDocuments(deployed.s3, BUCKET, deployed.existing)
    with deployed.aws.calls.counted() as made:
        assert total([*documents.sweep(EVER, is_dry=False, takes_most=True)]) == (102, 101, 101)
    assert made == {
        "GetBucketVersioning": 1,
        "ListObjectsV2": 1,
        "BatchGetItem": 4,
        "DeleteObjects": 1,
    }
    assert deployed.stored() == ["jobs/strange"]


def test_the_command_only_counts_without_its_option_to_delete(
    deployed: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a minimum age; what it deleted, ``restore documents`` brings back."""
    (left,) = deployed.leave()
    deployed.backend.jobs.push(large(1))
    command = ["documents", "sweep", BUCKET, "--table", deployed.aws.settings.table, "--json"]

    def run(*more: str) -> dict[str, object]:
        ran = run_command(*command, *more)
        assert ran.exit_code == 0, ran.output
        report: dict[str, object] = json.loads(ran.stdout)
        return report

    assert run("--yes")["unreferenced"] == 0  # it was put just now
    now = SystemClock().now()
    monkeypatch.setattr(SystemClock, "now", lambda _: Instant(now + 15 * 86_400_000))
    found = run()
    assert (found["documents"], found["unreferenced"], found["deleted"]) == (2, 1, 0)
    assert left in deployed.stored()
    assert run("--yes")["deleted"] == 1
    assert left not in deployed.stored()
    arguments = ["restore", "documents", BUCKET, "--since", "2000-01-01T00:00:00Z"]
    assert run_command(*arguments).exit_code == 0
    assert left in deployed.stored()


@pytest.mark.parametrize("age", ["7d", "soon"])
def test_a_minimum_age_that_is_none_is_refused(age: str) -> None:
    """Before anything is looked at."""
    ran = run_command("documents", "sweep", BUCKET, "--table", "t", "--older-than", age)
    assert ran.exit_code == 2
    assert "older" in ran.stderr
