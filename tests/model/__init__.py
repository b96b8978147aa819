"""Keeps the table and the queues in memory, for tests: one module for each port.

It keeps what AWS promises and no more: conditional writes are atomic, the index may lag, messages
may come in any order. It passes the same contract suite as the real adapters.
"""

from ojs_aws.testing.deployment import CountingIds, FakeClock, counting
from tests.model.cron import MemoryAlarms, MemoryCron
from tests.model.events import MemoryEvents, MemoryMarks
from tests.model.jobs import MemoryStore
from tests.model.limits import MemoryClientBuckets, MemoryLimits
from tests.model.messages import MemoryQueue
from tests.model.queues import MemoryRegistry, MemoryTriggers
from tests.model.rows import list_of, row_place
from tests.model.schemas import MemorySchemas
from tests.model.unique import MemoryUniqueJobs
from tests.model.workers import MemoryWorkers
from tests.model.workflows import MemoryWorkflows

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
