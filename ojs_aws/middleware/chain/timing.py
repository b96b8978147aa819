"""Measure what a chain itself costs, apart from the handler (specification, section 11.3).

Off unless a chain's ``measure`` was called.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain.run import Run, Step

_log = logging.getLogger("ojs_aws.middleware.timing")


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
        except Exception:  # noqa: BLE001 - measuring must not fail what it measures
            _log.exception("The timings of job %s could not be reported", job.id)
