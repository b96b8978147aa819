"""A model of the table and the queues in memory, for tests of the services: a module a port.

It keeps what AWS promises and no more: conditional writes are atomic, the index may lag, messages
may come in any order. It passes the same contract suite as the real adapters.
"""

from tests.simulation.memory.cron import MemoryAlarms, MemoryCron
from tests.simulation.memory.events import MemoryEvents, MemoryMarks
from tests.simulation.memory.jobs import MemoryStore, list_of, row_place
from tests.simulation.memory.limits import MemoryClientBuckets, MemoryLimits
from tests.simulation.memory.messages import MemoryQueue
from tests.simulation.memory.queues import MemoryRegistry, MemoryTriggers
from tests.simulation.memory.schemas import MemorySchemas
from tests.simulation.memory.sources import CountingIds, FakeClock, counting
from tests.simulation.memory.unique import MemoryUniqueJobs
from tests.simulation.memory.workers import MemoryWorkers
from tests.simulation.memory.workflows import MemoryWorkflows

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
