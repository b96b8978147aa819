"""A shard of the table's stream, and what Lambda does with it: batches, halves, endless tries."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from aws_lambda_powertools import Logger

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend, record_tries
from ojs_aws.domain.events import Event
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.topology import EVENT_TRIES_PARTITION, STREAM_BATCH
from ojs_aws.transport.events.stream import Handler, build_stream
from ojs_aws.transport.events.stream_reader import StreamReader
from tests.aws import EmbeddedAws

Record = dict[str, Any]
SILENT: Final = Logger("shard", stream=io.StringIO(), level="CRITICAL")
TIMEOUT_MS: Final = 60_000


class Killed(BaseException):
    """Lambda has ended the process."""


@dataclass
class Context:
    """An invocation that began at an instant."""

    clock: FakeClock
    function_name: str = "Jobs-Stream"

    def __post_init__(self) -> None:
        self._ends_at = self.clock.at + TIMEOUT_MS

    def get_remaining_time_in_millis(self) -> int:
        """Until Lambda ends it."""
        return self._ends_at - self.clock.at


@dataclass
class Shard:
    """Invokes the consumer with batches of records until all are done.

    :ivar hook: is called with each event; it may let time pass, or end the process.
    :ivar bus: takes events, and returns the ids of those that it refuses.
    :ivar counted: how many records were set aside, by the metric of each invocation.
    :ivar pauses: how long the function waited.
    """

    aws: EmbeddedAws
    records: list[Record]
    clock: FakeClock = field(default_factory=FakeClock)
    hook: Callable[[Event], None] = lambda _: None
    bus: Callable[..., Any] = lambda _: ()
    invocations: int = 0
    counted: list[int] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    _handler: Handler | None = None

    def read(self, most: int = 5000) -> None:
        """Invoke the consumer until nothing is left; fail after too many invocations."""
        batches = [
            self.records[at : at + STREAM_BATCH] for at in range(0, len(self.records), STREAM_BATCH)
        ]
        while batches:
            assert self.invocations < most, "it has no end"
            self.invocations += 1
            batches[:1] = self._left(batches[0])

    def _left(self, batch: list[Record]) -> list[list[Record]]:
        """Invoke the consumer once; return the batches that are still to be done."""
        self.clock.advance(ms=100)
        context = Context(self.clock)
        self._handler = self._handler or self._process()
        try:
            failures = self._handler({"Records": batch}, context)["batchItemFailures"]
        except (Killed, RuntimeError) as ended:
            if isinstance(ended, Killed):
                self._handler = None
            half = (len(batch) + 1) // 2
            return [each for each in (batch[:half], batch[half:]) if each]
        assert context.get_remaining_time_in_millis() > 0, "Lambda had ended it by then"
        if not failures:
            return []
        numbers = [each["dynamodb"]["SequenceNumber"] for each in batch]
        return [batch[numbers.index(failures[0]["itemIdentifier"]) :]]

    def _process(self) -> Handler:
        """A process of the function."""
        backend = build_backend(
            self.aws.settings, self.aws.clients, clock=self.clock, parallel=IN_ORDER
        )
        backend = Backend(self.aws.settings, replace(backend.stores, announce=lambda: self.bus))
        reader = StreamReader(
            tries=record_tries(self.aws.settings, self.aws.clients, EVENT_TRIES_PARTITION),
            clock=self.clock,
            sleep=self._sleep,
            chance=lambda: 0.5,
        )
        return build_stream(
            backend,
            read_image,
            SILENT,
            hooks=self.hook,
            count=lambda value, _: self.counted.append(value),
            measure=lambda *_: None,
            reader=reader,
        )

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.advance(s=seconds)
