"""The services over the stores as they are deployed, on an AWS in memory with a clock to move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar, cast

from ojs_aws.adapters.dynamodb.jobs.codec import from_item
from ojs_aws.adapters.dynamodb.names import JOB_SK, job_pk
from ojs_aws.adapters.sqs import decode_message, queue_arn
from ojs_aws.bootstrap import AwsClients, build_stores
from ojs_aws.config import Settings
from ojs_aws.domain.events import Event, EventQuery
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues import Message
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.local.aws import create_queues
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.memory_aws.events import Mapping
from ojs_aws.memory_aws.items import Item
from ojs_aws.memory_aws.queues import MemoryQueue, StoredMessage
from ojs_aws.memory_aws.sqs import URL_PREFIX
from ojs_aws.memory_aws.table import Key, row_of
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.services.backend import Backend
from ojs_aws.services.queues.counters import Changed
from ojs_aws.testing.deployment import CountingIds, FakeClock, counting
from ojs_aws.topology import cron_queue_name, sqs_queue_name
from tests.simulation.account import BUCKET, Commits
from tests.simulation.faults import Faults, Observed
from tests.simulation.items import StoredItems

ALL: Final = 1_000_000
FIRST_EVENT: Final = "000000000000000-000000"
"""A cursor before all events."""
JobChanged = Callable[[JobRecord | None, JobRecord | None], None]
T = TypeVar("T")


class Open:
    """A store whose methods tests may replace, which those of the stores themselves are not."""

    def __init__(self, store: object) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def opened(store: T) -> T:
    """Return the store, so that a test may replace its methods."""
    return cast("T", Open(store))


@dataclass(frozen=True)
class HeldMessage:
    """A message as it lies in its queue."""

    message: Message
    visible_at: int
    received: int
    handle: str


def newest(found: list[StoredMessage], most: int) -> list[StoredMessage]:
    """Choose the messages that were sent last."""
    return sorted(found, key=lambda each: int(each.id.rpartition("-")[2]), reverse=True)[:most]


def empty_aws(settings: Settings, clock: FakeClock) -> MemoryAws:
    """Return an AWS with what a deployment has."""
    aws = MemoryAws.at(lambda: clock.at)
    aws.dynamodb.create_table(TableName=settings.table, KeySchema=[], AttributeDefinitions=[])
    aws.s3.create_bucket(Bucket=BUCKET)
    create_queues(aws.sqs, settings)
    return aws


@dataclass
class World:
    """A deployment in memory.

    :ivar faults: of the calls that services make of stores.
    :ivar shared: the account of another world, whose services are another process then.
    :ivar stored: what the table holds.
    """

    clock: FakeClock = field(default_factory=FakeClock)
    settings: Settings = field(default_factory=Settings)
    faults: Faults = field(default_factory=Faults)
    processor_s: Callable[[], float] = field(default=lambda: 0.0)
    shared: MemoryAws | None = None

    def __post_init__(self) -> None:
        """Put the services together."""
        self.aws = aws = self.shared or empty_aws(self.settings, self.clock)
        complete = replace(self.settings, queue_url_prefix=URL_PREFIX, bucket=BUCKET)
        clients = AwsClients(
            aws.dynamodb, aws.sqs, lambda: aws.s3, lambda: aws.events, lambda: aws.functions
        )
        made = build_stores(
            complete, clients, clock=self.clock, ids=CountingIds(), parallel=IN_ORDER
        )
        self._made = made
        self.table = aws.table(self.settings.table)
        self.store, self.messages = opened(made.store), opened(made.messages)
        self.registry = opened(made.queues)
        self.workers, self.watermarks = opened(made.workers()), opened(made.watermarks())
        self.events, self.cron = opened(made.events()), opened(made.cron())
        self.wake_ups, self.schemas = opened(made.wake_ups()), opened(made.schemas())
        self.unique, self.workflows = opened(made.unique()), opened(made.workflows())
        self.sequences = opened(made.sequences())
        self.fair_keys = opened(made.fair_keys())
        self.limits, self.client_buckets = opened(made.limits()), opened(made.client_buckets())
        self.batches, self.bulk = opened(made.batches()), opened(made.bulk())
        self.queue_settings, self.triggers = opened(made.queue_settings()), opened(made.triggers())
        self.depths, self.pressures = opened(made.depths()), opened(made.pressures())
        self.tallies, self.failure_groups = opened(made.tallies()), opened(made.failure_groups())
        self.api_keys = opened(made.api_keys())
        self.stored = StoredItems(
            self.table, cast("Any", made.store), cast("Any", made.workflows())
        )
        self.backend = Backend(
            self.settings,
            replace(
                made,
                store=self._observed(self.store),
                messages=self._observed(self.messages),
                queues=self._observed(self.registry),
                workers=lambda: self._observed(self.workers),
                watermarks=lambda: self._observed(self.watermarks),
                events=lambda: self.events,
                announce=lambda: lambda _: (),
                cron=lambda: self._observed(self.cron),
                wake_ups=lambda: self._observed(self.wake_ups),
                schemas=lambda: self._observed(self.schemas),
                unique=lambda: self._observed(self.unique),
                sequences=lambda: self._observed(self.sequences),
                fair_keys=lambda: self._observed(self.fair_keys),
                workflows=lambda: self._observed(self.workflows),
                limits=lambda: self._observed(self.limits),
                client_buckets=lambda: self._observed(self.client_buckets),
                batches=lambda: self._observed(self.batches),
                bulk=lambda: self._observed(self.bulk),
                queue_settings=lambda: self.queue_settings,
                triggers=lambda: self._observed(self.triggers),
                depths=lambda: self.depths,
                pressures=lambda: self.pressures,
                tallies=lambda: self.tallies,
                failure_groups=lambda: self.failure_groups,
                api_keys=lambda: self.api_keys,
                new_reservation_id=counting("reservation"),
                enqueuing=lambda: Enqueuer(EnqueueChain()),
                pause=lambda _: None,
                processor_s=self.processor_s,
            ),
        )

    def part_batches(self, jobs: int) -> None:
        """Let the logs of large batches have parts of so many jobs."""
        self.batches = opened(replace(self._made.batches(), part_jobs=jobs))

    def _observed(self, store: T) -> T:
        return cast("T", Observed(store, self.faults))

    # ------------------------------------------------------------------------- messages
    def queue(self, name: str = "default") -> MemoryQueue | None:
        """Return the SQS queue of a queue of jobs; None if there is none."""
        return self.aws.queues.queues.get(sqs_queue_name(self.settings.queue_prefix, name))

    def held(self, queue: str = "default") -> list[HeldMessage]:
        """Return the messages of a queue, whatever they wait for."""
        found = self.queue(queue)
        kept = found.messages.values() if found else ()
        return [
            HeldMessage(decode_message(each.body), each.visible_at, each.receives, each.handle)
            for each in kept
        ]

    def lose_messages(self) -> None:
        """Lose each message that there is."""
        for queue in self.aws.queues.queues.values():
            queue.purge()

    def receive_newest_first(self) -> None:
        """Let each receive find the newest messages from now on."""
        self.aws.queues.pick = newest

    @property
    def _alarms(self) -> MemoryQueue:
        return self.aws.queues.queues[cron_queue_name(self.settings.queue_prefix)]

    def alarms_set(self) -> list[tuple[int, str]]:
        """Return the alarms of cron jobs that have not rung, each with its time."""
        return [(each.visible_at, each.body) for each in self._alarms.messages.values()]

    def ringing(self) -> list[str]:
        """Return the cron jobs whose alarms ring now; each rings once."""
        now = self._alarms.receive(ALL, 0)
        for each in now:
            self._alarms.remove(each)
        return [each.body for each in now]

    # ---------------------------------------------------------------------------- index
    def index_shows(self, job_id: str, job: JobRecord | None) -> None:
        """Let the index show a job as it was, or not at all, until the next write of it."""
        key = (job_pk(job_id), JOB_SK)
        row = None if job is None else row_of(self.stored.jobs.item(job))
        self.table.index.write(key, row)

    def index_catches_up(self) -> None:
        """Let the index show all items as they are."""
        for key, item in self.table.items.rows.items():
            self.table.index.write(key, row_of(item))

    # ------------------------------------------------------------------------- triggers
    def add_trigger(self, name: str, queue: str = "default") -> None:
        """Let a queue invoke a function."""
        sqs_name = sqs_queue_name(self.settings.queue_prefix, queue)
        arn = queue_arn(self.aws.sqs, URL_PREFIX, sqs_name)
        self.aws.triggers.mappings[name] = Mapping(name, arn)

    def triggers_off(self) -> set[str]:
        """Return the triggers that are switched off."""
        mappings = self.aws.triggers.mappings.values()
        return {each.uuid for each in mappings if not each.is_enabled}

    # --------------------------------------------------------------------------- events
    def published(self) -> list[Event]:
        """Return the events of the log, in their order."""
        query = EventQuery(cursor=FIRST_EVENT, limit=ALL)
        return [*self.events.read(query).events]

    def follow_jobs(self, changed: JobChanged) -> None:
        """Report each write of a job from now on, at once."""

        def written(_: dict[str, Any], key: Key, old: Item | None, new: Item | None) -> None:
            if key[1] == JOB_SK:
                changed(
                    None if old is None else from_item(old), None if new is None else from_item(new)
                )

        self.table.stream = Commits(lambda: self.clock.at, written=written)


def count_changes(world: World) -> None:
    """Count the jobs that there are, and what happens to jobs from now on, as the consumer does."""

    def count(before: JobRecord | None, after: JobRecord | None) -> None:
        job = after or before
        if job is not None and (after is None or before is None or before.state is not after.state):
            number = f"{job.id}-{job.version}-{after is None}"
            world.backend.queues.counters([Changed(number, world.clock.now(), before, after)])

    for job in world.stored.jobs.values():
        count(None, job)
    world.follow_jobs(count)
