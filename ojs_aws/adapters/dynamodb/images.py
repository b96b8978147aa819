"""Reads the item images of stream records, from Lambda and from botocore."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from ojs_aws.adapters.dynamodb import bulk as bulk_requests
from ojs_aws.adapters.dynamodb import cron as cron_entries
from ojs_aws.adapters.dynamodb import limits, schemas
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb import workers as worker_registry
from ojs_aws.adapters.dynamodb.columns import Item, Value, read_string
from ojs_aws.adapters.dynamodb.jobs.codec import from_item
from ojs_aws.adapters.dynamodb.queues import depths as queue_depths
from ojs_aws.adapters.dynamodb.queues import registry as queue_registry
from ojs_aws.adapters.dynamodb.queues import settings as queue_settings
from ojs_aws.adapters.dynamodb.workflows.codec import workflow_of
from ojs_aws.topology import (
    BULK_PARTITION,
    OPERATION_PARTITION,
    PRESSURE_PARTITION,
    SCHEMA_LIST,
    TICK_PARTITION,
    WORKFLOW_SORT_KEY,
)

READERS: Final[Mapping[str, Callable[[Item], object]]] = {
    worker_registry.PARTITION: worker_registry.read_worker,
    queue_registry.PARTITION: queue_registry.read_queue,
    queue_settings.PARTITION: queue_settings.read_settings,
    PRESSURE_PARTITION: queue_depths.read_reported,
    BULK_PARTITION: bulk_requests.read_done,
    OPERATION_PARTITION: bulk_requests.read_operation,
    cron_entries.PARTITION: cron_entries.entry_of,
    limits.PARTITION: limits.read_bucket,
    SCHEMA_LIST: schemas.read_schema_name,
    TICK_PARTITION: queue_registry.read_tick,
}
"""Readers of the items whose changes are events, by partition key; jobs and workflows are known
by their sort key. See ``services/events`` for how to add a kind."""


_KEYS: Final = frozenset({n.PK, n.SK})

_BY_SORT_KEY: Final[Mapping[str, Callable[[Item], object]]] = {
    n.JOB_SK: from_item,
    WORKFLOW_SORT_KEY: workflow_of,
}


def read_image(image: Mapping[str, Any]) -> object | None:
    """Return what an image shows: a job, a worker, a queue; None if its changes make no events.

    Lambda's events are JSON, in which binaries stand as base64; botocore gives bytes. moto shows
    the item that an update is about to make as one that has its keys alone: nothing is there yet.
    """
    item: Item = dict(image)
    if item.keys() <= _KEYS:
        return None
    partition = read_string(item, n.PK)
    read = _BY_SORT_KEY.get(read_string(item, n.SK)) if "#" in partition else None
    read = read or READERS.get(partition)
    return read(read_values(item)) if read else None


def read_values(item: Mapping[str, Any]) -> Item:
    """Return the values of an item that came as JSON, with binaries in base64."""
    return {name: _value(value) for name, value in item.items()}


def _value(value: Value) -> Value:
    """Return a value that came as JSON; a map has binaries in it, as a checkpoint does."""
    if "M" in value:
        return {"M": read_values(value["M"])}
    binary = value.get("B")
    return {"B": base64.b64decode(binary)} if isinstance(binary, str) else value
