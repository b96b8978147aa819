"""SQS keeps no order: a backlog whose messages come anyhow costs no refused claims."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.lists import Head
from ojs_aws.services.jobs.fetch.candidates import INDEX_LAG_MS
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World

JOBS: Final = 200
WORKER: Final = "w"


@dataclass
class Counted:
    """A backend whose claims are counted.

    :ivar refused: claims that met a job that was gone.
    """

    world: World = field(default_factory=World)
    refused: int = 0

    def __post_init__(self) -> None:
        """Shuffle messages, and count."""
        chance = random.Random(7)
        self.world.aws.queues.pick = lambda found, most: chance.sample(found, min(most, len(found)))
        claim: Callable[..., JobRecord] = self.world.store.claim

        def counted(*arguments: Any, **named: Any) -> JobRecord:
            try:
                return claim(*arguments, **named)
            except StaleJobError:
                self.refused += 1
                raise

        self.world.store.claim = counted  # type: ignore[method-assign]

    def push(self, priority: int = 0) -> str:
        """Push a job."""
        record = self.world.backend.jobs.push(Job("a.b", priority=priority)).record
        assert record is not None
        self.world.clock.advance(ms=1)
        return record.id

    def fetch(self, count: int = 1) -> list[str]:
        """Fetch jobs."""
        jobs = self.world.backend.jobs.fetch(FetchRequest(("default",), count, WORKER))
        return [job.id for job in jobs]


@pytest.mark.parametrize("backlog", [1, 5, 50, 200])
@pytest.mark.parametrize("count", [1, 10])
def test_messages_in_any_order_cost_no_refused_claims(backlog: int, count: int) -> None:
    """At most a tenth for each job, and each begins in its turn."""
    counted = Counted()
    pushed: list[str] = []
    done: list[str] = []
    while len(done) < JOBS:
        while len(pushed) < JOBS and len(pushed) - len(done) < backlog:
            pushed.append(counted.push())
        found = counted.fetch(count)
        for job_id in found:
            counted.world.backend.jobs.ack(job_id, WORKER, None)
        done += found
        counted.world.clock.advance(ms=5 if found else 3_000)
    assert done == pushed
    assert counted.refused <= JOBS / 10


@pytest.mark.parametrize(("age_ms", "is_first"), [(INDEX_LAG_MS, True), (INDEX_LAG_MS + 1, False)])
def test_an_urgent_job_that_the_index_does_not_show_yet_is_first(
    age_ms: int, is_first: bool
) -> None:
    """Its message names it; after a second the head has shown that it is gone."""
    counted = Counted()
    calm = counted.push()
    urgent = counted.push(priority=10)
    queue = counted.world.queue()
    assert queue is not None
    for message in [each for each in queue.messages.values() if calm in each.body]:
        queue.remove(message)
    head = counted.world.store.head

    def lagging(queue: str, limit: int, shard: int = 0) -> Head:
        shown = head(queue, limit, shard)
        return replace(shown, jobs=tuple(row for row in shown.jobs if row.id != urgent))

    counted.world.store.head = lagging  # type: ignore[method-assign]
    counted.world.clock.at = (counted.world.stored.jobs[urgent].enqueued_at or 0) + age_ms
    assert counted.fetch() == [urgent if is_first else calm]
