"""Makes lifecycle events from committed changes (ojs-events, section 3).

A change is an item of the table before and after one write, read into what it stands for: a job,
a worker, a queue. ``MAPPINGS`` lists the kinds and what makes their events.

To give another kind of item its events (a workflow, say):

1. write ``<kind>_events(before, after, commit) -> list[Made]`` in a module here, pure, and add it
   to ``MAPPINGS`` under the class of the item;
2. add the reader of the item to ``READERS`` in ``adapters/dynamodb/images.py``, under the item's
   partition key;
3. add the partition key to ``STREAMED_PARTITIONS`` in ``topology.py``, so that the deployed
   stream invokes the function for it.

Ids and envelopes follow by themselves; the types must be in ``domain.events.REQUIRED_DATA``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.events import Event, event_id
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import BulkDone, OperationDone
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.queues import LastTick, Pressure, QueueInfo, QueueSettings
from ojs_aws.domain.schemas import SchemaName
from ojs_aws.domain.tenants import TenantRefusals
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.services.events.commit import Commit, MadeEvent
from ojs_aws.services.events.cron import cron_events
from ojs_aws.services.events.jobs import job_events, workflow_events
from ojs_aws.services.events.operations import (
    bulk_events,
    limit_events,
    operation_events,
    pressure_events,
    queue_events,
    schema_events,
    settings_events,
    worker_events,
)
from ojs_aws.services.events.tenants import refusal_events

__all__ = ["Commit", "Made", "events_of"]

MAPPINGS: Final[Mapping[type, Callable[[Any, Any, Commit], list[MadeEvent]]]] = {
    JobRecord: job_events,
    WorkerInfo: worker_events,
    QueueInfo: queue_events,
    QueueSettings: settings_events,
    Pressure: pressure_events,
    BulkDone: bulk_events,
    OperationDone: operation_events,
    CronEntry: cron_events,
    Workflow: workflow_events,
    Bucket: limit_events,
    TenantRefusals: refusal_events,
    SchemaName: schema_events,
    LastTick: lambda *_: [],
}
"""The function that makes the events of an item, by the class that it is read into."""


def events_of(before: object | None, after: object | None, commit: Commit) -> list[Event]:
    """Return the events of one committed write, in lifecycle order.

    A repeated stream record repeats the ids: they are made of the event's time, its subject, the
    write (a job's or workflow's version, else the record's number) and the place among the events
    of the write.

    :raises KeyError: the item is of a kind that has no events.
    """
    item = after if after is not None else before
    if item is None:
        return []
    version = item.version if isinstance(item, (JobRecord, Workflow)) else None
    write = commit.number if version is None else version
    return [
        Event(
            id=event_id(made.time, made.subject, write, place, made.kind),
            type=made.kind,
            time=made.time,
            queue=made.queue,
            subject=made.subject,
            data=made.data,
            job_type=made.job_type,
            sequence="" if version is None else f"{version:08d}.{place}",
        )
        for place, made in enumerate(MAPPINGS[type(item)](before, after, commit))
    ]
