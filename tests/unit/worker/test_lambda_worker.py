"""The Lambda worker: a batch of messages in, jobs executed, a partial batch response out."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, cast

import pytest

from ojs_aws.adapters.sqs import SOURCE, encode_message
from ojs_aws.client.timer import SystemTimer
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, ConflictError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import RawJson
from ojs_aws.middleware.builtin.timeout import TimeoutMiddleware
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.services.backend import Backend
from ojs_aws.topology import dead_letter_queue_name
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker import DiscardError, LambdaWorker, SnoozeError
from ojs_aws.worker.directly import read_record
from tests.load import HUNG_S
from tests.simulation.world import World


@dataclass
class Context:
    """Lambda's context, with as much time as the test wants."""

    seconds: float = 60.0
    aws_request_id: str = "r-1"

    def get_remaining_time_in_millis(self) -> int:
        return round(self.seconds * 1000)


class Locked:
    """A port of the model, one call at a time: the worker calls from several threads."""

    def __init__(self, port: object) -> None:
        self._port, self._lock = port, threading.RLock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._port, name)

        def call(*args: Any, **given: Any) -> Any:
            with self._lock:
                return method(*args, **given)

        return call


class Ending(SystemTimer):
    """Ends an invocation's time when a condition holds, and then gives the rest some time."""

    def __init__(self, is_over: Callable[[], bool], rest_s: float = HUNG_S) -> None:
        self._is_over, self._rest_s, self._is_first = is_over, rest_s, True

    async def sleep(self, seconds: float) -> None:
        is_first, self._is_first = self._is_first, False
        while is_first and not self._is_over():  # noqa: ASYNC110 - threads end it
            await asyncio.sleep(0.001)
        if not is_first:
            await asyncio.sleep(self._rest_s)


class Bench:
    """A worker over the model, and the event source mapping in front of it."""

    def __init__(self, queue: str = "default", **given: Any) -> None:
        self.world = World()
        stores = self.world.backend.stores
        self.backend = Backend(
            self.world.settings,
            replace(
                stores,
                store=cast("Any", Locked(stores.store)),
                messages=cast("Any", Locked(stores.messages)),
            ),
        )
        self.queue = queue
        self.worker = LambdaWorker(
            queues=[queue], backend=self.backend, margin_s=0.2, **{"middleware": [], **given}
        )

    def push(self, job_type: str, *args: Any, **given: Any) -> str:
        pushed = self.backend.jobs.push(Job(job_type, list(args), queue=self.queue, **given))
        assert pushed.record is not None
        return pushed.record.id

    def records(self, limit: int = 10) -> list[dict[str, Any]]:
        sqs_name = f"ojs-{self.queue.replace('.', '_')}"
        return [
            {
                "messageId": f"m-{received.message.job_id}",
                "receiptHandle": received.handle,
                "body": encode_message(received.message),
                "attributes": {"ApproximateReceiveCount": str(received.receive_count)},
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:eu-west-1:1:{sqs_name}",
            }
            for received in self.world.messages.receive(self.queue, limit, 120)
        ]

    def invoke(
        self, records: Sequence[dict[str, Any]] | None = None, context: Context | None = None
    ) -> set[str]:
        """Invoke, and do what the mapping does with the answer: delete what is not to come back."""
        given = self.records() if records is None else records
        answer = self.worker.lambda_handler({"Records": list(given)}, context or Context())
        kept = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        done = [one["receiptHandle"] for one in given if one["messageId"] not in kept]
        self.world.messages.delete(self.queue, done)
        return kept

    def job(self, job_id: str) -> JobRecord:
        return self.backend.jobs.info(job_id)

    def left(self) -> int:
        """Messages that are still there."""
        return len(self.world.held(self.queue))


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.worker._loop.close()


def test_typed_jobs_share_their_resources_from_batch_to_batch(bench: Bench) -> None:
    """One that a newer sender sent is snoozed; one with a wrong type is a dead letter."""
    opened: list[str] = []

    @bench.worker.jobs.resource
    async def pool() -> AsyncIterator[list[str]]:
        opened.append("pool")
        yield opened

    @bench.worker.job("day.after")
    async def after(day: date, *, days: int = 1) -> date:
        return day + timedelta(days=len(pool.get()) * days)

    @bench.worker.job("sum.make")
    def add(one: int, two: int = 2) -> int:
        return one + two + len(pool.get())

    first = bench.push("day.after", "2026-01-01", {"days": 3})
    assert bench.invoke() == set()
    second, newer, wrong = (bench.push("sum.make", *args) for args in ([1], [1, 2, 3], ["x"]))
    assert bench.invoke() == set()
    assert opened == ["pool"]
    assert bench.job(first).result == RawJson('"2026-01-04"')
    assert bench.job(second).result == RawJson("4")
    assert (bench.job(newer).state, bench.job(newer).uncounted_attempts) == (JobState.RETRYABLE, 1)
    assert (bench.job(wrong).state, bench.job(wrong).is_dead_letter) == (JobState.DISCARDED, True)


def test_jobs_are_executed_and_acknowledged_in_the_store(bench: Bench) -> None:
    """Result stored, nothing to come back, no message left."""

    @bench.worker.handler("a.add")
    async def add(ctx: JobContext, a: int, b: int) -> int:
        return a + b

    ids = [bench.push("a.add", n, 1) for n in range(3)]
    assert bench.invoke() == set()
    assert [bench.job(job_id).state for job_id in ids] == [JobState.COMPLETED] * 3
    assert [bench.job(job_id).result for job_id in ids] == [
        RawJson("1"),
        RawJson("2"),
        RawJson("3"),
    ]
    assert bench.left() == 0


def test_jobs_of_a_batch_run_at_the_same_time(bench: Bench) -> None:
    """Asynchronous and synchronous ones: each waits until all have begun."""
    barrier, together = threading.Barrier(4, timeout=HUNG_S), []

    @bench.worker.handler("a.sync")
    def wait(ctx: JobContext) -> None:
        together.append(barrier.wait())

    @bench.worker.handler("a.async")
    async def wait_async(ctx: JobContext) -> None:
        together.append(await asyncio.to_thread(barrier.wait))

    for name in ("a.sync", "a.async", "a.sync", "a.async"):
        bench.push(name)
    assert bench.invoke() == set()
    assert len(together) == 4


def test_a_handler_may_snooze_its_job(bench: Bench) -> None:
    """It is retryable until the delay is over; the delivered message is done with."""
    attempts = []

    @bench.worker.handler("a.b")
    async def handle(ctx: JobContext) -> None:
        attempts.append(ctx.attempt)
        if len(attempts) == 1:
            raise SnoozeError("5m")

    job_id = bench.push("a.b", retry={"max_attempts": 1})
    assert bench.invoke() == set()
    job = bench.job(job_id)
    assert (job.state, job.retry_delay_ms) == (JobState.RETRYABLE, 300_000)
    bench.world.clock.advance(s=300)
    assert bench.invoke() == set()
    assert (bench.job(job_id).state, attempts) == (JobState.COMPLETED, [1, 2])
    assert bench.left() == 0


def test_a_failure_is_retried_by_a_message_of_its_own(bench: Bench) -> None:
    """The retry policy decides, not SQS: the delivered message is done with."""
    attempts = []

    @bench.worker.handler("a.flaky")
    def flaky(ctx: JobContext) -> str:
        attempts.append(ctx.attempt)
        if ctx.attempt == 1:
            raise ConnectionError("reset")
        return "ok"

    job_id = bench.push("a.flaky", retry={"initial_interval": "PT5S", "jitter": False})
    assert bench.invoke() == set()
    failed = bench.job(job_id)
    assert failed.state is JobState.RETRYABLE
    assert failed.error is not None
    assert (failed.error.type, failed.error.message) == ("ConnectionError", "reset")
    assert bench.left() == 1
    assert bench.records() == []
    bench.world.clock.advance(s=5)
    assert bench.invoke() == set()
    assert bench.job(job_id).state is JobState.COMPLETED
    assert attempts == [1, 2]


def test_a_handler_may_discard_its_job(bench: Bench) -> None:
    """ojs-retry, section 7: DISCARD outweighs the policy."""

    @bench.worker.handler("a.b")
    def discard(ctx: JobContext) -> None:
        raise DiscardError("card stolen", type="payment.stolen")

    job_id = bench.push("a.b")
    assert bench.invoke() == set()
    job = bench.job(job_id)
    assert job.state is JobState.DISCARDED
    assert job.error is not None
    assert job.error.type == "payment.stolen"


@pytest.mark.parametrize(("wait_s", "state"), [(0, JobState.DISCARDED), (3600, JobState.RETRYABLE)])
def test_an_unknown_type_waits_or_is_discarded_with_a_hint(wait_s: int, state: JobState) -> None:
    """As the worker is set; the message names the nearest type."""
    bench = Bench(missing_handler_wait_s=wait_s)
    bench.worker.handler("email.send")(lambda ctx: None)
    job_id = bench.push("email.sent")
    bench.invoke()
    job = bench.job(job_id)
    assert (job.state, job.uncounted_attempts) == (state, int(wait_s > 0))
    assert job.error is not None
    assert "email.send" in job.error.message


def test_a_job_that_outlives_the_invocation_comes_back(bench: Bench) -> None:
    """Given up before the time is over, neither acknowledged nor failed, and executed again."""
    begun, ended = threading.Event(), threading.Event()

    @bench.worker.handler("a.slow")
    def slow(ctx: JobContext) -> str:
        if ctx.attempt > 1:
            return "second"
        begun.set()
        try:
            while True:
                time.sleep(0.005)
        finally:
            ended.set()

    @bench.worker.handler("a.fast")
    async def fast(ctx: JobContext) -> None: ...

    slow_id, fast_id = bench.push("a.slow"), bench.push("a.fast")
    bench.worker._timer = Ending(
        lambda: begun.is_set() and bench.job(fast_id).state is JobState.COMPLETED
    )
    kept = bench.invoke()
    assert len(kept) == 1
    assert ended.wait(HUNG_S)
    assert bench.job(fast_id).state is JobState.COMPLETED
    assert bench.job(slow_id).state is JobState.ACTIVE
    assert bench.records() == []
    bench.world.clock.advance(s=66)
    bench.worker._timer = SystemTimer()
    assert bench.invoke() == set()
    assert bench.job(slow_id).result == RawJson('"second"')


def test_a_job_whose_handler_ignores_the_end_does_not_hold_up_the_answer(bench: Bench) -> None:
    """Python cannot interrupt a call of the system; the answer still comes in time."""
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    @bench.worker.handler("a.stuck")
    def stuck(ctx: JobContext) -> None:
        begun.set()
        try:
            release.wait(HUNG_S)
        finally:
            ended.set()

    bench.push("a.stuck")
    bench.worker._timer = Ending(begun.is_set, rest_s=0.01)
    assert len(bench.invoke()) == 1
    assert not ended.is_set()
    release.set()


def test_a_claim_that_comes_too_late_starts_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time was over before the claim was: nothing runs, and the message comes back."""
    ran, claim = [], bench.backend.jobs.fetch.claim_messages

    def slow(*args: Any) -> Any:
        time.sleep(0.4)
        return claim(*args)

    monkeypatch.setattr(
        type(bench.backend.jobs.fetch), "claim_messages", lambda _, *args: slow(*args)
    )
    bench.worker.handler("a.b")(lambda ctx: ran.append(1))
    job_id = bench.push("a.b")
    assert len(bench.invoke(context=Context(seconds=0.4))) == 1
    monkeypatch.undo()
    time.sleep(0.3)
    assert ran == []
    bench.world.clock.advance(s=120)
    bench.invoke()
    assert bench.job(job_id).state is JobState.COMPLETED


def test_an_unreadable_message_is_moved_to_the_dead_letter_queue(bench: Bench) -> None:
    """That of a queue that is not served comes back; the others are executed."""

    @bench.worker.handler("a.b")
    async def handle(ctx: JobContext) -> None: ...

    job_id = bench.push("a.b")
    good = bench.records()
    bad = {**good[0], "messageId": "bad", "body": '{"type": "a.b"}'}
    foreign = {**good[0], "messageId": "foreign", "eventSourceARN": "arn:aws:sqs:r:1:other"}
    assert bench.invoke([bad, *good, foreign]) == {"foreign"}
    (moved,) = bench.world.aws.queues.queues[dead_letter_queue_name("ojs")].messages.values()
    assert moved.body == '{"type": "a.b"}'
    assert moved.attributes[SOURCE]["StringValue"] == "default"
    assert bench.job(job_id).state is JobState.COMPLETED


def test_an_unreadable_message_that_cannot_be_moved_comes_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason; the others are executed."""

    def refuse(*_: object) -> None:
        raise BackendError("SendMessage failed: AccessDenied.")

    monkeypatch.setattr(bench.world.messages, "reject", refuse)
    bench.worker.handler("a.b")(lambda ctx: None)
    job_id = bench.push("a.b")
    good = bench.records()
    assert bench.invoke([{**good[0], "messageId": "bad", "body": "?"}, *good]) == {"bad"}
    assert bench.job(job_id).state is JobState.COMPLETED


def test_a_message_that_permits_nothing_is_done_with(bench: Bench) -> None:
    """The job was cancelled meanwhile: no handler runs, no message stays."""
    ran = []
    bench.worker.handler("a.b")(lambda ctx: ran.append(1))
    job_id = bench.push("a.b")
    records = bench.records()
    bench.backend.jobs.cancel(job_id)
    assert bench.invoke(records) == set()
    assert ran == []
    assert bench.left() == 0


def test_a_repeated_message_does_not_run_a_job_twice(bench: Bench) -> None:
    """SQS delivers at least once; the claim decides."""
    ran = []
    bench.worker.handler("a.b")(lambda ctx: ran.append(ctx.job.id))
    bench.push("a.b")
    records = bench.records()
    again = {**records[0], "messageId": "again"}
    bench.invoke([*records, again])
    assert len(ran) == 1


def test_a_handler_that_cancels_its_own_task_fails_its_job(bench: Bench) -> None:
    """At once, not when its reservation ends; its message goes."""

    @bench.worker.handler("a.b")
    async def cancel(ctx: JobContext) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    job_id = bench.push("a.b", retry={"max_attempts": 1})
    assert bench.invoke() == set()
    assert bench.job(job_id).failures[-1].type == "CancelledError"
    assert bench.job(job_id).state is JobState.DISCARDED


def test_a_job_cancelled_during_its_execution_keeps_its_state(bench: Bench) -> None:
    """The acknowledgement is refused."""

    @bench.worker.handler("a.b")
    def handle(ctx: JobContext) -> None:
        bench.backend.jobs.cancel(ctx.job.id)

    job_id = bench.push("a.b")
    bench.invoke()
    assert bench.job(job_id).state is JobState.CANCELLED


def test_a_handler_may_extend_its_reservation(bench: Bench) -> None:
    """MW-EXE-015: ``await ctx.heartbeat()`` inside a Lambda function."""
    seen = []

    @bench.worker.handler("a.b")
    async def handle(ctx: JobContext) -> None:
        before = bench.job(ctx.job.id).reservation
        bench.world.clock.advance(s=10)
        await ctx.heartbeat()
        after = bench.job(ctx.job.id).reservation
        assert before is not None
        assert after is not None
        seen.append(after.expires_at - before.expires_at)

    bench.push("a.b")
    bench.invoke()
    assert seen == [10_000]


def test_the_reservation_does_not_outlast_the_invocation_by_much(bench: Bench) -> None:
    """So that what a dead function held comes back soon."""
    lengths = []

    @bench.worker.handler("a.b")
    def handle(ctx: JobContext) -> None:
        held = bench.job(ctx.job.id).reservation
        assert held is not None
        lengths.append(held.expires_at - bench.world.clock.at)

    bench.push("a.b")
    bench.invoke(context=Context(seconds=30))
    assert lengths == [35_000]


def test_a_dead_function_s_job_runs_once_more_while_its_message_is_hidden(
    bench: Bench,
) -> None:
    """The queue hides a delivered message for long (here 120 s, six timeouts when deployed).

    The reservation is not that long: it ends with the time that the invocation had, and the dead
    attempt counts. From then on the job is anybody's; the sweep sends a message of its own, and the
    hidden one finds nothing to do when it comes back.
    """
    ran = []

    @bench.worker.handler("a.b")
    def handle(ctx: JobContext) -> None:
        ran.append(ctx.job.attempt)

    clock, sweep = bench.world.clock, bench.backend.upkeep.sweep
    job_id = bench.push("a.b")
    (record,) = bench.records()
    received = read_record(record, {"ojs-default": "default"}).received
    (claimed,) = bench.backend.jobs.fetch.claim_messages(
        "default", [received], "lambda_dead", 35_000
    )
    assert claimed.record is not None  # and here the process is gone
    clock.advance(s=34)
    sweep.tick()
    assert bench.records() == []
    assert bench.invoke([{**record, "messageId": "early"}]) == {"early"}
    assert ran == []
    clock.advance(s=1)
    assert bench.job(job_id).state is JobState.AVAILABLE
    assert bench.job(job_id).failures[0].type == "visibility_timeout"
    clock.advance(s=61)
    sweep.tick()
    assert bench.invoke() == set()
    assert (ran, bench.job(job_id).state) == ([2], JobState.COMPLETED)
    clock.advance(s=60)
    bench.invoke()
    assert (ran, bench.left()) == ([2], 0)
    with pytest.raises(ConflictError):
        bench.backend.jobs.ack(job_id, "lambda_dead", None, has_message=False)


def test_queues_with_dots_are_recognised() -> None:
    """SQS names cannot hold them."""
    bench = Bench("mail.eu")
    bench.worker.handler("a.b")(lambda ctx: ctx.queue)
    job_id = bench.push("a.b")
    assert bench.invoke() == set()
    assert bench.job(job_id).result == RawJson('"mail.eu"')
    bench.worker._loop.close()


def test_invocations_may_overlap(bench: Bench) -> None:
    """The local server runs several in one process; one loop serves them all."""
    barrier = threading.Barrier(2, timeout=HUNG_S)

    @bench.worker.handler("a.b")
    def handle(ctx: JobContext) -> None:
        barrier.wait()

    bench.push("a.b")
    bench.push("a.b")
    one, two = bench.records(1), bench.records(1)
    other = threading.Thread(target=bench.invoke, args=(two,))
    other.start()
    bench.invoke(one)
    other.join(HUNG_S)
    assert bench.left() == 0


def test_another_event_is_refused(bench: Bench) -> None:
    """A function that is connected wrongly says so."""
    with pytest.raises(ValueError, match="no SQS event"):
        bench.worker.lambda_handler(json.loads('{"version": "2.0"}'), Context())


@pytest.mark.parametrize("is_async", [True, False])
def test_mw_builtin_010_a_job_without_time_fails_as_a_timeout_in_time(
    bench: Bench, is_async: bool
) -> None:
    """It is not just given up: the failure is recorded, and the policy says when it is retried."""
    bench.worker.middleware.add(TimeoutMiddleware())
    is_over = threading.Event()

    if is_async:

        @bench.worker.handler("a.slow")
        async def waits(ctx: JobContext) -> None:
            await asyncio.Event().wait()
    else:

        @bench.worker.handler("a.slow")
        def blocks(ctx: JobContext) -> None:
            is_over.wait()

    job_id = bench.push("a.slow", timeout_s=60)
    bench.invoke(context=Context(3))
    is_over.set()
    job = bench.job(job_id)
    assert job.state is JobState.RETRYABLE
    (failure,) = job.failures
    assert failure.type == "timeout"
    (given_s,) = re.findall(r"exceeded the ([0-9.]+) s that its environment had", failure.message)
    assert float(given_s) <= 2.8  # the rest is left to record the failure


def test_a_middleware_that_changes_the_job_s_id_completes_its_own_job() -> None:
    """What is acknowledged is the job that was claimed."""

    async def forges(job: Job, ctx: JobContext, call_next: Callable[[], Any]) -> object:
        job.id = "01900000-0000-7000-8000-00000000ffff"
        return await call_next()

    bench = Bench(middleware=[forges])
    bench.worker.handler("a.b")(lambda ctx: 1)
    job_id = bench.push("a.b")
    assert bench.invoke() == set()
    assert bench.job(job_id).state is JobState.COMPLETED
    bench.worker._loop.close()


def test_a_job_longer_than_an_invocation_is_refused_at_start() -> None:
    """With the way out: a process runs it. Queues of others do not count, nor the last second."""
    jobs = Jobs()

    @jobs.job("video.encode", queue="video", timeout="16m")
    def encode() -> None: ...

    @jobs.job("mail.send", queue="mail", timeout="15m")
    def send() -> None: ...

    with pytest.raises(RegistrationError, match=r"video\.encode may take longer.*EcsWorkerService"):
        LambdaWorker(jobs).freeze()
    LambdaWorker(jobs, queues=["mail"]).freeze()
