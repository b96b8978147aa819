"""The counters of bounded queues, and whether they keep more jobs out than there may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ojs_aws.domain.job import JobRecord
from tests.simulation.promises import Promises


@dataclass
class SimulatedDepths:
    """Watches the counters, which are recounted from the index as it shows itself.

    :ivar depths: what is counted, by queue.
    :ivar bounds: queues that had a bound from the beginning, and never a larger one.
    :ivar unpublished: how many ends of a queue's jobs the stream has not published yet.
    :ivar freed_early: such ends when the lists were counted; each frees its place a second time.
    :ivar misses: calls of the stream's consumer that failed, and were to count jobs.
    """

    promises: Promises
    unpublished: Callable[[str], int]
    depths: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, int] = field(default_factory=dict)
    freed_early: Counter[str] = field(default_factory=Counter)
    misses: int = 0

    def written(self, queue: str, jobs: int | None, *, is_corrected: bool) -> None:
        """Note a counter, and the ends that free a place now and when the stream publishes them."""
        if jobs is None:
            self.depths.pop(queue, None)
            return
        self.depths[queue] = jobs
        if is_corrected:
            self.freed_early[queue] += self.unpublished(queue)

    def check(self, repeated: Mapping[str, int]) -> None:
        """No more jobs were admitted than the bounds allow.

        Jobs that are not asked for a place do not count: steps of workflows, retries by operators.

        :param repeated: how often the end of a job was reported again, which frees another place.
        """
        for queue, bound in self.bounds.items():
            jobs = [job for job in self.promises.jobs.values() if job.queue == queue]
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
