"""The counters of bounded queues, and whether they keep more jobs out than there may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ojs_aws.ports import Depth, JobList
from tests.simulation.promises import Promises
from tests.simulation.queue_memory import MemoryDepths

LIVE_LISTS = (JobList.READY, JobList.WAITING, JobList.PENDING)


@dataclass
class SimulatedDepths(MemoryDepths):
    """Counters that are recounted from the index as it shows itself, which may lag.

    :ivar bounds: queues that had a bound from the beginning, and never a larger one.
    :ivar misses: by how much counters may be off because of calls that failed.
    """

    promises: Promises | None = None
    bounds: dict[str, int] = field(default_factory=dict)
    misses: int = 0

    def begin(self, queue: str, bound: int) -> None:
        """Bound a queue from the beginning."""
        self.depths[queue] = Depth(0)
        self.bounds[queue] = bound

    def count(self, queue: str, most: int) -> int:
        """What the lists show."""
        return min(most, sum(len(self.store._rows(queue, name)) for name in LIVE_LISTS))

    def check(self, repeated: Mapping[str, int]) -> None:
        """No more jobs were let in than the bounds allow.

        Jobs that are not asked for a place do not count: steps of workflows, retries by operators.

        :param repeated: how often the end of a job was told again, which frees another place.
        """
        assert self.promises is not None
        for queue, bound in self.bounds.items():
            inside = sum(
                job.queue == queue
                and job.is_counted
                and not job.state.is_terminal
                and job.id not in self.promises.reopened
                for job in self.store.jobs.values()
            )
            if inside > bound + repeated.get(queue, 0) + self.misses:
                self.promises.breach(f"queue {queue} was to hold {bound} jobs, and holds {inside}")
