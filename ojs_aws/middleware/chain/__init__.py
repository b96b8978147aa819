"""Run jobs through a chain: the same way for enqueueing and for execution.

A chain is a row of layers, the first outermost. Each middleware gets a ``call_next``, which is a
:class:`Step`: a plain object, made for this middleware and this job. Calling it runs the next layer
further in; behind the last layer it stores the job, or calls the handler. So the calls nest, and
what a layer returns or raises travels back through the layers around it.

Every step refuses a second call, and a call after its middleware has returned. A middleware that
returns before its ``call_next`` has ended is refused, too. The other rules differ between the kinds
of chain: they are the methods of each subclass of :class:`Run`.

Nothing measures how long the layers take unless :meth:`Chain.measure` was called.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from time import perf_counter
from types import CoroutineType
from typing import Any, ClassVar, Final, Self, TypeAlias, TypeVar, cast

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.members import STARTED, Layer, Members
from ojs_aws.middleware.protocols import Interface
from ojs_aws.middleware.results import NextCalledTwiceError, NextNotAwaitedError

FRESH: Final = 0
CALLED: Final = 1
ENDED: Final = 2


Layers: TypeAlias = "tuple[Layer | None, ...]"
"""The layers of a chain, outermost first, and None for what the chain is around."""
_logger = logging.getLogger("ojs_aws.middleware.timing")


class Run:
    """Holds one job on its way through a chain, and has the rules of that kind of chain."""

    returning_passes_on: ClassVar = False
    """Whether a middleware may return the job instead of calling ``call_next`` with it."""

    layers: Layers
    clock: Callable[[], float]
    took_s: dict[int, float]
    """The seconds of each step by its position; kept only while the chain is measured."""
    report_times: Callable[[Job, Run], None]

    def accept(self, step: Step, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what the next layer is called with; refuse what ``call_next`` must not get."""
        raise NotImplementedError

    def innermost(self, *given: Any) -> object:
        """Store the job, or call the handler, once all layers have called ``call_next``."""
        raise NotImplementedError

    def settle(self, layer: Layer, following: Step, result: Any) -> object:
        """Return the result of a layer; refuse one that is not true."""
        raise NotImplementedError

    def note_error(self, layer: Layer, following: Step, problem: BaseException) -> None:
        """Note an error that leaves a layer."""
        raise NotImplementedError


class Step:
    """Runs everything further in, once: the ``call_next`` of one middleware for one job.

    :ivar position: of the layer that it runs, 0 for the outermost.
    :ivar error: what it raised; kept until the middleware around it has ended.
    :ivar unstarted: the coroutine that a call of the step returned, until somebody awaits it.
    """

    __slots__ = ("error", "position", "run", "state", "unstarted")

    def __init__(self, run: Run, position: int = 0) -> None:
        """Make the step that runs the layer at a position, or what is behind the last one."""
        self.run = run
        self.position = position
        self.state = FRESH
        self.error: BaseException | None = None
        self.unstarted: Coroutine[Any, Any, Any] | None = None

    @property
    def caller(self) -> str:
        """Return the name of the middleware that has this step as its ``call_next``."""
        layer = self.run.layers[self.position - 1] if self.position else None
        return layer.name if layer else ""

    def __call__(self, *given: Any) -> Coroutine[Any, Any, Any]:
        """Return a coroutine that runs everything further in."""
        if self.state != FRESH:
            raise NextCalledTwiceError(
                f"Middleware {self.caller!r} called call_next a second time, or after it had "
                "returned; it goes on exactly once per job."
            )
        accepted = self.run.accept(self, given)
        self.state = CALLED
        self.unstarted = going = self.go(accepted)
        return going

    async def go(self, given: tuple[Any, ...]) -> object:
        """Run the layer of this step, with a new step as its ``call_next``."""
        self.unstarted = None
        run = self.run
        layer = run.layers[self.position]
        following = self.__class__(run, self.position + 1)
        try:
            result = run.innermost(*given) if layer is None else layer.call(*given, following)
            if type(result) is CoroutineType or (
                type(result) is not Job and inspect.isawaitable(result)
            ):
                result = await result
            if layer is None:
                return result
            if following.state == CALLED:
                raise NextNotAwaitedError(  # noqa: TRY301 - the error of this layer
                    f"Middleware {layer.name!r} called call_next and returned before that had "
                    "ended: write `await call_next(...)`, in an `async def`."
                )
            if following.state == FRESH and run.returning_passes_on and result is not None:
                result = await following(result)
            return run.settle(layer, following, result)
        except BaseException as problem:
            if layer is not None:
                run.note_error(layer, following, problem)
            self.error = problem if self.position else None  # nobody asks the outermost step
            raise
        finally:
            self.state = following.state = ENDED
            following.error = None  # no circle: its traceback refers to the step
            if following.unstarted is not None:
                following.unstarted.close()  # nobody is to await it, nor Python to warn of that


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
        from ojs_aws.middleware.synchronous import run_in_loop  # imports asyncio

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
