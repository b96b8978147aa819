"""Stop executing a job type that keeps failing: a circuit breaker (specification, section 4.5).

Written here because no maintained library fits: pybreaker waits for futures of Tornado only, and
purgatory and aiobreaker measure by the wall clock and keep their state in objects of one event
loop. What is needed is a small table of states behind a lock.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import ExecutionNext
from ojs_aws.middleware.results import NO_FAILURES, outcome_of

MAX_CIRCUITS: Final = 10_000


class CircuitState(Enum):
    """Say whether jobs pass a circuit."""

    CLOSED = "closed"
    """All jobs pass."""
    OPEN = "open"
    """None does."""
    HALF_OPEN = "half_open"
    """A few do, to find out."""


class CircuitOpenError(Exception):
    """Raised instead of executing a job whose circuit is open. Its retry policy applies.

    :ivar key: of the circuit.
    :ivar retry_after_s: seconds until jobs are tried again; 0 while others are being tried.
    """

    def __init__(self, key: str, retry_after_s: float) -> None:
        """Name the circuit, and say when jobs are tried again."""
        when = f"in {math.ceil(retry_after_s)} s" if retry_after_s else "when the trial succeeds"
        super().__init__(f"The circuit of {key!r} is open after too many failures; again {when}.")
        self.key = key
        self.retry_after_s = retry_after_s


@dataclass(slots=True)
class _Circuit:
    """Holds what is remembered of a key that failed.

    :ivar failed_at: the latest failures, at most as many as open the circuit.
    :ivar opened_at: when it was opened; None while it is closed.
    :ivar trials: executions that are being tried.
    :ivar era: counts openings and closings: what began in an earlier one says nothing any more.
    """

    failed_at: deque[float]
    opened_at: float | None = None
    trials: int = 0
    era: int = field(default=0)


@dataclass(eq=False, repr=False)
class CircuitBreakerMiddleware:
    """Stops executing jobs of a type for a while after too many of them failed.

    Closed: jobs pass. ``failures`` of them within ``window_s`` seconds open the circuit: jobs fail
    at once with CircuitOpenError. After ``cooldown_s`` seconds it is half-open: ``trials`` jobs may
    pass; a success closes it, a failure opens it again.

    A job that finds the circuit open has used an attempt; let its retry policy wait longer than the
    cooldown. A job that the worker gave up (shutdown, cancellation) counts neither way. The state
    is that of this process. Put it outside of the timeout, so that timeouts count.

    :param failures: how many open the circuit.
    :param window_s: seconds within which they do.
    :param cooldown_s: seconds that the circuit stays open.
    :param trials: jobs that may be tried at a time when it is half-open.
    :param key: another circuit than the job's type; None lets a job pass unwatched.
    :param counts: whether an error speaks against what is called; default: every one does.
    :param clock: monotonic seconds.
    :raises ValueError: a number that is not positive.
    """

    failures: int = 5
    _: KW_ONLY
    window_s: float = 60.0
    cooldown_s: float = 30.0
    trials: int = 1
    key: Callable[[Job], str | None] | None = None
    counts: Callable[[BaseException], bool] | None = None
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _circuits: OrderedDict[str, _Circuit] = field(default_factory=OrderedDict, init=False)

    def __post_init__(self) -> None:
        """Watch each job type by itself."""
        if self.failures < 1 or self.trials < 1 or self.window_s <= 0 or self.cooldown_s <= 0:
            raise ValueError("failures, window_s, cooldown_s and trials must be positive")

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:  # noqa: ARG002
        """Execute the job unless its circuit is open.

        :raises CircuitOpenError: it is, and the handler was not called.
        """
        key = job.type if self.key is None else self.key(job)
        if key is None:
            return await call_next()
        era, is_trial = self._enter(key)
        is_success: bool | None = None
        try:
            result = await call_next()
            is_success = True
        except BaseException as problem:
            if outcome_of(problem) not in NO_FAILURES:
                is_success = self.counts is not None and not self.counts(problem)
            raise
        finally:
            self._leave(key, era, is_trial=is_trial, is_success=is_success)
        return result

    def state(self, key: str) -> CircuitState:
        """Return the state that a circuit has now."""
        with self._lock:
            return self._state_of(self._circuits.get(key))

    def states(self) -> dict[str, CircuitState]:
        """Return the state of every circuit that had a failure and is remembered."""
        with self._lock:
            return {key: self._state_of(circuit) for key, circuit in self._circuits.items()}

    def reset(self, key: str) -> None:
        """Close a circuit by hand."""
        with self._lock:
            self._circuits.pop(key, None)

    # ------------------------------------------------------------------ one execution
    def _enter(self, key: str) -> tuple[int, bool]:
        """Return the circuit's era, and True for an execution that is a trial."""
        with self._lock:
            circuit = self._circuits.get(key)
            state = self._state_of(circuit)
            if circuit is None or state is CircuitState.CLOSED:
                return (0 if circuit is None else circuit.era), False
            if state is CircuitState.HALF_OPEN and circuit.trials < self.trials:
                circuit.trials += 1
                return circuit.era, True
            opened_at = self.clock() if circuit.opened_at is None else circuit.opened_at
            raise CircuitOpenError(key, max(0.0, opened_at + self.cooldown_s - self.clock()))

    def _leave(self, key: str, era: int, *, is_trial: bool, is_success: bool | None) -> None:
        with self._lock:
            circuit = self._circuits.get(key)
            if circuit is not None and circuit.era != era:
                return
            if is_trial:
                if circuit is not None:
                    self._tried(key, circuit, is_success=is_success)
            elif is_success is False:
                self._failed(key, circuit)

    def _tried(self, key: str, circuit: _Circuit, *, is_success: bool | None) -> None:
        circuit.trials -= 1
        if is_success:
            circuit.opened_at = None
            circuit.failed_at.clear()
            circuit.trials = 0
            circuit.era += 1
            self._circuits.move_to_end(key)
        elif is_success is False:
            self._open(circuit)

    def _failed(self, key: str, circuit: _Circuit | None) -> None:
        if circuit is None:
            self._make_room()
            circuit = self._circuits[key] = _Circuit(deque(maxlen=self.failures))
        now = self.clock()
        circuit.failed_at.append(now)
        is_full = len(circuit.failed_at) == self.failures
        if is_full and now - circuit.failed_at[0] <= self.window_s:
            self._open(circuit)

    def _open(self, circuit: _Circuit) -> None:
        circuit.opened_at = self.clock()
        circuit.failed_at.clear()
        circuit.trials = 0
        circuit.era += 1

    def _make_room(self) -> None:
        """Forget the circuit that changed longest ago; keys may be made of anything."""
        while len(self._circuits) >= MAX_CIRCUITS:
            self._circuits.popitem(last=False)

    def _state_of(self, circuit: _Circuit | None) -> CircuitState:
        if circuit is None or circuit.opened_at is None:
            return CircuitState.CLOSED
        is_over = self.clock() - circuit.opened_at >= self.cooldown_s
        return CircuitState.HALF_OPEN if is_over else CircuitState.OPEN
