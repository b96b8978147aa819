"""A stack whose data goes with it is deleted after it was used: nothing of it is left."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from infra.deployment import deploy, destroy
from infra.emulator import Emulator
from tests.e2e.steps import eventually, fetch, incompressible, push, refusals, sending

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

STACK = "OjsGone"
PREFIX = "gone"


def queue_names(sqs: Any) -> set[str]:
    """The names of the queues that begin like those of the stack."""
    urls = sqs.list_queues(QueueNamePrefix=PREFIX).get("QueueUrls", [])
    return {url.rsplit("/", 1)[-1] for url in urls}


def objects(s3: Any, bucket: str) -> int:
    """How many objects a bucket holds."""
    return int(s3.list_objects_v2(Bucket=bucket)["KeyCount"])


def remove(emulator: Emulator, bucket: str) -> None:
    """Invoke the function as CloudFormation does when the resource of a bucket is deleted."""
    functions = boto3.client("lambda", **emulator.client_settings())
    names = [each["FunctionName"] for each in functions.list_functions()["Functions"]]
    (removal,) = [name for name in names if name.startswith(f"{STACK}-BackendRemoval")]
    event = {
        "RequestType": "Delete",
        "ResourceProperties": {"Bucket": bucket},
        "ResponseURL": f"{emulator.endpoint_url}/_ministack/cfn-response/nobody",
        **dict.fromkeys(("StackId", "RequestId", "LogicalResourceId"), "test"),
    }
    answer = functions.invoke(FunctionName=removal, Payload=json.dumps(event))
    assert not answer.get("FunctionError"), answer["Payload"].read()


def test_a_stack_that_was_used_is_deleted_with_its_data(emulator: Emulator) -> None:
    """Documents, exported files and queues of first use; a queue of somebody else stays."""
    context = {"prefix": PREFIX, "export_days": "3"}
    deployed = deploy(emulator, print, context, STACK)
    documents, files = (deployed.outputs[name] for name in ("BucketName", "ExportBucketName"))
    s3 = boto3.client("s3", **emulator.client_settings())
    sqs = boto3.client("sqs", **emulator.client_settings())
    theirs = f"{PREFIX}__theirs"
    url = sqs.create_queue(QueueName=theirs, tags={"team": "theirs"})["QueueUrl"]
    with sending(deployed, "") as http:
        for queue in ("default", "first-use", "another"):
            push(http, queue, args=[incompressible(20_000)])
        job = fetch(http, "first-use")
        http.post("workers/ack", json={"job_id": job["id"], "worker_id": "e2e"}).raise_for_status()
    eventually(lambda: objects(s3, files), "the exported file")
    assert objects(s3, documents) == 3
    assert {f"{PREFIX}__first-use", f"{PREFIX}__another"} <= queue_names(sqs)
    remove(emulator, files)  # the emulator deletes buckets with objects in them, as AWS does not
    assert (objects(s3, files), objects(s3, documents)) == (0, 3)
    remove(emulator, documents)
    assert objects(s3, documents) == 0
    assert not refusals(emulator)  # the log goes with the stack

    destroy(emulator, STACK)

    buckets = {each["Name"] for each in s3.list_buckets()["Buckets"]}
    assert not buckets & {documents, files}
    assert queue_names(sqs) == {theirs}
    tables = boto3.client("dynamodb", **emulator.client_settings()).list_tables()["TableNames"]
    assert deployed.outputs["TableName"] not in tables
    sqs.delete_queue(QueueUrl=url)
