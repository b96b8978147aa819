"""Counts what jobs write to the one item that a limit, a bound or a fairness key of a queue has.

However many lines a queue has, these items do not become more: they are where a wide queue ends
that has one of them. A fairness key has an item for each line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.hot_keys import ARGS, WORKER, consume_all
from benchmarks.laboratory import Laboratory, SlowClock
from benchmarks.units import Meter
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.domain.envelope import Job
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.topology import LIMIT_PARTITION

KEY: Final = "customer-7"
REQUEST: Final = FetchRequest(("default",), 1, WORKER)


@dataclass(frozen=True, slots=True)
class OneItem:
    """Says what a queue has that is one item.

    :ivar partition: where the item is.
    :ivar settings: of the queue.
    :ivar job: attributes of its jobs.
    """

    partition: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    job: Mapping[str, Any] = field(default_factory=dict)


KINDS: Final[Mapping[str, OneItem]] = {
    "the bucket of a limit": OneItem(LIMIT_PARTITION, {"concurrency": 1_000}),
    "the counter of a bound": OneItem(n.DEPTHS, {"max_size": 1_000_000}),
    "a fairness key, in each line": OneItem(
        n.fair_pk("default", 0, KEY), job={"fairness": {"key": KEY}}
    ),
}


def units_of(kind: OneItem, jobs: int) -> float:
    """Return the write units of a job in the item, for jobs that are pushed one by one."""
    lab = Laboratory(SlowClock())
    backend, stream = lab.backend, lab.changes()
    if kind.settings:
        backend.queues.config.change("default", {**kind.settings})
    meter = Meter(lab.aws, lab.settings.table)
    for _ in range(jobs):
        backend.jobs.push(Job("order.ship", ARGS, **kind.job))
    while held := backend.jobs.fetch(REQUEST):
        for job in held:
            backend.jobs.ack(job.id, WORKER, None)
    consume_all(backend, stream)
    return meter.partitions[kind.partition] / jobs
