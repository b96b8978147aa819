"""Holds the states of a worker process, decides when it polls, and ends it in its grace period."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ojs_aws.client.timer import Timer, first_of, within
from ojs_aws.domain.errors import OjsError
from ojs_aws.worker.executor import ActiveJob, ActiveJobs
from ojs_aws.worker.failure import shutdown_failure
from ojs_aws.worker.reservations import Reservations

MAX_FETCH: Final = 100
"""Jobs that one FETCH asks for at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polls:
    """Sets the pace of polling: at once after a find, then slower and slower, at random.

    :ivar first_s: pause after the first empty answer, in seconds.
    :ivar growth: how much longer each further one is.
    :ivar longest_s: the longest pause while there is nothing to do.
    :ivar longest_failing_s: the longest pause while the backend cannot be asked.
    """

    first_s: float = 0.1
    growth: float = 1.5
    longest_s: float = 2.0
    longest_failing_s: float = 15.0

    def start(self, timer: Timer) -> Polling:
        """Return the pace of one worker."""
        return Polling(self, timer)


@dataclass(slots=True)
class Polling:
    """Holds the present pace of one worker."""

    polls: Polls
    timer: Timer
    _empty: int = 0

    def pause_s(self, *, found: bool, failed: bool) -> float:
        """Return the seconds until the next poll: 0 after a find, else half to all of the pause."""
        if found:
            self._empty = 0
            return 0.0
        longest = self.polls.longest_failing_s if failed else self.polls.longest_s
        full = min(self.polls.first_s * self.polls.growth ** min(self._empty, 64), longest)
        self._empty += 1
        return full * (0.5 + self.timer.chance() / 2)


class Turns:
    """Orders the queues for each fetch.

    Weights are served by smooth round robin: each queue is first in just its share of any
    ``sum(weights)`` fetches, spread evenly, so none waits for ever. The others follow it, so that
    a fetch finds work wherever there is some.
    """

    def __init__(self, queues: Sequence[str] | Mapping[str, int]) -> None:
        """Start with the first fetch.

        :param queues: names, the most urgent first; or their weights.
        :raises ValueError: a weight that is no positive integer.
        """
        self._strict = tuple(queues)
        self._weights = dict(queues) if isinstance(queues, Mapping) else {}
        for name, weight in self._weights.items():
            if type(weight) is not int or weight < 1:
                raise ValueError(f"the weight of '{name}' must be a positive integer: {weight!r}")
        self._credit = dict.fromkeys(self._weights, 0)

    def next(self) -> tuple[str, ...]:
        """Return the order for the next fetch."""
        if not self._weights:
            return self._strict
        for name, weight in self._weights.items():
            self._credit[name] += weight
        order = sorted(self._strict, key=lambda name: -self._credit[name])
        self._credit[order[0]] -= sum(self._weights.values())
        return tuple(order)


_logger = logging.getLogger(__name__)
LAST_WORDS_S: Final = 3.0
"""How long abandoned jobs are given back after the grace period, in seconds."""


class WorkerState(StrEnum):
    """Says what a worker may do."""

    RUNNING = "running"
    QUIET = "quiet"
    TERMINATE = "terminate"


_SHOWN: Final = {
    WorkerState.RUNNING: "running",
    WorkerState.QUIET: "quiet, and fetches no jobs",
    WorkerState.TERMINATE: "ending",
}
_NEXT: Final = {
    WorkerState.RUNNING: frozenset({WorkerState.QUIET, WorkerState.TERMINATE}),
    WorkerState.QUIET: frozenset({WorkerState.RUNNING, WorkerState.TERMINATE}),
    WorkerState.TERMINATE: frozenset[WorkerState](),
}


class Lifecycle:
    """Holds the state of one worker. Belongs to one event loop, which also receives signals."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Start in ``running``.

        :param monotonic: seconds on a clock that never goes back.
        """
        self.state = WorkerState.RUNNING
        self.is_forced = False
        self._monotonic = monotonic
        self._entered_at = monotonic()
        self._changed = asyncio.Event()
        self._is_quiet_by_server = False

    @property
    def is_running(self) -> bool:
        """Return whether jobs may be fetched."""
        return self.state is WorkerState.RUNNING

    @property
    def is_ending(self) -> bool:
        """Return whether the worker is about to end."""
        return self.state is WorkerState.TERMINATE

    @property
    def for_s(self) -> float:
        """Return the seconds since the state was entered."""
        return self._monotonic() - self._entered_at

    def quiet(self, reason: str) -> None:
        """Stop fetching, continue executing (SIGTSTP); only :meth:`resume` ends this."""
        self._is_quiet_by_server = False
        self._move(WorkerState.QUIET, reason)

    def resume(self, reason: str) -> None:
        """Fetch again after ``quiet`` (SIGCONT); ignored once the worker terminates."""
        self._is_quiet_by_server = False
        self._move(WorkerState.RUNNING, reason)

    def terminate(self, reason: str) -> None:
        """Stop fetching and end within the grace period; a second time: end now."""
        if self.is_ending:
            self.force(reason)
        self._move(WorkerState.TERMINATE, reason)

    def force(self, reason: str) -> None:
        """End now and abandon what is still executing."""
        if not self.is_forced:
            _logger.warning("Ending at once, jobs are abandoned: %s", reason)
            self.is_forced = True
            self._notify()

    def obey(self, directive: str) -> None:
        """Follow the directive of a heartbeat's answer.

        ``running`` wakes a worker that the server quieted: the operator has taken that back. It
        never wakes one that a signal quieted; only SIGCONT does (worker protocol, section 2.3).
        """
        if directive == WorkerState.QUIET and self.is_running:
            self._is_quiet_by_server = True
            self._move(WorkerState.QUIET, "the server says so")
        elif directive == WorkerState.RUNNING and self._is_quiet_by_server:
            self.resume("the server says so")
        elif directive == WorkerState.TERMINATE and not self.is_ending:
            self.terminate("the server says so")

    def changed(self) -> Awaitable[object]:
        """Return an awaitable for the next change, counted from this call."""
        return self._changed.wait()

    async def forced(self) -> None:
        """Wait until the worker must end at once."""
        while not self.is_forced:
            await self.changed()

    async def over(self, timer: Timer, grace_s: float) -> None:
        """Wait until the grace period of a worker that ends is over, or it must end at once."""
        while not self.is_ending:
            await self.changed()
        await first_of(timer.sleep(max(0.0, grace_s - self.for_s)), self.forced())

    def _move(self, state: WorkerState, reason: str) -> None:
        if state in _NEXT[self.state]:
            _logger.info("The worker is now %s: %s", _SHOWN[state], reason)
            self.state = state
            self._entered_at = self._monotonic()
            self._notify()

    def _notify(self) -> None:
        """Wake everybody who waits for this change, and nobody who waits for the next."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def reactions(lifecycle: Lifecycle) -> dict[str, Callable[[], None]]:
    """Return what each signal does, by its name.

    SIGINT is treated as SIGTERM (ojs-graceful-shutdown, section 4.1): Ctrl-C drains, and pressed
    again ends at once.
    """
    return {
        "SIGTERM": lambda: lifecycle.terminate("SIGTERM"),
        "SIGINT": lambda: lifecycle.terminate("SIGINT"),
        "SIGTSTP": lambda: lifecycle.quiet("SIGTSTP"),
        "SIGCONT": lambda: lifecycle.resume("SIGCONT"),
    }


async def drain(
    held: Reservations, active: ActiveJobs, lifecycle: Lifecycle, timer: Timer, grace_s: float
) -> None:
    """Wait for the jobs, for the grace period at most; then give them back.

    :param active: what the worker still holds.
    """
    if active:
        left_s = max(0.0, grace_s - lifecycle.for_s)
        _logger.info("Running jobs: %d. They have %.0f s to finish", len(active), left_s)
    await first_of(active.empty(), lifecycle.over(timer, grace_s))
    left = [each for each in active if each.give_up("the worker shuts down")]
    if left:
        _logger.warning("Jobs that were not finished, and go back: %d", len(left))
    if not lifecycle.is_forced:
        await within(timer, LAST_WORDS_S, _give_back(held, active, left))


async def _give_back(held: Reservations, active: ActiveJobs, left: Sequence[ActiveJob]) -> None:
    """Give the jobs back, so that nobody waits for the end of their reservations.

    The attempt does not count: the job did not fail. Outcomes that are being reported get the
    same time.
    """

    async def requeue(each: ActiveJob) -> None:
        with suppress(OjsError):
            await held.requeue(each.job.id, shutdown_failure(), reservation_id=each.reservation_id)

    await asyncio.gather(active.empty(), *(requeue(each) for each in left))
