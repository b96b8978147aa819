"""Import the client from here: ``Client``, ``SyncClient``, and what they return and raise.

Each name is imported when it is first used: a Lambda worker needs only some of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ojs_aws.client.areas.admin import Admin
    from ojs_aws.client.areas.cron import CronJob, CronJobs, CronTrigger
    from ojs_aws.client.areas.dead_letters import BulkOutcome, BulkResult, DeadLetterJobs
    from ojs_aws.client.areas.events import EventList, Events
    from ojs_aws.client.areas.jobs import JobBulkResult, JobEntry, JobPage, Jobs
    from ojs_aws.client.areas.outcomes import JobCheckpoint, JobOutcome, JobProgress
    from ojs_aws.client.areas.queues import Purged, QueueEntry, QueueNumbers, Queues, QueueSettings
    from ojs_aws.client.areas.schemas import JobSchema, Schemas
    from ojs_aws.client.areas.system import System
    from ojs_aws.client.areas.workers import DirectedWorkers, WorkerEntry, WorkerList, Workers
    from ojs_aws.client.areas.workflow_parts import WorkflowParts, batch, chain, dag, group
    from ojs_aws.client.areas.workflows import (
        WorkflowFailedError,
        WorkflowList,
        WorkflowOperations,
        WorkflowStatus,
        WorkflowWaitTimeoutError,
    )
    from ojs_aws.client.client import Client
    from ojs_aws.client.errors import (
        BatchRejectedError,
        JobCancelledError,
        JobFailedError,
        WaitTimeoutError,
    )
    from ojs_aws.client.handles import JobHandle
    from ojs_aws.client.results import DeadLetters, EnqueueResult, EnqueueStatus, Stored
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
    from ojs_aws.client.transports.connection import HttpConnection, Resends
    from ojs_aws.client.transports.credentials import ApiKey, Credentials, SigV4
    from ojs_aws.client.transports.transport import Transport

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
    "areas.admin": ("Admin",),
    "client": ("Client",),
    "transports.connection": ("HttpConnection", "Resends"),
    "transports.credentials": ("ApiKey", "Credentials", "SigV4"),
    "areas.cron": ("CronJob", "CronJobs", "CronTrigger"),
    "areas.dead_letters": ("BulkOutcome", "BulkResult", "DeadLetterJobs"),
    "errors": ("BatchRejectedError", "JobCancelledError", "JobFailedError", "WaitTimeoutError"),
    "areas.events": ("EventList", "Events"),
    "handles": ("JobHandle",),
    "areas.jobs": ("JobBulkResult", "JobEntry", "JobPage", "Jobs"),
    "areas.outcomes": ("JobCheckpoint", "JobOutcome", "JobProgress"),
    "areas.queues": ("Purged", "QueueEntry", "QueueNumbers", "QueueSettings", "Queues"),
    "results": ("DeadLetters", "EnqueueResult", "EnqueueStatus", "Stored"),
    "areas.schemas": ("JobSchema", "Schemas"),
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
    "areas.system": ("System",),
    "transports.transport": ("Transport",),
    "areas.workers": ("DirectedWorkers", "WorkerEntry", "WorkerList", "Workers"),
    "areas.workflow_parts": ("WorkflowParts", "batch", "chain", "dag", "group"),
    "areas.workflows": (
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
