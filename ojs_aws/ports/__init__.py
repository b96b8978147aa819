"""Declares what the services need from the world, as protocols by role.

Adapters implement them; services and tests know nothing else. Unless a method says otherwise it
may raise :class:`~ojs_aws.domain.errors.BackendError`, after which the call may or may not have
taken effect: every caller must be able to repeat it.
"""

from ojs_aws.ports.access import ApiKeys, ClientBuckets, StaleKeyError
from ojs_aws.ports.batches import (
    Batches,
    Decision,
    OpenBatch,
    StagedJob,
)
from ojs_aws.ports.bulk import BulkDone, BulkRequest, BulkRequests, OperationDone
from ojs_aws.ports.clock import Clock, IdGenerator
from ojs_aws.ports.cron import CronAlarms, CronEntries, StaleCronError
from ojs_aws.ports.events import (
    Announce,
    EventLog,
    EventPage,
    EventQuery,
    RecordTries,
    SetAside,
)
from ojs_aws.ports.failure_groups import FailureGroups, QueueFailures
from ojs_aws.ports.job_lists import (
    Between,
    Count,
    Head,
    JobList,
    ListedJob,
    Page,
    SharedRow,
)
from ojs_aws.ports.jobs import (
    AlreadyStoredError,
    BucketTakenError,
    JobStore,
    StaleJobError,
)
from ojs_aws.ports.limits import Limits
from ojs_aws.ports.messages import (
    Backlog,
    Message,
    MessageQueue,
    QueueMissingError,
    ReceivedMessage,
)
from ojs_aws.ports.queue_settings import (
    Depth,
    Depths,
    LimitChange,
    Pressure,
    Pressures,
    QueueIsFullError,
    QueueSettings,
    QueueState,
    SettingsBook,
    StaleSettingsError,
)
from ojs_aws.ports.queues import LastTick, Marks, QueueInfo, QueueRegistry, Triggers
from ojs_aws.ports.schemas import Schemas, SchemaTakenError
from ojs_aws.ports.tallies import Tallies
from ojs_aws.ports.unique import (
    MAX_ACTIONS,
    Admission,
    NotAdmittedError,
    TransactAction,
    UniqueJobs,
    UniqueLock,
)
from ojs_aws.ports.workers import ForeignWorkerError, WorkerInfo, WorkerRegistry, WorkerReport
from ojs_aws.ports.workflows import StaleWorkflowError, WorkflowPage, WorkflowPlan, Workflows

__all__ = [
    "MAX_ACTIONS",
    "Admission",
    "AlreadyStoredError",
    "Announce",
    "ApiKeys",
    "Backlog",
    "Batches",
    "Between",
    "BucketTakenError",
    "BulkDone",
    "BulkRequest",
    "BulkRequests",
    "ClientBuckets",
    "Clock",
    "Count",
    "CronAlarms",
    "CronEntries",
    "Decision",
    "Depth",
    "Depths",
    "EventLog",
    "EventPage",
    "EventQuery",
    "FailureGroups",
    "ForeignWorkerError",
    "Head",
    "IdGenerator",
    "JobList",
    "JobStore",
    "LastTick",
    "LimitChange",
    "Limits",
    "ListedJob",
    "Marks",
    "Message",
    "MessageQueue",
    "NotAdmittedError",
    "OpenBatch",
    "OperationDone",
    "Page",
    "Pressure",
    "Pressures",
    "QueueFailures",
    "QueueInfo",
    "QueueIsFullError",
    "QueueMissingError",
    "QueueRegistry",
    "QueueSettings",
    "QueueState",
    "ReceivedMessage",
    "RecordTries",
    "SchemaTakenError",
    "Schemas",
    "SetAside",
    "SettingsBook",
    "SharedRow",
    "StagedJob",
    "StaleCronError",
    "StaleJobError",
    "StaleKeyError",
    "StaleSettingsError",
    "StaleWorkflowError",
    "Tallies",
    "TransactAction",
    "Triggers",
    "UniqueJobs",
    "UniqueLock",
    "WorkerInfo",
    "WorkerRegistry",
    "WorkerReport",
    "WorkflowPage",
    "WorkflowPlan",
    "Workflows",
]
