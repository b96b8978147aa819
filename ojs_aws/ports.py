"""What the services need from the world, as protocols by role.

Adapters implement them; services and tests know nothing else. Unless a method says otherwise it
may raise :class:`~ojs_aws.domain.errors.BackendError`, after which the call may or may not have
taken effect: every caller must be able to repeat it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from ojs_aws.domain.events import Event
from ojs_aws.domain.job import Document, JobRecord, JobState, Reservation
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.domain.cron import CronEntry
    from ojs_aws.domain.schema import SchemaEntry, SchemaName, SchemaVersion
    from ojs_aws.domain.workflow import Workflow, WorkflowState
    from ojs_aws.domain.workflow_graph import Graph


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> Instant:
        """The current instant (milliseconds)."""

    def order(self) -> int:
        """Microseconds since the epoch, strictly increasing within the process.

        Jobs of one priority are fetched in this order, so that two jobs enqueued within one
        millisecond keep theirs.
        """


class IdGenerator(Protocol):
    """Where identifiers come from."""

    def job_id(self) -> str:
        """A new lowercase UUIDv7."""

    def request_id(self) -> str:
        """A new request id, ``req_`` and a UUIDv7."""


class JobList(StrEnum):
    """The lists that the index keeps for each queue."""

    READY = "ready"
    WAITING = "waiting"
    PENDING = "pending"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    DISCARDED = "discarded"
    DEAD_LETTER = "dead_letter"
    """Discarded jobs whose policy keeps them for an operator; not in ``discarded``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob:
    """One row of the index: enough to claim or arm a job without reading it.

    :ivar sort_key: place within its list; smaller comes first.
    :ivar is_far: waits for an instant that was beyond the reach of an SQS delay when the job
        began to wait, so that nobody but the sweep sends its message.
    """

    id: str
    queue: str
    sort_key: str
    state: JobState
    type: str
    timeout_ms: int | None
    visibility_timeout_ms: int | None
    is_far: bool = False

    @property
    def due(self) -> Instant:
        """When a row of the waiting list is due."""
        return Instant(int(self.sort_key))


@dataclass(frozen=True, slots=True)
class Head:
    """The first ready jobs of a queue, in fetch order, and whether the queue is paused.

    :ivar limit: the policy that limits the whole queue, as JSON text; empty for none.
    """

    jobs: tuple[ListedJob, ...]
    is_paused: bool = False
    limit: str = ""


@dataclass(frozen=True, slots=True)
class Between:
    """A range of instants, both ends included."""

    since: Instant
    until: Instant


@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows; at least so many, where it is not exact."""

    rows: int
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list. ``cursor`` is empty on the last page."""

    jobs: tuple[ListedJob, ...]
    cursor: str = ""


class StaleJobError(Exception):
    """A conditional write found the job changed since it was read.

    :ivar current: the job as the write found it, or None when there is none.
    """

    def __init__(self, current: JobRecord | None) -> None:
        """Keep what the write found."""
        super().__init__("the job has changed")
        self.current = current


class BucketTakenError(Exception):
    """A bucket of a limit has changed since it was read."""


class AlreadyStoredError(Exception):
    """An insert met ids that are taken.

    :ivar existing: the stored jobs by their position in the insert.
    """

    def __init__(self, existing: Mapping[int, JobRecord]) -> None:
        """Keep what the insert met."""
        super().__init__("the id is taken")
        self.existing = dict(existing)


class JobStore(Protocol):
    """Jobs. Each write is one conditional write (or one transaction), atomic.

    A write that took effect although its answer was lost is recognised when it is repeated, and
    answered as the success it was.
    """

    def insert(self, job: JobRecord) -> None:
        """Store a new job.

        :raises AlreadyStoredError: its id is taken.
        """

    def insert_all(self, jobs: Sequence[JobRecord]) -> None:
        """Store up to 100 new jobs, all or none.

        :raises AlreadyStoredError: ids are taken; nothing was stored.
        """

    def load(self, job_id: str) -> JobRecord | None:
        """Read a job, strongly consistent, without documents that are kept elsewhere."""

    def load_whole(self, job_id: str) -> JobRecord | None:
        """Read a job with all its documents, strongly consistent, in one call (two with S3)."""

    def load_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Read up to 100 jobs like :meth:`load`; absent ones are left out."""

    def fill(self, job: JobRecord) -> JobRecord:
        """The job with the documents that are kept elsewhere; no call when there are none."""

    def save(self, before: JobRecord, after: JobRecord) -> None:
        """Replace one version of a job by the next.

        :raises StaleJobError: the stored job is no longer ``before``.
        """

    def claim(self, queue: str, job_id: str, reservation: Reservation, now: Instant) -> JobRecord:
        """Move an available, unexpired job to active, counting the attempt, without reading it.

        :param queue: the queue that the job must be of.

        :returns: the claimed job, documents kept elsewhere not filled in.
        :raises StaleJobError: it is not available, or has expired.
        """

    def load_with_buckets(
        self, job_id: str, keys: Sequence[str]
    ) -> tuple[JobRecord | None, Mapping[str, Bucket]]:
        """Read a job and the buckets of some limits in one call, strongly consistent.

        :returns: the job, and the buckets by key; those that do not exist yet are empty.
        """

    def claim_within(
        self,
        job: JobRecord,
        reservation: Reservation,
        takes: Sequence[tuple[Bucket, Bucket]],
        now: Instant,
    ) -> JobRecord:
        """Like :meth:`claim`, taking the reservation's places in the same transaction.

        :param takes: each bucket before and after.
        :raises StaleJobError: the job is no longer what was read.
        :raises BucketTakenError: somebody else took a place meanwhile; nothing was written.
        """

    def acknowledge(
        self, job_id: str, worker_id: str | None, result: Document | None, now: Instant
    ) -> JobRecord:
        """Move an active job whose reservation is not over to completed, without reading it.

        :param worker_id: the holder to insist on; None accepts any, and a reservation made
            without a name accepts every worker.
        :returns: the job as it was before, with its reservation.
        :raises StaleJobError: it is not active, not the worker's, or overdue.
        """

    def fits_inline(self, result: RawJson) -> bool:
        """Whether a result stays with its job, so that :meth:`keep_result` makes no call."""

    def keep_result(self, job_id: str, result: RawJson) -> Document:
        """Put a result where it belongs before :meth:`acknowledge`; small ones need no call."""

    def delete(self, job: JobRecord) -> None:
        """Remove a job and its documents.

        :raises StaleJobError: the stored job is no longer this one.
        """

    def forget_documents(self, job: JobRecord) -> None:
        """Remove the documents that a job which is gone kept elsewhere; again is no error."""

    def head(self, queue: str, limit: int) -> Head:
        """The first ready jobs of a queue; what others claimed a moment ago may still be there."""

    def due(
        self, queue: str, since: Instant, until: Instant, limit: int, *, cursor: str = ""
    ) -> Page:
        """A page of the waiting jobs whose next due time lies in [since, until], earliest first.

        :param cursor: where the page before ended; any number of jobs may share an instant.
        """

    def listed(
        self,
        queue: str,
        name: JobList,
        limit: int,
        *,
        cursor: str = "",
        newest_first: bool = True,
        between: Between | None = None,
    ) -> Page:
        """A page of one list of a queue; of those lists that are ordered by time, of a time range.

        :param cursor: of the page before, or of :meth:`place_of` a row.
        """

    def place_of(self, row: ListedJob, name: JobList) -> str:
        """The cursor of the page that begins after a row of a list."""

    def count(self, queue: str, name: JobList, between: Between | None = None) -> Count:
        """How many rows a list has, in one call; not exact beyond some thousands."""

    def count_waiting(self, queue: str) -> Mapping[JobState, Count]:
        """How many jobs wait for time in each state, in one call; bounded like :meth:`count`.

        :returns: scheduled, retryable and active ones.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueLock:
    """Which job was last let in under a uniqueness key.

    It is a pointer and no more: whether the job keeps others out is told by the job itself, so
    nothing has to release a lock.

    :ivar version: names the write that made it; empty in one that is to be written.
    :ivar until: when it is of no use any more, if that is known.
    :ivar applied_id: the push whose arguments were put into the job, if that happened.
    """

    key: str
    job_id: str
    version: str = ""
    until: Instant | None = None
    applied_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """One job on its way in, with what has to be as it was seen.

    :ivar job: the new job; None when what it brings goes into the job ``before``.
    :ivar lock: the lock that it takes; None for a job without a unique policy.
    :ivar seen: the lock as it was read; None when there must be none.
    :ivar before: the job that is replaced, as it was read.
    :ivar after: and what becomes of it.
    """

    job: JobRecord | None = None
    lock: UniqueLock | None = None
    seen: UniqueLock | None = None
    before: JobRecord | None = None
    after: JobRecord | None = None


TransactAction: TypeAlias = dict[str, Any]
"""One entry of ``TransactItems`` of DynamoDB's TransactWriteItems, as the low-level client takes
it."""


class NotAdmittedError(Exception):
    """Jobs were not let in. When neither attribute tells why, something else has changed.

    :ivar existing: stored jobs with these ids, by the position of the admission.
    :ivar locks: locks that are not as they were seen, by the position of the admission.
    """

    def __init__(self, existing: Mapping[int, JobRecord], locks: Mapping[int, UniqueLock]) -> None:
        """Keep what stood in the way."""
        super().__init__("not admitted")
        self.existing = dict(existing)
        self.locks = dict(locks)


class UniqueJobs(Protocol):
    """Jobs that are let in under uniqueness keys."""

    def admit(self, admissions: Sequence[Admission]) -> None:
        """Store new jobs, take their locks and change the jobs they replace, all or none.

        :raises NotAdmittedError: something is not as it was seen; nothing was stored.
        """

    def actions(self, admission: Admission) -> list[TransactAction]:
        """What :meth:`admit` would write for one job, for somebody else's transaction; no call.

        :raises PayloadTooLargeError: its document does not fit into the table.
        """

    def lock(self, key: str) -> UniqueLock | None:
        """The lock of a key, strongly consistent."""

    def forget(self, key: str, job_id: str) -> None:
        """Remove the lock of a job that is gone; one that another job holds stays."""


MAX_ACTIONS: Final = 100
"""What one transaction can do: each job counts once, and once more for its lock, and for the job
that it replaces."""


@dataclass(frozen=True, slots=True)
class Message:
    """What an SQS message says: one job of this queue may run, probably this one.

    :ivar sort_key: the job's place in the ready list, empty when it was not ready yet.
    """

    job_id: str
    sort_key: str = ""
    timeout_ms: int | None = None
    visibility_timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A message in hand, until its visibility timeout ends."""

    message: Message
    handle: str
    receive_count: int = 1


class QueueMissingError(Exception):
    """There is no SQS queue behind this OJS queue yet; the registry can make one."""


class MessageQueue(Protocol):
    """The SQS queues behind the OJS queues. Times are in whole seconds.

    Nothing may be concluded from an answer: messages repeat, reorder and come late. Sending
    raises QueueMissingError, receiving finds nothing, where no SQS queue exists.
    """

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        """Send a message that turns visible after 0 to 900 seconds."""

    def send_all(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        """Send messages with their delays, ten to a call."""

    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int = 0
    ) -> list[ReceivedMessage]:
        """Receive up to ten messages; unreadable ones are left for the dead-letter queue."""

    def delete(self, queue: str, handles: Sequence[str]) -> None:
        """Delete messages, ten to a call. A handle that is too old is no error."""

    def hide(self, queue: str, handles: Sequence[tuple[str, int]]) -> None:
        """Make messages visible again after so many seconds from now (0 to 43,200)."""

    def backlog(self, queue: str, *, with_hidden: bool = False) -> int:
        """Roughly how many messages are visible: not delayed, and in nobody's hands.

        :param with_hidden: count those that are in somebody's hands or set aside, too.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueInfo:
    """A queue as the registry knows it.

    :ivar swept_until: every far job due up to here has its message.
    :ivar sweep_cursor: and so have those due just after it, up to this place in the list; empty
        when the sweep stopped between two instants.
    :ivar triggers: ids of the Lambda triggers that a pause switched off, until they are on again.
    """

    name: str
    created_at: Instant | None = None
    paused_at: Instant | None = None
    swept_until: Instant | None = None
    sweep_cursor: str = ""
    triggers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LastTick:
    """When the sweep last ended, and how far behind it was.

    :ivar lag_ms: for how long the most overdue job without a message had been due.
    """

    at: Instant
    lag_ms: int


class QueueRegistry(Protocol):
    """Which queues there are, and what the sweep did for them."""

    def ensure(self, queue: str, now: Instant) -> None:
        """Make a queue exist on its first use; no call for one that is known to.

        :raises NotFoundError: the queue is not declared and undeclared ones are not allowed.
        """

    def note(self, queue: str, now: Instant) -> None:
        """Remember a queue that has jobs but no message yet; no call for one that is known."""

    def all(self) -> list[QueueInfo]:
        """Every declared or used queue, by name."""

    def load(self, queue: str) -> QueueInfo | None:
        """A declared or used queue, strongly consistent."""

    def pause(self, queue: str, triggers: Sequence[str], now: Instant) -> QueueInfo:
        """Pause a queue in one write; one that is paused keeps the time of its first pause.

        FETCH learns of it from the head of the ready list.

        :param triggers: ids of the Lambda triggers that are about to be switched off.
        :returns: the queue after it.
        """

    def resume(self, queue: str) -> QueueInfo | None:
        """Let a queue be fetched from again, in one write.

        :returns: the queue before it; None, and nothing is written, when it has no item.
        """

    def forget_triggers(self, queue: str) -> None:
        """Note that the Lambda triggers of a queue are on again; not while it is paused."""

    def remember_sweep(self, queue: str, until: Instant, cursor: str = "") -> None:
        """Remember that far jobs due up to here have their messages. Never moves back.

        :param cursor: how far beyond, among jobs of one instant (see :class:`QueueInfo`).
        """

    def remember_tick(self, tick: LastTick) -> None:
        """Remember the end of a sweep of all queues."""

    def last_tick(self) -> LastTick | None:
        """What :meth:`remember_tick` was last told, if anything."""


class Limits(Protocol):
    """The buckets of limits. Places are taken and given back by the writes of jobs."""

    def note(self, key: str, policy: str, now: Instant) -> None:
        """Remember the policy that a job brought; no call for one that this process has seen."""

    def set_for_queue(self, queue: str, key: str, policy: str | None) -> None:
        """Limit a whole queue, or no more. FETCH learns of it from the head of the ready list."""

    def load(self, key: str) -> Bucket | None:
        """One bucket, strongly consistent."""

    def page(self, after: str, limit: int) -> Sequence[Bucket]:
        """Up to ``limit`` buckets by key, those after the named one."""


class Triggers(Protocol):
    """The triggers by which SQS invokes the Lambda workers of a queue."""

    def running(self, queue: str) -> list[str]:
        """Ids of the triggers that are on."""

    def switch(self, ids: Sequence[str], *, is_on: bool) -> None:
        """Switch triggers on or off; one that is gone is no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """What a heartbeat says of its worker.

    :ivar state: the lifecycle state that the worker says it is in.
    :ivar active_jobs: how many jobs it says it has.
    :ivar job_ids: those that it names.
    :ivar interval_ms: how often it promises to beat, if it does.
    :ivar about: JSON object of what it tells of itself (hostname, queues ...); empty for nothing
        new.
    """

    state: str = "running"
    active_jobs: int = 0
    job_ids: tuple[str, ...] = ()
    interval_ms: int | None = None
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker as its heartbeats describe it.

    :ivar seen_before: its heartbeat before the last one; None while there was only one.
    :ivar directive: what it is told to be: ``running``, ``quiet`` or ``terminate``.
    :ivar about: JSON object of what it told of itself, or empty.
    """

    id: str
    last_seen: Instant
    seen_before: Instant | None = None
    directive: str = "running"
    state: str = "running"
    active_jobs: int = 0
    job_ids: tuple[str, ...] = ()
    interval_ms: int | None = None
    about: str = ""


class WorkerRegistry(Protocol):
    """Workers that heartbeat. One that was silent for long, or that ended, is in it no more."""

    def beat(self, worker_id: str, report: WorkerReport, now: Instant) -> WorkerInfo:
        """Register the worker or renew what is known of it, in one write.

        :returns: the worker, with what it is told to do.
        """

    def load(self, worker_id: str, now: Instant) -> WorkerInfo | None:
        """One worker, strongly consistent."""

    def page(self, after: str, limit: int, now: Instant) -> list[WorkerInfo]:
        """Up to ``limit`` workers by id, those after the named one."""

    def direct(self, worker_id: str, directive: str, now: Instant) -> WorkerInfo | None:
        """Set what a worker is told with its next heartbeat.

        :returns: the worker before; None, and nothing is written, when there is no such worker.
            One that is told to terminate is never told anything else again.
        """

    def forget(self, worker_id: str, last_seen: Instant) -> bool:
        """Remove a worker; False when there is none, or it has beaten since."""


class StaleCronError(Exception):
    """A conditional write found the cron job changed since it was read.

    :ivar current: the entry as the write found it, or None when there is none.
    """

    def __init__(self, current: CronEntry | None) -> None:
        """Keep what the write found."""
        super().__init__("the cron job has changed")
        self.current = current


class CronEntries(Protocol):
    """Registered cron jobs. Each write is one conditional write, recognised when repeated."""

    def load(self, name: str) -> CronEntry | None:
        """Read an entry, strongly consistent."""

    def all(self) -> list[CronEntry]:
        """Every entry, by name."""

    def save(self, before: CronEntry | None, after: CronEntry) -> None:
        """Replace one version of an entry by the next, or store a new one.

        :raises StaleCronError: the stored entry is no longer ``before``.
        """

    def delete(self, entry: CronEntry) -> None:
        """Remove an entry.

        :raises StaleCronError: the stored entry is no longer this one.
        """

    def due(self, until: Instant, limit: int) -> list[tuple[str, Instant]]:
        """Names of entries that need attention before an instant, and since when; may lag."""


class CronAlarms(Protocol):
    """Wakes the tick at a second, so that a cron job does not wait for the next minute."""

    def set(self, name: str, delay_s: int) -> None:
        """Have an entry looked at in 0 to 900 seconds; at least once, where alarms are deployed."""


class SchemaTakenError(Exception):
    """The version of the type, or the URI, has a schema.

    :ivar existing: which; None when it is gone again.
    """

    def __init__(self, existing: SchemaName | None) -> None:
        """Keep which."""
        super().__init__("taken")
        self.existing = existing


class Schemas(Protocol):
    """The schemas of job types. One that is registered never changes; it can be deleted."""

    def add(self, entry: SchemaEntry) -> None:
        """Store a schema.

        :raises SchemaTakenError: its type has this version, or another one has its URI.
        """

    def load(self, uri: str) -> SchemaEntry | None:
        """One read, and never an old one."""

    def named(self, job_type: str, version: SchemaVersion) -> SchemaName | None:
        """The version of a type; 1 and "1" are the same."""

    def names(self, job_type: str = "") -> list[SchemaName]:
        """All versions of a type, or of all types, by type and in no order of versions."""

    def delete(self, name: SchemaName) -> None:
        """Remove a schema; one that is gone is no error."""


class StaleWorkflowError(Exception):
    """A conditional write found the workflow changed since it was read.

    :ivar current: the workflow as the write found it, or None when there is none.
    """

    def __init__(self, current: Workflow | None) -> None:
        """Keep what the write found."""
        super().__init__("the workflow has changed")
        self.current = current


@dataclass(frozen=True, slots=True)
class WorkflowPlan:
    """What of a workflow never changes.

    :ivar envelopes: of its jobs as the enqueue middleware left them, by the index of their step.
    """

    graph: Graph
    envelopes: Mapping[int, RawJson]


@dataclass(frozen=True, slots=True)
class WorkflowPage:
    """A page of workflows, the newest first. ``cursor`` is empty on the last page."""

    workflows: tuple[Workflow, ...]
    cursor: str = ""


class Workflows(Protocol):
    """Workflows. Each write is one conditional write or transaction, recognised when repeated."""

    def create(self, workflow: Workflow, plan: WorkflowPlan, jobs: Sequence[JobRecord]) -> None:
        """Store a new workflow with up to 90 first jobs, all or nothing.

        :raises StaleWorkflowError: its id is taken.
        """

    def save(
        self,
        before: Workflow,
        after: Workflow,
        results: Mapping[int, RawJson],
        jobs: Sequence[JobRecord],
    ) -> None:
        """Replace one version of a workflow by the next, with what the change brings.

        :param results: of jobs by the index of their step, two megabytes at most.
        :param jobs: up to 90 that begin; they exist exactly if the change does.
        :raises StaleWorkflowError: the stored workflow is no longer ``before``.
        """

    def load(self, workflow_id: str) -> Workflow | None:
        """Read a workflow, strongly consistent."""

    def plan(self, workflow_id: str) -> WorkflowPlan | None:
        """Read the plan of a workflow."""

    def results(self, workflow_id: str) -> dict[int, RawJson]:
        """Read what the jobs of a workflow left, by the index of their step."""

    def page(self, state: WorkflowState | None, limit: int, cursor: str = "") -> WorkflowPage:
        """A page of workflows, of those in one state if it is given; new ones may lag."""

    def forget(self, workflow_id: str) -> None:
        """Remove what a workflow that is gone kept beside itself; again is no error."""


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Which events to read. Empty filters match all; those that are given must all match.

    :ivar types: event types; one that ends in ``*`` stands for all that begin so.
    :ivar job_ids: jobs that events are about.
    :ivar since: events that happened earlier are left out.
    :ivar cursor: of the page before; outweighs ``since`` as the place to begin.
    :ivar after_id: id of the last event seen, for who kept no cursor.
    """

    types: frozenset[str] = field(default_factory=frozenset)
    queues: frozenset[str] = field(default_factory=frozenset)
    job_types: frozenset[str] = field(default_factory=frozenset)
    job_ids: frozenset[str] = field(default_factory=frozenset)
    since: Instant | None = None
    limit: int = 100
    cursor: str = ""
    after_id: str = ""

    def matches(self, event: Event) -> bool:
        """Whether an event is wanted."""
        return (
            (self.since is None or event.time >= self.since)
            and (not self.queues or event.queue in self.queues)
            and (not self.job_types or event.job_type in self.job_types)
            and (not self.job_ids or event.subject in self.job_ids)
            and (not self.types or any(_is_named(event.type, name) for name in self.types))
        )


def _is_named(kind: str, name: str) -> bool:
    return kind.startswith(name[:-1]) if name.endswith("*") else kind == name


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in the order of the log, and the cursor to go on from.

    :ivar has_more: there may be more right now; the page may be empty all the same, when what was
        looked through for it held nothing wanted.
    """

    events: tuple[Event, ...]
    cursor: str = ""
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A change whose events could not be told, kept for an operator.

    :ivar number: sequence number of the stream record.
    :ivar reason: what was wrong.
    :ivar record: the record as JSON text.
    """

    number: str
    reason: str
    record: str


class EventLog(Protocol):
    """The log of lifecycle events: appended to, and read from any place on."""

    def append(self, events: Sequence[Event], now: Instant) -> None:
        """Put events at the end, in this order: all at once where they fit one chunk.

        An event that is appended twice stands there twice, under the same id.
        """

    def read(self, query: EventQuery) -> EventPage:
        """Read events in the order of the log, a bounded part of it at a time.

        Without a cursor, ``after_id`` or ``since`` the page ends with the newest event.
        """

    def set_aside(self, change: SetAside, now: Instant) -> None:
        """Keep a change that makes no events; again changes nothing."""

    def aside(self, limit: int) -> Sequence[SetAside]:
        """The first changes that were set aside, by number."""

    def forget_aside(self, number: str) -> None:
        """Keep a change no more: its events are told."""


Announce = Callable[[Sequence[Event]], Collection[str]]
"""Tells the bus of events; answers the ids of those that it did not take."""


class Marks(Protocol):
    """Instants up to which some upkeep has been done, by name."""

    def read(self, name: str) -> Instant | None:
        """The mark; None where there is none yet."""

    def move(self, name: str, until: Instant) -> None:
        """Set a mark, never back."""
