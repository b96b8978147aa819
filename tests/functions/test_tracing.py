"""What the deployed functions report to AWS X-Ray, where tracing is on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import botocore.client
import botocore.endpoint
import pytest
from aws_xray_sdk import global_sdk_config
from aws_xray_sdk.core import xray_recorder

from ojs_aws import Client, Job, JobContext, LambdaWorker
from ojs_aws.bootstrap import build_backend
from ojs_aws.local.lambdas import Handler, LambdaContext, http_event
from ojs_aws.local.triggers import SqsTrigger
from ojs_aws.transport.function_tracing import function_tracing
from ojs_aws.transport.tracing import NO_TRACING
from tests.api import OJS
from tests.aws import EmbeddedAws, embedded

pytestmark = pytest.mark.moto

TRACE = "1-5759e988-bd862e3fe1be46a994272793"
W3C = "4bf92f3577b34da6a3ce929d0e0e4736"
JOB = "019503e1-7b2a-7000-8000-000000000001"


@dataclass
class Daemon:
    """Takes the place of the X-Ray daemon of a function.

    :ivar heard: subsegments as they were sent, those inside others taken apart.
    """

    heard: list[dict[str, Any]] = field(default_factory=list)

    def send_entity(self, entity: Any) -> None:
        """Hear of a subsegment that has ended, with all that is in it."""
        self._take(json.loads(entity.serialize()))

    def _take(self, segment: dict[str, Any]) -> None:
        for inner in segment.pop("subsegments", []):
            inner.setdefault("parent_id", segment["id"])
            self._take(inner)
        self.heard.append(segment)

    def named(self, name: str) -> list[dict[str, Any]]:
        """Those of a name, in the order of their beginning."""
        return sorted((h for h in self.heard if h["name"] == name), key=lambda h: h["start_time"])

    def only(self, name: str) -> dict[str, Any]:
        """The only one of a name."""
        (found,) = self.named(name)
        return found


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """A function's environment with tracing on; the SDK is left as it was found."""
    from aws_lambda_powertools import Tracer

    for owner, name in (
        (botocore.client.BaseClient, "_make_api_call"),
        (botocore.endpoint.Endpoint, "prepare_request"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr("aws_xray_sdk.core.patcher._PATCHED_MODULES", set())
    monkeypatch.setattr(botocore.client, "_xray_enabled", True, raising=False)
    monkeypatch.delattr(botocore.client, "_xray_enabled")
    monkeypatch.setenv("OJS_TRACING", "1")
    monkeypatch.setenv("LAMBDA_TASK_ROOT", "/var/task")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "ojs-test")
    invoked(monkeypatch)
    before, emitter = xray_recorder.context, xray_recorder.emitter
    daemon = Daemon()
    tracer: Any = Tracer
    tracer._reset_config()
    global_sdk_config.set_sdk_enabled(True)
    recorder: Any = xray_recorder
    recorder.configure(emitter=daemon)
    yield daemon
    xray_recorder.clear_trace_entities()
    xray_recorder.configure(context=before, emitter=emitter)
    tracer._reset_config()


def invoked(
    monkeypatch: pytest.MonkeyPatch, parent: str = "53995c3f42cd8ad8", sampled: int = 1
) -> None:
    """What Lambda's runtime says at the beginning of an invocation."""
    header = f"Root={TRACE};Parent={parent};Sampled={sampled}"
    monkeypatch.setenv("_X_AMZN_TRACE_ID", header)


@pytest.fixture
def invoke(daemon: Daemon, function: Callable[[str], Handler]) -> Callable[[str, Any], Any]:
    """Invokes a function with an event."""
    loaded: dict[str, Handler] = {}

    def call(name: str, event: Any) -> Any:
        if name not in loaded:
            loaded[name] = function(name)
        return loaded[name](event, LambdaContext(f"ojs-{name}", 29.0))

    return call


def request(method: str, path: str, body: object = None) -> Any:
    """A request's event."""
    content = b"" if body is None else json.dumps(body).encode()
    return http_event(
        method, f"/ojs/v1{path}", "", {"content-type": OJS, "x-request-id": "req_1"}, content
    )


def test_a_request_is_a_subsegment_that_can_be_found_by_its_job(
    daemon: Daemon, invoke: Callable[[str, Any], Any]
) -> None:
    """By operation, queue, type, job, request, and by the trace that the client sent along."""
    job = {
        "id": JOB,
        "type": "email.send",
        "queue": "default",
        "args": [],
        "meta": {"traceparent": f"00-{W3C}-00f067aa0ba902b7-01"},
    }
    assert invoke("producer", request("POST", "/jobs", job))["statusCode"] == 201
    pushed = daemon.only("ojs.push")
    assert pushed["trace_id"] == TRACE
    assert pushed["parent_id"] == "53995c3f42cd8ad8"
    assert pushed["annotations"] == {
        "operation": "push",
        "request_id": "req_1",
        "job_id": JOB,
        "job_type": "email.send",
        "queue": "default",
        "trace_id": W3C,
        "ColdStart": True,
        "Service": "ojs-test",
    }
    assert "fault" not in pushed


def test_calls_of_aws_are_within_the_operation_that_made_them(
    daemon: Daemon, invoke: Callable[[str, Any], Any]
) -> None:
    """With the operation and the table; also those that are made in threads, side by side."""
    invoke("producer", request("POST", "/jobs", {"type": "email.send", "args": []}))
    pushed = daemon.only("ojs.push")
    calls = [each for each in daemon.heard if each.get("namespace") == "aws"]
    assert {each["parent_id"] for each in calls} == {pushed["id"]}
    put = [each for each in daemon.named("dynamodb") if each["aws"]["operation"] == "PutItem"]
    assert {each["aws"]["table_name"] for each in put} == {"ojs"}
    assert daemon.only("sqs")["aws"]["operation"] == "SendMessage"
    daemon.heard.clear()
    invoke("worker_api", request("POST", "/workers/fetch", {"queues": ["default"]}))
    fetched = daemon.only("ojs.fetch")
    calls = [each for each in daemon.heard if each.get("namespace") == "aws"]
    assert {"ReceiveMessage", "Query"} <= {each["aws"]["operation"] for each in calls}
    assert {each["parent_id"] for each in calls} == {fetched["id"]}
    assert fetched["annotations"]["job_type"] == "email.send"


def test_what_was_refused_is_an_error_and_no_fault(
    daemon: Daemon, invoke: Callable[[str, Any], Any]
) -> None:
    """The alarm of faults is about the server; the code says why."""
    answer = invoke("producer", request("GET", f"/jobs/{JOB}"))
    assert answer["statusCode"] == 404
    found = daemon.only("ojs.info")
    assert found["error"] is True
    assert "fault" not in found
    assert found["annotations"]["error_code"] == "not_found"
    assert found["annotations"]["job_id"] == JOB


def test_a_fault_carries_its_exception(
    daemon: Daemon, invoke: Callable[[str, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its stack, unless messages are redacted."""
    monkeypatch.setenv("OJS_TABLE", "nowhere")
    answer = invoke("producer", request("GET", f"/jobs/{JOB}"))
    assert answer["statusCode"] >= 500
    failed = daemon.only("ojs.info")
    assert failed["fault"] is True
    assert failed["cause"]["exceptions"][0]["stack"]


def test_each_invocation_hangs_from_its_own_segment(
    daemon: Daemon, invoke: Callable[[str, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a second one of the same trace; and only the first of a process was a cold start."""
    invoke("producer", request("GET", f"/jobs/{JOB}"))
    invoked(monkeypatch, parent="0000000000000002")
    invoke("producer", request("GET", f"/jobs/{JOB}"))
    first, second = daemon.named("ojs.info")
    assert second["parent_id"] == "0000000000000002"
    assert [each["annotations"]["ColdStart"] for each in (first, second)] == [True, False]


def test_nothing_is_sent_of_what_was_not_sampled(
    daemon: Daemon, invoke: Callable[[str, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lambda decides; requests are answered as ever."""
    invoked(monkeypatch, sampled=0)
    answer = invoke("producer", request("POST", "/jobs", {"type": "a.b", "args": []}))
    assert answer["statusCode"] == 201
    assert daemon.heard == []


def test_the_tick_has_spans_of_cron_jobs_and_of_the_sweep(
    daemon: Daemon, invoke: Callable[[str, Any], Any]
) -> None:
    """As ojs-observability, section 6.3, names them."""
    invoke("tick", {"source": "aws.events"})
    assert daemon.only("ojs.cron trigger")["annotations"]["operation"] == "tick"
    sweep = daemon.only("ojs.scheduler poll")
    calls = [each for each in daemon.named("dynamodb") if each["parent_id"] == sweep["id"]]
    assert calls


def test_the_stream_has_a_span_of_its_batch(
    daemon: Daemon, invoke: Callable[[str, Any], Any]
) -> None:
    """With how many records came, and how many must come again."""
    invoke("stream", {"Records": []})
    assert daemon.only("ojs.events")["annotations"] == {
        "operation": "stream",
        "records": 0,
        "failed": 0,
        "ColdStart": True,
        "Service": "ojs-test",
    }


@pytest.fixture
def aws(daemon: Daemon) -> Iterator[EmbeddedAws]:
    """An embedded AWS whose settings ask for traces."""
    from dataclasses import replace

    with embedded() as aws:
        yield replace(aws, settings=replace(aws.settings, tracing=True))


def delivered(aws: EmbeddedAws, worker: LambdaWorker) -> Any:
    """One invocation of a Lambda worker with what SQS has."""
    url = aws.settings.queue_url_prefix + "ojs-default"
    received: Any = aws.clients.sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        MessageSystemAttributeNames=["ApproximateReceiveCount"],
    )["Messages"]
    trigger = SqsTrigger(aws.clients.sqs, url, worker.lambda_handler, "w")
    event = trigger._event(received)
    trigger.close()
    return worker.lambda_handler(event, LambdaContext("worker", 60.0))


async def test_each_job_of_a_lambda_worker_has_a_span_of_its_own(
    daemon: Daemon, aws: EmbeddedAws
) -> None:
    """Jobs run side by side; what a handler calls is within its own, a failure is marked."""
    import asyncio

    backend = build_backend(aws.settings, aws.clients)
    worker = LambdaWorker(queues=["default"], backend=backend)
    together = asyncio.Barrier(2)

    @worker.handler("report.make")
    async def make(ctx: JobContext, kind: str) -> None:
        await together.wait()
        await asyncio.to_thread(aws.clients.sqs.list_queues)
        if kind == "bad":
            raise ValueError("no such report")

    client = Client.direct(backend=backend)
    await client.enqueue("report.make", ["good"])
    bad = await client.enqueue("report.make", ["bad"])
    await asyncio.to_thread(delivered, aws, worker)
    whole = daemon.only("ojs.worker")
    assert whole["annotations"]["messages"] == 2
    spans = daemon.named("ojs.job.execute")
    assert {each["parent_id"] for each in spans} == {whole["id"]}
    by_status = {each["annotations"]["status"]: each for each in spans}
    assert by_status.keys() == {"completed", "failed"}
    failed = by_status["failed"]
    assert failed["fault"] is True
    assert failed["annotations"]["job_id"] == bad.id
    assert failed["annotations"]["error_type"] == "ValueError"
    assert failed["annotations"]["attempt"] == 1
    assert failed["metadata"]["ojs"]["error"] == "no such report"
    listed = [each for each in daemon.named("sqs") if each["aws"]["operation"] == "ListQueues"]
    assert {each["parent_id"] for each in listed} == {each["id"] for each in spans}


def test_messages_of_errors_are_kept_out_where_they_are_redacted(
    daemon: Daemon, aws: EmbeddedAws
) -> None:
    """OJS_REDACT_MESSAGES holds for traces as for what is stored."""
    from dataclasses import replace

    tracing = function_tracing(replace(aws.settings, redact_messages=True))
    with pytest.raises(RuntimeError), tracing.span("a"):
        raise RuntimeError("secret")
    with tracing.span("b") as span:
        span.fail("ValueError", "secret")
    assert [each["fault"] for each in daemon.heard] == [True, True]
    assert "secret" not in json.dumps(daemon.heard)


@pytest.mark.parametrize(
    ("name", "value"),
    [("LAMBDA_TASK_ROOT", ""), ("POWERTOOLS_TRACE_DISABLED", "true"), ("OJS_TRACING", "0")],
)
def test_outside_lambda_and_where_it_is_switched_off_there_is_none(
    daemon: Daemon,
    function: Callable[[str], Handler],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
) -> None:
    """The local server takes the same settings, and has nowhere to send traces."""
    monkeypatch.setenv(name, value)
    handler = function("producer")
    handler(request("POST", "/jobs", {"type": "a.b", "args": []}), LambdaContext("p", 29.0))
    assert daemon.heard == []


async def test_a_job_without_a_tracer_is_executed_all_the_same(aws: EmbeddedAws) -> None:
    """A span of nobody takes everything and says nothing."""
    with NO_TRACING.span("a", x=1) as span:
        span.note(job_id=Job("a.b").id)
        span.fail("E", "m")
