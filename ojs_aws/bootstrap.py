"""The composition root: settings and AWS clients in, services out.

The clients come from botocore's session, not from boto3: importing boto3 also loads its S3
transfer manager, which costs a cold Lambda start about 0.1 s and is never used here.
"""

from __future__ import annotations

import functools
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, cast

import uuid_utils

from ojs_aws._version import __version__
from ojs_aws.adapters.dynamodb.blobs import Blobs
from ojs_aws.adapters.dynamodb.job_store import DynamoJobStore
from ojs_aws.adapters.dynamodb.job_writes import JobWrites
from ojs_aws.adapters.dynamodb.queue_registry import DynamoQueueRegistry
from ojs_aws.adapters.sqs.messages import SqsMessageQueue
from ojs_aws.config import Settings
from ojs_aws.domain.job import JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.wiring import Ports
from ojs_aws.topology import cron_queue_name, sqs_queue_name

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

    from ojs_aws.middleware.enqueuing import Enqueuing
    from ojs_aws.ports import (
        Announce,
        Batches,
        BulkRequests,
        ClientBuckets,
        Clock,
        CronAlarms,
        CronEntries,
        Depths,
        EventLog,
        IdGenerator,
        Limits,
        Marks,
        Pressures,
        Schemas,
        SettingsBook,
        Tallies,
        Triggers,
        UniqueJobs,
        WorkerRegistry,
        Workflows,
    )
    from ojs_aws.services.api_keys import Authentication, KeyBook
    from ojs_aws.services.fetch import Both

A = TypeVar("A")
B = TypeVar("B")


class SystemClock:
    """The machine's clock."""

    def __init__(self) -> None:
        """Start with no stamp given out."""
        self._last = 0

    def now(self) -> Instant:
        """The current instant (milliseconds)."""
        return Instant(time.time_ns() // 1_000_000)

    def order(self) -> int:
        """Strictly increasing microseconds."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return self._last


class UuidGenerator:
    """UUIDv7 identifiers."""

    def job_id(self) -> str:
        """A new lowercase UUIDv7."""
        return str(uuid_utils.uuid7())

    def request_id(self) -> str:
        """A new request id."""
        return f"req_{uuid_utils.uuid7()}"


@dataclass(frozen=True, slots=True)
class AwsClients:
    """Low-level AWS clients. The rarely used ones are made when first asked for."""

    dynamodb: DynamoDBClient
    sqs: SQSClient
    s3: Callable[[], S3Client]
    events: Callable[[], EventBridgeClient]
    functions: Callable[[], LambdaClient] | None = None


CONNECT_TIMEOUT_S: Final = 1.0
READ_TIMEOUT_S: Final = 5.0
MAX_TRIES: Final = 3
"""Three tries of at most five seconds end well inside the gateway's 30 seconds."""


def aws_clients(endpoint_url: str | None = None, region: str | None = None) -> AwsClients:
    """Make the clients from the usual AWS environment.

    :param endpoint_url: another AWS endpoint (an emulator) for all services.
    """
    import botocore.config  # noqa: PLC0415 - tests bring clients of their own
    import botocore.session  # noqa: PLC0415

    session = botocore.session.get_session()
    config = botocore.config.Config(
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        retries={"mode": "standard", "total_max_attempts": MAX_TRIES},
        tcp_keepalive=True,
        parameter_validation=False,
        # Told whole, or botocore puts it together anew for each request: a quarter of a PUSH.
        user_agent=f"ojs-aws/{__version__} Botocore/{botocore.__version__}",
    )

    def make(service: str) -> object:
        return session.create_client(
            service, region_name=region, endpoint_url=endpoint_url, config=config
        )

    return AwsClients(
        dynamodb=cast("DynamoDBClient", make("dynamodb")),
        sqs=cast("SQSClient", make("sqs")),
        s3=functools.cache(lambda: cast("S3Client", make("s3"))),
        events=functools.cache(lambda: cast("EventBridgeClient", make("events"))),
        functions=functools.cache(lambda: cast("LambdaClient", make("lambda"))),
    )


THREADS: Final = 8
"""Fewer than the connections that botocore keeps for a client."""


class InThreads:
    """Runs calls side by side; the threads are made at the first use and kept.

    A call sees the context variables of its caller, so that its log lines have the request's id,
    and its calls of AWS the request's trace.
    """

    def __init__(self) -> None:
        """Make no thread yet."""
        self._made: ThreadPoolExecutor | None = None

    @property
    def _pool(self) -> ThreadPoolExecutor:
        if self._made is None:
            self._made = ThreadPoolExecutor(THREADS, thread_name_prefix="ojs")
        return self._made

    def each(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Call it for each item, in their order as threads become free."""
        contexts = [copy_context() for _ in items]
        return self._pool.map(lambda context, item: context.run(call, item), contexts, items)

    def __call__(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Call both and wait for both."""
        ahead = self._pool.submit(copy_context().run, first)
        try:
            right = second()
        finally:
            left = ahead.result()
        return left, right


def _token() -> str:
    return secrets.token_hex(4)


def job_store(settings: Settings, clients: AwsClients) -> DynamoJobStore:
    """The job store of a deployment."""
    objects = None
    if settings.bucket:
        from ojs_aws.adapters.s3.documents import S3Documents  # noqa: PLC0415 - few jobs need it

        objects = S3Documents(clients.s3, settings.bucket)
    blobs = Blobs(
        clients.dynamodb,
        settings.table,
        objects,
        settings.inline_limit_bytes,
        settings.s3_threshold_bytes,
    )

    def retention(state: JobState, is_dead_letter: bool) -> int:  # noqa: FBT001 - as its type says
        if is_dead_letter:
            return settings.dead_letter_retention_s
        is_discarded = state is JobState.DISCARDED
        return settings.discarded_retention_s if is_discarded else settings.completed_retention_s

    writes = JobWrites(clients.dynamodb, settings.table, _token)
    return DynamoJobStore(clients.dynamodb, settings.table, blobs, retention, writes)


def enqueuing(settings: Settings) -> Enqueuing:
    """The backend's enqueue chain and hooks: the user's, or the default ones.

    :raises SettingsError: a path leads to none. A function that cannot run the middleware it was
        given must not start.
    """
    from ojs_aws.middleware import loading  # noqa: PLC0415 - PUSH alone needs it
    from ojs_aws.middleware.enqueuing import Enqueuing  # noqa: PLC0415

    chain = loading.enqueue_chain(settings.enqueue_middleware)
    return Enqueuing(chain, loading.hooks(settings.hooks))


def _client_buckets(settings: Settings, aws: AwsClients) -> ClientBuckets:
    from ojs_aws.adapters.dynamodb.client_buckets import DynamoClientBuckets  # noqa: PLC0415

    return DynamoClientBuckets(aws.dynamodb, settings.table)


def _schemas(settings: Settings, clients: AwsClients) -> Schemas:
    from ojs_aws.adapters.dynamodb.schema_store import DynamoSchemas  # noqa: PLC0415

    return DynamoSchemas(clients.dynamodb, settings.table, _token)


def build_key_book(
    settings: Settings, dynamodb: DynamoDBClient, clock: Clock | None = None
) -> KeyBook:
    """What makes and ends the API keys of a deployment.

    :param dynamodb: a client that may write to the table.
    """
    from ojs_aws.adapters.dynamodb.api_keys import DynamoApiKeys  # noqa: PLC0415
    from ojs_aws.services.api_keys import KeyBook  # noqa: PLC0415

    keys = DynamoApiKeys(dynamodb, settings.table)
    return KeyBook(keys, clock or SystemClock(), secrets.token_bytes)


def build_authentication(
    settings: Settings, dynamodb: DynamoDBClient, clock: Clock | None = None
) -> Authentication:
    """What finds the callers of a deployment by their API keys."""
    from ojs_aws.adapters.dynamodb.api_keys import DynamoApiKeys  # noqa: PLC0415
    from ojs_aws.services.api_keys import Authentication  # noqa: PLC0415

    return Authentication(DynamoApiKeys(dynamodb, settings.table), clock or SystemClock())


def _bulk(store: DynamoJobStore) -> BulkRequests:
    from ojs_aws.adapters.dynamodb.bulk_requests import DynamoBulkRequests  # noqa: PLC0415

    return DynamoBulkRequests(store.client, store.table)


def _batches(store: DynamoJobStore) -> Batches:
    from ojs_aws.adapters.dynamodb.batches import DynamoBatches  # noqa: PLC0415

    return DynamoBatches(store.client, store.table, store.retention, _token)


def _settings_book(settings: Settings, clients: AwsClients) -> SettingsBook:
    from ojs_aws.adapters.dynamodb.queue_settings import DynamoSettings  # noqa: PLC0415

    return DynamoSettings(clients.dynamodb, settings.table, _token)


def _triggers(settings: Settings, clients: AwsClients) -> Triggers:
    from ojs_aws.adapters.sqs.arns import queue_arn  # noqa: PLC0415
    from ojs_aws.adapters.sqs.triggers import LambdaTriggers  # noqa: PLC0415
    from ojs_aws.services.wiring import NoTriggers  # noqa: PLC0415

    if clients.functions is None:
        return NoTriggers()

    def arn_of(queue: str) -> str:
        name = sqs_queue_name(settings.queue_prefix, queue)
        return queue_arn(clients.sqs, settings.queue_url_prefix, name)

    return LambdaTriggers(clients.functions(), arn_of)


def _depths(settings: Settings, clients: AwsClients) -> Depths:
    from ojs_aws.adapters.dynamodb.queue_depths import DynamoDepths  # noqa: PLC0415

    return DynamoDepths(clients.dynamodb, settings.table)


def _tallies(settings: Settings, clients: AwsClients) -> Tallies:
    from ojs_aws.adapters.dynamodb.queue_tallies import DynamoTallies  # noqa: PLC0415

    return DynamoTallies(clients.dynamodb, settings.table)


def _pressures(settings: Settings, clients: AwsClients) -> Pressures:
    from ojs_aws.adapters.dynamodb.queue_depths import DynamoPressures  # noqa: PLC0415

    return DynamoPressures(clients.dynamodb, settings.table)


def build_backend(
    settings: Settings,
    clients: AwsClients | None = None,
    *,
    clock: Clock | None = None,
    ids: IdGenerator | None = None,
    both: Both | None = None,
) -> Backend:
    """The backend of a deployment.

    :param clients: AWS clients; by default made from the usual AWS environment.
    """
    aws = clients or aws_clients()
    threads = InThreads()

    def workers() -> WorkerRegistry:
        from ojs_aws.adapters.dynamodb.worker_registry import (  # noqa: PLC0415
            DynamoWorkerRegistry,
        )

        return DynamoWorkerRegistry(aws.dynamodb, settings.table)

    def marks() -> Marks:
        from ojs_aws.adapters.dynamodb.marks import DynamoMarks  # noqa: PLC0415

        return DynamoMarks(aws.dynamodb, settings.table)

    def events() -> EventLog:
        from ojs_aws.adapters.dynamodb.event_log import DynamoEventLog  # noqa: PLC0415

        return DynamoEventLog(aws.dynamodb, settings.table, settings.event_retention_s, _token)

    def announce() -> Announce:
        from ojs_aws.adapters.events.bus import EventBus  # noqa: PLC0415

        return EventBus(aws.events, settings.event_bus, settings.event_bus_types)

    def cron() -> CronEntries:
        from ojs_aws.adapters.dynamodb.cron_entries import DynamoCronEntries  # noqa: PLC0415

        return DynamoCronEntries(aws.dynamodb, settings.table, _token)

    store = job_store(settings, aws)

    def workflows() -> Workflows:
        from ojs_aws.adapters.dynamodb.workflow_store import DynamoWorkflows  # noqa: PLC0415

        kept_s = settings.completed_retention_s
        return DynamoWorkflows(aws.dynamodb, settings.table, store, _token, kept_s)

    def limits() -> Limits:
        from ojs_aws.adapters.dynamodb.limits import DynamoLimits  # noqa: PLC0415

        return DynamoLimits(aws.dynamodb, settings.table)

    def alarms() -> CronAlarms:
        from ojs_aws.adapters.sqs.alarms import SqsCronAlarms  # noqa: PLC0415

        url = settings.queue_url_prefix + cron_queue_name(settings.queue_prefix)
        return SqsCronAlarms(aws.sqs, url)

    store = job_store(settings, aws)

    def unique() -> UniqueJobs:
        from ojs_aws.adapters.dynamodb.unique_jobs import DynamoUniqueJobs  # noqa: PLC0415

        return DynamoUniqueJobs(store)

    return Backend(
        settings,
        Ports(
            store=store,
            messages=SqsMessageQueue(aws.sqs, settings.queue_prefix, settings.queue_url_prefix),
            queues=DynamoQueueRegistry(
                dynamodb=aws.dynamodb,
                sqs=aws.sqs,
                table=settings.table,
                queue_prefix=settings.queue_prefix,
                queue_url_prefix=settings.queue_url_prefix,
                declared=settings.queues,
                allow_undeclared=settings.allow_undeclared_queues,
            ),
            workers=workers,
            marks=marks,
            events=events,
            announce=announce,
            cron=cron,
            alarms=alarms,
            schemas=functools.partial(_schemas, settings, aws),
            unique=unique,
            workflows=workflows,
            limits=limits,
            client_buckets=functools.partial(_client_buckets, settings, aws),
            batches=functools.partial(_batches, store),
            bulk=functools.partial(_bulk, store),
            settings_book=functools.partial(_settings_book, settings, aws),
            triggers=functools.cache(functools.partial(_triggers, settings, aws)),
            depths=functools.partial(_depths, settings, aws),
            tallies=functools.partial(_tallies, settings, aws),
            pressures=functools.partial(_pressures, settings, aws),
            clock=clock or SystemClock(),
            ids=ids or UuidGenerator(),
            enqueuing=functools.partial(enqueuing, settings),
            both=both or threads,
            each=None if both else threads.each,
            pause=time.sleep,
            spread=None if both else threads.each,
        ),
    )
