"""Registers queues: an item for each queue that was used, beside the declared ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    number,
    read_count,
    read_instant,
    read_set,
    read_string,
    string,
)
from ojs_aws.adapters.dynamodb.jobs.lists import PAUSED
from ojs_aws.adapters.dynamodb.queues.bindings import read_bound, read_suspensions
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.adapters.errors import ignoring, translated
from ojs_aws.adapters.sqs import queue_arn
from ojs_aws.domain.errors import NotFoundError
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.queues import LastTick, QueueInfo
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import (
    MAX_RECEIVE_COUNT,
    MESSAGE_RETENTION_S,
    OWNER_TAG,
    PAUSED_ATTRIBUTE,
    QUEUE_PARTITION,
    TICK_PARTITION,
    dead_letter_queue_name,
    sqs_queue_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_sqs import SQSClient

PARTITION: Final = QUEUE_PARTITION
EXISTS: Final = frozenset(
    {"QueueAlreadyExists", "QueueNameExists", "AWS.SimpleQueueService.QueueNameExists"}
)
"""Codes of a queue that somebody else made at the same time, with other attributes."""
PAUSED_AT: Final = PAUSED_ATTRIBUTE
SWEPT_UNTIL: Final = "su"
SWEEP_CURSOR: Final = "sc"
LAG: Final = "lag"
OLDEST: Final = "oldest"
TRIGGERS: Final = "tr"
PAUSED_BY: Final = "pb"
RESUMED_BY: Final = "rb"
MAX_NOTED: Final = 10_000
"""Names that a process remembers; beyond, a queue may be registered again."""
NOTED_MS: Final = 3_600_000
"""How long it remembers them: others may remove what it has registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRegistry(InTable):
    """Registers queues, and what the sweep did for them."""

    sqs: SQSClient
    queue_prefix: str
    queue_url_prefix: str
    declared: tuple[str, ...]
    allow_undeclared: bool
    noted: dict[str, Instant] = field(default_factory=dict)

    def ensure(self, queue: str, now: Instant) -> None:
        """Create a queue at its first use; no call if it is known to exist.

        Registers the queue first, so that the sweep knows every queue that has messages, then
        creates its SQS queue. Either may exist already.

        :raises NotFoundError: the queue is not declared and undeclared ones are not allowed.
        """
        if not self.allow_undeclared and queue not in self.declared:
            raise NotFoundError(f"There is no queue '{queue}'.", details={"queue": queue})
        self.register(queue, now)
        dead_letters = queue_arn(
            self.sqs, self.queue_url_prefix, dead_letter_queue_name(self.queue_prefix)
        )
        redrive = {"deadLetterTargetArn": dead_letters, "maxReceiveCount": MAX_RECEIVE_COUNT}
        with translated("CreateQueue"), ignoring(EXISTS):
            self.sqs.create_queue(
                QueueName=sqs_queue_name(self.queue_prefix, queue),
                Attributes={
                    "MessageRetentionPeriod": str(MESSAGE_RETENTION_S),
                    "SqsManagedSseEnabled": "true",
                    "RedrivePolicy": json.dumps(redrive),
                },
                tags={OWNER_TAG: self.queue_prefix},
            )

    def note(self, queue: str, now: Instant) -> None:
        """Remember a queue that has jobs but no message yet; no call for a known one.

        Makes one update at the first use in this process, and each hour of use.

        Makes no call for a declared queue.
        """
        noted_at = self.noted.get(queue)
        if queue not in self.declared and (noted_at is None or now >= noted_at + NOTED_MS):
            self.register(queue, now)

    def register(self, queue: str, now: Instant) -> None:
        """Record that a queue exists; its first registration counts.

        A declared queue is known without it as long as it is declared.

        Makes one update.
        """
        update = Update()
        update.set_if_absent(n.CREATED, n.CREATED, number(now))
        self.update_item(_key(queue), update)
        if len(self.noted) < MAX_NOTED or queue in self.noted:
            self.noted[queue] = now

    def all(self) -> list[QueueInfo]:
        """Return every declared or used queue, by name.

        Runs one query, more only beyond a megabyte of queues.
        """
        infos = {name: QueueInfo(name=name) for name in self.declared}
        for item in self.items("#pk = :pk", {"pk": string(PARTITION)}):
            info = read_queue(item)
            infos[info.name] = info
        return sorted(infos.values(), key=lambda info: info.name)

    def load(self, queue: str) -> QueueInfo | None:
        """Return a declared or used queue, strongly consistent.

        Makes one consistent read.
        """
        if item := self.get_item(_key(queue)):
            return read_queue(item)
        self.noted.pop(queue, None)  # somebody has removed it
        return QueueInfo(name=queue) if queue in self.declared else None

    def pause(self, queue: str, triggers: Sequence[str], now: Instant, by: str = "") -> QueueInfo:
        """Pause a queue in one write; a paused one keeps the time of its first pause, and by whom.

        FETCH learns of it from the head of the ready list.

        Makes one update: the item becomes the first row of the queue's ready list.

        :param triggers: ids of the Lambda triggers that are about to be switched off.
        :param by: who does it.
        :returns: the queue as it is now.
        """
        update = Update()
        update.set_if_absent(n.CREATED, n.CREATED, number(now))
        update.set_if_absent(PAUSED_AT, PAUSED_AT, number(now))
        update.remove(RESUMED_BY)
        if by:
            update.set_if_absent(PAUSED_BY, PAUSED_BY, string(by))
        update.set(n.GPK, string(n.list_key(queue, JobList.READY)))
        update.set(n.GSK, string(PAUSED))
        if triggers:
            update.add_to_set(TRIGGERS, {"SS": sorted(set(triggers))})
        return read_queue(self.update_item(_key(queue), update, returning="ALL_NEW"))

    def resume(self, queue: str, by: str = "") -> QueueInfo | None:
        """Resume a queue in one write: its jobs can be fetched again.

        Makes one update: the row leaves the ready list.

        :param by: who does it.
        :returns: the queue as it was; None if it has no item, and nothing is written then.
        """
        update = Update()
        update.remove(PAUSED_AT, PAUSED_BY, n.GPK, n.GSK)
        update.set(RESUMED_BY, string(by))
        update.when(f"attribute_exists({update.name(n.PK)})")
        try:
            return read_queue(self.update_item(_key(queue), update, returning="ALL_OLD"))
        except ConditionFailedError:
            return None

    def note_triggers(self, queue: str, triggers: Sequence[str]) -> bool:
        """Remember triggers that are about to be switched off, while the queue is paused.

        Makes one conditional update.

        :returns: False if the queue is not paused; nothing is written then.
        """
        update = Update()
        update.add_to_set(TRIGGERS, {"SS": sorted(set(triggers))})
        update.when(f"attribute_exists({update.name(PAUSED_AT)})")
        return self.try_update(_key(queue), update)

    def forget_triggers(self, queue: str) -> None:
        """Note that the Lambda triggers of a queue are on again, unless it is paused.

        Makes one update, unless the queue was paused again.
        """
        update = Update()
        update.remove(TRIGGERS)
        update.when(f"attribute_not_exists({update.name(PAUSED_AT)})")
        self.try_update(_key(queue), update)

    def remember_sweep(self, queue: str, until: Instant, cursor: str = "") -> None:
        """Remember until when far jobs have their messages. Never moves back.

        Makes one update; an older sweep that comes late changes nothing.

        :param cursor: how far beyond, among jobs of one instant (see :class:`QueueInfo`).
        """
        update = Update()
        update.set(SWEPT_UNTIL, number(until))
        update.set(SWEEP_CURSOR, string(cursor))
        swept = update.name(SWEPT_UNTIL)
        update.when(f"(attribute_not_exists({swept}) OR {swept} <= {update.value(number(until))})")
        self.try_update(_key(queue), update)

    def remember_tick(self, tick: LastTick) -> None:
        """Remember the end of a sweep of all queues.

        Makes one update; a tick that ends after a later one changes nothing.
        """
        update = Update()
        update.set(n.COMPLETED, number(tick.at))
        update.set(LAG, number(tick.lag_ms))
        update.set(OLDEST, string(json.dumps(dict(tick.oldest), separators=(",", ":"))))
        at = update.name(n.COMPLETED)
        update.when(f"(attribute_not_exists({at}) OR {at} <= {update.value(number(tick.at))})")
        self.try_update(_TICK_KEY, update)

    def last_tick(self) -> LastTick | None:
        """Return what :meth:`remember_tick` stored last, if anything.

        Makes one read.
        """
        return read_tick(self.get_item(_TICK_KEY, is_consistent=False))


_TICK_KEY: Final = item_key(TICK_PARTITION, TICK_PARTITION)


def _key(queue: str) -> Item:
    return item_key(PARTITION, queue)


def read_tick(item: Item) -> LastTick | None:
    """Return the end of a sweep that an item describes; None for an empty one."""
    at = read_instant(item, n.COMPLETED)
    oldest = json.loads(read_string(item, OLDEST) or "{}")
    return None if at is None else LastTick(at, read_count(item, LAG), oldest)


def read_queue(item: Item) -> QueueInfo:
    """Return the queue that an item describes."""
    return QueueInfo(
        name=read_string(item, n.SK),
        created_at=read_instant(item, n.CREATED),
        paused_at=read_instant(item, PAUSED_AT),
        swept_until=read_instant(item, SWEPT_UNTIL),
        sweep_cursor=read_string(item, SWEEP_CURSOR),
        triggers=read_set(item, TRIGGERS),
        paused_by=read_string(item, PAUSED_BY),
        resumed_by=read_string(item, RESUMED_BY),
        suspended=read_suspensions(item),
        bound=read_bound(item),
    )
