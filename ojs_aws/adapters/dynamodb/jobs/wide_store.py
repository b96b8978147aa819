"""Stores the jobs of a deployment with wide queues: reads the lists of all their lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ojs_aws.adapters.dynamodb.jobs.codec import IN_LINES
from ojs_aws.adapters.dynamodb.jobs.lists import between_instants, keys_of, page_of_jobs
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.jobs.wide_lists import WideLists, summed
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Between, Count, Head, JobList, Page
from ojs_aws.domain.timestamps import Instant


@dataclass(frozen=True, slots=True)
class WideJobStore(JobStore):
    """Stores jobs; whoever names no shard of a wide queue reads all its lines as one.

    :ivar lines: how many lines each wide queue may have jobs in. Other queues have one.
    """

    lines: Mapping[str, int] = field(default_factory=dict)

    def _wide(self, queue: str) -> WideLists:
        return WideLists(self, queue, self.lines[queue])

    def head(self, queue: str, limit: int, shard: int | None = None) -> Head:
        """Return the first ready jobs of a queue, or of one of its lines; see :class:`Lists`."""
        if shard is None and queue in self.lines:
            return self._wide(queue).head(limit)
        return JobStore.head(self, queue, limit, shard or 0)

    def oldest_ready(self, queue: str, shard: int | None = None) -> Instant | None:
        """Return since when the oldest ready job has been available; see :class:`Lists`."""
        if shard is None and queue in self.lines:
            return self._wide(queue).oldest_ready()
        return JobStore.oldest_ready(self, queue, shard or 0)

    def due(
        self,
        queue: str,
        since: Instant,
        until: Instant,
        limit: int,
        *,
        cursor: str = "",
        shard: int | None = None,
    ) -> Page:
        """Return a page of waiting jobs by their due times; see :class:`Lists`."""
        if shard is not None or queue not in self.lines:
            return JobStore.due(self, queue, since, until, limit, cursor=cursor, shard=shard or 0)
        if until < since:
            return Page(())
        keys = between_instants(since, until)
        found = self._wide(queue).rows(JobList.WAITING, limit, cursor=cursor, between=keys)
        return page_of_jobs(*found)

    def indexed(
        self,
        queue: str,
        name: JobList,
        limit: int,
        cursor: str,
        between: Between | None,
        *,
        newest_first: bool,
    ) -> Page:
        """Return a page of the rows that the index has of a list; see :class:`Lists`."""
        if queue not in self.lines or name not in IN_LINES:
            return JobStore.indexed(
                self, queue, name, limit, cursor, between, newest_first=newest_first
            )
        keys = keys_of(between)
        found = self._wide(queue).rows(
            name, limit, cursor=cursor, between=keys, newest_first=newest_first
        )
        return page_of_jobs(*found)

    def count_rows(
        self, queue: str, name: JobList, between: Between | None, shard: int | None = None
    ) -> Count:
        """Return how many rows the index has of a list; see :class:`Lists`."""
        if shard is not None or queue not in self.lines or name not in IN_LINES:
            return JobStore.count_rows(self, queue, name, between, shard or 0)
        lines = range(self.lines[queue])
        return summed([JobStore.count_rows(self, queue, name, between, each) for each in lines])

    def count_priorities(self, queue: str, shard: int | None = None) -> tuple[dict[int, int], bool]:
        """Return how many jobs are ready in each priority; see :class:`Lists`."""
        if shard is None and queue in self.lines:
            return self._wide(queue).count_priorities()
        return JobStore.count_priorities(self, queue, shard or 0)

    def count_waiting(self, queue: str, shard: int | None = None) -> dict[JobState, Count]:
        """Return how many jobs wait in each state; see :class:`Lists`."""
        if shard is None and queue in self.lines:
            return self._wide(queue).count_waiting()
        return JobStore.count_waiting(self, queue, shard or 0)
