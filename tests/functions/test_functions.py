"""The functions as they are deployed: recorded API Gateway events in, payload format 2.0 out."""

from __future__ import annotations

import base64
import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from ojs_aws.domain.json_text import parse_object
from ojs_aws.local.lambdas import http_event
from tests.api import OJS

pytestmark = pytest.mark.moto

EVENTS = Path(__file__).parent / "events"
Invoke = Callable[[str, Any], Any]


def recorded(name: str) -> Any:
    """A recorded event."""
    return json.loads((EVENTS / f"{name}.json").read_text("utf-8"))


def request(method: str, path: str, body: object = None, query: str = "") -> Any:
    """An event in the same form."""
    content = b"" if body is None else json.dumps(body).encode()
    return http_event(method, path, query, {"content-type": OJS}, content)


def test_a_base64_body_is_decoded_and_kept_exactly(invoke: Invoke) -> None:
    """API Gateway encodes the body of `application/openjobspec+json`."""
    event = recorded("push_base64")
    answer = invoke("producer", event)
    assert answer["statusCode"] == 201
    assert answer["isBase64Encoded"] is False
    assert answer["headers"]["Content-Type"] == OJS
    sent = parse_object(base64.b64decode(event["body"]))
    job_id = json.loads(answer["body"])["job"]["id"]
    read = invoke("producer", request("GET", f"/ojs/v1/jobs/{job_id}"))
    assert parse_object(read["body"])["args"].raw == sent["args"].raw


def test_a_text_body_and_a_clients_request_id_are_taken(invoke: Invoke) -> None:
    """The JavaScript client sends and reads plain JSON."""
    answer = invoke("producer", recorded("push_text"))
    assert answer["statusCode"] == 201
    assert answer["headers"]["Content-Type"] == "application/json"
    assert answer["headers"]["X-Request-Id"] == "req_client-1"
    assert json.loads(answer["body"])["queue"] == "email"


def test_an_event_without_headers_is_answered(invoke: Invoke) -> None:
    """Lambda's console and health checks send next to nothing."""
    answer = invoke("producer", recorded("info_without_headers"))
    assert answer["statusCode"] == 404
    assert answer["headers"]["OJS-Version"] == "1.0"


@pytest.mark.parametrize(
    "name", ["system", "producer", "worker_api", "job_endpoint", "operator", "api_keys"]
)
def test_an_unknown_route_is_an_ojs_error(invoke: Invoke, name: str) -> None:
    """From the $default route, or from a function that should not have got it."""
    answer = invoke(name, recorded("unknown_route"))
    assert answer["statusCode"] == 404
    assert json.loads(answer["body"])["error"]["code"] == "not_found"
    assert answer["headers"]["X-Request-Id"].startswith("req_")


def test_the_system_function_answers_wrong_methods(invoke: Invoke) -> None:
    """API Gateway has no route for them."""
    answer = invoke("system", request("PUT", "/ojs/v1/jobs"))
    assert (answer["statusCode"], answer["headers"]["Allow"]) == (405, "GET, POST")


def test_a_jobs_life_over_the_functions(invoke: Invoke) -> None:
    """Pushed, fetched, kept, failed, retried by an operator, completed; and its events."""
    policy = {"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}}
    body = {"type": "demo.echo", "args": ["x" * 20_000], "options": policy}
    job_id = json.loads(invoke("producer", request("POST", "/ojs/v1/jobs", body))["body"])["id"]
    fetch = request("POST", "/ojs/v1/workers/fetch", {"queues": ["default"], "worker_id": "w"})
    (job,) = json.loads(invoke("worker_api", fetch)["body"])["jobs"]
    assert (job["id"], job["args"]) == (job_id, body["args"])
    beat = {"worker_id": "w", "active_jobs": [job_id]}
    answer = invoke("worker_api", request("POST", "/ojs/v1/workers/heartbeat", beat))
    assert json.loads(answer["body"])["jobs_extended"] == [job_id]
    failure = {"job_id": job_id, "worker_id": "w", "error": {"type": "Broken", "message": "m"}}
    failed = invoke("worker_api", request("POST", "/ojs/v1/workers/nack", failure))
    assert json.loads(failed["body"])["state"] == "discarded"
    listed = invoke("operator", request("GET", "/ojs/v1/dead-letter", query="queue=default"))
    assert [job["id"] for job in json.loads(listed["body"])["jobs"]] == [job_id]
    retried = invoke("operator", request("POST", f"/ojs/v1/dead-letter/{job_id}/retry", {}))
    assert json.loads(retried["body"])["job"]["state"] == "available"
    invoke("worker_api", fetch)
    done = invoke("worker_api", request("POST", f"/ojs/v1/jobs/{job_id}/ack", {"result": [1]}))
    assert json.loads(done["body"])["state"] == "completed"
    info = json.loads(invoke("producer", request("GET", f"/ojs/v1/jobs/{job_id}"))["body"])
    assert (info["result"], info["args"]) == ([1], body["args"])


def stream_records() -> list[dict[str, Any]]:
    """What the table's stream holds, as Lambda hands it over: binaries as base64."""
    table = boto3.client("dynamodb").describe_table(TableName="ojs")["Table"]
    # moto knows streams under the endpoint that names no account
    streams = boto3.client("dynamodbstreams", config=Config(account_id_endpoint_mode="disabled"))
    arn = table["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    records = streams.get_records(ShardIterator=iterator)["Records"]

    def plain(value: object) -> object:
        return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)

    decoded: list[dict[str, Any]] = json.loads(json.dumps(records, default=plain))
    return decoded


def test_the_operator_function_reads_events_of_the_stream_function(
    invoke: Invoke,
) -> None:
    """Promise 6, through the real table; L0-EVT-001."""
    body = {"type": "test.echo", "args": ["x" * 500], "options": {"queue": "events-test"}}
    invoke("producer", request("POST", "/ojs/v1/jobs", body))
    assert invoke("stream", {"Records": stream_records()}) == {"batchItemFailures": []}
    query = "types=job.enqueued&queues=events-test&limit=10"
    page = json.loads(invoke("operator", request("GET", "/ojs/v1/events", query=query))["body"])
    (event,) = page["events"]
    assert event["type"] == "job.enqueued"
    assert event["data"]["job_type"] == "test.echo"


def test_the_tick_function_sweeps(invoke: Invoke) -> None:
    """The event says nothing but that it is time."""
    report = invoke("tick", {"source": "aws.events", "detail-type": "Scheduled Event"})
    assert report["failed"] == 0
    assert report["queues"] >= 1


def test_garbage_is_collected_again_after_the_start(invoke: Invoke) -> None:
    """The start alone goes without."""
    invoke("system", request("GET", "/health"))
    assert gc.isenabled()


def test_health_reaches_the_table(invoke: Invoke) -> None:
    """With the very client of the function."""
    answer = invoke("system", request("GET", "/health"))
    assert answer["statusCode"] == 200
    assert json.loads(answer["body"])["backend"]["status"] == "ok"
