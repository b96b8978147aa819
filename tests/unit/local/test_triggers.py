"""The local server's loops wait for what wakes them, and do nothing meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from ojs_aws.local import triggers
from ojs_aws.local.aws import (
    ACCOUNT,
    REGION,
    EmbeddedMessages,
    EmbeddedStream,
    create_table,
    embedded_aws,
)
from ojs_aws.local.patches import MESSAGES, RECORDS, Signal
from ojs_aws.local.triggers import Loop, SqsTrigger, StreamTrigger, Timer
from tests.load import HUNG_S

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

pytestmark = pytest.mark.thorough

TABLE = "t"
URL = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/q"


@pytest.fixture(autouse=True)
def embedded() -> Iterator[None]:
    """Moto as the local server has it."""
    with embedded_aws():
        yield


@pytest.fixture
def sqs() -> SQSClient:
    """A client with a queue ``q``."""
    client = boto3.client("sqs", region_name=REGION)
    client.create_queue(QueueName="q")
    return client


@pytest.fixture
def dynamodb() -> DynamoDBClient:
    """A client with a table that has a stream."""
    client = boto3.client("dynamodb", region_name=REGION)
    create_table(client, TABLE)
    return client


class Rounds:
    """A loop's step that counts how often it is asked for."""

    def __init__(self, step: Callable[[], bool]) -> None:
        self._step = step
        self.count = 0

    def __call__(self) -> bool:
        self.count += 1
        return self._step()


class Waits(Signal):
    """A signal that notes for how long a loop waits for it; the loop is quiet then."""

    def __init__(self, signal: Signal) -> None:
        super().__init__()
        self._signal = signal
        self._begun = threading.Condition()
        self.timeouts: list[float] = []

    @property
    def count(self) -> int:
        return self._signal.count

    def notify(self) -> None:
        self._signal.notify()

    def wait(self, seen: int, timeout_s: float) -> None:
        with self._begun:
            self.timeouts.append(timeout_s)
            self._begun.notify_all()
        self._signal.wait(seen, timeout_s)

    def until_quiet(self) -> float:
        """Return for how long the loop waits, once it does."""
        with self._begun:
            assert self._begun.wait_for(lambda: self.timeouts, HUNG_S)
            return self.timeouts[-1]


class Handled:
    """A function that keeps its events, and answers as it is asked to."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers = iter(answers)
        self.events: list[Any] = []
        self.at: list[float] = []
        self._arrived = threading.Condition()

    def __call__(self, event: Any, _: object) -> Any:
        with self._arrived:
            self.events.append(event)
            self.at.append(time.monotonic())
            self._arrived.notify_all()
        return next(self._answers, None)

    def wait_for(self, count: int) -> None:
        """Return once there were so many events."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.events) >= count, HUNG_S)


def put(dynamodb: DynamoDBClient, number: int) -> None:
    """Write a job's item: the stream's consumer gets the change."""
    key = {"pk": {"S": f"job#{number}"}, "sk": {"S": "job"}}
    dynamodb.put_item(TableName=TABLE, Item=key)


@pytest.fixture
def running() -> Iterator[Callable[[Loop], None]]:
    """Starts loops, and stops them in the end."""
    loops: list[Loop] = []

    def run(loop: Loop) -> None:
        loops.append(loop)
        loop.start()

    yield run
    for loop in loops:
        loop.stop()


Run = Callable[[Loop], None]


def queue_loop(sqs: SQSClient, handler: Handled, is_off: Callable[[], bool] | None = None) -> Any:
    """A loop over the queue's trigger, its rounds, and its waits."""
    trigger = SqsTrigger(sqs, URL, handler, "q", is_off, EmbeddedMessages("q").due_s)
    rounds, waits = Rounds(trigger.step), Waits(MESSAGES)
    return Loop("sqs", rounds, trigger.pause_s, waits), rounds, waits


def test_a_trigger_without_messages_does_nothing(sqs: SQSClient, running: Run) -> None:
    loop, rounds, waits = queue_loop(sqs, Handled())
    running(loop)
    assert waits.until_quiet() == triggers.LONGEST_S
    assert rounds.count == 1


def test_a_sent_message_wakes_its_trigger(sqs: SQSClient, running: Run) -> None:
    handler = Handled()
    loop, _, waits = queue_loop(sqs, handler)
    running(loop)
    waits.until_quiet()
    sqs.send_message(QueueUrl=URL, MessageBody="m")
    handler.wait_for(1)


def test_a_delayed_message_wakes_its_trigger_when_due(sqs: SQSClient, running: Run) -> None:
    handler = Handled()
    loop, rounds, _ = queue_loop(sqs, handler)
    running(loop)
    sent = time.monotonic()
    sqs.send_message(QueueUrl=URL, MessageBody="m", DelaySeconds=1)
    handler.wait_for(1)
    assert handler.at[0] - sent >= 0.99
    assert rounds.count < 10


def test_a_message_that_is_shown_early_wakes_its_trigger(sqs: SQSClient, running: Run) -> None:
    """As a worker gives a job back: visibility 0."""
    sqs.send_message(QueueUrl=URL, MessageBody="m")
    [taken] = sqs.receive_message(QueueUrl=URL, VisibilityTimeout=600)["Messages"]
    handler = Handled()
    loop, _, waits = queue_loop(sqs, handler)
    running(loop)
    assert waits.until_quiet() == triggers.LONGEST_S
    assert handler.events == []
    sqs.change_message_visibility(
        QueueUrl=URL, ReceiptHandle=taken["ReceiptHandle"], VisibilityTimeout=0
    )
    handler.wait_for(1)


def test_a_trigger_that_is_on_again_receives_what_waited(sqs: SQSClient, running: Run) -> None:
    """Nothing notifies the trigger that its queue is not paused any more: it looks."""
    handler, is_off = Handled(), threading.Event()
    is_off.set()
    sqs.send_message(QueueUrl=URL, MessageBody="m")
    loop, _, waits = queue_loop(sqs, handler, is_off.is_set)
    running(loop)
    assert waits.until_quiet() == triggers.LOOK_S
    assert handler.events == []
    is_off.clear()
    handler.wait_for(1)


def stream_loop(handler: Handled) -> tuple[Loop, Rounds, Waits]:
    """A loop over the stream's trigger, its rounds, and its waits."""
    stream = EmbeddedStream(TABLE)
    trigger = StreamTrigger(stream, handler, stream.is_behind)
    rounds, waits = Rounds(trigger.step), Waits(RECORDS)
    return Loop("stream", rounds, trigger.pause_s, waits), rounds, waits


def test_the_stream_s_trigger_waits_for_records(dynamodb: DynamoDBClient, running: Run) -> None:
    handler = Handled()
    loop, rounds, waits = stream_loop(handler)
    running(loop)
    assert waits.until_quiet() == triggers.LONGEST_S
    assert rounds.count == 1
    put(dynamodb, 1)
    handler.wait_for(1)


def test_records_that_the_trigger_filters_out_do_not_hide_others(
    dynamodb: DynamoDBClient, running: Run
) -> None:
    """More of them than are read at once come before the one that counts."""
    for number in range(120):
        key = {"pk": {"S": f"events#{number}"}, "sk": {"S": "1"}}
        dynamodb.put_item(TableName=TABLE, Item=key)
    put(dynamodb, 1)
    handler = Handled()
    loop, _, _ = stream_loop(handler)
    running(loop)
    handler.wait_for(1)


def test_records_that_failed_are_passed_on_again(dynamodb: DynamoDBClient, running: Run) -> None:
    """Although nothing new is written."""
    handler = Handled({"batchItemFailures": [{"itemIdentifier": "1"}]})
    loop, _, _ = stream_loop(handler)
    running(loop)
    put(dynamodb, 1)
    handler.wait_for(2)
    assert handler.events[0] == handler.events[1]


def test_a_table_made_again_is_read_from_its_beginning(
    dynamodb: DynamoDBClient, running: Run
) -> None:
    """As after a reset in test mode."""
    handler = Handled()
    loop, _, _ = stream_loop(handler)
    running(loop)
    put(dynamodb, 1)
    handler.wait_for(1)
    dynamodb.delete_table(TableName=TABLE)
    create_table(dynamodb, TABLE)
    put(dynamodb, 2)
    handler.wait_for(2)


def test_a_failing_step_is_repeated(running: Run) -> None:
    signal, seen = Signal(), Handled()

    def step() -> bool:
        seen({}, None)
        raise RuntimeError("no")

    running(Loop("failing", step, lambda: None, signal))
    seen.wait_for(3)


def test_a_timer_fires_at_once_and_then_waits_until_its_time(running: Run) -> None:
    handler = Handled()
    timer = Timer(handler, every_s=0.4)
    rounds = Rounds(timer.step)
    began = time.monotonic()
    running(Loop("timer", rounds, timer.pause_s))
    handler.wait_for(2)
    assert handler.at[1] - began >= 0.4
    assert rounds.count <= 6


def test_a_waiting_loop_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not when its wait is over."""
    monkeypatch.setattr(triggers, "LONGEST_S", 2 * HUNG_S)
    waits = Waits(Signal())
    loop = Loop("waiting", lambda: False, lambda: None, waits)
    loop.start()
    assert waits.until_quiet() == 2 * HUNG_S
    loop.stop(HUNG_S)
    assert not loop._thread.is_alive()


def test_an_event_between_look_and_wait_is_not_missed() -> None:
    signal = Signal()
    seen = signal.count
    signal.notify()
    began = time.monotonic()
    signal.wait(seen, HUNG_S)
    assert time.monotonic() - began < HUNG_S / 2
