"""Function processes: services and stores as deployed, each with its own clock and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import AwsClients, build_stores
from ojs_aws.config import Settings
from ojs_aws.domain.runtime import Clock, Parallel
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import CountingIds, FakeClock, counting
from ojs_aws.transport.events.stream import Handler as StreamHandler
from ojs_aws.transport.events.stream import build_stream
from ojs_aws.transport.events.tick import Handler as TickHandler
from ojs_aws.transport.events.tick import build_tick
from tests.simulation.account import BUCKET, BUS

WITHOUT_CALL = frozenset({"fits_inline", "keep_result", "place_of", "fill", "actions", "token"})
"""What the adapters answer without asking AWS, for documents of the size that is simulated."""


class Silence:
    """A logger of the functions that says nothing, whatever it is asked for."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return _nothing


def _nothing(*_: object, **__: object) -> None:
    """Say nothing."""


SILENT = cast("Any", Silence())

Around = Callable[[str, Callable[[], Any]], Any]


class Gated:
    """A store, each call of which passes a gate."""

    def __init__(self, store: object, gate: Around) -> None:
        self._store = store
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._store, name)
        if name in WITHOUT_CALL or not callable(value):
            return value
        gate = self._gate

        def call(*args: Any, **kwargs: Any) -> Any:
            return gate(name, lambda: value(*args, **kwargs))

        self.__dict__[name] = call
        return call


@dataclass
class OwnClock:
    """The time as one process knows it."""

    true: FakeClock
    skew_ms: int = 0
    _last: int = 0

    def now(self) -> Instant:
        """Its idea of the current instant."""
        return Instant(self.true.at + self.skew_ms)

    def order(self) -> int:
        """Strictly increasing microseconds."""
        self._last = max(self._last + 1, (self.true.at + self.skew_ms) * 1000)
        return self._last


@dataclass(eq=False)
class Process:
    """One function process.

    :ivar is_busy: it serves one request at a time, as in Lambda.
    """

    name: str
    clock: OwnClock
    backend: Backend
    is_busy: bool = False
    _handlers: dict[str, Any] = field(default_factory=dict)

    @property
    def tick(self) -> TickHandler:
        """The timer's handler."""
        if "tick" not in self._handlers:
            self._handlers["tick"] = build_tick(self.backend, SILENT)
        return cast("TickHandler", self._handlers["tick"])

    @property
    def stream(self) -> StreamHandler:
        """The stream's handler."""
        if "stream" not in self._handlers:
            self._handlers["stream"] = build_stream(
                self.backend, read_image, SILENT, count=lambda *_: None
            )
        return cast("StreamHandler", self._handlers["stream"])


SETTINGS = Settings(
    allow_undeclared_queues=True,
    default_visibility_timeout_s=30,
    event_bus=BUS,
    event_bus_types=(),
    bucket=BUCKET,
)


@dataclass(frozen=True, kw_only=True)
class Code:
    """What all processes of a run are started with.

    :ivar ids: the ids of jobs, counted so that a run repeats exactly.
    :ivar parallel: makes two calls side by side.
    """

    settings: Settings
    ids: CountingIds
    parallel: Parallel
    new_reservation_id: Callable[[], str] = field(default_factory=lambda: counting("reservation"))

    def backend(
        self,
        clients: AwsClients,
        clock: Clock,
        *,
        leaves_messages: bool = False,
        lists_late: bool = False,
    ) -> Backend:
        """Return the services of one process, with some settings of its own."""
        chosen = replace(
            self.settings,
            stream_deletes_messages=leaves_messages,
            stream_lists_completed=lists_late,
        )
        stores = replace(
            build_stores(chosen, clients, clock=clock, ids=self.ids, parallel=self.parallel),
            new_reservation_id=self.new_reservation_id,
            enqueuing=lambda: Enqueuer(EnqueueChain()),
            pause=lambda _: None,
            processor_s=lambda: 0.0,
        )
        return Backend(chosen, stores)
