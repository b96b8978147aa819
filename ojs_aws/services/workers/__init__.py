"""Computes how long a worker lives, and remembers which ones get no new jobs.

A worker that promises an interval, or has beaten twice, is found dead after three missed
heartbeats, however long its reservations are (core, section 7.5.4; worker protocol, section 10).
Nothing looks for dead workers: each reservation carries the instant up to which its worker was
alive, and the queue's waiting list is ordered by it like by any other deadline (decision 9). One
heartbeat alone gives no pace: it extends the reservation (decision 100).

Quiet workers stop fetching by themselves; that is their part of the protocol (section 6.6). This
is the backend's: a process that has just answered a worker's heartbeat remembers that it drains,
and gives it nothing (ojs-graceful-shutdown, section 5.1). Looking every worker up at each FETCH
would cost a read per job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import ASSUMED_SILENCE_MS, ROW_REST, Extension, length_of
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo

MISSED_HEARTBEATS: Final = 3
"""Heartbeats that a worker may miss before it counts as dead (core, section 7.5.4)."""
ASSUMED_INTERVAL_MS: Final = ASSUMED_SILENCE_MS // MISSED_HEARTBEATS
"""The shortest interval that is measured between two heartbeats (core, section 7.5.1)."""
MIN_INTERVAL_MS: Final = 100
MAX_INTERVAL_MS: Final = 3_600_000
SPREAD_TENTHS: Final = 11
"""By how much the time between two heartbeats may exceed the last one, in tenths of it."""
MAX_LEARNED: Final = 10_000
MAX_REMEMBERED: Final = 1000


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


def has_pace(worker: WorkerInfo) -> bool:
    """Return whether it is known how often a worker beats: it promised it, or has beaten twice."""
    return worker.interval_ms is not None or worker.seen_before is not None


def moves_rows(worker: WorkerInfo, lasts_ms: int) -> bool:
    """Return whether this heartbeat of a worker moves the rows of its jobs in the waiting list.

    A row may stay for three fifths of the extension (``held_job.ROW_REST``): so each second
    heartbeat moves them, or fewer of a worker that beats more often. If a row cannot stay for as
    long as was expected, the write is refused, and the heartbeat decides by the job that it met.

    :param lasts_ms: how long the extension lasts.
    """
    every = worker.last_seen - (worker.seen_before or worker.last_seen)
    if every <= 0:  # the first one, or another process's clock was ahead
        every = worker.interval_ms or ASSUMED_INTERVAL_MS
    part, whole = ROW_REST
    stays = lasts_ms * (whole - part) // whole
    return worker.beats % (1 + stays * 10 // (every * SPREAD_TENTHS)) == 0


@dataclass(frozen=True, slots=True)
class KnownLengths:
    """Remembers in this process which workers have reservations unlike most.

    A heartbeat that does not read its jobs would ask them for the wrong extension, and be refused.
    """

    _lengths: dict[str, int] = field(default_factory=dict)

    def of(self, worker_id: str) -> int | None:
        """Return how long the last refused job of a worker was fetched for; None if as usual.

        Zero for a worker that asks for less time than its reservations have left.
        """
        return self._lengths.get(worker_id)

    def note(
        self,
        worker: WorkerInfo,
        job: JobRecord | None,
        requested_ms: int | None,
        default_ms: int,
    ) -> None:
        """Learn from a job whose extension was refused."""
        held = job.reservation if job else None
        if job is None or held is None:
            return
        self._lengths.pop(worker.id, None)
        if requested_ms is None:
            length, is_usual = length_of(job, default_ms), length_of(job, 0) == 0
        else:
            length, is_usual = 0, held.expires_at <= worker.last_seen + requested_ms
        if is_usual:
            return
        while len(self._lengths) >= MAX_LEARNED:  # the oldest first
            self._lengths.pop(next(iter(self._lengths)), None)
        self._lengths[worker.id] = length


def unread_extension(
    worker: WorkerInfo, requested_ms: int | None, default_ms: int, known_ms: int | None = None
) -> Extension:
    """Return what a heartbeat asks for jobs that nobody has read.

    Only a job's record says when its reservation ends, and how long it was fetched for. So the
    write checks them: the end that is asked for must be later. Where none is asked for, the end
    must not come before the instant at which the worker counts as dead.

    :param requested_ms: the extension that it asks for; None for as long as its jobs were fetched.
    :param default_ms: what most jobs are fetched for.
    :param known_ms: see :meth:`KnownLengths.of`.
    """
    now = worker.last_seen
    length = requested_ms or known_ms or default_ms
    ends: Instant | None = Instant(now + length)
    silence, alive = ASSUMED_SILENCE_MS, None
    if has_pace(worker):
        silence = silence_ms(worker)
        if worker.interval_ms is None:
            silence = max(silence, requested_ms or 0)
        alive = Instant(now + silence)
        # The end stays where it is known to be late enough, or where death surely comes first.
        if known_ms == 0 if requested_ms else not known_ms and length >= silence:
            ends = None
    lasts = min(silence, (ends or now + silence) - now)
    return Extension(
        worker_id=worker.id,
        now=now,
        alive_until=alive,
        expires_at=ends,
        length_ms=None if requested_ms or ends is None else known_ms or 0,
        moves_row=moves_rows(worker, lasts),
    )


def alive_until(worker: WorkerInfo, job: JobRecord, requested_ms: int | None) -> Instant | None:
    """Return until when a worker counts as alive that just sent a heartbeat for a job.

    None if nobody knows how often it beats: it promised no interval, now or with FETCH, and this is
    its first heartbeat. A worker that promises no interval now, and asks for a longer extension in
    this heartbeat, gets it. A promised interval counts, whatever is asked for.
    """
    held = job.reservation
    if not has_pace(worker) and (held is None or held.alive_until is None):
        return None
    silence = silence_ms(worker, job.started_at)
    if worker.interval_ms is None:
        silence = max(silence, requested_ms or 0)
    return Instant(worker.last_seen + silence)


@dataclass(frozen=True, slots=True)
class DrainState:
    """Remembers draining workers until they count as dead, or no longer drain."""

    _until: dict[str, Instant] = field(default_factory=dict)

    def note(self, worker: WorkerInfo) -> None:
        """Remember, or forget, a worker that just sent a heartbeat."""
        self._until.pop(worker.id, None)
        if not worker.is_draining:
            return
        while len(self._until) >= MAX_REMEMBERED:  # the oldest first
            self._until.pop(next(iter(self._until)), None)
        self._until[worker.id] = Instant(worker.last_seen + silence_ms(worker))

    def holds(self, worker_id: str, now: Instant) -> bool:
        """Return whether a worker is known to drain."""
        until = self._until.get(worker_id)
        return until is not None and now < until
