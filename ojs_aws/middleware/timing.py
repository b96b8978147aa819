"""What a chain itself costs, apart from the handler (middleware specification, section 11.3).

Off unless a chain's ``measure`` was called; then every layer is wrapped once, when the chain
freezes, and each job allocates what its measuring needs.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.members import Layer
from ojs_aws.middleware.passages import drop_unstarted

T = TypeVar("T")

_log = logging.getLogger("ojs_aws.middleware.timing")


@dataclass(frozen=True, slots=True)
class Timings:
    """Where the time of one job's passage through a chain went.

    :ivar layers: milliseconds that each middleware took itself, without what lies further in.
    :ivar inner_ms: milliseconds of the handler, or of the storing.
    """

    layers: Mapping[str, float]
    inner_ms: float

    @property
    def middleware_ms(self) -> float:
        """Milliseconds of all the middleware together."""
        return sum(self.layers.values())


TimingReport: TypeAlias = Callable[[Job, Timings], None]
"""Takes the timings of one job; called in the passage's own task, so it must not block."""


def log_timings(job: Job, timings: Timings) -> None:
    """Write the timings of a job to the logger ``ojs_aws.middleware.timing``, at level debug."""
    _log.debug(
        "Middleware took %.3f ms",
        timings.middleware_ms,
        extra={
            "job_id": job.id,
            "job_type": job.type,
            "middleware_ms": round(timings.middleware_ms, 4),
            "inner_ms": round(timings.inner_ms, 4),
            "layers_ms": {name: round(ms, 4) for name, ms in timings.layers.items()},
        },
    )


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Measures every passage through one chain.

    :ivar clock: seconds, monotonic and fine (``time.perf_counter``).
    """

    report: TimingReport
    clock: Callable[[], float]
    _current: ContextVar[dict[str, float]] = field(
        default_factory=lambda: ContextVar("ojs_layers_ms")
    )

    def around(self, layer: Layer) -> Layer:
        """The layer, with its own time noted for the passage it is part of."""

        async def call(*given: object) -> object:
            *job, call_next = given
            inner_s = 0.0
            result: object = None
            unstarted: Coroutine[Any, Any, object] | None = None
            noted = self._current.get()

            def timed_next(*passed: object) -> Awaitable[object]:
                nonlocal unstarted
                unstarted = timing(call_next(*passed))  # type: ignore[operator]
                return unstarted

            async def timing(going: Awaitable[object]) -> object:
                nonlocal inner_s, unstarted
                unstarted = None
                self._current.set(noted)  # the middleware may go on in another context
                began = self.clock()
                try:
                    return await going
                finally:
                    inner_s += self.clock() - began

            began = self.clock()
            try:
                result = layer.call(*job, timed_next)
                result = await result if inspect.isawaitable(result) else result
                return result
            finally:
                forgotten, unstarted = unstarted, None
                drop_unstarted(forgotten, result)
                noted[layer.name] = (self.clock() - began - inner_s) * 1000

        return Layer(layer.name, call, layer.origin)

    async def measure(self, job: Job, passage: Awaitable[T]) -> T:
        """Wait for a passage, and report where its time went."""
        layers: dict[str, float] = {}
        token = self._current.set(layers)
        began = self.clock()
        try:
            return await passage
        finally:
            total_ms = (self.clock() - began) * 1000
            self._current.reset(token)
            ordered = dict(reversed(layers.items()))  # the innermost ended first
            timings = Timings(ordered, max(0.0, total_ms - sum(layers.values())))
            self._tell(job, timings)

    def _tell(self, job: Job, timings: Timings) -> None:
        try:
            self.report(job, timings)
        except Exception:  # noqa: BLE001 - measuring must not fail what it measures
            _log.exception("The timings of job %s could not be reported", job.id)
