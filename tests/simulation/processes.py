"""Function processes: the real services over the model, each with its own clock and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ojs_aws.config import Settings
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.services.backend import Backend
from ojs_aws.services.backend.ports import Ports
from ojs_aws.testing.clock import FakeClock
from ojs_aws.transport.events.stream import Handler as StreamHandler
from ojs_aws.transport.events.stream import build_stream
from ojs_aws.transport.events.tick import Handler as TickHandler
from ojs_aws.transport.events.tick import build_tick

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
    """A port, each call of which passes the simulation's gate."""

    def __init__(self, port: object, gate: Around) -> None:
        self._port = port
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._port, name)
        if name in WITHOUT_CALL or not callable(value):
            return value
        gate = self._gate
        port = type(self._port).__name__.removeprefix("Memory").removeprefix("Simulated")
        label = f"{port}.{name}"

        def call(*args: Any, **kwargs: Any) -> Any:
            return gate(label, lambda: value(*args, **kwargs))

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
        """The stream's handler, for records that hold what items stand for."""
        if "stream" not in self._handlers:
            self._handlers["stream"] = build_stream(
                self.backend, cast("Any", lambda image: image), SILENT, count=lambda *_: None
            )
        return cast("StreamHandler", self._handlers["stream"])


@dataclass(frozen=True)
class Model:
    """The ports.

    :ivar parts: by the names of :class:`Ports`; each of their calls passes the gate.
    :ivar others: those that get no fault in a simulation.
    """

    parts: dict[str, object]
    others: Ports


SETTINGS = Settings(allow_undeclared_queues=True, default_visibility_timeout_s=30)


def start(
    name: str,
    clock: OwnClock,
    model: Model,
    gate: Around,
    both: Any,
    *,
    leaves_messages: bool = False,
    lists_late: bool = False,
) -> Process:
    """A process that knows nothing yet."""
    settings = replace(
        SETTINGS, stream_deletes_messages=leaves_messages, stream_lists_completed=lists_late
    )
    ports: dict[str, Any] = {key: Gated(port, gate) for key, port in model.parts.items()}
    late: dict[str, Any] = {
        key: (lambda port=ports[key]: port)
        for key in ports
        if key not in {"store", "messages", "queues", "announce"}
    }
    announce = ports["announce"].announce
    changed = replace(
        model.others,
        store=ports["store"],
        messages=ports["messages"],
        queues=ports["queues"],
        clock=clock,
        enqueuing=lambda: Enqueuer(EnqueueChain()),
        both=both,
        announce=lambda: announce,
        **late,
    )
    return Process(name, clock, Backend(settings, changed))
