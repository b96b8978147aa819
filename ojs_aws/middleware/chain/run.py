"""Run one job through a chain: the same way for enqueueing and for execution.

A chain is a row of layers, the first outermost. Each middleware gets a ``call_next``, which is a
:class:`Step`: a plain object, made for this middleware and this job. Calling it runs the next layer
further in; behind the last layer it stores the job, or calls the handler. So the calls nest, and
what a layer returns or raises travels back through the layers around it.

Every step refuses a second call, and a call after its middleware has returned. A middleware that
returns before its ``call_next`` has ended is refused, too. The other rules differ between the kinds
of chain: they are the methods of each subclass of :class:`Run`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from types import CoroutineType
from typing import Any, ClassVar, Final, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.members import Layer
from ojs_aws.middleware.results import NextCalledTwiceError, NextNotAwaitedError

FRESH: Final = 0
CALLED: Final = 1
ENDED: Final = 2


Layers: TypeAlias = "tuple[Layer | None, ...]"
"""The layers of a chain, outermost first, and None for what the chain is around."""


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
        """Store the job, or call the handler: it is what the chain stands around."""
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
