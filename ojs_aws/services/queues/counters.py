"""Counts what queues and tenants did and hold, counts again what is quiet, and learns run times.

A batch of changes makes one write for each queue and minute (what the queue did, and what it holds
now), and one for each tenant. A change is counted only when it will not come again: what failed in
a batch is counted with its repeat. A batch that comes again all the same, because a process died
between the write and its answer, is known by its token and not counted twice, unless another shard
has written in between (decision 34).

How long jobs of each type run is kept, and added once in a minute to what stands with the settings
of fair queues in which that is their cost: PUSH reads these anyhow. A process that dies takes the
run times of a minute with it, and an update that is made twice counts them twice: means do not
change by it.
"""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.queues import Depth, QueueSettings, QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.queues.tallies import StreamLag, Tally, minute_of
from ojs_aws.domain.runtime import Clock, Parallel
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.depths import Depths
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
    from ojs_aws.domain.fairness import Runs

_logger = logging.getLogger(__name__)
QUIET_MS: Final = 45_000
"""How long nothing was counted of a queue before its lists are believed: longer than the index
lags, and than any request takes; ticks are a minute apart, and one of them may come twice."""
RECOUNTED: Final = 1_000_000
"""Jobs that a recount goes through at most."""

AGAIN_MS_PER_JOB: Final = 12
"""How long the next recount of a queue that stays quiet waits for each job that the one before
counted: a minute for 5,000 jobs, which one query reads. So it costs no more than that a minute."""

WRITE_EVERY_MS: Final = 60_000
"""A process writes what it has learnt of a queue this often at most."""

MAX_QUEUES: Final = 1_000
"""Queues that a process learns of at a time."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Holds a committed change of a job.

    :ivar number: names the change.
    :ivar at: when it was committed.
    """

    number: str
    at: Instant
    before: JobRecord | None
    after: JobRecord | None

    @property
    def run_ms(self) -> int | None:
        """Return how long a job ran that completed, where that is what a start of it costs."""
        job = self.after
        if job is None or job.fairness is None or job.fairness.cost is None:
            return None
        was_active = self.before is not None and self.before.state is JobState.ACTIVE
        if not was_active or job.completed_at is None or job.started_at is None:
            return None
        return max(0, job.completed_at - job.started_at)


@dataclass(frozen=True, slots=True)
class QueueCounters:
    """Adds to the counters of queues, and of the tenants that jobs name."""

    tallies: Callable[[], Tallies]
    tenants: Callable[[], Tallies]
    clock: Clock
    parallel: Parallel

    def __call__(self, changes: Iterable[Changed]) -> None:
        """Count changes; what AWS does not accept is logged and missing in the numbers."""
        queues, tenants = _Batch(), _Batch()
        oldest = now = self.clock.now()
        for change in changes:
            oldest = min(oldest, change.at)
            for job, amount in ((change.before, -1), (change.after, 1)):
                if job is None:
                    continue
                queues.note(job.queue, change, job, amount)
                if job.tenant:
                    tenants.note(job.tenant, change, job, amount)
        lag = StreamLag(now, now - oldest)
        for each in queues.parts():
            _add(self.tallies(), each, lag)
        if named := [*tenants.parts()]:  # a batch may be of as many tenants as it has jobs
            tallies = self.tenants()
            deque(self.parallel.each(lambda each: _add(tallies, each, lag), named), maxlen=0)


@dataclass(frozen=True, slots=True)
class _Part:
    """Holds what is added by one write, and the token that names it."""

    name: str
    minute: Instant
    tally: Tally
    token: str


@dataclass(frozen=True, slots=True)
class _Batch:
    """Adds up what queues, or tenants, did in the minutes of a batch."""

    found: dict[tuple[str, Instant], tuple[Tally, list[str]]] = field(default_factory=dict)

    def note(self, name: str, change: Changed, job: JobRecord, amount: int) -> None:
        """Count a job that is no more as it was (-1), or is so now (1)."""
        tally, numbers = self.found.setdefault((name, minute_of(change.at)), (Tally(), []))
        tally.hold(job, amount)
        if job is change.after:
            tally.count(change.before, job)
        numbers.append(change.number)

    def parts(self) -> Iterator[_Part]:
        """Return what is to be added."""
        for (name, minute), (tally, numbers) in self.found.items():
            if tally:
                token = hashlib.sha256(" ".join(numbers).encode()).hexdigest()[:12]
                yield _Part(name, minute, tally, token)


def _add(tallies: Tallies, part: _Part, lag: StreamLag) -> None:
    """Add to the counters; what AWS does not accept is logged."""
    try:
        tallies.add(part.name, part.minute, part.tally, part.token, lag)
    except OjsError:
        _logger.warning("Could not count what %s did", part.name, exc_info=True)


@dataclass(frozen=True, slots=True)
class DepthRecount:
    """Counts the jobs of bounded queues from their lists."""

    depths: Callable[[], Depths]
    clock: Clock
    _quiet: dict[str, tuple[Depth, Instant]] = field(default_factory=dict)

    def bound(self, queue: str, bound: int | None) -> None:
        """Begin to count a queue that has a bound now, or stop it where it has none."""
        depths = self.depths()
        if bound is None:
            depths.forget(queue)
            return
        now = depths.load(queue)
        if now is None or not now.is_whole:
            self._begin(queue)

    def forget(self, name: str, settings: Callable[[], Iterable[QueueSettings]]) -> None:
        """Forget what is left of earlier bounds, before a queue or the default policy gets one.

        It is wrong by now: nothing was counted between.
        """
        names: Iterable[str] = [name]
        if name == DEFAULT_POLICY:
            own = {each.queue for each in settings() if "max_size" in each.members}
            names = (queue for queue in self.depths().counted() if queue not in own)
        for queue in names:
            self.depths().forget(queue)

    def _begin(self, queue: str) -> None:
        """Count what the lists hold beside the jobs that were counted meanwhile; once.

        The counter is read last, and added to: in a busy queue it changes all the time.
        """
        depths = self.depths()
        counted = depths.count(queue, RECOUNTED)
        known = depths.load(queue)
        depths.begin(queue, counted - (known.jobs if known else 0))

    def tick(
        self, settings: Iterable[QueueSettings], used: Callable[[], Iterable[str]] = tuple
    ) -> dict[str, int]:
        """Recount the bounded queues that were quiet; return by how much each one was wrong.

        :param settings: what was set for each queue, and the default policy.
        :param used: names of the queues there are; asked for where the default policy has a bound.
        """
        corrected = {}
        for queue in _bounded({each.queue: each for each in settings}, used):
            try:
                error = self.recount(queue)
            except Exception:  # whatever it was, the other queues must have their turn
                _logger.exception("Could not recount queue %s", queue)
                continue
            if error:
                corrected[queue] = error
        return corrected

    def recount(self, queue: str) -> int | None:
        """Correct the counter of a bounded queue that nothing was counted of for a while.

        Then nothing is on its way either, and what the lists hold is the truth. While a queue stays
        quiet they are counted again, large ones more rarely. One that has its bound from the
        default policy, of which at most its pushes since then are counted, is counted at once.

        :returns: by how much it was wrong; None where nobody looked.
        """
        depths, at = self.depths(), self.clock.now()
        now = depths.load(queue)
        before = self._quiet.get(queue)
        if now is None or not now.is_whole:
            self._begin(queue)
            return None
        if before is None or before[0].version != now.version:
            self._quiet[queue] = now, Instant(at + QUIET_MS)
            return None
        if at < before[1]:
            return None
        counted = depths.count(queue, RECOUNTED)
        self._quiet[queue] = now, Instant(at + counted * AGAIN_MS_PER_JOB)
        if counted != now.jobs and depths.correct(queue, counted, now):
            return now.jobs - counted
        return 0


def _bounded(settings: Mapping[str, QueueSettings], used: Callable[[], Iterable[str]]) -> list[str]:
    """Return the queues that have a bound, of their own or by the default policy."""
    default = settings.get(DEFAULT_POLICY)
    is_default = default is not None and default.members.get("max_size") is not None
    names = {*settings, *(used() if is_default else ())} - {DEFAULT_POLICY}
    return sorted(
        name
        for name in names
        if (own := settings.get(name)) is None
        or (own.state is not QueueState.DELETED and (is_default or "max_size" in own.members))
    )


@dataclass(slots=True)
class _Learnt:
    """Holds run times of a queue that are not written yet, and when they may be."""

    runs: dict[str, Runs] = field(default_factory=dict)
    due_at: Instant = field(default_factory=lambda: Instant(0))


@dataclass(frozen=True, slots=True)
class CostLearner:
    """Learns the run times of types, by the queue."""

    settings: Callable[[], QueueSettingsStore]
    clock: Clock
    _queues: dict[str, _Learnt] = field(default_factory=dict)

    def note(self, changes: Iterable[Changed]) -> None:
        """Learn from jobs that completed: a read and an update for each queue and minute."""
        from ojs_aws.domain.fairness import NO_RUNS, Runs  # few queues are fair

        now, queues = self.clock.now(), dict[str, _Learnt]()
        for change in changes:
            job, run_ms = change.after, change.run_ms
            if job is None or run_ms is None:
                continue
            if job.queue not in self._queues and len(self._queues) >= MAX_QUEUES:
                self._queues.clear()
            learnt = queues[job.queue] = self._queues.setdefault(job.queue, _Learnt())
            known = learnt.runs.get(job.type, NO_RUNS)
            learnt.runs[job.type] = known.plus(Runs(1, run_ms))
        for queue, learnt in queues.items():
            if now >= learnt.due_at:
                learnt.due_at = Instant(now + WRITE_EVERY_MS)
                self._write(queue, learnt)

    def _write(self, queue: str, learnt: _Learnt) -> None:
        """Add what was learnt to what is known; later, if others do so or AWS does not take it."""
        from ojs_aws.domain.fairness import added_runs, read_run_times, run_times_text

        learnt.runs = added_runs({}, learnt.runs)  # however many types clients make up
        try:
            own = self.settings().load([queue]).get(queue)
            if own is not None:
                text = run_times_text(added_runs(read_run_times(own.run_times), learnt.runs))
                if not self.settings().learn(own, text):
                    return
        except OjsError:
            _logger.warning("Could not write the run times of %s", queue, exc_info=True)
            return
        learnt.runs.clear()
