"""Do what both chains do: freeze with the first job, run jobs, and measure the overhead.

Off unless a chain's ``measure`` was called.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self, TypeAlias, TypeVar, cast

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain.run import Layers, Run, Step
from ojs_aws.middleware.interfaces import Interface
from ojs_aws.middleware.members import STARTED, Members

_logger = logging.getLogger("ojs_aws.middleware.timing")


class Chain(Members):
    """Runs jobs through its middleware."""

    _layers: Layers | None = None
    _stopwatch: Stopwatch | None = None

    def measure(
        self, report: TimingReport | None = None, *, clock: Callable[[], float] = perf_counter
    ) -> Self:
        """Measure from now on what each middleware costs by itself (section 11.3).

        :param report: takes the timings of each job; by default they are logged at level debug.
        :param clock: seconds, monotonic and fine.
        :raises ChainFrozenError: the chain processes jobs already.
        """
        self.refuse_when_frozen()
        self._stopwatch = Stopwatch(report or log_timings, clock)
        return self

    def start(self, interface: Interface) -> Layers:
        """Freeze with the first job, and return the layers that each job runs through."""
        layers = self._layers
        if layers is None:
            self.freeze(STARTED)
            self._layers = layers = (*self.layers(interface), None)
        return layers

    def outermost(self, run: Run) -> Step:
        """Return the step that runs a job from the outermost layer on."""
        return Step(run) if self._stopwatch is None else self._stopwatch.outermost(run)


T = TypeVar("T")


def run_coroutine(coroutine: Coroutine[Any, Any, T], *, never_waits: bool) -> T:
    """Run a coroutine to its end.

    One that never waits runs right here, which saves a cold start the import of asyncio. Any other
    runs from its start in the loop of a thread, which stays: a coroutine cannot move into a loop
    later, and connections that a middleware keeps belong to one loop.

    :raises RuntimeError: it was declared never to wait, and has waited.
    """
    if not never_waits:
        from ojs_aws.middleware.sync_context import run_in_loop  # imports asyncio

        return run_in_loop(coroutine)
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    coroutine.close()
    raise RuntimeError("A middleware that says it never waits has waited.")


@dataclass(frozen=True, slots=True)
class Timings:
    """Says where the time of one job's run through a chain went.

    :ivar layers: milliseconds that each middleware took itself, without what lies further in.
    :ivar inner_ms: milliseconds of the handler, or of the storing.
    """

    layers: Mapping[str, float]
    inner_ms: float

    @property
    def middleware_ms(self) -> float:
        """Return the milliseconds of all the middleware together."""
        return sum(self.layers.values())


TimingReport: TypeAlias = Callable[[Job, Timings], None]
"""Takes the timings of one job; called where the job runs, so it must not block."""


def log_timings(job: Job, timings: Timings) -> None:
    """Write the timings of a job to the logger ``ojs_aws.middleware.timing``, at level debug."""
    _logger.debug(
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


class TimedStep(Step):
    """Notes how long a step took, with everything further in; the outermost one reports."""

    async def go(self, given: tuple[Any, ...]) -> object:
        """Run the layer of this step, and note the time."""
        run = self.run
        began = run.clock()
        try:
            return await super().go(given)
        finally:
            run.took_s[self.position] = run.clock() - began
            if not self.position:
                run.report_times(given[0], run)


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Measures every run through one chain.

    :ivar clock: seconds, monotonic and fine (``time.perf_counter``).
    """

    report: TimingReport
    clock: Callable[[], float]

    def outermost(self, run: Run) -> TimedStep:
        """Return the step that runs a job through the chain, and reports where its time went."""
        run.clock, run.took_s, run.report_times = self.clock, {}, self._report
        return TimedStep(run)

    def _report(self, job: Job, run: Run) -> None:
        took_s = run.took_s
        own_ms = {at: (took_s[at] - took_s.get(at + 1, 0.0)) * 1000 for at in sorted(took_s)}
        inner_ms = own_ms.pop(len(run.layers) - 1, 0.0)
        names = [layer.name for layer in run.layers if layer is not None]
        try:
            self.report(job, Timings({names[at]: own_ms[at] for at in own_ms}, inner_ms))
        except Exception:  # measuring must not fail what it measures
            _logger.exception("The timings of job %s could not be reported", job.id)
