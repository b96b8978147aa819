"""An embedded AWS for tests, with the table and queues as they are deployed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config

from ojs_aws.adapters.dynamodb.columns import string
from ojs_aws.adapters.dynamodb.table import InTable
from ojs_aws.adapters.errors import watch_attempts
from ojs_aws.bootstrap import AwsClients
from ojs_aws.config import Settings
from ojs_aws.local.aws import (
    EmbeddedStream,
    RemoteStream,
    create_bucket,
    create_queues,
    create_table,
    embedded_aws,
)
from ojs_aws.local.triggers import ReadStream
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.memory_aws.table import Stream
from ojs_aws.topology import STREAM_BATCH, is_streamed
from tests import dynamodb_local
from tests.memory_hooks import hook

REGION = "us-east-1"
SERVICES = ("dynamodb", "sqs", "s3", "events")
"""What a deployment needs clients of, in their order."""

IN_MEMORY = True
"""Whether a fresh AWS is the one in memory; moto is it with `pytest --moto`, or the mark `moto`."""


@dataclass
class Calls:
    """The AWS calls of some clients, by operation, in order."""

    made: list[str] = field(default_factory=list)

    def watch(self, client: Any) -> None:
        """Note each call of a client from now on."""

        def note(model: Any, **_: Any) -> None:
            self.made.append(model.name)

        client.meta.events.register("before-call", note)

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """The calls made inside the block."""
        begin = len(self.made)
        counter: Counter[str] = Counter()
        yield counter
        counter.update(self.made[begin:])


@dataclass
class EmbeddedAws:
    """Clients of an AWS, the settings of the deployment in it, and the calls that were made.

    :ivar memory: what keeps it, if it is kept in memory.
    """

    clients: AwsClients
    settings: Settings
    calls: Calls
    memory: MemoryAws | None = None


def machine_ms() -> int:
    """Return the time of this machine."""
    return time.time_ns() // 1_000_000


@cache
def _session() -> Any:
    """One session for all: to make one takes longer than to make its clients."""
    return boto3.session.Session()


def make_clients(where: Mapping[str, Any]) -> Sequence[Any]:
    """Make the clients that a deployment needs.

    :param where: arguments of ``boto3.client`` that lead to an AWS.
    """
    return [_session().client(each, **where) for each in SERVICES]


def clients_of_moto(**more: Any) -> Sequence[Any]:
    """Make the clients of a deployment on moto, without what moto does not look at.

    That is the signature, but for S3 and DynamoDB Local, and what each request says of this
    machine: a third of a call.

    :param more: other settings of botocore's ``Config``.
    """
    plain = Config(user_agent="tests", **more)
    unsigned = plain.merge(Config(signature_version=UNSIGNED))
    signed = {"s3", "dynamodb"} if dynamodb_local.is_in_use() else {"s3"}
    return [
        _session().client(each, config=plain if each in signed else unsigned) for each in SERVICES
    ]


class KeptClients:
    """Clients that one test after the other uses: to make them takes most of a deployment.

    Each test gets them as they were made, without the calls that another one has made, and without
    the handlers and the attributes that it has set.
    """

    def __init__(self, make: Callable[[], Sequence[Any]]) -> None:
        """Make the clients, and note their state."""
        self._make = make
        self._calls = Calls()
        self._clients = _watched(make(), self._calls)
        self._objects = [part for each in self._clients for part in (each, each._endpoint)]
        self._attributes = [dict(vars(part)) for part in self._objects]
        self._emitters = [each.meta.events._emitter for each in self._clients]
        self._handlers = [copy(emitter) for emitter in self._emitters]
        self._is_in_use = False

    @contextmanager
    def deployed(self, settings: Settings) -> Iterator[EmbeddedAws]:
        """Create everything that a deployment has; with other clients, while these are in use."""
        if self._is_in_use:
            yield deployed(settings, self._make())
            return
        self._is_in_use = True
        try:
            yield _deployed(settings, self._clients, self._calls)
        finally:
            self._restore()
            self._is_in_use = False

    def _restore(self) -> None:
        self._calls.made = []
        for part, attributes in zip(self._objects, self._attributes, strict=True):
            vars(part).clear()
            vars(part).update(attributes)
        for emitter, handlers in zip(self._emitters, self._handlers, strict=True):
            if emitter._lookup_cache is not handlers._lookup_cache:  # another one by each change
                vars(emitter).update(vars(copy(handlers)))

    def close(self) -> None:
        """Close the connections of the clients."""
        for client in self._clients:
            client.close()


@cache
def _kept_clients_of_moto() -> KeptClients:
    return KeptClients(clients_of_moto)


def deployed(settings: Settings, clients: Sequence[Any]) -> EmbeddedAws:
    """Create everything that a deployment has, on the AWS of these clients."""
    calls = Calls()
    return _deployed(settings, _watched(clients, calls), calls)


def _watched(clients: Sequence[Any], calls: Calls) -> Sequence[Any]:
    for client in clients:
        calls.watch(client)
        watch_attempts(client)
    return clients


def _deployed(settings: Settings, clients: Sequence[Any], calls: Calls) -> EmbeddedAws:
    dynamodb, sqs, s3, events = clients
    create_table(dynamodb, settings.table)
    prefix = create_queues(sqs, settings)
    create_bucket(s3, "documents")
    calls.made.clear()
    complete = replace(settings, queue_url_prefix=prefix, bucket="documents")
    return EmbeddedAws(AwsClients(dynamodb, sqs, lambda: s3, lambda: events), complete, calls)


@contextmanager
def _environment_of_emulator() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_ENDPOINT_URL", raising=False)
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")
        yield


@contextmanager
def clients_of_emulator(where: Mapping[str, Any]) -> Iterator[KeptClients]:
    """Make clients of an emulator that runs already, and close them at the end."""
    with _environment_of_emulator():
        clients = KeptClients(partial(make_clients, where))
    yield clients
    clients.close()


@contextmanager
def emulated(kept: KeptClients, settings: Settings | None = None) -> Iterator[EmbeddedAws]:
    """The same on an emulator that runs already and holds nothing."""
    with _environment_of_emulator(), kept.deployed(settings or Settings()) as aws:
        yield aws


def in_memory(settings: Settings, now_ms: Callable[[], int] = machine_ms) -> EmbeddedAws:
    """Deploy to a fresh AWS in memory."""
    memory = MemoryAws.at(now_ms)
    dynamodb, sqs, s3, events = memory.dynamodb, memory.sqs, memory.s3, memory.events
    create_table(dynamodb, settings.table)
    prefix = create_queues(sqs, settings)
    create_bucket(s3, "documents")
    hook(memory)
    calls = Calls()
    for client in (dynamodb, sqs, s3, events):
        calls.watch(client)
    complete = replace(settings, queue_url_prefix=prefix, bucket="documents")
    clients = AwsClients(dynamodb, sqs, lambda: s3, lambda: events)
    return EmbeddedAws(clients, complete, calls, memory)


@contextmanager
def embedded(settings: Settings | None = None) -> Iterator[EmbeddedAws]:
    """A fresh AWS with everything that a deployment creates.

    It is kept by :mod:`ojs_aws.memory_aws`, or by moto, as fast as the local server's. With
    ``--dynamodb-local`` the table is DynamoDB Local's.
    """
    if IN_MEMORY:
        yield in_memory(settings or Settings())
        return
    with pytest.MonkeyPatch.context() as patch:
        # Thousands of URL patterns for the library `requests`, by which nobody asks moto here.
        patch.setattr("moto.core.models.RESPONSES_METHODS", ())
        patch.delenv("AWS_ENDPOINT_URL", raising=False)
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")  # moto does not know them
        with embedded_aws(), _kept_clients_of_moto().deployed(settings or Settings()) as aws:
            yield aws


def items_of(aws: EmbeddedAws, partition: str) -> list[dict[str, Any]]:
    """The items of a partition, in their order."""
    table = InTable(aws.clients.dynamodb, aws.settings.table)
    return list(table.items("#pk = :pk", {"pk": string(partition)}))


class MemoryChanges:
    """Reads the stream of a table in memory from its beginning, as far as the trigger passes it."""

    def __init__(self, stream: Stream) -> None:
        """Begin at the first record."""
        self._stream = stream
        self.position = 0

    def is_behind(self) -> bool:
        """Return whether there are records that have not been handled."""
        return self._stream.end > self.position

    def __call__(self) -> tuple[list[Any], Callable[[], None]]:
        """Return the next records, and what to call once they are handled."""
        taken = self._stream.after(self.position, STREAM_BATCH)
        following = self.position + len(taken)

        def done() -> None:
            self.position = following

        keys = (record["dynamodb"]["Keys"] for record in taken)
        passed = [is_streamed(each["pk"]["S"], each["sk"]["S"]) for each in keys]
        records = [
            {**record, "dynamodb": dict(record["dynamodb"])}
            for record, is_one in zip(taken, passed, strict=True)
            if is_one
        ]
        return records, done


def changes_of(aws: EmbeddedAws) -> ReadStream:
    """Return a reader of the table's stream."""
    if not dynamodb_local.is_in_use():
        return changes_here(aws)
    table = aws.settings.table
    return RemoteStream(boto3.client("dynamodb"), boto3.client("dynamodbstreams"), table)


def changes_here(aws: EmbeddedAws) -> EmbeddedStream | MemoryChanges:
    """Return a reader of the table's stream, where this process keeps it: it knows its place."""
    table = aws.settings.table
    if aws.memory is not None:
        return MemoryChanges(aws.memory.table(table).stream)
    return EmbeddedStream(table)
