"""Stores the settings of queues: an item each, in one partition by name.

One with a visibility timeout or of a fair queue is a row of its ready list as well, like a pause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    number,
    packed,
    read_count,
    read_instant,
    read_string,
    string,
    unpacked,
)
from ojs_aws.adapters.dynamodb.jobs.lists import FAIR, SETTINGS
from ojs_aws.adapters.dynamodb.limits import bucket_key, queue_limit
from ojs_aws.adapters.dynamodb.table import BATCH, InTable, first_failed, item_key, update_part
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.domain.conflicts import StaleSettingsError
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits import queue_key
from ojs_aws.domain.queues import LimitChange, QueueSettings, QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY, read_config
from ojs_aws.topology import SETTINGS_PARTITION

PARTITION: Final = SETTINGS_PARTITION
UPDATED: Final = "up"
TENANTS: Final = "tn"
"""Says in the item of the default policy that tenants may have settings."""
RUN_TIMES: Final = "rt"


_OF_ROW: Final = (n.VISIBILITY, n.TYPE, n.GPK, n.GSK)
"""Attributes of the row that FETCH reads, where a queue has settings for it."""


@dataclass(frozen=True, slots=True)
class QueueSettingsStore(InTable):
    """Stores the settings of queues.

    :ivar token: makes the token of a write; a write that finds its own token took effect before.
    """

    token: Callable[[], str]

    def load(self, queues: Sequence[str]) -> dict[str, QueueSettings]:
        """Read the settings of those queues that have any.

        Makes one consistent batch read.
        """
        return _by_queue(self._found(queues))

    def load_for_push(self, queue: str) -> tuple[dict[str, QueueSettings], bool]:
        """Read a queue's settings and the default policy, and whether tenants may have settings.

        Makes one consistent batch read.
        """
        found = [*self._found([queue, DEFAULT_POLICY])]
        return _by_queue(found), any(TENANTS in item for item in found)

    def _found(self, queues: Sequence[str]) -> Iterator[Item]:
        return self.get_items([_key(queue) for queue in dict.fromkeys(queues[:BATCH])])

    def note_tenants(self) -> None:
        """Note for PUSH, with the default policy that it reads, that tenants may have settings.

        Makes one update.
        """
        update = Update()
        update.set(TENANTS, {"BOOL": True})
        self.update_item(_key(DEFAULT_POLICY), update)

    def all(self) -> list[QueueSettings]:
        """Return all settings, by name.

        Runs one query, more only beyond a megabyte of settings.
        """
        return [*_by_queue(self.items("#pk = :pk", {"pk": string(PARTITION)})).values()]

    def save(
        self, before: QueueSettings, after: QueueSettings, limit: LimitChange | None = None
    ) -> None:
        """Replace one revision by the next, and the queue's limit in the same transaction.

        FETCH learns of the visibility timeout from the head of the ready list.

        Makes one transaction.

        :raises StaleSettingsError: the stored ones are no longer ``before``.
        """
        token = self.token()
        update = Update()
        there = _attributes(after)
        for name, value in there.items():
            update.set(name, value)
        update.set(n.TOKEN, string(token))
        update.remove(*(name for name in _OF_ROW if name not in there))
        if not after.by:
            update.remove(n.BY)
        version = update.name(n.VERSION)
        if before.revision:
            update.when(f"{version} = {update.value(number(before.revision))}")
        else:
            update.when(f"attribute_not_exists({version})")
        actions = [update_part(self.table, _key(after.queue), update)]
        if limit is not None:
            changed = queue_limit(after.queue, limit.policy)
            actions.append(update_part(self.table, bucket_key(queue_key(after.queue)), changed))
        reasons = self.transact_write_items(actions, first_failed)
        if reasons and read_string(reasons[0][1], n.TOKEN) != token:
            raise StaleSettingsError

    def learn(self, before: QueueSettings, run_times: str) -> bool:
        """Replace how long a queue's jobs ran, which is no revision of its settings.

        Makes one conditional update.

        :returns: False, and nothing is changed, if somebody else replaced it since ``before``.
        """
        update = Update()
        update.set(RUN_TIMES, string(run_times))
        known = update.name(RUN_TIMES)
        if before.run_times:
            update.when(f"{known} = {update.value(string(before.run_times))}")
        else:
            update.when(f"attribute_not_exists({known})")
        update.when(f"attribute_exists({update.name(n.VERSION)})")
        return self.try_update(_key(before.queue), update)


def _by_queue(items: Iterable[Item]) -> dict[str, QueueSettings]:
    """Return the settings that items hold; one that was noted only has none."""
    found = (read_settings(item) for item in items if n.VERSION in item)
    return {settings.queue: settings for settings in found}


def read_settings(item: Item) -> QueueSettings:
    """Return the settings that an item holds."""
    members = decode(unpacked(item[n.DOCUMENT])) if n.DOCUMENT in item else {}
    return QueueSettings(
        queue=read_string(item, n.SK),
        members=members if isinstance(members, dict) else {},
        revision=read_count(item, n.VERSION),
        state=QueueState(read_string(item, n.STATE) or QueueState.ACTIVE),
        created_at=read_instant(item, n.CREATED),
        updated_at=read_instant(item, UPDATED),
        by=read_string(item, n.BY),
        run_times=read_string(item, RUN_TIMES),
    )


def _attributes(settings: QueueSettings) -> Item:
    item: Item = {
        n.VERSION: number(settings.revision),
        n.STATE: string(settings.state),
        n.DOCUMENT: packed(encode(dict(settings.members))),
    }
    for name, value in ((n.CREATED, settings.created_at), (UPDATED, settings.updated_at)):
        if value is not None:
            item[name] = number(value)
    if settings.by:
        item[n.BY] = string(settings.by)
    config = read_config(settings.members)
    if config.visibility_timeout_ms is not None:
        item[n.VISIBILITY] = number(config.visibility_timeout_ms)
    if config.fair_by is not None:
        item[n.TYPE] = string(FAIR)
    if n.VISIBILITY in item or n.TYPE in item:
        item[n.GPK] = string(n.list_key(settings.queue, JobList.READY))
        item[n.GSK] = string(SETTINGS)
    return item


def _key(queue: str) -> Item:
    return item_key(PARTITION, queue)
