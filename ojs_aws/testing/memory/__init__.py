"""Keeps the table and the queues in memory, for tests: one module for each port.

It keeps what AWS promises and no more: conditional writes are atomic, the index may lag, messages
may come in any order. It passes the same contract suite as the real adapters.
"""

from ojs_aws.testing.memory.clock import CountingIds, FakeClock, counting
from ojs_aws.testing.memory.cron import MemoryAlarms, MemoryCron
from ojs_aws.testing.memory.events import MemoryEvents, MemoryMarks
from ojs_aws.testing.memory.jobs import MemoryStore
from ojs_aws.testing.memory.limits import MemoryClientBuckets, MemoryLimits
from ojs_aws.testing.memory.messages import MemoryQueue
from ojs_aws.testing.memory.queues import MemoryRegistry, MemoryTriggers
from ojs_aws.testing.memory.rows import list_of, row_place
from ojs_aws.testing.memory.schemas import MemorySchemas
from ojs_aws.testing.memory.unique import MemoryUniqueJobs
from ojs_aws.testing.memory.workers import MemoryWorkers
from ojs_aws.testing.memory.workflows import MemoryWorkflows

__all__ = [
    "CountingIds",
    "FakeClock",
    "MemoryAlarms",
    "MemoryClientBuckets",
    "MemoryCron",
    "MemoryEvents",
    "MemoryLimits",
    "MemoryMarks",
    "MemoryQueue",
    "MemoryRegistry",
    "MemorySchemas",
    "MemoryStore",
    "MemoryTriggers",
    "MemoryUniqueJobs",
    "MemoryWorkers",
    "MemoryWorkflows",
    "counting",
    "list_of",
    "row_place",
]
