"""The services of one deployment, put together over any ports.

Each service is imported and made when it is first asked for, so that a function loads what its own
routes need and no more.
"""

# ruff: noqa: PLC0415 - imports wait for their service, see above
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.changing import Changing
from ojs_aws.services.draining import Draining
from ojs_aws.services.liveness import VisibilityTimeouts
from ojs_aws.services.waking import Waking

if TYPE_CHECKING:
    from ojs_aws.config import Settings
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.middleware.enqueuing import Enqueuing
    from ojs_aws.ports import Clock, EventLog, IdGenerator
    from ojs_aws.services.ack import Ack
    from ojs_aws.services.activate import Activate
    from ojs_aws.services.backpressure import Backpressure
    from ojs_aws.services.batch_report import Rolled
    from ojs_aws.services.batching import Batching
    from ojs_aws.services.bulk_changes import BulkChanges
    from ojs_aws.services.bulk_enqueue import BulkEnqueue
    from ojs_aws.services.bulk_requests import Once, Telling
    from ojs_aws.services.cancel import Cancel
    from ojs_aws.services.checkpoints import Checkpoints
    from ojs_aws.services.client_limiting import ClientLimiting
    from ojs_aws.services.configuring import Configuring
    from ojs_aws.services.cron import Cron
    from ojs_aws.services.cron_firing import CronFiring
    from ojs_aws.services.dead_letter import DeadLetters
    from ojs_aws.services.dead_letter_bulk import DeadLetterBulk
    from ojs_aws.services.dead_letter_upkeep import DeadLetterUpkeep
    from ojs_aws.services.drafting import QueueRules
    from ojs_aws.services.fail import Fail
    from ojs_aws.services.fetch import Fetch
    from ojs_aws.services.heartbeat import Heartbeat
    from ojs_aws.services.info import Info
    from ojs_aws.services.job_bulk import JobBulk
    from ojs_aws.services.job_search import JobSearch
    from ojs_aws.services.limits import LimitBook
    from ojs_aws.services.progress import Progressing
    from ojs_aws.services.purging import Purging
    from ojs_aws.services.push import Push
    from ojs_aws.services.queue_stats import QueueStatistics
    from ojs_aws.services.queue_terms import QueueTerms
    from ojs_aws.services.queues import Queues
    from ojs_aws.services.repairing import Repair
    from ojs_aws.services.reprioritising import Reprioritise
    from ojs_aws.services.results import Results
    from ojs_aws.services.schema_checking import SchemaChecking
    from ojs_aws.services.schemas import SchemaRegistry
    from ojs_aws.services.statistics import Statistics
    from ojs_aws.services.sweep import Sweep
    from ojs_aws.services.tallying import Tallying
    from ojs_aws.services.transacting import Transacting
    from ojs_aws.services.unique import Uniqueness
    from ojs_aws.services.wiring import Ports
    from ojs_aws.services.workers import Workers
    from ojs_aws.services.workflow_advancing import Advancing
    from ojs_aws.services.workflows import WorkflowService


class Backend:
    """The services, ready to be called."""

    def __init__(self, settings: Settings, ports: Ports) -> None:
        """Make nothing yet but what all services share."""
        self.settings = settings
        self.ports = ports
        self.changing = Changing(ports.store, ports.clock, self._missing)
        self.waking = Waking(ports.messages, ports.queues)
        self._timeout_ms = settings.default_timeout_s * 1000
        self._visibility = VisibilityTimeouts(
            settings.default_visibility_timeout_s * 1000,
            {name: seconds * 1000 for name, seconds in settings.queue_visibility_timeouts_s},
        )
        self._draining = Draining()
        self._limits = cache(ports.limits)
        self._book = cache(ports.settings_book)
        self._depths = cache(ports.depths)
        self._tallies = cache(ports.tallies)
        self._pressures = cache(ports.pressures)

    def _missing(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """The jobs of committed batches that are not in their places yet."""
        return self.batching.rescue(job_ids)

    @property
    def clock(self) -> Clock:
        """Where the time comes from."""
        return self.ports.clock

    @property
    def ids(self) -> IdGenerator:
        """Where identifiers come from."""
        return self.ports.ids

    @cached_property
    def push(self) -> Push:
        """PUSH."""
        return self._push(self.ports.enqueuing())

    def _push(self, enqueuing: Enqueuing, *, is_internal: bool = False) -> Push:
        from ojs_aws.services.drafting import Drafting
        from ojs_aws.services.push import Push

        settings = self.settings
        drafting = Drafting(
            clock=self.clock,
            ids=self.ids,
            rules=self._rules(),
            max_envelope_bytes=settings.max_envelope_bytes,
            default_timeout_ms=self._timeout_ms,
            schemas=lambda: self.schema_checking,
            terms=self.queue_terms,
            is_internal=is_internal,
        )
        return Push(
            store=self.ports.store,
            waking=self.waking,
            clock=self.ports.clock,
            limits=self._limits,
            enqueuing=enqueuing,
            drafting=drafting,
            unique=lambda: self.unique,
            batching=lambda: self.batching,
            max_batch_jobs=settings.max_batch_jobs,
            bounds=self.backpressure,
        )

    @cached_property
    def queue_terms(self) -> QueueTerms:
        """On what terms queues take jobs."""
        from ojs_aws.services.queue_terms import QueueTerms

        return QueueTerms(self._book, self.clock, self.settings.queue_settings_age_ms)

    @cached_property
    def backpressure(self) -> Backpressure:
        """What keeps the bounds of queues."""
        from ojs_aws.services.backpressure import Backpressure

        return Backpressure(self._depths, self._pressures, self.queue_terms, self.clock)

    @cached_property
    def reprioritise(self) -> Reprioritise:
        """What changes the priority of jobs."""
        from ojs_aws.services.reprioritising import Reprioritise

        return Reprioritise(self.changing)

    @cached_property
    def tallying(self) -> Tallying:
        """What counts what queues did."""
        from ojs_aws.services.tallying import Tallying

        return Tallying(self._tallies)

    @cached_property
    def configuring(self) -> Configuring:
        """The settings of queues."""
        from ojs_aws.services.configuring import Configuring

        return Configuring(
            book=self._book(),
            limits=self._limits,
            queues=self.queues,
            statistics=lambda: self.queue_statistics,
            clock=self.clock,
            settings=self.settings,
            bounding=self.backpressure.bound,
        )

    @cached_property
    def transacting(self) -> Transacting:
        """Enqueuing in an application's own transaction."""
        from ojs_aws.services.transacting import Transacting

        return Transacting(self.push, self.ports.unique, lambda: self.unique)

    @cached_property
    def schema_checking(self) -> SchemaChecking:
        """What checks the arguments of jobs that name a schema."""
        from ojs_aws.services.schema_checking import SchemaChecking

        return SchemaChecking(self.ports.schemas(), self.clock)

    @cached_property
    def schemas(self) -> SchemaRegistry:
        """The schemas of job types."""
        from ojs_aws.services.schemas import SchemaRegistry

        return SchemaRegistry(self.ports.schemas(), self.clock)

    @cached_property
    def unique(self) -> Uniqueness:
        """What lets in jobs with a unique policy."""
        from ojs_aws.services.unique import Uniqueness

        def decide(batch_id: str) -> bool:
            return self.batching.batches.decide(batch_id, None, self.clock.now()).is_committed

        ports = self.ports
        return Uniqueness(ports.store, ports.unique(), self.changing, self.clock, decide)

    @cached_property
    def bulk_enqueue(self) -> BulkEnqueue:
        """Many jobs, and what becomes of each."""
        from ojs_aws.services.bulk_enqueue import BulkEnqueue

        return BulkEnqueue(self.push, self.clock)

    @cached_property
    def bulk_changes(self) -> BulkChanges:
        """Many jobs cancelled, retried or deleted."""
        from ojs_aws.services.bulk_changes import BulkChanges

        return BulkChanges(
            self.ports.store, self.job_search, self.changing, self.waking, self.ports.unique
        )

    @cached_property
    def once(self) -> Once:
        """What does a bulk operation once for its idempotency key."""
        from ojs_aws.services.bulk_requests import Once

        return Once(self.ports.bulk(), self.clock)

    @cached_property
    def telling(self) -> Telling:
        """What lets bulk operations be told of."""
        from ojs_aws.services.bulk_requests import Telling

        return Telling(self.ports.bulk(), self.clock, self.ids)

    @cached_property
    def batching(self) -> Batching:
        """What stores batches beyond one transaction."""
        from ojs_aws.services.batching import Batching, in_order
        from ojs_aws.services.limit_notes import note_limits

        def note(jobs: Sequence[JobRecord]) -> None:
            note_limits(self._limits, jobs, self.clock.now())

        return Batching(
            store=self.ports.store,
            batches=self.ports.batches(),
            waking=self.waking,
            clock=self.clock,
            unique=lambda: self.unique,
            note=note,
            spread=self.ports.spread or in_order,
        )

    @cached_property
    def fetch(self) -> Fetch:
        """FETCH."""
        from ojs_aws.services.fetch import Fetch
        from ojs_aws.services.limiting import LimitedTypes

        return Fetch(
            store=self.ports.store,
            messages=self.ports.messages,
            changing=self.changing,
            waking=self.waking,
            both=self.ports.both,
            default_timeout_ms=self._timeout_ms,
            visibility=self._visibility,
            max_count=self.settings.max_fetch_count,
            wait_ms=self.settings.fetch_wait_ms,
            draining=self._draining,
            limits=self._limits,
            limited_types=LimitedTypes(self._limits, self.clock),
        )

    @cached_property
    def ack(self) -> Ack:
        """ACK."""
        from ojs_aws.services.ack import Ack

        return Ack(self.ports.store, self.changing, self.waking, self.settings.max_result_bytes)

    @cached_property
    def fail(self) -> Fail:
        """FAIL."""
        from ojs_aws.services.fail import Fail

        settings = self.settings
        redacts = (settings.redact_backtraces, settings.redact_messages)
        return Fail(self.changing, self.waking, self._limits, *redacts)

    @cached_property
    def heartbeat(self) -> Heartbeat:
        """BEAT."""
        from ojs_aws.services.heartbeat import Heartbeat

        return Heartbeat(
            self.ports.store,
            self.ports.workers(),
            self.changing,
            self.waking,
            self._visibility,
            self._draining,
        )

    @cached_property
    def cancel(self) -> Cancel:
        """CANCEL."""
        from ojs_aws.services.cancel import Cancel

        return Cancel(self.changing, self.waking)

    @cached_property
    def activate(self) -> Activate:
        """ACTIVATE."""
        from ojs_aws.services.activate import Activate

        return Activate(self.changing, self.waking)

    @cached_property
    def info(self) -> Info:
        """INFO."""
        from ojs_aws.services.info import Info

        return Info(self.ports.store, self.changing)

    @cached_property
    def results(self) -> Results:
        """What became of jobs."""
        from ojs_aws.services.results import Results

        return Results(
            self.ports.store, self.changing, self.ports.pause, self.settings.result_wait_ms
        )

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints of jobs."""
        from ojs_aws.services.checkpoints import Checkpoints

        return Checkpoints(self.ports.store, self.changing)

    @cached_property
    def progress(self) -> Progressing:
        """PROGRESS."""
        from ojs_aws.services.progress import Progressing

        return Progressing(self.changing, self.waking, self._visibility, self.checkpoints)

    @cached_property
    def dead_letters(self) -> DeadLetters:
        """The dead letters."""
        from ojs_aws.services.dead_letter import DeadLetters
        from ojs_aws.services.dead_letter_rows import DeadLetterRows

        rows = DeadLetterRows(self.ports.store, self.ports.queues)
        return DeadLetters(self.ports.store, rows, self.changing, self.waking, self._rules())

    @cached_property
    def dead_letter_bulk(self) -> DeadLetterBulk:
        """Many dead letters at once."""
        from ojs_aws.services.dead_letter_bulk import DeadLetterBulk
        from ojs_aws.services.dead_letter_rows import DeadLetterRows

        rows = DeadLetterRows(self.ports.store, self.ports.queues)
        return DeadLetterBulk(self.ports.store, rows, self.changing, self.waking)

    @cached_property
    def dead_letter_upkeep(self) -> DeadLetterUpkeep:
        """What happens to dead letters by themselves.

        :raises InvalidRequestError: a replay rule of the settings cannot be read.
        """
        from ojs_aws.services.dead_letter_upkeep import DeadLetterUpkeep
        from ojs_aws.services.replay_rules import read_replay_rules

        return DeadLetterUpkeep(
            store=self.ports.store,
            queues=self.ports.queues,
            marks=self.ports.marks,
            changing=self.changing,
            waking=self.waking,
            max_count=self.settings.dead_letter_max_count,
            rules=read_replay_rules(self.settings.dead_letter_replay),
        )

    def _rules(self) -> QueueRules:
        from ojs_aws.services.drafting import QueueRules

        settings = self.settings
        return QueueRules(frozenset(settings.queues), settings.allow_undeclared_queues)

    @cached_property
    def workers(self) -> Workers:
        """The workers, for operators."""
        from ojs_aws.services.workers import Workers

        return Workers(self.ports.workers(), self.changing)

    @cached_property
    def queues(self) -> Queues:
        """The queues."""
        from ojs_aws.services.queues import Queues

        ports = self.ports
        return Queues(
            registry=ports.queues,
            store=ports.store,
            messages=ports.messages,
            waking=self.waking,
            triggers=ports.triggers,
            clock=ports.clock,
            declared=frozenset(self.settings.queues),
            allow_undeclared=self.settings.allow_undeclared_queues,
        )

    @cached_property
    def client_limiting(self) -> ClientLimiting | None:
        """What limits the requests of API clients; None where nothing does."""
        settings = self.settings
        if not settings.client_rate_per_s:
            return None
        from ojs_aws.domain.client_limits import ClientRate
        from ojs_aws.services.client_limiting import ClientLimiting

        per_s = settings.client_rate_per_s
        rate = ClientRate(per_s=per_s, burst=settings.client_burst or 2 * per_s)
        return ClientLimiting(cache(self.ports.client_buckets), self.clock, rate)

    @cached_property
    def limits(self) -> LimitBook:
        """The limits on how jobs begin."""
        from ojs_aws.services.limits import LimitBook

        return LimitBook(self._limits(), self.ports.store, self.queues, self.clock)

    @cached_property
    def purging(self) -> Purging:
        """What empties queues."""
        from ojs_aws.services.purging import Purging

        return Purging(self.ports.store, self.changing, self.queues)

    @cached_property
    def queue_statistics(self) -> QueueStatistics:
        """How many jobs queues have."""
        from ojs_aws.services.queue_stats import QueueStatistics

        return QueueStatistics(self.ports.store, self._tallies, self.ports.clock)

    @cached_property
    def statistics(self) -> Statistics:
        """What all queues do together."""
        from ojs_aws.services.statistics import Statistics

        return Statistics(self.queue_statistics, self.ports.queues, self.clock)

    @cached_property
    def job_search(self) -> JobSearch:
        """What finds jobs for operators."""
        from ojs_aws.services.job_search import JobSearch

        return JobSearch(self.ports.store, self.ports.queues, self.clock)

    @cached_property
    def job_bulk(self) -> JobBulk:
        """Many jobs at once, for operators."""
        from ojs_aws.services.job_bulk import JobBulk

        return JobBulk(self.ports.store, self.job_search, self.changing, self.waking)

    @cached_property
    def repair(self) -> Repair:
        """What follows a restore of the table."""
        from ojs_aws.services.repairing import Repair

        ports = self.ports
        return Repair(ports.queues, ports.store, self.waking, self.clock, lambda: self.workflows)

    @cached_property
    def sweep(self) -> Sweep:
        """The sweep."""
        from ojs_aws.services.sweep import Sweep, one_by_one
        from ojs_aws.services.sweeping import QueueSweep

        ports = self.ports
        queue = QueueSweep(ports.store, ports.messages, ports.queues, self.changing, self.waking)
        return Sweep(
            queue,
            ports.queues,
            ports.clock,
            ports.each or one_by_one,
            self.queues.finish,
            self._roll_forward,
        )

    def _roll_forward(self, is_over: Callable[[], bool]) -> Rolled:
        """Finish the large batches whose processes died."""
        return self.batching.tick(is_over)

    @cached_property
    def cron(self) -> Cron:
        """The cron jobs."""
        from ojs_aws.services.cron import Cron

        firing = self.cron_firing
        return Cron(entries=firing.entries, firing=firing, push=self.push, clock=self.clock)

    @cached_property
    def cron_firing(self) -> CronFiring:
        """What fires the cron jobs."""
        from ojs_aws.services.cron_firing import CronFiring

        return CronFiring(
            entries=self.ports.cron(),
            alarms=self.ports.alarms(),
            store=self.ports.store,
            push=self.push,
            changing=self.changing,
            cancel=self.cancel,
            activate=self.activate,
            clock=self.clock,
            ids=self.ids,
        )

    @cached_property
    def workflows(self) -> WorkflowService:
        """The workflows."""
        from ojs_aws.services.workflows import WorkflowService

        return WorkflowService(
            workflows=self.advancing.workflows,
            store=self.ports.store,
            push=self.push,
            changing=self.changing,
            waking=self.waking,
            advancing=self.advancing,
            clock=self.clock,
            ids=self.ids,
        )

    @cached_property
    def advancing(self) -> Advancing:
        """What moves workflows on. Their jobs have passed the middleware when they come here."""
        from ojs_aws.middleware.enqueue_chain import EnqueueChain
        from ojs_aws.middleware.enqueuing import Enqueuing
        from ojs_aws.services.workflow_advancing import Advancing

        return Advancing(
            workflows=self.ports.workflows(),
            store=self.ports.store,
            push=self._push(Enqueuing(EnqueueChain()), is_internal=True),
            changing=self.changing,
            waking=self.waking,
            clock=self.clock,
        )

    @cached_property
    def events(self) -> EventLog:
        """The log of lifecycle events."""
        return self.ports.events()
