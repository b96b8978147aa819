"""An embedded AWS for tests: moto with the table and queues as they are deployed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import boto3
import pytest

from ojs_aws.adapters.attempts import watch_attempts
from ojs_aws.bootstrap import AwsClients
from ojs_aws.config import Settings
from ojs_aws.local.aws import create_bucket, create_queues, create_table, embedded_aws
from ojs_aws.local.streams import EmbeddedStream, RemoteStream
from ojs_aws.local.triggers import ReadStream
from tests import dynamodb_local

REGION = "us-east-1"


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
    """Clients of moto, the settings of the deployment in it, and the calls that were made."""

    clients: AwsClients
    settings: Settings
    calls: Calls


@cache
def _session() -> Any:
    """One session for all: to make one takes longer than to make its clients."""
    return boto3.session.Session()


def deployed(settings: Settings, where: Mapping[str, Any]) -> EmbeddedAws:
    """Everything that a deployment creates, on the AWS that these client settings lead to."""
    dynamodb, sqs, s3, events = (
        _session().client(service, **where) for service in ("dynamodb", "sqs", "s3", "events")
    )
    create_table(dynamodb, settings.table)
    prefix = create_queues(sqs, settings)
    create_bucket(s3, "documents")
    calls = Calls()
    for client in (dynamodb, sqs, s3, events):
        calls.watch(client)
        watch_attempts(client)
    complete = replace(settings, queue_url_prefix=prefix, bucket="documents")
    return EmbeddedAws(AwsClients(dynamodb, sqs, lambda: s3, lambda: events), complete, calls)


@contextmanager
def emulated(where: Mapping[str, Any], settings: Settings | None = None) -> Iterator[EmbeddedAws]:
    """The same on an emulator that runs already and holds nothing.

    :param where: arguments of ``boto3.client`` that lead to it.
    """
    patch = pytest.MonkeyPatch()
    patch.delenv("AWS_ENDPOINT_URL", raising=False)
    patch.setenv("NO_PROXY", "127.0.0.1")
    patch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")
    try:
        aws = deployed(settings or Settings(), where)
        yield aws
        used = aws.clients
        for client in (used.dynamodb, used.sqs, used.s3(), used.events()):
            client.close()
    finally:
        patch.undo()


@contextmanager
def embedded(settings: Settings | None = None) -> Iterator[EmbeddedAws]:
    """A fresh moto, as fast as the local server's, with everything that a deployment creates.

    With ``--dynamodb-local`` the table is DynamoDB Local's.
    """
    with pytest.MonkeyPatch.context() as patch, embedded_aws():
        patch.delenv("AWS_ENDPOINT_URL", raising=False)
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")  # moto does not know them
        yield deployed(settings or Settings(), {})


def changes_of(table: str) -> ReadStream:
    """Return a reader of a table's stream."""
    if not dynamodb_local.is_in_use():
        return EmbeddedStream(table)
    return RemoteStream(boto3.client("dynamodb"), boto3.client("dynamodbstreams"), table)
