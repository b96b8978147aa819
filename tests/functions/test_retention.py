"""What is left of a job when its retention ends: nothing."""

from __future__ import annotations

from typing import Any

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.transport.events.stream import build_stream
from tests.aws import EmbeddedAws, embedded
from tests.contract.test_job_store import big_document


def items_of(aws: EmbeddedAws, job_id: str) -> list[dict[str, Any]]:
    """Every item of a job."""
    answer = aws.clients.dynamodb.query(
        TableName=aws.settings.table,
        KeyConditionExpression="#pk = :pk",
        ExpressionAttributeNames={"#pk": "pk"},
        ExpressionAttributeValues={":pk": {"S": f"job#{job_id}"}},
    )
    return [dict(item) for item in answer["Items"]]


def test_documents_go_when_dynamodb_removes_their_job() -> None:
    """TTL removes the hot item alone; its stream record removes the rest, also when repeated."""
    with embedded() as aws:
        backend = build_backend(aws.settings, aws.clients, parallel=IN_ORDER)
        job = backend.jobs.push(Job("demo.echo", [str(big_document(6_000))])).record
        assert job is not None
        backend.jobs.fetch(FetchRequest(("default",)))
        backend.jobs.ack(job.id, None, big_document(600_000))
        hot = next(item for item in items_of(aws, job.id) if item["sk"]["S"] == "job")
        assert int(hot["ttl"]["N"]) > 0
        assert len(items_of(aws, job.id)) == 2
        assert aws.clients.s3().list_objects_v2(Bucket="documents")["KeyCount"] == 1

        aws.clients.dynamodb.delete_item(
            TableName=aws.settings.table, Key={"pk": hot["pk"], "sk": hot["sk"]}
        )
        record = {
            "eventName": "REMOVE",
            "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
            "dynamodb": {"SequenceNumber": "1", "OldImage": hot},
        }
        consume = build_stream(backend, read_image)
        for _ in range(2):
            assert consume({"Records": [record]}, None) == {"batchItemFailures": []}
        assert items_of(aws, job.id) == []
        assert aws.clients.s3().list_objects_v2(Bucket="documents")["KeyCount"] == 0


def test_a_deletion_that_died_half_way_leaves_no_envelope() -> None:
    """An operator's delete removes the job first; its stream record removes the rest."""
    with embedded() as aws:
        backend = build_backend(aws.settings, aws.clients, parallel=IN_ORDER)
        job = backend.jobs.push(Job("demo.echo", [str(big_document(6_000))])).record
        assert job is not None
        hot = next(item for item in items_of(aws, job.id) if item["sk"]["S"] == "job")
        aws.clients.dynamodb.delete_item(
            TableName=aws.settings.table, Key={"pk": hot["pk"], "sk": hot["sk"]}
        )
        assert len(items_of(aws, job.id)) == 1
        record = {
            "eventName": "REMOVE",
            "dynamodb": {"SequenceNumber": "1", "OldImage": hot},
        }
        consume = build_stream(backend, read_image)
        assert consume({"Records": [record]}, None) == {"batchItemFailures": []}
        assert items_of(aws, job.id) == []
