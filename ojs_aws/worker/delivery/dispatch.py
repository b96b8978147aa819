"""Dispatches jobs to functions and ECS tasks, and waits for none of them (ojs-serverless, 2, 7).

A queue's trigger invokes the dispatcher. It claims jobs as any worker does, and hands each to the
queue of its function's asynchronous invocations, or starts its task. The message of a dispatched
job stays hidden: it comes back when the reservation ends, unless an outcome has deleted it before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.functions import TargetError
from ojs_aws.adapters.sqs import UnreadableMessageError
from ojs_aws.domain.bindings import (
    NO_CONFIG,
    Binding,
    Suspension,
    binding_of,
    limits_of,
    wait_ms,
)
from ojs_aws.domain.bindings.tasks import TASK_WORKER, TaskBinding
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, BackendUnavailableError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import attempt_of
from ojs_aws.domain.json_text import RawJson
from ojs_aws.services.jobs.fetch.service import Claimed
from ojs_aws.services.jobs.render import render_job
from ojs_aws.worker.delivery.inputs import EventTooLargeError, event_of, event_text
from ojs_aws.worker.directly import (
    Record,
    StrayRecordError,
    members,
    queue_name_of,
    queues_by_sqs_name,
    read_record,
)

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings
    from ojs_aws.adapters.functions import Functions
    from ojs_aws.adapters.s3 import S3Documents
    from ojs_aws.services.backend import Backend
    from ojs_aws.worker.delivery.inputs import TaskStarter

SUSPENDED_FOR_S: Final = 300
"""How long messages are hidden while all bindings of their queue are suspended, in seconds."""

_NO_HANDLER: Final = "NoHandlerRegistered"
_UNDELIVERED: Final = "UndeliveredError"
_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Dispatcher:
    """Dispatches the jobs of the queues that its bindings name.

    :ivar functions: invokes functions; None where no binding has one.
    :ivar states: says which bindings are suspended, and which types were registered for them.
    :ivar bindings: those of the stack; registered types replace theirs.
    :ivar reports: returns where a function may report on its job while it runs, and by which token;
        None: nowhere.
    :ivar documents: keeps jobs that are too large for an event; None: they fail.
    :ivar tasks: starts the tasks of jobs; None where no binding has a task definition.
    """

    backend: Backend
    functions: Functions | None
    states: QueueBindings
    bindings: Sequence[Binding]
    reports: Callable[[JobRecord], RawJson] | None = None
    documents: S3Documents | None = None
    tasks: TaskStarter | None = None
    queues: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Find the queues."""
        names = sorted({queue for each in self.bindings for queue in each.queues})
        self.queues = queues_by_sqs_name(self.backend.settings.queue_prefix, names)

    def __call__(
        self, event: Mapping[str, Any], context: object = None
    ) -> dict[str, list[dict[str, str]]]:
        """Dispatch the jobs that the messages of an event permit.

        :returns: the partial batch response: messages that come back later, those of all
            dispatched jobs among them.
        :raises ValueError: no event of an SQS event source mapping.
        """
        records = event.get("Records")
        if not isinstance(records, list):
            raise ValueError("no SQS event: connect the function to queues of the backend")
        prefix = TASK_WORKER if self.tasks is not None else "dispatcher_"
        worker_id = f"{prefix}{getattr(context, 'aws_request_id', '')}"
        by_queue: dict[str, list[Record]] = {}
        done: set[str] = set()
        for raw in records:
            self._sort(raw, by_queue, done)
        for queue, some in by_queue.items():
            try:
                done |= _Round(self, queue, worker_id).run(some)
            except Exception:  # the messages of the other queues must not be lost for it
                _logger.exception("Messages of queue %s come back", queue)
        ids = [str(raw.get("messageId", "")) for raw in records]
        return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in ids if id_ not in done]}

    def _sort(
        self, raw: Mapping[str, Any], by_queue: dict[str, list[Record]], done: set[str]
    ) -> None:
        """Add a message to those of its queue; move one that nobody can decode."""
        try:
            record = read_record(raw, self.queues)
        except StrayRecordError as problem:
            _logger.error("Message %s comes back: %s", raw.get("messageId"), problem)
        except UnreadableMessageError:
            queue, body = self.queues[queue_name_of(raw)], str(raw.get("body", ""))
            if self.backend.job_messages.reject(queue, body):
                done.add(str(raw.get("messageId", "")))
        else:
            by_queue.setdefault(record.queue, []).append(record)


@dataclass(slots=True)
class _Round:
    """Dispatches jobs of one queue, once."""

    dispatcher: Dispatcher
    queue: str
    worker_id: str
    suspended: dict[str, Suspension] = field(default_factory=dict)
    trying: set[str] = field(default_factory=set)

    def run(self, records: Sequence[Record]) -> set[str]:
        """Dispatch what the messages permit; return the ids of those that are done with."""
        backend = self.dispatcher.backend
        bound = self._bound()
        some = self._admitted(bound, records)
        if not some:
            return set()
        claimed = backend.jobs.fetch.claim_messages(
            self.queue,
            [record.received for record in some],
            self.worker_id,
            1000 * max(each.reservation_s for each in bound),
            limits_of(bound, self.queue),
        )
        turns = list(zip(some, claimed, strict=True))
        stays = backend.stores.parallel.each(lambda turn: self._safely(bound, turn[1]), turns)
        return {record.id for (record, _), keep in zip(turns, stays, strict=True) if not keep}

    def _bound(self) -> list[Binding]:
        """Return the bindings of the queue, as they stand now, and note which are suspended."""
        found = self.dispatcher.states.of(self.queue)
        bound = [
            replace(
                each,
                types=found.bound.get(each.name, each.types),
                config=found.configs.get(each.name, NO_CONFIG).over(each.config),
            )
            for each in self.dispatcher.bindings
            if self.queue in each.queues
        ]
        known = {each.name for each in bound}
        self.suspended = {name: each for name, each in found.suspended.items() if name in known}
        return bound

    def _admitted(self, bound: Sequence[Binding], records: Sequence[Record]) -> list[Record]:
        """Return the messages to claim jobs with.

        None while all bindings are suspended, but one after a while, for a trial. The others are
        hidden, and their jobs stay as they are.
        """
        backend, now = self.dispatcher.backend, self.dispatcher.backend.clock.now()
        store = self.dispatcher.states
        for name, each in [*self.suspended.items()]:
            tried = store.begin_trial(self.queue, name, each, now) if each.may_try(now) else None
            if tried is not None:
                self.suspended[name] = tried
                self.trying.add(name)
        if len(self.suspended) < len(bound):
            return list(records)
        rest = records[1:] if self.trying else records
        hidden = [(record.received.handle, SUSPENDED_FOR_S) for record in rest]
        backend.job_messages.hide(self.queue, hidden)
        return list(records[:1]) if self.trying else []

    def _safely(self, bound: Sequence[Binding], claimed: Claimed) -> bool:
        """Dispatch a job; return whether its message stays, also after an error."""
        if claimed.record is None:
            return claimed.keep_message
        try:
            return self._dispatch(bound, claimed.record)
        except Exception:  # it may run: its outcome or the end of its reservation decides
            _logger.exception("Job %s may not be dispatched", claimed.record.id)
            return True

    def _dispatch(self, bound: Sequence[Binding], record: JobRecord) -> bool:
        job = Job.from_members(render_job(record))
        binding = binding_of(bound, job.type)
        if binding is None:
            text = f"No binding of the queue {self.queue!r} serves the type {job.type!r}."
            return self._give_back(record, text, _NO_HANDLER)
        if not self._is_open(binding.name):
            reason = self.suspended[binding.name].reason
            return self._give_back(record, f"The binding {binding.name!r} is suspended: {reason}.")
        record = self._held_long_enough(record, binding)
        tasks, functions = self.dispatcher.tasks, self.dispatcher.functions
        if isinstance(binding, TaskBinding):
            assert tasks is not None  # noqa: S101
            return self._begin(record, binding, lambda: tasks.start(binding, record))
        event = event_of(record, job, self.worker_id, self.dispatcher.reports, binding.config)
        backend, documents = self.dispatcher.backend, self.dispatcher.documents
        try:
            text = event_text(event, record, documents, backend.clock.now())
        except EventTooLargeError as problem:
            return self._refuse(record, str(problem))
        except BackendError as problem:
            return self._give_back(record, f"No link to it could be made: {problem.message}")
        assert functions is not None  # noqa: S101
        return self._begin(record, binding, lambda: functions.begin(binding.target, text))

    def _is_open(self, name: str) -> bool:
        """Return whether a job may go to a binding; one that is tried gets a single job."""
        if name not in self.suspended:
            return True
        try:
            self.trying.remove(name)  # one thread gets it
        except KeyError:
            return False
        return True

    def _held_long_enough(self, record: JobRecord, binding: Binding) -> JobRecord:
        """Return the job with a reservation that covers the function, also where its own is short.

        Makes two calls for such a job.
        """
        own_ms = record.visibility_timeout_ms
        needed_ms = binding.reservation_s * 1000
        if own_ms is None or own_ms >= needed_ms:
            return record
        backend = self.dispatcher.backend
        _, held = backend.workers.heartbeat.extend(
            self.worker_id, record.id, needed_ms, which=attempt_of(record), start=record
        )
        return held or record

    def _begin(self, record: JobRecord, binding: Binding, begin: Callable[[], None]) -> bool:
        """Hand a job to its function or task, and return whether its message stays."""
        store, now = self.dispatcher.states, self.dispatcher.backend.clock.now()
        try:
            begin()
        except TargetError as problem:
            _logger.error("The binding %s is suspended: %s", binding.name, problem)
            reason = f"{binding.target} {problem.reason}"
            store.suspend(self.queue, binding.name, reason, now)
            text = f"The binding {binding.name!r} is suspended: {reason}."
            return self._give_back(record, text)
        except BackendUnavailableError as problem:
            return self._give_back(record, f"Its target took no job: {problem.message}")
        suspension = self.suspended.get(binding.name)
        if suspension is not None and not isinstance(binding, TaskBinding):
            # A task that ECS has accepted may not start: the sweep sees it when it has.
            store.end_trial(self.queue, binding.name, suspension)
        return True

    def _give_back(self, record: JobRecord, text: str, kind: str = _UNDELIVERED) -> bool:
        """Give a job back; the attempt does not count."""
        _logger.warning("Job %s is given back: %s", record.id, text)
        self.dispatcher.backend.jobs.fail.requeue(
            record.id,
            self.worker_id,
            members({"type": kind, "code": "SNOOZE", "message": text}),
            which=attempt_of(record),
            delay_ms=wait_ms(record.uncounted_attempts),
            start=record,
            has_message=False,
        )
        return False

    def _refuse(self, record: JobRecord, text: str) -> bool:
        """Fail a job whose event Lambda, or the record of its invocation, would not hold."""
        self.dispatcher.backend.jobs.fail(
            record.id,
            self.worker_id,
            members({"type": "EventTooLarge", "message": text, "retryable": False}),
            which=attempt_of(record),
            start=record,
            has_message=False,
        )
        return False
