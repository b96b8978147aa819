"""Do what both chains do: freeze with the first job, run jobs, also synchronously, and measure."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from ojs_aws.middleware.chain.run import Layers, Run, Step
from ojs_aws.middleware.interfaces import Interface
from ojs_aws.middleware.members import STARTED, Members

if TYPE_CHECKING:
    from ojs_aws.middleware.chain.timing import Stopwatch, TimingReport


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
        from ojs_aws.middleware.chain.timing import (  # off by default
            Stopwatch,
            log_timings,
        )

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


def drive(coroutine: Coroutine[Any, Any, T], *, never_waits: bool) -> T:
    """Run a coroutine to its end.

    One that never waits runs right here, which saves a cold start the import of asyncio. Any other
    runs from its start in the loop of a thread, which stays: a coroutine cannot move into a loop
    later, and connections that a middleware keeps belong to one loop.

    :raises RuntimeError: it was declared never to wait, and has waited.
    """
    if not never_waits:
        from ojs_aws.middleware.event_loop import run_in_loop  # imports asyncio

        return run_in_loop(coroutine)
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    coroutine.close()
    raise RuntimeError("A middleware that says it never waits has waited.")
