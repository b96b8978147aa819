"""Computes how long a reservation lasts, and when a silent worker counts as dead.

A worker that promises an interval, or that beats, is found dead after three missed heartbeats,
however long its reservations are (core, section 7.5.4; worker protocol, section 10). Nothing looks
for dead workers: each reservation carries the instant up to which its worker was alive, and the
queue's waiting list is ordered by it like by any other deadline (decision 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import ROW_REST, Extension
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import WorkerInfo

MISSED_HEARTBEATS: Final = 3
"""Heartbeats that a worker may miss before it counts as dead (core, section 7.5.4)."""

ASSUMED_INTERVAL_MS: Final = 15_000
"""The interval of a worker that beats and does not say how often (core, section 7.5.1)."""

ASSUMED_SILENCE_MS: Final = MISSED_HEARTBEATS * ASSUMED_INTERVAL_MS
"""How long such a worker may be silent."""

MIN_INTERVAL_MS: Final = 100
MAX_INTERVAL_MS: Final = 3_600_000


SPREAD_TENTHS: Final = 11
"""By how much the time between two heartbeats may exceed the last one, in tenths of it."""

MAX_LEARNED: Final = 10_000


@dataclass(frozen=True, slots=True)
class VisibilityTimeouts:
    """Holds reservation lengths in milliseconds, for jobs and requests that name none.

    What the settings of a queue name is learned from the head of its list at each fetch.
    """

    default_ms: int
    by_queue_ms: Mapping[str, int] = field(default_factory=dict)
    _learned: dict[str, int] = field(default_factory=dict)

    def of(self, queue: str) -> int:
        """Return the queue's own, else the default."""
        learned = self._learned.get(queue)
        return self.by_queue_ms.get(queue, self.default_ms) if learned is None else learned

    def learn(self, queue: str, milliseconds: int | None) -> None:
        """Remember the length in a queue's settings; None for none."""
        if milliseconds is None:
            self._learned.pop(queue, None)
        elif len(self._learned) < MAX_LEARNED or queue in self._learned:
            self._learned[queue] = milliseconds


def check_heartbeat_interval(interval_ms: int | None) -> None:
    """Refuse an interval that no worker keeps.

    :raises InvalidRequestError: below a tenth of a second, or above an hour.
    """
    if interval_ms is not None and not MIN_INTERVAL_MS <= interval_ms <= MAX_INTERVAL_MS:
        raise InvalidRequestError(
            f"The 'heartbeat_interval_ms' attribute must be from {MIN_INTERVAL_MS} to "
            f"{MAX_INTERVAL_MS}; received {interval_ms}.",
            details={"field": "heartbeat_interval_ms", "received": interval_ms},
        )


def silence_ms(worker: WorkerInfo, since: Instant | None = None) -> int:
    """Return how long a worker may be silent after its last heartbeat before it counts as dead.

    Three intervals: the one it promised; else the time since its heartbeat before that, but at
    least 15 seconds.

    :param since: what its first heartbeat is measured from.
    """
    interval = worker.interval_ms
    if interval is None:
        before = worker.seen_before or since or worker.last_seen
        interval = max(ASSUMED_INTERVAL_MS, worker.last_seen - before)
    return MISSED_HEARTBEATS * interval


def moves_rows(worker: WorkerInfo, lasts_ms: int) -> bool:
    """Return whether this heartbeat of a worker moves the rows of its jobs in the waiting list.

    A row may stay for three fifths of the extension (``held_job.ROW_REST``): so each second
    heartbeat moves them, or fewer of a worker that beats more often. If a row cannot stay for as
    long as was expected, the write is refused, and the heartbeat goes by the job that it found.

    :param lasts_ms: how long the extension lasts.
    """
    every = worker.last_seen - (worker.seen_before or worker.last_seen)
    if every <= 0:  # the first one, or another process's clock was ahead
        every = worker.interval_ms or ASSUMED_INTERVAL_MS
    part, whole = ROW_REST
    stays = lasts_ms * (whole - part) // whole
    return worker.beats % (1 + stays * 10 // (every * SPREAD_TENTHS)) == 0


def unread_extension(
    worker: WorkerInfo, requested_ms: int | None, default_ms: int, *, is_short: bool = False
) -> Extension | None:
    """Return what a heartbeat asks for jobs that nobody has read; None where they must be.

    Only a job's record says when its reservation ends. So the write checks that the end that is
    asked for is later, or, if none is, that the worker's death comes first.

    :param requested_ms: the extension that it asks for; None to leave the reservation's end.
    :param default_ms: the extension of most jobs.
    :param is_short: this worker's reservations end later than it asks for, and keep their ends.
    """
    now, silence = worker.last_seen, silence_ms(worker)
    if requested_ms is None and default_ms < silence:
        return None
    is_first = worker.interval_ms is None and worker.seen_before is None
    if worker.interval_ms is None:
        silence = max(silence, requested_ms or 0)
    ends = None if requested_ms is None or is_short else Instant(now + requested_ms)
    lasts = min(silence, (ends or now + silence) - now)
    # Its pace would be measured from the start of a job that began earlier.
    since = Instant(now - ASSUMED_INTERVAL_MS) if is_first else None
    return Extension(
        worker_id=worker.id,
        now=now,
        alive_until=Instant(now + silence),
        expires_at=ends,
        # FETCH may have listed the job earlier than a long extension lets its row stay.
        moves_row=moves_rows(worker, lasts) or (is_first and lasts > ASSUMED_SILENCE_MS),
        started_since=since,
    )


@dataclass(frozen=True, slots=True)
class ShortExtensions:
    """Remembers in this process which workers ask for less time than their reservations have left.

    No heartbeat shortens a reservation: an update that moved its end would be refused.
    """

    _workers: dict[str, None] = field(default_factory=dict)

    def include(self, worker_id: str) -> bool:
        """Return whether the last refused heartbeat of a worker asked for too little."""
        return worker_id in self._workers

    def note(
        self, worker_id: str, job: JobRecord | None, now: Instant, requested_ms: int | None
    ) -> None:
        """Learn from a job whose extension was refused."""
        held = job.reservation if job else None
        if held is None or requested_ms is None:
            return
        self._workers.pop(worker_id, None)
        if held.expires_at > now + requested_ms:
            while len(self._workers) >= MAX_LEARNED:  # the oldest first
                self._workers.pop(next(iter(self._workers)), None)
            self._workers[worker_id] = None


def alive_until(worker: WorkerInfo, job: JobRecord, requested_ms: int | None) -> Instant:
    """Return until when a worker counts as alive that just sent a heartbeat for a job.

    One that promised no interval, and asks for a longer extension in this very heartbeat, is given
    it; a promise counts whatever is asked for.
    """
    silence = silence_ms(worker, job.started_at)
    if worker.interval_ms is None:
        silence = max(silence, requested_ms or 0)
    return Instant(worker.last_seen + silence)
