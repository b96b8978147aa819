"""Stores worker pools, and orders the queues of a FETCH that names one (ojs-fair-scheduling).

A process knows a pool for some seconds, so a FETCH makes no read for it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from ojs_aws.domain.attributes import not_found
from ojs_aws.domain.errors import ConflictError, NotFoundError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.ready_keys import ready_since
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import Pool, Strategy, check_pool_name, ordered
from ojs_aws.services.workers.service import STALE, read_about, state_of

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.workers import WorkerPools, WorkerRegistry

MAX_POOLS: Final = 100
KNOWN_MS: Final = 5_000
"""How old what a process knows of a pool may be (milliseconds)."""
MAX_WORKERS: Final = 2_000
"""Workers that are counted; those beyond belong to no pool in the list."""
MAX_KNOWN: Final = 1_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PoolUse:
    """Holds a pool, and how many workers and jobs it has by their heartbeats."""

    pool: Pool
    workers: int = 0
    jobs: int = 0


@dataclass(slots=True)
class Pools:
    """Looks after worker pools."""

    store: WorkerPools
    registry: WorkerRegistry
    clock: Clock
    seed: Callable[[], str]
    _known: dict[str, tuple[Pool | None, Instant]] = field(default_factory=dict)
    _turns: dict[str, Iterator[int]] = field(default_factory=dict)
    _waits: dict[str, tuple[int, Instant]] = field(default_factory=dict)
    _phase: int | None = None

    def put(self, pool: Pool) -> bool:
        """Store a pool in the place of what has its name; return whether there was none.

        :raises ConflictError: there are as many as there may be.
        """
        names = {each.name for each in self.store.all()}
        if pool.name not in names and len(names) >= MAX_POOLS:
            raise ConflictError(f"There are {MAX_POOLS} worker pools, and cannot be more.")
        self.store.save(pool)
        self._known.pop(pool.name, None)
        return pool.name not in names

    def get(self, name: str) -> PoolUse:
        """Return a pool.

        :raises NotFoundError: there is none of this name.
        """
        pool = self.store.load(check_pool_name(name))
        if pool is None:
            raise unknown_pool(name)
        return self._used([pool])[0]

    def list(self) -> Sequence[PoolUse]:
        """Return all pools by name."""
        return self._used(self.store.all())

    def delete(self, name: str) -> None:
        """Remove a pool; its workers fetch from the queues that they name.

        :raises NotFoundError: there is none of this name.
        """
        if not self.store.delete(check_pool_name(name)):
            raise unknown_pool(name)
        self._known.pop(name, None)

    def _used(self, pools: Sequence[Pool]) -> Sequence[PoolUse]:
        now, workers, jobs = self.clock.now(), Counter[str](), Counter[str]()
        for worker in self.registry.page("", MAX_WORKERS, now) if pools else ():
            name = read_about(worker).get("pool")
            if isinstance(name, str) and state_of(worker, now) != STALE:
                workers[name] += 1
                jobs[name] += worker.active_jobs
        return [PoolUse(pool, workers[pool.name], jobs[pool.name]) for pool in pools]

    def known(self, name: str) -> Pool | None:
        """Return a pool as it was a few seconds ago at most; None if there is none.

        Makes one consistent read in :data:`KNOWN_MS`, process and pool.
        """
        now, (pool, until) = self.clock.now(), self._known.get(name, (None, Instant(0)))
        if now >= until:
            pool = self.store.load(check_pool_name(name))
            _make_room(self._known)
            self._known[name] = (pool, Instant(now + KNOWN_MS))
        return pool

    def order(self, pool: Pool) -> tuple[str, ...]:
        """Return the queues of a pool, or of a FETCH's own choice, in the order of a turn."""
        if self._phase is None:
            digest = hashlib.blake2s(self.seed().encode(), digest_size=8).digest()
            self._phase = int.from_bytes(digest, "big")
        key = pool.name or repr(pool)
        if key not in self._turns:
            _make_room(self._turns)
            self._turns[key] = itertools.count()
        now = self.clock.now()
        waits = {queue: ms for queue, (ms, until) in self._waits.items() if now < until}
        return ordered(pool, self._phase, next(self._turns[key]), waits)

    def learn(self, pool: Pool, queues: Sequence[str], jobs: Sequence[JobRecord]) -> None:
        """Note for how long the jobs of a FETCH waited, for ``least-loaded``.

        Queues that were looked at and had none are empty.
        """
        if pool.strategy is not Strategy.LEAST_LOADED:
            return
        now = self.clock.now()
        waited = {job.queue: now - ready_since(job.ready_key) for job in reversed(jobs)}
        last = max((queues.index(queue) for queue in waited if queue in queues), default=None)
        for queue in queues if last is None else queues[: last + 1]:
            _make_room(self._waits)
            self._waits[queue] = (waited.get(queue, 0), Instant(now + KNOWN_MS))


def _make_room(known: dict[str, T]) -> None:
    while len(known) >= MAX_KNOWN:  # the oldest first
        known.pop(next(iter(known)), None)


def unknown_pool(name: str) -> NotFoundError:
    """Return the error about a pool that does not exist."""
    return not_found("pool", name[:128], f"Worker pool '{name[:80]}' not found.")
