"""What the table holds, decoded when it is asked for; tests may also put items, and remove them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Final, Generic, NoReturn, TypeVar

from ojs_aws.adapters.dynamodb import access, batches, bulk, cron, limits, workers
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_count, read_string, string
from ojs_aws.adapters.dynamodb.jobs.codec import from_item, to_item
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.queues import depths, registry, totals
from ojs_aws.adapters.dynamodb.workflows import codec as workflows
from ojs_aws.adapters.dynamodb.workflows.store import Workflows
from ojs_aws.domain.api_keys import ApiKey
from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import BulkDone, BulkRequest, Decision, OpenBatch, OperationDone
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.queues import Depth, Pressure, QueueInfo
from ojs_aws.domain.queues.tallies import QueueTotals
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.memory_aws.table import Key, MemoryTable
from ojs_aws.topology import (
    BATCHES_PARTITION,
    BULK_PARTITION,
    KEY_PARTITION,
    OPERATION_PARTITION,
    PRESSURE_PARTITION,
    WORKFLOW_SORT_KEY,
)

V = TypeVar("V")
Place = Callable[[str], Key]
Name = Callable[[Key], str | None]


def _read_only(_: object) -> NoReturn:
    raise TypeError("Tests do not put items of this kind.")


@dataclass(frozen=True, eq=False)
class Items(MutableMapping[str, V], Generic[V]):
    """The items of one kind by name, in the order in which they were put first.

    :ivar place: the key of a name's item.
    :ivar name: what an item of this kind is called, by its key; None for items of other kinds.
    """

    table: MemoryTable
    place: Place
    name: Name
    read: Callable[[Item], V]
    item: Callable[[V], Item] = _read_only
    _known: dict[str, tuple[Item, V]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> V:
        found = self.table.get(self.place(name))
        if found is None:
            raise KeyError(name)
        known = self._known.get(name)
        if known is None or known[0] is not found:  # the table never changes an item in its place
            known = self._known[name] = found, self.read(found)
        return known[1]

    def __setitem__(self, name: str, value: V) -> None:
        self.table.write(self.place(name), self.item(value))

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self.table.write(self.place(name), None)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.table.get(self.place(name)) is not None

    def __iter__(self) -> Iterator[str]:
        named = (self.name(key) for key in [*self.table.items.rows])
        return (name for name in named if name is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        return dict(self) == other

    def __repr__(self) -> str:
        return repr(dict(self))

    __hash__ = None  # type: ignore[assignment]


def of_list(partition: str) -> tuple[Place, Name]:
    """Return where the items of a partition are, each by its sort key."""
    return (
        lambda name: (partition, name),
        lambda key: key[1] if key[0] == partition else None,
    )


def of_partitions(prefix: str, sort: str) -> tuple[Place, Name]:
    """Return where the items are that have a partition of their own, and this sort key."""
    return (
        lambda name: (f"{prefix}{name}", sort),
        lambda key: (
            key[0].removeprefix(prefix) if key[1] == sort and key[0].startswith(prefix) else None
        ),
    )


_TOTALS: Final = frozenset(totals.QUEUES.partition(part) for part in range(totals.PARTITIONS))


class StoredItems:
    """Everything that tests look at in the table, each kind by its id, name or key.

    Documents that are kept elsewhere are not filled in. Open and lost batches are named by their
    sort keys.
    """

    def __init__(self, table: MemoryTable, store: JobStore, flows: Workflows) -> None:
        """Begin with what there is."""

        def job_item(job: JobRecord) -> Item:
            item = to_item(job, store.retention)
            return item | {n.TOKEN: string(job.token)} if job.token else item

        self.jobs: Items[JobRecord] = Items(
            table,
            *of_partitions(n.job_pk(""), n.JOB_SK),
            from_item,
            job_item,
        )
        self.workflows: Items[Workflow] = Items(
            table,
            *of_partitions(workflows.workflow_pk(""), WORKFLOW_SORT_KEY),
            workflows.workflow_of,
            lambda workflow: workflows.to_item(workflow, flows.retention_s),
        )
        self.crons: Items[CronEntry] = Items(
            table,
            *of_list(cron.PARTITION),
            cron.entry_of,
            cron._item,
        )
        self.queues: Items[QueueInfo] = Items(
            table, *of_list(registry.PARTITION), registry.read_queue
        )
        self.workers: Items[WorkerInfo] = Items(
            table, *of_list(workers.PARTITION), workers.read_worker
        )
        self.buckets: Items[Bucket] = Items(table, *of_list(limits.PARTITION), limits.read_bucket)
        self.depths: Items[Depth] = Items(
            table,
            *of_list(n.DEPTHS),
            lambda item: Depth(read_count(item, depths.JOBS), read_count(item, n.VERSION)),
        )
        self.pressures: Items[Pressure] = Items(
            table, *of_list(PRESSURE_PARTITION), depths.read_pressure
        )
        self.totals: Items[QueueTotals] = Items(
            table,
            lambda name: _key_in(totals.QUEUES.key(name)),
            lambda key: key[1].removeprefix("queue#") if key[0] in _TOTALS else None,
            totals.read_totals,
        )
        self.open_batches: Items[OpenBatch] = Items(
            table,
            *of_list(BATCHES_PARTITION),
            batches._open,
        )
        self.lost_batches: Items[OpenBatch] = Items(
            table,
            *of_list(batches.LOST),
            batches._open,
        )
        self.decisions: Items[Decision] = Items(
            table,
            *of_partitions("batch#", batches.DECISION),
            batches._decision,
        )
        self.bulk_done: Items[BulkDone] = Items(table, *of_list(BULK_PARTITION), bulk.read_done)
        self.operations: Items[OperationDone] = Items(
            table, *of_list(OPERATION_PARTITION), bulk.read_operation
        )
        self.bulk_requests: Items[BulkRequest] = Items(
            table,
            *of_partitions("bulk#", bulk.REQUEST),
            bulk._read,
        )
        self.api_keys: Items[ApiKey] = Items(
            table,
            *of_list(KEY_PARTITION),
            access._read,
        )
        self.clients: Items[int] = Items(
            table,
            *of_partitions(n.CLIENT, "bucket"),
            lambda item: read_count(item, access.FULL_AT),
        )


def _key_in(item: Item) -> Key:
    return read_string(item, n.PK), read_string(item, n.SK)
