"""The counters of bounded queues, and whether they keep more jobs out than there may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ojs_aws.domain.job import JobRecord
from ojs_aws.ports import Depth, JobList
from tests.model.queue_settings import MemoryDepths
from tests.simulation.promises import Promises

LIVE_LISTS = (JobList.READY, JobList.WAITING, JobList.PENDING)


@dataclass
class SimulatedDepths(MemoryDepths):
    """Counters that are recounted from the index as it shows itself, which may lag.

    :ivar bounds: queues that had a bound from the beginning, and never a larger one.
    :ivar unpublished: how many ends of a queue's jobs the stream has not published yet.
    :ivar freed_early: such ends when the lists were counted; each frees its place a second time.
    :ivar misses: calls of the stream's consumer that failed, and were to count jobs.
    """

    promises: Promises = field(kw_only=True)
    bounds: dict[str, int] = field(default_factory=dict)
    unpublished: Callable[[str], int] = lambda _: 0
    freed_early: Counter[str] = field(default_factory=Counter)
    misses: int = 0

    def begin(self, queue: str, bound: int) -> None:
        """Bound a queue from the beginning."""
        self.depths[queue] = Depth(0)
        self.bounds[queue] = bound

    def count(self, queue: str, most: int) -> int:
        """What the lists show."""
        return min(most, sum(len(self.store._rows(queue, name)) for name in LIVE_LISTS))

    def correct(self, queue: str, jobs: int, seen: Depth | None) -> bool:
        """Set it, and note the ends that free a place now and when the stream publishes them."""
        is_set = super().correct(queue, jobs, seen)
        if is_set:
            self.freed_early[queue] += self.unpublished(queue)
        return is_set

    def check(self, repeated: Mapping[str, int]) -> None:
        """No more jobs were admitted than the bounds allow.

        Jobs that are not asked for a place do not count: steps of workflows, retries by operators.

        :param repeated: how often the end of a job was reported again, which frees another place.
        """
        for queue, bound in self.bounds.items():
            jobs = [job for job in self.store.jobs.values() if job.queue == queue]
            inside = sum(self._has_place(job) and not job.state.is_terminal for job in jobs)
            beyond = repeated.get(queue, 0) + self.freed_early[queue]
            if inside > bound + beyond + (self._unseen(jobs) if self.misses else 0):
                self.promises.breach(f"queue {queue} was to hold {bound} jobs, and holds {inside}")

    def _has_place(self, job: JobRecord) -> bool:
        return job.is_counted and job.id not in self.promises.reopened

    def _unseen(self, jobs: Sequence[JobRecord]) -> int:
        """Jobs whose coming may have been missed, and whose end freed a place nevertheless."""
        ended = sum(job.state.is_terminal and not self._has_place(job) for job in jobs)
        return ended + len(self.promises.deleted)
