"""What both chains are: members that can be measured, and that freeze with the first job."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Self

from ojs_aws.middleware.interfaces import Interface
from ojs_aws.middleware.members import STARTED, Layer, Members

if TYPE_CHECKING:
    from ojs_aws.middleware.timing import Stopwatch, TimingReport


class Chain(Members):
    """A chain of middleware."""

    _stopwatch: Stopwatch | None = None

    def measure(
        self, report: TimingReport | None = None, *, clock: Callable[[], float] = perf_counter
    ) -> Self:
        """Measure from now on what each middleware costs by itself (section 11.3).

        :param report: takes the timings of each job; by default they are logged at level debug.
        :param clock: seconds, monotonic and fine.
        :raises ChainFrozenError: the chain processes jobs already.
        """
        from ojs_aws.middleware.timing import Stopwatch, log_timings  # noqa: PLC0415 - off by default

        self.refuse_when_frozen()
        self._stopwatch = Stopwatch(report or log_timings, clock)
        return self

    def start(self, interface: Interface) -> tuple[Layer, ...]:
        """Freeze, and give the layers of an interface as jobs shall pass through them."""
        self.freeze(STARTED)
        layers = self.layers(interface)
        if self._stopwatch is None:
            return layers
        return tuple(self._stopwatch.around(layer) for layer in layers)
