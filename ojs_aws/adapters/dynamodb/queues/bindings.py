"""Stores the job types of bindings and which are suspended, in the item of their queue."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, number, read_string, string
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.domain.bindings import (
    NO_CONFIG,
    BindingConfig,
    Suspension,
    read_suspension,
    stored_config,
    write_suspension,
)
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import QUEUE_PARTITION

_PREFIX: Final = "bs_"
_BOUND: Final = "bd_"
_ENDPOINT: Final = "bu_"
_CONFIG: Final = "bc_"
"""Begin the names of the attributes of a suspended binding, and of one with registered types, with
a registered URL, and with a registered config."""


@dataclass(frozen=True, slots=True)
class BindingStates:
    """Holds what is stored of a queue's bindings, by their names."""

    suspended: Mapping[str, Suspension]
    bound: Mapping[str, tuple[str, ...]]
    endpoints: Mapping[str, str]
    configs: Mapping[str, BindingConfig] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueBindings(InTable):
    """Registers bindings of queues, suspends and resumes them."""

    def of(self, queue: str) -> BindingStates:
        """Return what is stored of a queue's bindings, strongly consistent.

        Makes one consistent read.
        """
        item = self.get_item(item_key(QUEUE_PARTITION, queue))
        return BindingStates(
            suspended=read_suspensions(item),
            bound=read_bound(item),
            endpoints=dict(_texts(item, _ENDPOINT)),
            configs={name: stored_config(text) for name, text in _texts(item, _CONFIG)},
        )

    def bind(
        self,
        queue: str,
        binding: str,
        types: Sequence[str],
        now: Instant,
        endpoint: str = "",
        config: BindingConfig = NO_CONFIG,
    ) -> None:
        """Register the job types of a binding, its URL and config, in the place of what it had.

        Makes one update.

        :param endpoint: the URL that gets the jobs; empty for a function or a task.
        """
        update = Update()
        update.set_if_absent(n.CREATED, n.CREATED, number(now))
        update.set(_BOUND + binding, string(json.dumps([*types], separators=(",", ":"))))
        if endpoint:
            update.set(_ENDPOINT + binding, string(endpoint))
        else:
            update.remove(_ENDPOINT + binding)
        if config == NO_CONFIG:
            update.remove(_CONFIG + binding)
        else:
            update.set(_CONFIG + binding, string(encode(config.render())))
        self.update_item(item_key(QUEUE_PARTITION, queue), update)

    def unbind(self, queue: str, binding: str) -> bool:
        """Forget what was registered for a binding; return False if nothing was.

        Makes one conditional update.
        """
        return self._remove(queue, _BOUND + binding, _ENDPOINT + binding, _CONFIG + binding)

    def suspend(
        self, queue: str, binding: str, reason: str, now: Instant, *, is_lasting: bool = False
    ) -> None:
        """Suspend a binding; one that is suspended keeps its time, and gets the new reason.

        One that an operator suspended stays as it is.

        Makes one read and one update. What a failure suspends is written on condition that nothing
        changed since the read, such as by an operator.

        :param is_lasting: an operator suspends it: no job is tried until one resumes it.
        """
        before = self.of(queue).suspended.get(binding)
        if before is not None and before.is_lasting:
            return
        since = now if before is None else before.since
        after = Suspension(reason=reason, since=since, tried_at=now, is_lasting=is_lasting)
        update = Update()
        update.set_if_absent(n.CREATED, n.CREATED, number(now))
        update.set(_PREFIX + binding, string(write_suspension(after)))
        if is_lasting:
            self.update_item(item_key(QUEUE_PARTITION, queue), update)
        else:
            self._if_unchanged(queue, binding, before, update)

    def begin_trial(
        self, queue: str, binding: str, seen: Suspension, now: Instant
    ) -> Suspension | None:
        """Note that one job is tried; return None if another process does, or it was resumed.

        Makes one conditional update.

        :returns: the suspension as it is now.
        """
        tried, update = replace(seen, tried_at=now), Update()
        update.set(_PREFIX + binding, string(write_suspension(tried)))
        return tried if self._if_unchanged(queue, binding, seen, update) else None

    def end_trial(self, queue: str, binding: str, tried: Suspension) -> None:
        """Resume a binding after a trial; nothing changes if it was suspended again meanwhile.

        Makes one conditional update.
        """
        update = Update()
        update.remove(_PREFIX + binding)
        self._if_unchanged(queue, binding, tried, update)

    def _if_unchanged(
        self, queue: str, binding: str, seen: Suspension | None, update: Update
    ) -> bool:
        name = update.name(_PREFIX + binding)
        if seen is None:
            update.when(f"attribute_not_exists({name})")
        else:
            update.when(f"{name} = {update.value(string(write_suspension(seen)))}")
        return self.try_update(item_key(QUEUE_PARTITION, queue), update)

    def resume(self, queue: str, binding: str) -> None:
        """Resume a binding, whoever suspended it; nothing changes if nobody did.

        Makes one conditional update.
        """
        self._remove(queue, _PREFIX + binding)

    def _remove(self, queue: str, attribute: str, *others: str) -> bool:
        update = Update()
        for each in (attribute, *others):
            update.remove(each)
        update.when(f"attribute_exists({update.name(attribute)})")
        return self.try_update(item_key(QUEUE_PARTITION, queue), update)


def read_suspensions(item: Item) -> dict[str, Suspension]:
    """Return the suspended bindings that the item of a queue names."""
    return {name: read_suspension(text) for name, text in _texts(item, _PREFIX)}


def read_bound(item: Item) -> dict[str, tuple[str, ...]]:
    """Return the registered types of bindings that the item of a queue has."""
    return {name: tuple(json.loads(text)) for name, text in _texts(item, _BOUND)}


def _texts(item: Item, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the names of bindings with what the item of a queue has of each."""
    for name in item:
        if name.startswith(prefix):
            yield name[len(prefix) :], read_string(item, name)
