"""A restore, rehearsed: the table from its backup, the documents, and the messages of all jobs.

In moto, which restores a table as it is now. The lost deployment's SQS queues are left behind: the
restored table gets queues of another prefix, which are empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ojs_aws.adapters.dynamodb.table_restore import TableRestore
from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.local.aws import create_queues
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api
from tests.aws import EmbeddedAws, embedded
from tests.commands import run_command

pytestmark = pytest.mark.moto

LARGE = Job("demo.large", ["x" * 40_000], id="019539a4-b68c-7def-8000-00000000000a")


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A deployment that keeps documents in S3 early, in a bucket with versions."""
    with embedded(Settings(inline_limit_bytes=20, s3_threshold_bytes=20)) as aws:
        aws.clients.dynamodb.update_continuous_backups(
            TableName=aws.settings.table,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        )
        aws.clients.s3().put_bucket_versioning(
            Bucket=aws.settings.bucket, VersioningConfiguration={"Status": "Enabled"}
        )
        yield aws


def restored(aws: EmbeddedAws, clock: FakeClock) -> Backend:
    """A backend over the restored table, next to empty queues."""
    restoring = TableRestore(aws.clients.dynamodb, lambda _: None)
    assert restoring.begin(aws.settings.table, "restored", None)
    restoring.wait("restored")
    restoring.complete("restored")
    settings = replace(aws.settings, table="restored", queue_prefix="again")
    prefix = create_queues(aws.clients.sqs, settings)
    settings = replace(settings, queue_url_prefix=prefix)
    return build_backend(settings, aws.clients, clock=clock, parallel=IN_ORDER)


def messages(aws: EmbeddedAws, backend: Backend, queue: str) -> tuple[int, int]:
    """The visible and the delayed messages of a queue."""
    name = f"{backend.settings.queue_url_prefix}{backend.settings.queue_prefix}-{queue}"
    counted = aws.clients.sqs.get_queue_attributes(
        QueueUrl=name,
        AttributeNames=[
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesDelayed",
        ],
    )["Attributes"]
    visible = int(counted["ApproximateNumberOfMessages"])
    return visible, int(counted["ApproximateNumberOfMessagesDelayed"])


def test_every_job_of_a_restored_table_runs_again(aws: EmbeddedAws) -> None:
    """Ready, waiting, reserved, large, and of a workflow whose ended step has no event."""
    clock = FakeClock()
    lost = build_backend(aws.settings, aws.clients, clock=clock, parallel=IN_ORDER)
    chain = {"type": "chain", "steps": [{"type": t, "args": []} for t in ("a", "b")]}
    workflow_id = Api(lost).post("/workflows", chain).json["id"]
    (first,) = lost.jobs.fetch(FetchRequest(("default",), 1, "w0"))
    lost.jobs.ack(first.id, "w0", None)  # the stream never reports it to the workflow
    lost.jobs.push(LARGE)
    for delay in ("+PT5M", "+PT2H"):
        lost.jobs.push(Job("demo.echo", [1], queue="email", scheduled_at=delay))
    lost.jobs.push(Job("demo.echo", [2], priority=10))
    (held,) = lost.jobs.fetch(FetchRequest(("default",), 1, "w1", 600_000))

    backend = restored(aws, clock)
    asked = Api(backend).post("/admin/repair", {}).json
    assert (asked["ready"], asked["waiting"], asked["workflows"]) == (1, 2, 1)
    assert asked["queues"] == ["default", "email"]
    assert asked["has_more"] is False
    assert messages(aws, backend, "default") == (2, 1)  # the large job, the second step; the held
    assert messages(aws, backend, "email") == (0, 1)

    clock.advance(s=3 * 3600)
    backend.upkeep.sweep.tick()
    clock.advance(s=60)
    ran = []
    for _ in range(3):
        for queue in ("default", "email"):
            for job in backend.jobs.fetch(FetchRequest((queue,), 10, "w2")):
                ran.append(job.id)
                backend.jobs.ack(job.id, "w2", None)
        clock.advance(s=3600)
        backend.upkeep.sweep.tick()
    assert len(ran) == len(set(ran)) == 5
    assert {LARGE.id, held.id} < set(ran)
    assert backend.jobs.info(LARGE.id).state is JobState.COMPLETED
    assert Api(backend).get(f"/workflows/{workflow_id}").json["state"] == "completed"


def test_a_queue_that_was_paused_is_woken_though_sqs_has_forgotten_it(aws: EmbeddedAws) -> None:
    """One that was made at its first use: resuming it makes its SQS queue again."""
    clock = FakeClock()
    lost = build_backend(aws.settings, aws.clients, clock=clock, parallel=IN_ORDER)
    lost.jobs.push(Job("demo.echo", [1], queue="email"))
    lost.queues.service.pause("email")
    backend = restored(aws, clock)
    asked = Api(backend).post("/admin/repair", {}).json
    assert (asked["ready"], asked["paused"]) == (0, 1)
    backend.queues.service.resume("email")
    assert messages(aws, backend, "email") == (1, 0)


def test_a_restored_table_gets_what_dynamodb_leaves_off(aws: EmbeddedAws) -> None:
    """Stream, TTL, point-in-time recovery, deletion protection; a second run changes nothing."""
    arguments = ["restore", "table", aws.settings.table, "restored", "--json"]
    first, second = (run_command(*arguments) for _ in range(2))
    assert first.exit_code == second.exit_code == 0, first.output + second.output
    report, again = json.loads(first.stdout), json.loads(second.stdout)
    assert (report["table"], report["is_new"], again["is_new"]) == ("restored", True, False)
    assert report["stream_arn"] == again["stream_arn"]
    client = aws.clients.dynamodb
    table = client.describe_table(TableName="restored")["Table"]
    assert table["StreamSpecification"] == {
        "StreamEnabled": True,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    assert table["LatestStreamArn"] == report["stream_arn"]
    assert table["DeletionProtectionEnabled"] is True
    ttl = client.describe_time_to_live(TableName="restored")["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}
    backups = client.describe_continuous_backups(TableName="restored")
    recovery = backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert recovery["PointInTimeRecoveryStatus"] == "ENABLED"


def test_a_table_that_does_not_come_is_given_up_with_what_to_do(
    aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is waited for a bounded time; another run goes on."""
    waited: list[float] = []
    restoring = TableRestore(aws.clients.dynamodb, waited.append)
    described = {"Table": {"TableStatus": "CREATING"}}
    monkeypatch.setattr(aws.clients.dynamodb, "describe_table", lambda **_: described)
    with pytest.raises(BackendError, match="still not active"):
        restoring.wait("restored")
    assert sum(waited) == 6 * 3600


def test_an_unknown_table_is_said_so(aws: EmbeddedAws) -> None:
    """With an exit code, and no half-made table."""
    ran = run_command("restore", "table", "nothing", "restored")
    assert ran.exit_code == 3
    assert "There is no table 'nothing' to restore." in ran.stderr
    assert "restored" not in aws.clients.dynamodb.list_tables()["TableNames"]


def test_documents_deleted_since_come_back_and_older_deletions_stay(aws: EmbeddedAws) -> None:
    """Only what the restored jobs may name; twice is the same as once."""
    clock = FakeClock()
    backend = build_backend(aws.settings, aws.clients, clock=clock, parallel=IN_ORDER)
    backend.jobs.push(LARGE)
    (job,) = backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    restored_to = format_instant(clock.now())  # long ago for moto, whose clock goes on
    backend.jobs.ack(job.id, "w", None)
    client = aws.clients.s3()
    (kept,) = client.list_objects_v2(Bucket="documents")["Contents"]
    client.delete_object(Bucket="documents", Key=kept["Key"])

    def bring_back(since: str, *more: str) -> int:
        arguments = ["restore", "documents", "documents", "--since", since, "--json", *more]
        ran = run_command(*arguments)
        assert ran.exit_code == 0, ran.output
        return int(json.loads(ran.stdout)["documents"])

    assert bring_back("2100-01-01T00:00:00Z") == 0
    assert bring_back(restored_to, "--dry-run") == 1
    assert "Contents" not in client.list_objects_v2(Bucket="documents")
    assert bring_back(restored_to) == 1
    assert client.list_objects_v2(Bucket="documents")["Contents"][0]["Key"] == kept["Key"]
    assert bring_back(restored_to) == 0
