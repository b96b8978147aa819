"""Does what AWS does between the functions: SQS and stream triggers, and the timer."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from ojs_aws.local.lambdas import WORKER_TIMEOUT_S, Event, Handler, LambdaContext
from ojs_aws.local.patches import Signal

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ReadStream = Callable[[], tuple[list[Event], Callable[[], None]]]
"""Gives the next records of a stream, and what to call when they were handled."""

BATCH: Final = 10
CONCURRENCY: Final = 8
IDLE_S: Final = 0.05
"""Pause after a failed round, and of what has to poll: a stream or a queue of another endpoint."""
GATHER_S: Final = 0.05
"""How long changes gather before the stream's function is invoked, as AWS gathers them by polling:
a function that ran at once would take the processor from the request that follows."""
LONGEST_S: Final = 60.0
"""The longest wait for a signal: a machine that slept does not know how long."""
TICK_S: Final = 60.0
LOOK_S: Final = 0.5
VISIBILITY_S: Final = 120

_logger = logging.getLogger(__name__)


class Loop:
    """Repeats a step in a thread until it is stopped; a failing step is logged and repeated."""

    def __init__(
        self,
        name: str,
        step: Callable[[], bool],
        pause_s: Callable[[], float | None],
        signal: Signal | None = None,
    ) -> None:
        """Prepare the loop.

        :param step: does one round; True when there was work, and then the next follows at once.
        :param pause_s: returns how long to wait after a round without work, in seconds; None until
            there is a signal.
        :param signal: ends the pause.
        """
        self._step = step
        self._pause_s = pause_s
        self._signal = signal or Signal()
        self._is_stopping = False
        self._gate = threading.Event()
        self._gate.set()
        self._turn = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout_s: float = 30.0) -> None:
        """End after the current round."""
        self._is_stopping = True
        self._signal.notify()
        self._thread.join(timeout_s)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let the current round end, and begin no other one before the block ends."""
        self._gate.clear()
        try:
            with self._turn:
                yield
        finally:
            self._gate.set()
            self._signal.notify()

    def _run(self) -> None:
        while True:
            self._gate.wait()
            seen = self._signal.count
            if self._is_stopping:
                return
            with self._turn:
                pause_s = self._round()
            self._signal.wait(seen, LONGEST_S if pause_s is None else min(pause_s, LONGEST_S))

    def _round(self) -> float | None:
        """Do one round; return the pause after it."""
        try:
            return 0.0 if self._step() else self._pause_s()
        except (BotoCoreError, ClientError):
            _logger.warning("A trigger's AWS call failed; it is repeated", exc_info=True)
        except Exception:  # whatever it was, the trigger goes on
            _logger.exception("A trigger failed; it goes on")
        return IDLE_S


@dataclass
class SqsTrigger:
    """Invokes a function for the messages of a queue, several invocations at once.

    :ivar is_off: whether the trigger is switched off; looked at twice a second.
    :ivar due_s: returns the seconds until a message can be received, None without messages;
        without it the queue has to be polled.
    """

    sqs: SQSClient
    url: str
    handler: Handler
    name: str
    is_off: Callable[[], bool] | None = None
    due_s: Callable[[], float | None] | None = None
    _looked_at: float = -LOOK_S
    _off: bool = False
    _free: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(CONCURRENCY))

    def __post_init__(self) -> None:
        """Make the threads of the invocations; the first one starts with the first message."""
        prefix = f"lambda-{self.name}"
        self._pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix=prefix)

    def step(self) -> bool:
        """Receive one batch and hand it to an invocation of its own."""
        if self.due_s is not None and self.due_s() != 0:
            return False
        if self.is_off is not None and time.monotonic() - self._looked_at >= LOOK_S:
            self._off, self._looked_at = self.is_off(), time.monotonic()
        if self._off:
            return False
        if not self._free.acquire(timeout=IDLE_S):
            return True
        try:
            received = self.sqs.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=BATCH,
                VisibilityTimeout=VISIBILITY_S,
                MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
            ).get("Messages", [])
        except BaseException:
            self._free.release()
            raise
        if not received:
            self._free.release()
            return False
        self._pool.submit(self._invoke, [dict(message) for message in received])
        return True

    def pause_s(self) -> float | None:
        """Return how long to wait after a round without work; None until a message is sent."""
        if self.due_s is None:
            return IDLE_S
        due_s = self.due_s()
        return LOOK_S if self._off and due_s == 0 else due_s

    def _invoke(self, messages: Sequence[dict[str, Any]]) -> None:
        try:
            context = LambdaContext(self.name, WORKER_TIMEOUT_S)
            answer = self.handler(self._event(messages), context) or {}
            failed = {item["itemIdentifier"] for item in answer.get("batchItemFailures", [])}
            done = [message for message in messages if message["MessageId"] not in failed]
            if done:
                self.sqs.delete_message_batch(
                    QueueUrl=self.url,
                    Entries=[
                        {"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]}
                        for n, message in enumerate(done)
                    ],
                )
        except Exception:  # a handler may raise anything
            _logger.exception("An invocation of %s failed; its messages come back", self.name)
        finally:
            self._free.release()

    def _event(self, messages: Sequence[dict[str, Any]]) -> Event:
        queue_name = self.url.rpartition("/")[2]
        return {
            "Records": [
                {
                    "messageId": message["MessageId"],
                    "receiptHandle": message["ReceiptHandle"],
                    "body": message["Body"],
                    "attributes": message.get("Attributes", {}),
                    "messageAttributes": {},
                    "eventSource": "aws:sqs",
                    "eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{queue_name}",
                    "awsRegion": "us-east-1",
                }
                for message in messages
            ]
        }

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait for running invocations; return whether they ended in time.

        The caller sees to it that no others begin.
        """
        deadline = time.monotonic() + timeout_s
        taken = 0
        while taken < CONCURRENCY:
            if not self._free.acquire(timeout=max(0.0, deadline - time.monotonic())):
                break
            taken += 1
        if taken:
            self._free.release(taken)
        return taken == CONCURRENCY

    def close(self) -> None:
        """Wait for running invocations."""
        self._pool.shutdown(wait=True, cancel_futures=True)


@dataclass
class StreamTrigger:
    """Invokes a function for the records of the table's stream, in order.

    Records that fail are passed on again.

    :ivar is_behind: says whether there are records to read; without it the stream has to be polled.
    """

    read: ReadStream
    handler: Handler
    is_behind: Callable[[], bool] | None = None
    _has_failed: bool = False

    def step(self) -> bool:
        """Pass on new records, and only then move on."""
        if self.is_behind is not None:
            if not self.is_behind():
                return False
            time.sleep(GATHER_S)
        records, done = self.read()
        self._has_failed = False
        if records:
            context = LambdaContext("ojs-stream", API_STREAM_TIMEOUT_S)
            answer = self.handler({"Records": records}, context) or {}
            if answer.get("batchItemFailures"):
                self._has_failed = True
                return False
        done()
        return bool(records)

    def pause_s(self) -> float | None:
        """Return how long to wait after a round without work; None until there is a record."""
        if self.is_behind is None or self._has_failed:
            return IDLE_S
        return 0.0 if self.is_behind() else None


API_STREAM_TIMEOUT_S: Final = 60.0


class Timer:
    """Invokes a function at a fixed rate, as an EventBridge rule does."""

    def __init__(self, handler: Handler, every_s: float = TICK_S) -> None:
        """Fire first at once: a server that has just started shows no late sweep."""
        self._handler = handler
        self._every_s = every_s
        self._next = time.monotonic()

    def step(self) -> bool:
        """Invoke the function when it is time."""
        if time.monotonic() >= self._next:
            self._next += self._every_s
            event = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}
            self._handler(event, LambdaContext("ojs-tick", API_STREAM_TIMEOUT_S))
        return False

    def pause_s(self) -> float:
        """Return the seconds until it is time."""
        return max(0.0, self._next - time.monotonic())
