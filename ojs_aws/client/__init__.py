"""The client library: ``Client`` (asynchronous), ``SyncClient``, and what they return and raise.

Each name is imported when it is first used: a Lambda worker needs only some of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ojs_aws.client.admin import Admin
    from ojs_aws.client.client import Client
    from ojs_aws.client.connection import HttpConnection, Resends
    from ojs_aws.client.credentials import ApiKey, Credentials, SigV4
    from ojs_aws.client.cron import CronJob, CronJobs, CronTrigger
    from ojs_aws.client.dead_letters import BulkOutcome, BulkResult, DeadLetterJobs
    from ojs_aws.client.errors import (
        BatchRejectedError,
        JobCancelledError,
        JobFailedError,
        WaitTimeoutError,
    )
    from ojs_aws.client.events import EventList, Events
    from ojs_aws.client.handles import JobHandle
    from ojs_aws.client.jobs import JobBulkResult, JobEntry, JobPage, Jobs
    from ojs_aws.client.outcomes import JobCheckpoint, JobOutcome, JobProgress
    from ojs_aws.client.queues import Purged, QueueEntry, QueueNumbers, Queues, QueueSettings
    from ojs_aws.client.results import DeadLetters, EnqueueResult, EnqueueStatus, Stored
    from ojs_aws.client.schemas import JobSchema, Schemas
    from ojs_aws.client.sync import SyncClient
    from ojs_aws.client.sync_areas import (
        SyncAdmin,
        SyncCronJobs,
        SyncDeadLetterJobs,
        SyncEvents,
        SyncJobHandle,
        SyncJobs,
        SyncQueues,
        SyncSchemas,
        SyncSystem,
        SyncWorkers,
        SyncWorkflows,
    )
    from ojs_aws.client.system import System
    from ojs_aws.client.transport import Transport
    from ojs_aws.client.workers import DirectedWorkers, WorkerEntry, WorkerList, Workers
    from ojs_aws.client.workflow_parts import WorkflowParts, batch, chain, dag, group
    from ojs_aws.client.workflows import (
        WorkflowFailedError,
        WorkflowList,
        WorkflowOperations,
        WorkflowStatus,
        WorkflowWaitTimeoutError,
    )

__all__ = [
    "Admin",
    "ApiKey",
    "BatchRejectedError",
    "BulkOutcome",
    "BulkResult",
    "Client",
    "Credentials",
    "CronJob",
    "CronJobs",
    "CronTrigger",
    "DeadLetterJobs",
    "DeadLetters",
    "DirectedWorkers",
    "EnqueueResult",
    "EnqueueStatus",
    "EventList",
    "Events",
    "HttpConnection",
    "JobBulkResult",
    "JobCancelledError",
    "JobCheckpoint",
    "JobEntry",
    "JobFailedError",
    "JobHandle",
    "JobOutcome",
    "JobPage",
    "JobProgress",
    "JobSchema",
    "Jobs",
    "Purged",
    "QueueEntry",
    "QueueNumbers",
    "QueueSettings",
    "Queues",
    "Resends",
    "Schemas",
    "SigV4",
    "Stored",
    "SyncAdmin",
    "SyncClient",
    "SyncCronJobs",
    "SyncDeadLetterJobs",
    "SyncEvents",
    "SyncJobHandle",
    "SyncJobs",
    "SyncQueues",
    "SyncSchemas",
    "SyncSystem",
    "SyncWorkers",
    "SyncWorkflows",
    "System",
    "Transport",
    "WaitTimeoutError",
    "WorkerEntry",
    "WorkerList",
    "Workers",
    "WorkflowFailedError",
    "WorkflowList",
    "WorkflowOperations",
    "WorkflowParts",
    "WorkflowStatus",
    "WorkflowWaitTimeoutError",
    "batch",
    "chain",
    "dag",
    "group",
]

_MODULES: Final = {
    "admin": ("Admin",),
    "client": ("Client",),
    "connection": ("HttpConnection", "Resends"),
    "credentials": ("ApiKey", "Credentials", "SigV4"),
    "cron": ("CronJob", "CronJobs", "CronTrigger"),
    "dead_letters": ("BulkOutcome", "BulkResult", "DeadLetterJobs"),
    "errors": ("BatchRejectedError", "JobCancelledError", "JobFailedError", "WaitTimeoutError"),
    "events": ("EventList", "Events"),
    "handles": ("JobHandle",),
    "jobs": ("JobBulkResult", "JobEntry", "JobPage", "Jobs"),
    "outcomes": ("JobCheckpoint", "JobOutcome", "JobProgress"),
    "queues": ("Purged", "QueueEntry", "QueueNumbers", "QueueSettings", "Queues"),
    "results": ("DeadLetters", "EnqueueResult", "EnqueueStatus", "Stored"),
    "schemas": ("JobSchema", "Schemas"),
    "sync": ("SyncClient",),
    "sync_areas": (
        "SyncAdmin",
        "SyncCronJobs",
        "SyncDeadLetterJobs",
        "SyncEvents",
        "SyncJobHandle",
        "SyncJobs",
        "SyncQueues",
        "SyncSchemas",
        "SyncSystem",
        "SyncWorkers",
        "SyncWorkflows",
    ),
    "system": ("System",),
    "transport": ("Transport",),
    "workers": ("DirectedWorkers", "WorkerEntry", "WorkerList", "Workers"),
    "workflow_parts": ("WorkflowParts", "batch", "chain", "dag", "group"),
    "workflows": (
        "WorkflowFailedError",
        "WorkflowList",
        "WorkflowOperations",
        "WorkflowStatus",
        "WorkflowWaitTimeoutError",
    ),
}
_HOMES: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import an exported name at its first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
