"""A model of the table and the queues in memory, for tests of the services.

It keeps what AWS promises and no more: conditional writes are atomic, the index may lag, messages
may come in any order. It passes the same contract suite as the real adapters.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ojs_aws.domain import lifecycle
from ojs_aws.domain.client_limits import Standing
from ojs_aws.domain.cron import CronEntry
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.events import Event
from ojs_aws.domain.job import (
    Document,
    JobRecord,
    JobState,
    Reservation,
    ready_since,
    size_of,
)
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits import Bucket, Scope, scope_of
from ojs_aws.domain.results import keeps_result
from ojs_aws.domain.schema import SchemaEntry, SchemaName, SchemaVersion
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflow import Workflow, WorkflowState
from ojs_aws.ports import (
    Admission,
    AlreadyStoredError,
    Between,
    BucketTakenError,
    Count,
    EventPage,
    EventQuery,
    Head,
    JobList,
    LastTick,
    ListedJob,
    Message,
    NotAdmittedError,
    Page,
    QueueInfo,
    ReceivedMessage,
    SchemaTakenError,
    SetAside,
    StaleCronError,
    StaleJobError,
    StaleWorkflowError,
    TransactAction,
    UniqueLock,
    WorkerInfo,
    WorkerReport,
    WorkflowPage,
    WorkflowPlan,
)
from ojs_aws.topology import MAX_DELAY_S

MAX_INLINE = 100_000


@dataclass
class FakeClock:
    """A clock that stands still until it is told to move."""

    at: int = 1_760_000_000_000
    _last: int = 0

    def now(self) -> Instant:
        """The current instant."""
        return Instant(self.at)

    def order(self) -> int:
        """Strictly increasing microseconds."""
        self._last = max(self._last + 1, self.at * 1000)
        return self._last

    def advance(self, *, ms: int = 0, s: float = 0) -> None:
        """Let time pass."""
        self.at += ms + round(s * 1000)


@dataclass
class CountingIds:
    """Ids in sequence: valid UUIDv7 texts that tell themselves apart."""

    _count: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def job_id(self) -> str:
        """The next job id."""
        return f"01990000-0000-7000-8000-{next(self._count):012x}"

    def request_id(self) -> str:
        """The next request id."""
        return f"req_{self.job_id()}"


def list_of(job: JobRecord) -> tuple[JobList, str]:
    """Which list a job is in, and its sort key there."""
    match job.state:
        case JobState.AVAILABLE:
            return JobList.READY, job.ready_key
        case JobState.SCHEDULED | JobState.RETRYABLE | JobState.ACTIVE:
            return JobList.WAITING, f"{lifecycle.next_due(job) or 0:015d}"
        case JobState.PENDING:
            return JobList.PENDING, f"{job.created_at:015d}"
        case JobState.COMPLETED:
            return JobList.COMPLETED, f"{job.completed_at:015d}"
        case JobState.CANCELLED:
            return JobList.CANCELLED, f"{job.cancelled_at:015d}"
    name = JobList.DEAD_LETTER if job.is_dead_letter else JobList.DISCARDED
    return name, f"{job.discarded_at:015d}"


def _place(row: ListedJob) -> str:
    return f"{row.sort_key}|{row.id}"


@dataclass
class MemoryStore:
    """Jobs in a dict. ``lagging`` holds jobs as the index still shows them."""

    jobs: dict[str, JobRecord] = field(default_factory=dict)
    lagging: dict[str, JobRecord | None] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    rows_read: int = 0
    buckets: dict[str, Bucket] = field(default_factory=dict)
    queue_limits: dict[str, str] = field(default_factory=dict)
    queue_visibility: dict[str, int] = field(default_factory=dict)

    def release(self, before: JobRecord, after: JobRecord) -> None:
        """Give back the places of a job that is no longer active."""
        held, kept = (
            set(job.reservation.places) if job.reservation else set() for job in (before, after)
        )
        for key in held - kept:
            bucket = self.buckets[key]
            self.buckets[key] = replace(bucket, active=bucket.active - 1)

    def load_with_buckets(
        self, job_id: str, keys: Sequence[str]
    ) -> tuple[JobRecord | None, dict[str, Bucket]]:
        """Read a job and buckets."""
        return self.jobs.get(job_id), {key: self.buckets.get(key, Bucket(key=key)) for key in keys}

    def claim_within(
        self,
        job: JobRecord,
        reservation: Reservation,
        takes: Sequence[tuple[Bucket, Bucket]],
        now: Instant,
    ) -> JobRecord:
        """Claim a job and take its places, all or nothing."""
        current = self.jobs.get(job.id)
        if current is None or current.version != job.version or (current.enqueued_at or 0) > now:
            raise StaleJobError(current)
        known = {before.key: self.buckets.get(before.key, before) for before, _ in takes}
        if any(known[before.key].version != before.version for before, _ in takes):
            raise BucketTakenError
        for before, after in takes:
            found = known[before.key]
            self.buckets[before.key] = replace(
                after,
                active=found.active + 1,
                exhausted="" if before.exhausted else found.exhausted,
                exhausted_at=found.exhausted_at,
                released=job.id if before.exhausted else found.released,
            )
        self.jobs[job.id] = lifecycle.claim(current, reservation, now)
        return self.jobs[job.id]

    def insert(self, job: JobRecord) -> None:
        """Store a new job."""
        if job.id in self.jobs:
            raise AlreadyStoredError({0: self.jobs[job.id]})
        self.jobs[job.id] = job

    def insert_all(self, jobs: Sequence[JobRecord]) -> None:
        """Store new jobs, all or none."""
        taken = {i: self.jobs[job.id] for i, job in enumerate(jobs) if job.id in self.jobs}
        if taken:
            raise AlreadyStoredError(taken)
        self.jobs |= {job.id: job for job in jobs}

    def check_new(self, jobs: Sequence[JobRecord]) -> None:
        """Everything fits."""

    def load(self, job_id: str) -> JobRecord | None:
        """Read a job."""
        return self.jobs.get(job_id)

    def load_whole(self, job_id: str) -> JobRecord | None:
        """Read a job."""
        return self.jobs.get(job_id)

    def load_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Read jobs."""
        return {job_id: self.jobs[job_id] for job_id in job_ids if job_id in self.jobs}

    def fill(self, job: JobRecord) -> JobRecord:
        """Nothing is kept elsewhere."""
        return job

    def save(self, before: JobRecord, after: JobRecord) -> None:
        """Replace one version by the next."""
        current = self.jobs.get(before.id)
        if current is None or current.version != before.version:
            raise StaleJobError(current)
        self.release(before, after)
        self.jobs[before.id] = after

    def claim(
        self, queue: str, job_id: str, reservation: Reservation, now: Instant, place: str = ""
    ) -> JobRecord:
        """Move an available, unexpired job to active."""
        current = self.jobs.get(job_id)
        if (
            current is None
            or current.queue != queue
            or current.state is not JobState.AVAILABLE
            or (current.enqueued_at or 0) > now
            or place not in {"", current.ready_key}
            or (current.expires_at is not None and current.expires_at <= now)
        ):
            raise StaleJobError(current)
        self.jobs[job_id] = lifecycle.claim(current, reservation, now)
        return self.jobs[job_id]

    def acknowledge(
        self, job_id: str, worker_id: str | None, result: Document | None, now: Instant
    ) -> JobRecord:
        """Move an active job whose reservation is not over to completed."""
        current = self.jobs.get(job_id)
        held = current.reservation if current else None
        if (
            current is None
            or current.state is not JobState.ACTIVE
            or held is None
            or held.due_at <= now
            or (current.started_at or 0) > now
            or (worker_id is not None and held.worker_id not in {"", worker_id})
            or (result is not None and not _takes(current, result))
        ):
            raise StaleJobError(current)
        self.jobs[job_id] = lifecycle.complete(current, result, now)
        self.release(current, self.jobs[job_id])
        return current

    def fits_inline(self, result: RawJson) -> bool:
        """All but large ones stay with the job."""
        return len(result) <= MAX_INLINE

    def keep_result(self, job_id: str, result: RawJson) -> Document:
        """Results stay with the job."""
        assert job_id
        return result

    def keep_checkpoint(self, job_id: str, state: RawJson) -> Document:
        """Checkpoints stay with the job."""
        assert job_id
        return state

    def forget_document(self, job_id: str, document: Document) -> None:
        """Nothing is kept elsewhere."""
        assert job_id
        assert isinstance(document, str)

    def delete(self, job: JobRecord) -> None:
        """Remove a job."""
        current = self.jobs.get(job.id)
        if current is None or current.version != job.version:
            raise StaleJobError(current)
        del self.jobs[job.id]

    def forget_documents(self, job: JobRecord) -> None:
        """Nothing is kept elsewhere."""
        assert job.id not in self.jobs

    def _rows(self, queue: str, name: JobList) -> list[ListedJob]:
        shown = {**self.jobs, **self.lagging}
        rows = []
        for job in shown.values():
            if job is None or job.queue != queue:
                continue
            listed, key = list_of(job)
            if listed is name:
                row = ListedJob(
                    is_far=lifecycle.wait_ms(job) > MAX_DELAY_S * 1000,
                    id=job.id,
                    queue=queue,
                    sort_key=key,
                    state=job.state,
                    type=job.type,
                    timeout_ms=job.timeout_ms,
                    visibility_timeout_ms=job.visibility_timeout_ms,
                    # A claim writes the key without having read the job.
                    priority=None if job.state is JobState.ACTIVE else job.priority,
                )
                rows.append(row)
        return sorted(rows, key=_place)

    def head(self, queue: str, limit: int) -> Head:
        """The first ready jobs as the index shows them."""
        return Head(
            tuple(self._rows(queue, JobList.READY)[:limit]),
            queue in self.paused,
            self.queue_limits.get(queue, ""),
            self.queue_visibility.get(queue),
        )

    def oldest_ready(self, queue: str) -> Instant | None:
        """Over all ready jobs."""
        rows = self._rows(queue, JobList.READY)
        return min((ready_since(row.sort_key) for row in rows), default=None)

    def due(
        self, queue: str, since: Instant, until: Instant, limit: int, *, cursor: str = ""
    ) -> Page:
        """Waiting jobs due in a range."""
        rows = [
            row
            for row in self._rows(queue, JobList.WAITING)
            if since <= row.due <= until and _place(row) > cursor
        ]
        page = tuple(rows[:limit])
        self.rows_read += len(page)
        return Page(page, _place(page[-1]) if len(rows) > limit else "")

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
        """A page of a list."""
        rows = [row for row in self._rows(queue, name) if _is_between(row, between)]
        if cursor and cursor.count("|") != 1:
            raise InvalidRequestError("no cursor", details={"field": "cursor"})
        rows.sort(key=lambda row: (row.sort_key, row.id), reverse=newest_first)
        if cursor:
            sort_key, _, job_id = cursor.partition("|")
            rows = [
                row
                for row in rows
                if ((row.sort_key, row.id) < (sort_key, job_id)) is newest_first
                and (row.sort_key, row.id) != (sort_key, job_id)
            ]
        shown = rows[:limit]
        return Page(tuple(shown), self.place_of(shown[-1], name) if len(rows) > limit else "")

    def place_of(self, row: ListedJob, name: JobList) -> str:
        """The place of a row."""
        assert name
        return f"{row.sort_key}|{row.id}"

    def count(self, queue: str, name: JobList, between: Between | None = None) -> Count:
        """How many rows there are."""
        return Count(sum(_is_between(row, between) for row in self._rows(queue, name)))

    def count_waiting(self, queue: str) -> dict[JobState, Count]:
        """Waiting jobs by state."""
        counted = Counter(row.state for row in self._rows(queue, JobList.WAITING))
        states = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)
        return {state: Count(counted[state]) for state in states}


def _takes(job: JobRecord, result: Document) -> bool:
    limit = job.result_limit_bytes
    return keeps_result(job) and (limit is None or size_of(result) <= limit)


def _is_between(row: ListedJob, between: Between | None) -> bool:
    return between is None or between.since <= int(row.sort_key) <= between.until


@dataclass
class _Held:
    message: Message
    visible_at: int
    received: int = 0
    handle: str = ""


@dataclass
class MemoryUniqueJobs:
    """Locks in a dict, beside the jobs of a store. Safe to call from many threads."""

    store: MemoryStore
    locks: dict[str, UniqueLock] = field(default_factory=dict)
    _versions: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, admissions: Sequence[Admission]) -> None:
        """Store jobs, take locks and replace jobs, all or none."""
        with self._mutex:
            jobs = self.store.jobs
            existing: dict[int, JobRecord] = {}
            locks: dict[int, UniqueLock] = {}
            is_stale = False
            for at, each in enumerate(admissions):
                if each.job is not None and each.job.id in jobs:
                    existing[at] = jobs[each.job.id]
                found = self.locks.get(each.lock.key) if each.lock else None
                if found is not None and found != each.seen:
                    locks[at] = found
                if each.before is not None:
                    current = jobs.get(each.before.id)
                    is_stale |= current is None or current.version != each.before.version
            if existing or locks or is_stale:
                raise NotAdmittedError(existing, locks)
            for each in admissions:
                if each.job is not None:
                    jobs[each.job.id] = each.job
                if each.after is not None:
                    self.store.release(jobs[each.after.id], each.after)
                    jobs[each.after.id] = each.after
                if each.lock is not None:
                    version = str(next(self._versions))
                    self.locks[each.lock.key] = replace(each.lock, version=version)

    def actions(self, admission: Admission) -> list[TransactAction]:
        """The admission itself: whoever has it may commit it by :meth:`admit`."""
        return [{"Admission": admission}]

    def reserve(self, lock: UniqueLock, seen: UniqueLock | None) -> UniqueLock:
        """Take a lock."""
        with self._mutex:
            found = self.locks.get(lock.key)
            if found is not None and found != seen:
                raise NotAdmittedError({}, {0: found})
            self.locks[lock.key] = replace(lock, version=str(next(self._versions)))
            return self.locks[lock.key]

    def lock(self, key: str) -> UniqueLock | None:
        """Read a lock."""
        return self.locks.get(key)

    def forget(self, key: str, job_id: str) -> None:
        """Remove the lock of a job that is gone."""
        with self._mutex:
            lock = self.locks.get(key)
            if lock is not None and lock.job_id == job_id:
                del self.locks[key]


@dataclass
class MemoryQueue:
    """SQS queues over a FakeClock: at least once, any order, handles go stale."""

    clock: FakeClock
    queues: dict[str, dict[int, _Held]] = field(default_factory=dict)
    newest_first: bool = False
    _ids: itertools.count[int] = field(default_factory=itertools.count)

    def _of(self, queue: str) -> dict[int, _Held]:
        return self.queues.setdefault(queue, {})

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        """Send a message."""
        assert 0 <= delay_s <= 900
        self._of(queue)[next(self._ids)] = _Held(message, self.clock.at + delay_s * 1000)

    def send_all(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        """Send messages."""
        for message, delay in messages:
            self.send(queue, message, delay)

    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int = 0
    ) -> list[ReceivedMessage]:
        """Receive visible messages."""
        assert limit <= 10
        assert wait_s <= 20
        taken: list[ReceivedMessage] = []
        entries = sorted(self._of(queue).items(), reverse=self.newest_first)
        for key, held in entries:
            if held.visible_at <= self.clock.at and len(taken) < limit:
                held.received += 1
                held.visible_at = self.clock.at + visibility_s * 1000
                held.handle = f"{key}:{held.received}"
                taken.append(ReceivedMessage(held.message, held.handle, held.received))
        return taken

    def _find(self, queue: str, handle: str) -> int | None:
        for key, held in self._of(queue).items():
            if held.handle == handle:
                return key
        return None

    def delete(self, queue: str, handles: Sequence[str]) -> None:
        """Delete messages; stale handles do nothing."""
        for handle in handles:
            key = self._find(queue, handle)
            if key is not None:
                del self._of(queue)[key]

    def hide(self, queue: str, handles: Sequence[tuple[str, int]]) -> None:
        """Make messages visible later."""
        for handle, seconds in handles:
            assert 0 <= seconds <= 43_200
            key = self._find(queue, handle)
            if key is not None:
                self._of(queue)[key].visible_at = self.clock.at + seconds * 1000

    def backlog(self, queue: str, *, with_hidden: bool = False) -> int:
        """Messages visible, or received and not deleted."""
        return sum(
            1
            for held in self._of(queue).values()
            if held.visible_at <= self.clock.at or (with_hidden and held.received)
        )


@dataclass
class MemoryRegistry:
    """Queues in a dict."""

    infos: dict[str, QueueInfo] = field(
        default_factory=lambda: {"default": QueueInfo(name="default")}
    )
    tick: LastTick | None = None
    store: MemoryStore | None = None

    def ensure(self, queue: str, now: Instant) -> None:
        """Make a queue known."""
        self.infos.setdefault(queue, QueueInfo(name=queue, created_at=now))

    def note(self, queue: str, now: Instant) -> None:
        """Make a queue known."""
        self.ensure(queue, now)

    def all(self) -> list[QueueInfo]:
        """Every known queue."""
        return sorted(self.infos.values(), key=lambda info: info.name)

    def load(self, queue: str) -> QueueInfo | None:
        """One queue."""
        return self.infos.get(queue)

    def pause(self, queue: str, triggers: Sequence[str], now: Instant) -> QueueInfo:
        """Pause a queue."""
        info = self.infos.get(queue, QueueInfo(name=queue, created_at=now))
        self.infos[queue] = replace(
            info,
            paused_at=info.paused_at or now,
            triggers=tuple(sorted({*info.triggers, *triggers})),
        )
        if self.store is not None:
            self.store.paused.add(queue)
        return self.infos[queue]

    def resume(self, queue: str) -> QueueInfo | None:
        """Resume a queue."""
        before = self.infos.get(queue)
        if before is not None:
            self.infos[queue] = replace(before, paused_at=None)
        if self.store is not None:
            self.store.paused.discard(queue)
        return before

    def note_triggers(self, queue: str, triggers: Sequence[str]) -> bool:
        """Remember more of them, while it is paused."""
        info = self.infos.get(queue)
        if info is None or info.paused_at is None:
            return False
        known = tuple(sorted({*info.triggers, *triggers}))
        self.infos[queue] = replace(info, triggers=known)
        return True

    def forget_triggers(self, queue: str) -> None:
        """The triggers are on again."""
        info = self.infos.get(queue)
        if info is not None and info.paused_at is None:
            self.infos[queue] = replace(info, triggers=())

    def remember_sweep(self, queue: str, until: Instant, cursor: str = "") -> None:
        """Remember how far the sweep got."""
        info = self.infos[queue]
        if (info.swept_until or 0) <= until:
            self.infos[queue] = replace(info, swept_until=until, sweep_cursor=cursor)

    def remember_tick(self, tick: LastTick) -> None:
        """Remember a tick."""
        self.tick = tick

    def last_tick(self) -> LastTick | None:
        """The tick before."""
        return self.tick


@dataclass
class MemoryLimits:
    """The buckets of a store."""

    store: MemoryStore
    types: dict[str, Instant] = field(default_factory=dict)

    def note(self, key: str, policy: str, queue: str, now: Instant) -> None:
        """Remember a policy."""
        assert now
        bucket = self._of(key)
        queues = tuple(sorted({*bucket.queues, queue}))
        self.store.buckets[key] = replace(bucket, policy=policy, queues=queues)

    def override(
        self, key: str, scope: Scope | None, text: str, until: Instant | None, now: Instant
    ) -> None:
        """Lay down a policy."""
        assert until is None or until > now
        bucket = self._of(key)
        self.store.buckets[key] = replace(bucket, override=text, version=bucket.version + 1)
        if scope is not None and scope.type:
            self.types[key] = until or Instant(0)
        elif scope is not None:
            self.store.queue_limits[scope.queue] = text

    def lift(self, key: str, scope: Scope | None, now: Instant) -> None:
        """Lay down none."""
        assert now
        bucket = self._of(key)
        self.store.buckets[key] = replace(bucket, override="", version=bucket.version + 1)
        self.types.pop(key, None)
        if scope is not None and not scope.type:
            self.store.queue_limits.pop(scope.queue, None)

    def scopes(self, now: Instant) -> list[Scope]:
        """Types with a limit."""
        keys = sorted(key for key, until in self.types.items() if not 0 < until <= now)
        return [scope for key in keys if (scope := scope_of(key))]

    def block(self, key: str, until: Instant, exhausted: str) -> None:
        """Hold a bucket back."""
        bucket = self._of(key)
        if bucket.blocked_until is None or bucket.blocked_until < until:
            self.store.buckets[key] = replace(bucket, blocked_until=until, exhausted=exhausted)

    def tell(self, key: str, exhausted: str, now: Instant) -> None:
        """Note that a bucket is exhausted."""
        bucket = self._of(key)
        if bucket.is_silent(now):
            self.store.buckets[key] = replace(bucket, exhausted=exhausted, exhausted_at=now)

    def _of(self, key: str) -> Bucket:
        return self.store.buckets.get(key, Bucket(key=key))

    def policy_of_queue(self, key: str) -> str:
        """The limit of a queue."""
        return self.store.queue_limits.get(key.removeprefix("queue:"), "")

    def load(self, key: str) -> Bucket | None:
        """One bucket."""
        return self.store.buckets.get(key)

    def page(self, after: str, limit: int) -> list[Bucket]:
        """Buckets by key."""
        keys = sorted(key for key in self.store.buckets if key > after)
        return [self.store.buckets[key] for key in keys[:limit]]


@dataclass
class MemoryClientBuckets:
    """Token buckets in a dict."""

    full_at: dict[str, int] = field(default_factory=dict)

    def charge(
        self, client: str, cost_us: int, latest_us: int, now_us: int, seen_us: int
    ) -> Standing:
        """Take tokens, all or none."""
        assert seen_us >= 0
        found = self.full_at.get(client, 0)
        after = max(found, now_us) + cost_us
        if found > max(now_us, latest_us):
            return Standing(found, is_refused=True)
        self.full_at[client] = after
        return Standing(after)


@dataclass
class MemoryTriggers:
    """Lambda triggers: ids by queue, and which of them are off."""

    by_queue: dict[str, list[str]] = field(default_factory=dict)
    off: set[str] = field(default_factory=set)

    def running(self, queue: str) -> list[str]:
        """Those that are on."""
        return [each for each in self.by_queue.get(queue, []) if each not in self.off]

    def switch(self, ids: Sequence[str], *, is_on: bool) -> None:
        """Switch some."""
        self.off = self.off - set(ids) if is_on else self.off | set(ids)


@dataclass
class MemoryWorkers:
    """Workers in a dict."""

    workers: dict[str, WorkerInfo] = field(default_factory=dict)
    directives: dict[str, str] = field(default_factory=dict)

    def beat(self, worker_id: str, report: WorkerReport, now: Instant) -> WorkerInfo:
        """Renew a worker."""
        known = self.workers.get(worker_id)
        if report.state == "terminate" and not report.active_jobs:
            self.directives.pop(worker_id, None)
        self.workers[worker_id] = WorkerInfo(
            id=worker_id,
            last_seen=now,
            seen_before=known.last_seen if known and known.last_seen != now else None,
            state=report.state,
            active_jobs=report.active_jobs,
            job_ids=report.job_ids[:32],
            interval_ms=report.interval_ms or (known.interval_ms if known else None),
            about=report.about or (known.about if known else ""),
            directive=self.directives.get(worker_id, "running"),
        )
        return self.workers[worker_id]

    def load(self, worker_id: str, now: Instant) -> WorkerInfo | None:
        """One worker."""
        known = self.workers.get(worker_id)
        has_ended = known and known.state == "terminate" and not known.active_jobs
        is_kept = known and not has_ended and known.last_seen + 3_600_000 > now
        return known if is_kept else None

    def page(self, after: str, limit: int, now: Instant) -> list[WorkerInfo]:
        """Workers by id."""
        names = sorted(name for name in self.workers if name > after)
        found = [self.load(name, now) for name in names]
        return [worker for worker in found if worker][:limit]

    def direct(self, worker_id: str, directive: str, now: Instant) -> WorkerInfo | None:
        """Set what a worker is told."""
        known = self.load(worker_id, now)
        if known is not None and (known.directive != "terminate" or directive == "terminate"):
            self.directives[worker_id] = directive
            self.workers[worker_id] = replace(known, directive=directive)
        return known

    def forget(self, worker_id: str, last_seen: Instant) -> bool:
        """Remove a worker."""
        known = self.workers.get(worker_id)
        if known is None or known.last_seen != last_seen:
            return False
        del self.workers[worker_id]
        self.directives.pop(worker_id, None)
        return True


@dataclass
class MemoryCron:
    """Cron jobs in a dict; ``lagging`` names those that the index does not show."""

    entries: dict[str, CronEntry] = field(default_factory=dict)
    lagging: set[str] = field(default_factory=set)

    def load(self, name: str) -> CronEntry | None:
        """Read an entry."""
        return self.entries.get(name)

    def all(self) -> list[CronEntry]:
        """Every entry."""
        return [self.entries[name] for name in sorted(self.entries)]

    def save(self, before: CronEntry | None, after: CronEntry) -> None:
        """Replace one version by the next."""
        self._check(after.name, before)
        self.entries[after.name] = after

    def delete(self, entry: CronEntry) -> None:
        """Remove an entry; one that is gone is no error."""
        if entry.name in self.entries:
            self._check(entry.name, entry)
            del self.entries[entry.name]

    def _check(self, name: str, before: CronEntry | None) -> None:
        current = self.entries.get(name)
        if _life_of(current) != _life_of(before):
            raise StaleCronError(current)

    def due(self, until: Instant, limit: int) -> list[tuple[str, Instant]]:
        """Entries that need attention."""
        moments = [(entry.attention_at, name) for name, entry in self.entries.items()]
        due = sorted((at, name) for at, name in moments if at is not None and at <= until)
        return [(name, at) for at, name in due if name not in self.lagging][:limit]


def _life_of(entry: CronEntry | None) -> tuple[int, Instant] | None:
    """One that was deleted and registered again is another one."""
    return None if entry is None else (entry.version, entry.created_at)


@dataclass
class MemorySchemas:
    """Schemas in a dict, by URI."""

    entries: dict[str, SchemaEntry] = field(default_factory=dict)

    def add(self, entry: SchemaEntry) -> None:
        """Keep a schema."""
        taken = self.named(entry.type, entry.version) or self.entries.get(entry.uri)
        if taken is not None:
            raise SchemaTakenError(taken.name if isinstance(taken, SchemaEntry) else taken)
        self.entries[entry.uri] = entry

    def load(self, uri: str) -> SchemaEntry | None:
        """Read a schema."""
        return self.entries.get(uri)

    def named(self, job_type: str, version: SchemaVersion) -> SchemaName | None:
        """Look for a version."""
        return next((x for x in self.names(job_type) if str(x.version) == str(version)), None)

    def names(self, job_type: str = "") -> list[SchemaName]:
        """Look through all of them."""
        found = [x.name for x in self.entries.values() if job_type in {"", x.type}]
        return sorted(found, key=lambda name: f"{name.type} {name.version}")

    def delete(self, name: SchemaName) -> None:
        """Remove a schema."""
        found = self.entries.get(name.uri)
        if found is not None and found.created_at == name.created_at:
            del self.entries[name.uri]


@dataclass
class MemoryAlarms:
    """Alarms in a list, with the instants they ring at."""

    clock: FakeClock
    alarms: list[tuple[int, str]] = field(default_factory=list)

    def set(self, name: str, delay_s: int) -> None:
        """Note an alarm."""
        assert 0 <= delay_s <= 900
        self.alarms.append((self.clock.at + delay_s * 1000, name))

    def ringing(self) -> list[str]:
        """The alarms whose time has come; each rings once."""
        now = [name for at, name in self.alarms if at <= self.clock.at]
        self.alarms = [alarm for alarm in self.alarms if alarm[0] > self.clock.at]
        return now


@dataclass
class MemoryMarks:
    """Marks in a dict."""

    marks: dict[str, Instant] = field(default_factory=dict)

    def read(self, name: str) -> Instant | None:
        """The mark."""
        return self.marks.get(name)

    def move(self, name: str, until: Instant) -> None:
        """Set a mark, never back."""
        self.marks[name] = max(until, self.marks.get(name, until))


@dataclass
class MemoryEvents:
    """Events in a list, in the order in which they were appended; what was set aside beside it."""

    log: list[Event] = field(default_factory=list)
    kept: dict[str, SetAside] = field(default_factory=dict)

    @property
    def events(self) -> dict[str, Event]:
        """The events, each once."""
        found: dict[str, Event] = {}
        for event in self.log:
            found.setdefault(event.id, event)
        return found

    def append(self, events: Sequence[Event], now: Instant) -> None:
        """Append events."""
        assert now
        self.log += events

    def read(self, query: EventQuery) -> EventPage:
        """Read events behind a cursor, which counts those that were read; else the newest."""
        seen = int(query.cursor) if query.cursor.isdigit() else 0
        chosen = [event for event in self.log[seen:] if query.matches(event)]
        return EventPage(tuple(chosen[-query.limit :]), str(len(self.log)))

    def set_aside(self, change: SetAside, now: Instant) -> None:
        """Keep a change."""
        assert now
        self.kept[change.number] = change

    def aside(self, limit: int) -> list[SetAside]:
        """What was set aside."""
        return list(self.kept.values())[:limit]

    def forget_aside(self, number: str) -> None:
        """Keep a change no more."""
        del self.kept[number]


@dataclass
class MemoryWorkflows:
    """Workflows in dicts; their jobs go into the store that they are given."""

    store: MemoryStore
    kept: dict[str, Workflow] = field(default_factory=dict)
    plans: dict[str, WorkflowPlan] = field(default_factory=dict)
    left: dict[str, dict[int, RawJson]] = field(default_factory=dict)
    _one: threading.Lock = field(default_factory=threading.Lock)

    def create(self, workflow: Workflow, plan: WorkflowPlan, jobs: Sequence[JobRecord]) -> None:
        """Store a new workflow with its first jobs."""
        if workflow.id in self.kept:
            raise StaleWorkflowError(self.kept[workflow.id])
        self.plans[workflow.id] = plan
        self.left[workflow.id] = {}
        self._write(workflow, jobs)

    def save(
        self,
        before: Workflow,
        after: Workflow,
        results: Mapping[int, RawJson],
        jobs: Sequence[JobRecord],
    ) -> None:
        """Replace one version by the next."""
        with self._one:
            current = self.kept.get(before.id)
            if current is None or current.version != before.version:
                raise StaleWorkflowError(current)
            self.left[after.id].update(results)
            self._write(after, jobs)

    def _write(self, workflow: Workflow, jobs: Sequence[JobRecord]) -> None:
        assert len(jobs) <= 90
        self.store.insert_all(jobs)
        self.kept[workflow.id] = workflow

    def load(self, workflow_id: str) -> Workflow | None:
        """Read a workflow."""
        return self.kept.get(workflow_id)

    def plan(self, workflow_id: str) -> WorkflowPlan | None:
        """Read a plan."""
        return self.plans.get(workflow_id)

    def results(self, workflow_id: str) -> dict[int, RawJson]:
        """Read what the jobs left."""
        return {**self.left.get(workflow_id, {})}

    def page(self, state: WorkflowState | None, limit: int, cursor: str = "") -> WorkflowPage:
        """A page, the newest first."""
        found = [each for each in self.kept.values() if state is None or each.state is state]
        found.sort(key=lambda each: (each.created_at, each.id), reverse=True)
        start = int(cursor or 0)
        following = str(start + limit) if len(found) > start + limit else ""
        return WorkflowPage(tuple(found[start : start + limit]), following)

    def forget(self, workflow_id: str) -> None:
        """Remove the rest."""
        self.plans.pop(workflow_id, None)
        self.left.pop(workflow_id, None)
