"""One moto for many worlds: emptied between them, and in whose time nothing passes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from ojs_aws.config import Settings
from ojs_aws.local.aws import ACCOUNT, REGION, create_bucket, embedded_aws
from ojs_aws.testing.memory import FakeClock
from tests.aws import EmbeddedAws, clients_of_moto, deployed
from tests.faults.fault_injection import FaultInjector, Kind

BUS: Final = "ojs-events"
FILES: Final = "exported"

SETTINGS: Final = Settings(
    queues=("default", "email"),
    inline_limit_bytes=600,
    s3_threshold_bytes=3000,
    event_bus=BUS,
    event_bus_types=("*",),
    default_visibility_timeout_s=30,
    default_timeout_s=600,
    queue_settings_age_ms=0,
)


class Account:
    """One moto for many worlds, one after the other.

    :ivar clock: moto's time, and that of whoever lives in it.
    """

    def __init__(self, aws: EmbeddedAws, clock: FakeClock) -> None:
        """Watch the clients of a deployment."""
        self.aws = aws
        self.clock = clock
        self.injector = FaultInjector()
        used = aws.clients
        for client in (used.dynamodb, used.sqs, used.s3(), used.events()):
            self.injector.watch(client)
        self._queues = set(self._sqs())

    def empty(self) -> FaultInjector:
        """Make everything as it was deployed; a fresh fault injector's state."""
        injector = self.injector
        injector.at, injector.kind, injector.is_on = None, Kind.FAILS, False
        injector.made, injector.late, injector.announced = [], [], []
        injector.deadly = ""
        table = self.table()
        table.items.clear()
        table.__dict__.pop("_ojs_lists", None)
        table.stream_shard.items.clear()
        queues = self._sqs()
        for name in [*queues]:
            if name not in self._queues:
                del queues[name]
                continue
            queues[name]._messages.clear()
            queues[name].pending_messages.clear()
            queues[name].deleted_messages.clear()
        for bucket in self._buckets().values():
            bucket.keys.clear()
        self.clock.at, self.clock._last = FakeClock.at, 0
        return injector

    def table(self) -> Any:
        """Moto's table."""
        from moto.dynamodb.models import dynamodb_backends

        return dynamodb_backends[ACCOUNT][REGION].get_table(self.aws.settings.table)

    def _sqs(self) -> dict[str, Any]:
        from moto.sqs.models import sqs_backends

        queues: dict[str, Any] = sqs_backends[ACCOUNT][REGION].queues
        return queues

    def _buckets(self) -> dict[str, Any]:
        from moto.s3.models import s3_backends

        buckets: dict[str, Any] = s3_backends[ACCOUNT]["aws"].buckets
        return buckets

    def purge(self) -> None:
        """Empty the queues."""
        for queue in self._sqs().values():
            queue._messages.clear()
            queue.pending_messages.clear()

    def expire(self, sort_keys: AbstractSet[str]) -> None:
        """Remove items, as DynamoDB does in time."""
        table = self.table()
        for partition in [*table.items.values()]:
            for key, item in [*partition.items()]:
                if item.range_key.value in sort_keys:
                    del partition[key]
                    table.stream_shard.add(item, None)
                    record = table.stream_shard.items[-1].to_json()
                    record["userIdentity"] = {
                        "type": "Service",
                        "principalId": "dynamodb.amazonaws.com",
                    }

    def messages(self) -> dict[str, list[str]]:
        """What is in the queues: visible, delayed or in somebody's hands."""
        return {
            name: [message.body for message in queue._messages]
            for name, queue in self._sqs().items()
            if queue._messages
        }

    def visible(self) -> int:
        """How many messages can be received."""
        return sum(len(queue.messages) for queue in self._sqs().values())

    def objects(self) -> list[str]:
        """The keys of all objects, with their buckets."""
        return [f"{name}/{key}" for name, bucket in self._buckets().items() for key in bucket.keys]

    def items(self) -> Iterator[dict[str, Any]]:
        """Every item of the table."""
        for partition in self.table().items.values():
            for item in partition.values():
                yield item.to_json()["Attributes"]


@contextmanager
def account() -> Iterator[Account]:
    """Moto with a deployment in it, in whose time nothing passes by itself."""
    clock = FakeClock()

    def utcnow() -> datetime:
        return datetime.fromtimestamp(clock.at / 1000, UTC).replace(tzinfo=None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")
        patch.delenv("AWS_ENDPOINT_URL", raising=False)
        for module in ("moto.core.utils", "moto.sqs.models"):
            patch.setattr(f"{module}.unix_time_millis", lambda: float(clock.at))
        patch.setattr("moto.sqs.models.unix_time", lambda: clock.at / 1000)
        patch.setattr("moto.dynamodb.models.table.utcnow", utcnow)
        with embedded_aws():
            aws = deployed(SETTINGS, clients_of_moto(parameter_validation=False))
            aws.clients.events().create_event_bus(Name=BUS)
            create_bucket(aws.clients.s3(), FILES)
            yield Account(aws, clock)
