"""The direct client and the Lambda worker on DynamoDB and SQS, as far as moto has them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ojs_aws import Client, Job, JobContext, LambdaWorker, SyncClient
from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.errors import ConflictError, DuplicateError, NotFoundError
from ojs_aws.local.lambdas import LambdaContext
from ojs_aws.local.triggers import SqsTrigger
from ojs_aws.middleware import EmfSink, MetricsMiddleware, TraceContextMiddleware
from tests.aws import embedded
from tests.load import HUNG_S


class Deployment:
    """A worker's function, its trigger, and a producer inside AWS."""

    def __init__(self, aws: Any) -> None:
        self.sqs = aws.clients.sqs
        self.calls = aws.calls
        self.backend = build_backend(aws.settings, aws.clients)
        self.client = Client.direct(backend=self.backend)
        self.worker = LambdaWorker(queues=["default"], backend=self.backend)
        self.url = aws.settings.queue_url_prefix + "ojs-default"

    def deliver(self) -> set[str]:
        """One invocation with what SQS has; what is done with is deleted, as AWS does it."""
        received = self.sqs.receive_message(
            QueueUrl=self.url,
            MaxNumberOfMessages=10,
            MessageSystemAttributeNames=["ApproximateReceiveCount"],
        ).get("Messages", [])
        trigger = SqsTrigger(self.sqs, self.url, self.worker.lambda_handler, "w")
        event = trigger._event(received)
        trigger.close()
        answer = self.worker.lambda_handler(event, LambdaContext("worker", 60.0))
        kept = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        for message in received:
            if message["MessageId"] not in kept:
                self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return kept

    def messages(self) -> int:
        """Messages in the queue: visible, delayed or in flight."""
        attributes = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])
        return sum(
            int(value)
            for name, value in attributes["Attributes"].items()
            if name.startswith("ApproximateNumberOfMessages")
        )


@pytest.fixture
def deployed() -> Iterator[Deployment]:
    with embedded(Settings()) as aws:
        deployment = Deployment(aws)
        yield deployment
        deployment.worker._loop.close()


async def test_jobs_pushed_directly_are_executed_by_the_function(deployed: Deployment) -> None:
    """From the producer to the result, with nothing between but DynamoDB and SQS."""

    @deployed.worker.handler("email.send")
    async def send(ctx: JobContext, to: str) -> dict[str, Any]:
        return {"sent_to": to, "attempt": ctx.attempt}

    enqueued = [await deployed.client.enqueue("email.send", [f"user{n}"]) for n in range(5)]
    assert deployed.deliver() == set()
    for n, one in enumerate(enqueued):
        result = await deployed.client.wait(one.id, timeout_s=HUNG_S)
        assert result == {"sent_to": f"user{n}", "attempt": 1}
    assert deployed.messages() == 0


async def test_a_large_job_arrives_whole(deployed: Deployment) -> None:
    """Arguments and result leave the hot item, and nobody notices."""

    @deployed.worker.handler("a.big")
    def big(ctx: JobContext, text: str) -> str:
        return text[::-1]

    text = "ab" * 60_000
    enqueued = await deployed.client.enqueue("a.big", [text])
    deployed.deliver()
    assert await deployed.client.wait(enqueued.id, timeout_s=HUNG_S) == text[::-1]


async def test_a_failing_job_gets_a_message_for_its_next_attempt(deployed: Deployment) -> None:
    """The delivered one is deleted by the trigger, so there is exactly one."""

    @deployed.worker.handler("a.bad")
    def bad(ctx: JobContext) -> None:
        raise ValueError("no")

    enqueued = await deployed.client.enqueue("a.bad", [], retry={"initial_interval": "PT10M"})
    assert deployed.deliver() == set()
    job = await deployed.client.get(enqueued.id)
    assert job.state == "retryable"
    assert job.error is not None
    assert (job.error["type"], job.error["message"]) == ("ValueError", "no")
    assert deployed.messages() == 1


async def test_ten_jobs_of_one_batch_run_at_the_same_time(deployed: Deployment) -> None:
    """Ten synchronous handlers that all wait for each other."""
    barrier = threading.Barrier(10, timeout=HUNG_S)

    @deployed.worker.handler("a.b")
    def handle(ctx: JobContext) -> None:
        barrier.wait()

    results = await deployed.client.enqueue_many([Job("a.b") for _ in range(10)])
    assert deployed.deliver() == set()
    states = [(await deployed.client.get(one.id)).state for one in results]
    assert states == ["completed"] * 10


async def test_a_batch_of_ten_looks_at_the_queue_once(deployed: Deployment) -> None:
    """A claim and an acknowledgement for each job, and one query for all of them."""
    deployed.worker.handler("a.b")(lambda ctx: None)
    await deployed.client.enqueue_many([Job("a.b") for _ in range(10)])
    with deployed.calls.counted() as calls:
        assert deployed.deliver() == set()
    assert (calls["Query"], calls["UpdateItem"]) == (2, 20)
    assert calls["GetItem"] <= 1  # the types that have limits, once in five seconds
    assert set(calls) <= {"Query", "GetItem", "UpdateItem", "ReceiveMessage", "DeleteMessage"}


async def test_a_batch_of_timers_is_read_in_one_call(deployed: Deployment) -> None:
    """Jobs that had to wait are settled before they are claimed."""
    deployed.worker.handler("a.b")(lambda ctx: None)
    await deployed.client.enqueue_many([Job("a.b", scheduled_at="+PT1S") for _ in range(10)])
    await asyncio.sleep(1.1)
    with deployed.calls.counted() as calls:
        assert deployed.deliver() == set()
    assert (calls["Query"], calls["BatchGetItem"], calls["UpdateItem"]) == (2, 1, 30)
    assert calls["GetItem"] <= 1  # the types that have limits, once in five seconds


async def test_a_push_repeated_with_its_id_finds_the_job(deployed: Deployment) -> None:
    """The same envelope is the same job; another one under its id is refused."""
    first = await deployed.client.enqueue("a.b", [1])
    again = await deployed.client.enqueue("a.b", [1], id=first.id)
    assert (again.id, again.is_new) == (first.id, False)
    with pytest.raises(DuplicateError):
        await deployed.client.enqueue("a.b", [2], id=first.id)


async def test_the_direct_client_looks_after_jobs(deployed: Deployment) -> None:
    """Get, cancel, activate and the dead letters, as over HTTP."""
    client = deployed.client
    pending = await client.enqueue("a.b", [], pending=True)
    assert pending.state == "pending"
    assert (await client.activate(pending.id)).state == "available"
    with pytest.raises(ConflictError):
        await client.activate(pending.id)
    assert (await client.cancel(pending.id)).state == "cancelled"
    assert (await client.cancel(pending.id)).state == "cancelled"
    with pytest.raises(NotFoundError):
        await client.get("01900000-0000-7000-8000-00000000ffff")
    assert (await client.admin.dead_letters()).jobs == []
    assert {"default"} <= {queue["name"] for queue in await client.admin.queues()}
    assert (await client.admin.health())["status"] == "ok"


def test_the_synchronous_client_goes_there_directly_too(deployed: Deployment) -> None:
    """For producers that are not asynchronous, most Lambda functions among them."""
    with SyncClient.direct(backend=deployed.backend) as client:
        enqueued = client.enqueue("a.b", [1.5], queue="default")
        assert client.get(enqueued.id).args == [1.5]


async def test_the_metrics_of_one_invocation_are_one_document(deployed: Deployment) -> None:
    """MW-BUILTIN-008: EMF for each type and queue of a batch, not for each job."""
    lines: list[str] = []
    metrics = MetricsMiddleware(EmfSink(hold_s=0, write=lines.append))
    deployed.worker.middleware.insert_after("metrics", metrics).remove("metrics")

    @deployed.worker.handler("email.send")
    async def send(ctx: JobContext, number: int) -> None:
        await asyncio.sleep(0.01 * number)

    for number in range(5):
        await deployed.client.enqueue("email.send", [number])
    assert deployed.deliver() == set()
    (document,) = [json.loads(line) for line in lines]
    assert document["ojs.jobs.completed"] == [5]
    assert len(document["ojs.jobs.duration_ms"]) == 5


async def test_river_022_the_trace_of_the_producer_reaches_the_handler(
    deployed: Deployment,
) -> None:
    """RIVER-022: from client to worker, through DynamoDB; the log has the trace's id."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = TraceContextMiddleware(tracer_provider=provider)
    deployed.client.middleware.prepend(tracing)
    deployed.worker.middleware.prepend(tracing)
    seen: list[int] = []

    @deployed.worker.handler("email.send")
    def send(ctx: JobContext) -> None:
        seen.append(trace.get_current_span().get_span_context().trace_id)

    with provider.get_tracer("test").start_as_current_span("POST /signup"):
        await deployed.client.enqueue("email.send")
    assert deployed.deliver() == set()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    enqueued, executed = spans["default enqueue"], spans["ojs.job.execute"]
    assert executed.links[0].context == executed.parent
    assert enqueued.context is not None
    assert executed.parent is not None
    assert executed.parent.span_id == enqueued.context.span_id
    assert seen == [enqueued.context.trace_id]


def test_a_local_trigger_that_is_switched_off_receives_nothing(deployed: Deployment) -> None:
    """As while its queue is paused: nobody is invoked, and no message is in anybody's hands."""
    deployed.backend.jobs.push(Job("demo.echo", []))
    is_off = True
    trigger = SqsTrigger(
        deployed.sqs, deployed.url, deployed.worker.lambda_handler, "w", lambda: is_off
    )
    with deployed.calls.counted() as calls:
        assert not trigger.step()
    assert calls == {}
    is_off = False
    trigger._looked_at = 0.0
    assert trigger.step()
    trigger.close()
