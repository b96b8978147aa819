"""Operations that run side by side, of which exactly one moves at a time.

Each is a thread that stops wherever the services call a port. Who goes on next is decided by the
caller alone, so a run repeats exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(eq=False)
class Strand:
    """One operation under way.

    :ivar calls_left: port calls that it makes before it stops again.
    """

    pool: Strands
    work: Callable[[], None] | None = None
    calls_left: int = 0
    is_over: bool = True
    trouble: BaseException | None = None
    _turn: threading.Lock = field(default_factory=_held)

    def serve(self) -> None:
        """What the thread does: one operation after another."""
        while True:
            self._turn.acquire()
            if self.work is None:
                return
            try:
                self.work()
            except BaseException as problem:  # noqa: BLE001 - reported to who runs the simulation
                self.trouble = problem
            self.is_over = True
            self.pool.come_back()

    def go_on(self) -> None:
        """Let it move until it stops or ends; called by who runs the simulation.

        :raises BaseException: what the operation raised.
        """
        self.pool.current = self
        self._turn.release()
        self.pool.wait()
        self.pool.current = None
        if self.trouble is not None:
            trouble, self.trouble = self.trouble, None
            raise trouble

    def stop(self) -> None:
        """Let the others move; called within the operation."""
        self.pool.come_back()
        self._turn.acquire()


@dataclass
class Strands:
    """Threads for operations, used again and again.

    :ivar current: the operation that moves at this moment.
    """

    current: Strand | None = None
    _idle: list[Strand] = field(default_factory=list)
    _main: threading.Lock = field(default_factory=_held)

    def begin(self, work: Callable[[], None]) -> Strand:
        """An operation that has not moved yet."""
        if self._idle:
            strand = self._idle.pop()
        else:
            strand = Strand(self)
            threading.Thread(target=strand.serve, name="simulated", daemon=True).start()
        strand.work, strand.is_over = work, False
        return strand

    def end(self, strand: Strand) -> None:
        """Keep the thread of an operation that is over for another one."""
        assert strand.is_over
        self._idle.append(strand)

    def close(self) -> None:
        """End the threads; no operation is under way."""
        for strand in self._idle:
            strand.work = None
            strand._turn.release()
        self._idle = []

    def come_back(self) -> None:
        """Wake who runs the simulation."""
        self._main.release()

    def wait(self) -> None:
        """Wait for the operation that moves."""
        self._main.acquire()
