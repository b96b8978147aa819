"""Composes the application: settings and AWS clients in, services out."""

from __future__ import annotations

import functools
import random
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ojs_aws.adapters.dynamodb.jobs.blobs import Blobs
from ojs_aws.adapters.dynamodb.jobs.reads import JobWrites
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
from ojs_aws.adapters.dynamodb.retrying_client import Pauses, RetryingClient, retrying
from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.bootstrap.adapters import Adapters
from ojs_aws.bootstrap.clients import (
    AwsClients,
    InThreads,
    SystemClock,
    UuidGenerator,
    account_of,
    aws_clients,
    data_removal_of,
    evidence_of,
    new_reservation_id,
    secret_reader,
    stacks_of,
    tasks_of,
    write_token,
)
from ojs_aws.config import Settings, SettingsError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.runtime import IN_ORDER, Parallel
from ojs_aws.services.backend import Backend
from ojs_aws.services.backend.foundation import Stores

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings
    from ojs_aws.adapters.dynamodb.watermarks import RecordTries
    from ojs_aws.adapters.functions import Functions
    from ojs_aws.adapters.s3 import S3Documents
    from ojs_aws.domain.runtime import Clock, IdGenerator
    from ojs_aws.middleware.enqueuer import Enqueuer
    from ojs_aws.services.access.api_keys import (
        Authentication,
        KeyIssuer,
        RememberedAuthentication,
    )

__all__ = [
    "AwsClients",
    "InThreads",
    "SystemClock",
    "UuidGenerator",
    "account_of",
    "aws_clients",
    "build_authentication",
    "build_backend",
    "build_key_issuer",
    "build_remembered_authentication",
    "build_stores",
    "data_removal_of",
    "enqueuing",
    "evidence_of",
    "job_store",
    "record_tries",
    "secret_reader",
    "stacks_of",
    "stores_of_bindings",
    "tasks_of",
]


def with_retries(clients: AwsClients) -> AwsClients:
    """Return the clients, with a DynamoDB client that retries, and reads what was left out."""
    if isinstance(clients.dynamodb, RetryingClient):
        return clients
    chance = random.SystemRandom().random
    return replace(clients, dynamodb=retrying(clients.dynamodb, Pauses(time.sleep, chance)))


def job_store(settings: Settings, clients: AwsClients, parallel: Parallel = IN_ORDER) -> JobStore:
    """Return the job store of a deployment.

    :param parallel: reads and stores documents in S3, side by side if it can.
    """
    clients = with_retries(clients)
    objects = None
    if settings.bucket:
        from ojs_aws.adapters.s3 import S3Documents  # few jobs need it

        objects = S3Documents(clients.s3, settings.bucket)
    blobs = Blobs(
        clients.dynamodb,
        settings.table,
        objects,
        settings.inline_limit_bytes,
        min(settings.inline_envelope_bytes, settings.inline_limit_bytes),
        settings.s3_threshold_bytes,
        parallel,
    )

    def retention(state: JobState, is_dead_letter: bool) -> int:  # noqa: FBT001 - as its type says
        if is_dead_letter:
            return settings.dead_letter_retention_s
        is_discarded = state is JobState.DISCARDED
        return settings.discarded_retention_s if is_discarded else settings.completed_retention_s

    writes = JobWrites(clients.dynamodb, settings.table, write_token)
    if settings.wide_queues:
        from ojs_aws.adapters.dynamodb.jobs.wide_store import WideJobStore

        lines = dict(settings.wide_queues)
        return WideJobStore(clients.dynamodb, settings.table, blobs, retention, writes, lines)
    return JobStore(clients.dynamodb, settings.table, blobs, retention, writes)


def enqueuing(settings: Settings) -> Enqueuer:
    """Return the backend's enqueue chain and hooks: the user's, or the default ones.

    :raises SettingsError: a path leads to none. A function that cannot run the middleware it was
        given must not start.
    """
    from ojs_aws.middleware import extensions  # PUSH alone needs it
    from ojs_aws.middleware.enqueuer import Enqueuer

    chain = extensions.enqueue_chain(settings.enqueue_middleware)
    return Enqueuer(chain, extensions.hooks(settings.hooks))


def build_key_issuer(
    settings: Settings, dynamodb: DynamoDBClient, clock: Clock | None = None
) -> KeyIssuer:
    """Return the service that makes and ends a deployment's API keys.

    :param dynamodb: a client that may write to the table.
    """
    from ojs_aws.adapters.dynamodb.access import ApiKeys
    from ojs_aws.services.access.api_keys import KeyIssuer

    keys = ApiKeys(dynamodb, settings.table)
    return KeyIssuer(keys, clock or SystemClock(), secrets.token_bytes)


def build_authentication(
    settings: Settings, dynamodb: DynamoDBClient, clock: Clock | None = None
) -> Authentication:
    """Return the service that finds callers by their API keys."""
    from ojs_aws.adapters.dynamodb.access import ApiKeys
    from ojs_aws.services.access.api_keys import Authentication

    return Authentication(ApiKeys(dynamodb, settings.table), clock or SystemClock())


def build_remembered_authentication(
    settings: Settings, dynamodb: DynamoDBClient, clock: Clock | None = None
) -> RememberedAuthentication:
    """Return what finds callers where no gateway remembers them: it has a memory of its own."""
    from ojs_aws.services.access.api_keys import RememberedAuthentication

    clock = clock or SystemClock()
    authentication = build_authentication(settings, dynamodb, clock)
    return RememberedAuthentication(authentication, clock, settings.auth_cache_s * 1000)


def record_tries(settings: Settings, clients: AwsClients, partition: str) -> RecordTries:
    """Return what counts the tries of stream records, for one reader of the stream."""
    from ojs_aws.adapters.dynamodb.watermarks import RecordTries

    return RecordTries(clients.dynamodb, settings.table, partition)


def stores_of_bindings(
    settings: Settings, clients: AwsClients
) -> tuple[Functions, QueueBindings, S3Documents | None]:
    """Return what invokes functions, what suspends their bindings, and the bucket if there is one.

    The bucket has jobs that are too large for an event.
    """
    from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings
    from ojs_aws.adapters.functions import Functions
    from ojs_aws.adapters.s3 import S3Documents

    assert clients.functions is not None  # noqa: S101 - a deployment has all clients
    documents = S3Documents(clients.s3, settings.bucket) if settings.bucket else None
    states = QueueBindings(clients.dynamodb, settings.table)
    return Functions(clients.functions()), states, documents


def build_backend(
    settings: Settings,
    clients: AwsClients | None = None,
    *,
    clock: Clock | None = None,
    ids: IdGenerator | None = None,
    parallel: Parallel | None = None,
) -> Backend:
    """Return the backend of a deployment; for parameters see :func:`build_stores`."""
    return Backend(
        settings, build_stores(settings, clients, clock=clock, ids=ids, parallel=parallel)
    )


def _check_tenant_limits(text: str) -> None:
    """Refuse limits that PUSH and FETCH could not follow."""
    from ojs_aws.domain.errors import OjsError  # few deployments have any
    from ojs_aws.domain.tenants import limits_of_all

    try:
        limits_of_all(text)
    except OjsError as problem:
        raise SettingsError(f"OJS_TENANT_LIMITS is {text!r}: {problem}") from problem


def build_stores(
    settings: Settings,
    clients: AwsClients | None = None,
    *,
    clock: Clock | None = None,
    ids: IdGenerator | None = None,
    parallel: Parallel | None = None,
) -> Stores:
    """Return what the services of a deployment need from the world.

    :param clients: AWS clients; by default made from the usual AWS environment.
    :raises SettingsError: limits of tenants cannot be followed.
    """
    if settings.tenant_limits:
        _check_tenant_limits(settings.tenant_limits)
    aws = with_retries(clients or aws_clients())
    # Threads of their own: what waits for documents may be one of the others.
    store = job_store(settings, aws, parallel or InThreads())
    made = Adapters(settings, aws, store)
    return Stores(
        store=store,
        messages=MessageQueue(aws.sqs, settings.queue_prefix, settings.queue_url_prefix),
        queues=QueueRegistry(
            client=aws.dynamodb,
            sqs=aws.sqs,
            table=settings.table,
            queue_prefix=settings.queue_prefix,
            queue_url_prefix=settings.queue_url_prefix,
            declared=settings.queues,
            allow_undeclared=settings.allow_undeclared_queues,
        ),
        workers=made.workers,
        pools=made.pools,
        watermarks=made.watermarks,
        events=made.events,
        announce=made.announce,
        cron=made.cron,
        wake_ups=made.wake_ups,
        schemas=made.schemas,
        unique=made.unique,
        sequences=made.sequences,
        fair_keys=made.fair_keys,
        line_marks=made.line_marks,
        workflows=made.workflows,
        limits=made.limits,
        client_buckets=made.client_buckets,
        batches=made.batches,
        bulk=made.bulk,
        queue_settings=made.queue_settings,
        queue_bindings=made.queue_bindings,
        triggers=functools.cache(made.triggers),
        depths=made.depths,
        tallies=made.tallies,
        tenant_tallies=made.tenant_tallies,
        failure_groups=made.failure_groups,
        api_keys=made.api_keys,
        pressures=made.pressures,
        clock=clock or SystemClock(),
        ids=ids or UuidGenerator(),
        new_reservation_id=new_reservation_id,
        enqueuing=functools.partial(enqueuing, settings),
        parallel=parallel or InThreads(),
        pause=time.sleep,
        processor_s=time.thread_time,
    )
