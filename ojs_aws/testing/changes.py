"""Follows the table's stream: what items hold now, and what follows from each change."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues.state import QueueInfo
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.memory_aws.table import Key, key_of
from ojs_aws.topology import is_streamed
from ojs_aws.transport.events.stream import StreamConsumer
from ojs_aws.transport.tracing import NO_TRACING

if TYPE_CHECKING:
    from ojs_aws.testing.deployment import Deployment

MAX_ROUNDS: Final = 10_000
"""Batches of changes that may follow from one another."""

_logger = logging.getLogger(__name__)


def _count(_value: int, _function: str) -> None:
    """Publish no metric."""


@dataclass
class Changes:
    """Reads the changes of items, each once, and keeps them until what follows from them is done.

    :ivar job_written: gets each version of a job, and None in place of one that is gone.
    :ivar undone: how many jobs of a queue have not ended.
    :ivar jobs: the jobs as they are in the table, by id.
    :ivar only_new: whether all changes that nothing was done about are of new items.
    :ivar makes_jobs: whether some of them may make jobs, or let jobs begin: steps of workflows,
        runs of cron jobs, places under a limit. What follows from the others can only be read, as
        events and counters are.
    """

    deployment: Deployment
    job_written: Callable[[str, JobRecord | None], None]
    undone: Counter[str] = field(default_factory=Counter)
    jobs: dict[str, JobRecord] = field(default_factory=dict)
    cron: dict[str, CronEntry] = field(default_factory=dict)
    workflows: dict[str, Workflow] = field(default_factory=dict)
    only_new: bool = True
    makes_jobs: bool = False
    _objects: dict[Key, object] = field(default_factory=dict)
    _waiting: list[dict[str, Any]] = field(default_factory=list)
    _position: int = 0

    def read(self) -> None:
        """Read what was written since the last time."""
        stream = self.deployment.table.stream
        if stream.end == self._position:
            return
        for record in stream.after(self._position, stream.end - self._position):
            change = record["dynamodb"]
            key = key_of(change["Keys"])
            if is_streamed(*key):
                self._take(key, change)
        stream.forget()
        self._position = stream.end

    def _take(self, key: Key, change: dict[str, Any]) -> None:
        before = self._objects.get(key)
        if _is_undone(before):
            self.undone[before.queue] -= 1
        image = change.get("NewImage")
        after = None if image is None else self._written(read_image(image))
        self._objects[key] = after
        if _is_undone(after):
            self.undone[after.queue] += 1
        self.only_new &= before is None
        self.makes_jobs |= bool(self.cron) or not _is_plain(before or after)
        self._waiting.append({"dynamodb": {**change, "OldImage": before, "NewImage": after}})
        if isinstance(before, JobRecord) and after is None:
            del self.jobs[before.id]
            self.job_written(before.id, None)
        elif isinstance(before, CronEntry) and after is None:
            del self.cron[before.name]

    def _written(self, item: object) -> object:
        """Keep what an item holds now; jobs with the documents that lie elsewhere."""
        if isinstance(item, JobRecord):
            job = self.deployment.services.stores.store.fill(item)
            self.jobs[job.id] = job
            self.job_written(job.id, job)
            return job
        if isinstance(item, CronEntry):
            self.cron[item.name] = item
        elif isinstance(item, Workflow):
            self.workflows[item.id] = item
        return item

    def follow(self) -> None:
        """Do what follows from the changes, and from those that this makes.

        :raises RuntimeError: there is no end to it.
        """
        for _ in range(MAX_ROUNDS):
            self.read()
            records, self._waiting = self._waiting, []
            if not records:
                self.only_new, self.makes_jobs = True, False
                return
            failures = self._consumer.handle({"Records": records}, None)["batchItemFailures"]
            if failures:
                first = failures[0]["itemIdentifier"]
                numbers = [each["dynamodb"]["SequenceNumber"] for each in records]
                self._waiting = records[numbers.index(first) :] + self._waiting
        raise RuntimeError("The changes of jobs and workflows have no end.")

    def forget(self) -> None:
        """Forget jobs and workflows, and all changes until now: their items are gone."""
        self.undone.clear()
        self.jobs.clear()
        self.workflows.clear()
        self._waiting.clear()
        table = self.deployment.table
        self._objects = {key: each for key, each in self._objects.items() if table.get(key)}
        self._position = table.stream.end
        self.only_new, self.makes_jobs = True, False

    @cached_property
    def _consumer(self) -> StreamConsumer:
        return StreamConsumer(
            backend=self.deployment.services,
            read=lambda image: image,
            logger=cast("Any", _logger),
            hooks=None,
            count=_count,
            measure=None,
            tracing=NO_TRACING,
        )


def _is_undone(item: object) -> TypeGuard[JobRecord]:
    return isinstance(item, JobRecord) and not item.state.is_terminal


def _is_plain(item: object) -> bool:
    if isinstance(item, JobRecord):
        return not item.workflow_id and item.limit is None
    return isinstance(item, QueueInfo)
