"""Turns committed changes of the table's stream into lifecycle events, and cleans up after jobs.

Records of one item come in their order, and a record is repeated until it is done. Each of its
events goes to the log, then to the bus, then to the hooks. A record whose events cannot be
published does not hold up the others: it is tried a bounded number of times and then set aside in
the table, counted by a metric with an alarm (docs/events.md).
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.events import SetAside
from ojs_aws.domain.tenants import OTHER_TENANTS
from ojs_aws.topology import REFUSED_PUTS_METRIC, SET_ASIDE_METRIC
from ojs_aws.transport.events.job_metrics import (
    MAX_TENANTS,
    TENANT_DIMENSION,
    TYPE_DIMENSION,
    Measure,
    MeasuredByLabel,
    MeasuredByQueue,
    MetricNames,
    measured,
    publish,
)
from ojs_aws.transport.events.records import (
    UNKNOWN,
    Change,
    ReadImage,
    change_of,
    commit_of,
    item_of,
    number_of,
)
from ojs_aws.transport.events.stream_effects import Consequences, Hooks, Publication
from ojs_aws.transport.events.stream_reader import (
    BatchOutcome,
    BatchUse,
    Failed,
    InvocationTime,
    Memory,
    StreamReader,
    time_of,
    trouble_of,
)
from ojs_aws.transport.function_tracing import function_tracing
from ojs_aws.transport.tracing import Tracing

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from ojs_aws.services.backend import Backend

Count = Callable[[int, str], None]
"""Gets how many records were set aside, and by which function."""

Record = Mapping[str, Any]
Failures = dict[str, list[dict[str, str]]]
Handler = Callable[[Mapping[str, Any], object], Failures]

REDRIVE: Final = "redrive"
MAX_REDRIVEN: Final = 100
"""Records of one redrive; ask again for more."""

STREAM_SPAN: Final = "ojs.events"

_DONE: Final = "batchItemFailures"


def build_stream(
    backend: Backend,
    read: ReadImage,
    logger: Logger | None = None,
    *,
    hooks: Hooks | None = None,
    count: Count | None = None,
    measure: Measure | None = None,
    tracing: Tracing | None = None,
    reader: StreamReader | None = None,
) -> Handler:
    """Return the handler of stream records.

    :param read: the adapter's codec.
    :param hooks: is called with each event after the log and the bus have it. What it raises is
        logged, and the event comes again, up to MAX_TRIES times; later events of the same subject
        wait for it, those of others do not.
    :param count: gets what was set aside; by default a metric in the function's log.
    :param measure: gets what happened to jobs; by default metrics in the function's log.
    :param tracing: has a span for each batch; by default as the settings say.
    :param reader: pauses between the tries of a batch, and counts those of a record that ends the
        process. Only the deployed function needs that; by default there is none.
    """
    from ojs_aws.transport.logs import function_logger, invocation_logged

    logger = logger or function_logger()
    traced = tracing or function_tracing(backend.settings)
    counts = count or count_in_log
    consumer = StreamConsumer(backend, read, logger, hooks, counts, measure, traced, reader)

    def handle(event: Mapping[str, Any], context: object) -> Failures:
        """Publish the events of a batch."""
        records = len(event.get("Records") or ())
        with (
            invocation_logged(logger, context),
            traced.span(STREAM_SPAN, operation="stream", records=records) as span,
        ):
            answer = consumer.handle(event, context)
            span.note(failed=len(answer[_DONE]))
            return answer

    return handle


def count_in_log(value: int, function_name: str) -> None:
    """Publish how many records were set aside: a line of the log, without a call."""
    publish(function_name, [(SET_ASIDE_METRIC, "Count", value)])


@dataclass(eq=False, repr=False)
class StreamConsumer:
    """Publishes the events of stream records; remembers, within the process, what is done.

    :func:`build_stream` describes its parts.
    """

    backend: Backend
    read: ReadImage
    logger: Logger
    hooks: Hooks | None
    count: Count
    measure: Measure | None
    tracing: Tracing
    reader: StreamReader | None = None

    def __post_init__(self) -> None:
        """Start with nothing done."""
        queues = MetricNames(self.backend.settings.queues)
        self._measure = self.measure or MeasuredByQueue(queues)
        self._by_type = MeasuredByLabel(queues, TYPE_DIMENSION, MetricNames())
        tenants = MetricNames(most=MAX_TENANTS, other=OTHER_TENANTS)
        self._by_tenant = MeasuredByLabel(queues, TENANT_DIMENSION, tenants)
        self._memory = Memory()
        self._then = Consequences(self.backend, self._memory, self.logger, self.tracing)
        bus = self.backend.stores.announce()
        self._publication = Publication(self.backend, self._memory, self.logger, self.hooks, bus)
        self._aside = 0

    def handle(self, event: Mapping[str, Any], context: object) -> Failures:
        """Publish the events of a batch; return from where to repeat it, if at all.

        The event ``{"redrive": true}``, which an operator sends, stands for what was set aside.
        """
        time, name = time_of(context), getattr(context, "function_name", "")
        if event.get(REDRIVE) is True:
            return self._redrive(time, name)
        records: Sequence[Record] = event.get("Records") or ()
        if self.reader is None:
            first = self._consume(records, time, name).first_failed
        else:
            first = self.reader(records, time, self._use(name)).first_failed
        return {_DONE: [] if first is None else [{"itemIdentifier": first}]}

    def _use(self, name: str) -> BatchUse:
        def consume(records: Sequence[Record], time: InvocationTime) -> BatchOutcome:
            return self._consume(records, time, name)

        def leave_out(record: Record, reason: str) -> None:
            self._set_aside(record, reason)
            self.count(1, name)

        return BatchUse(consume=consume, leave_out=leave_out)

    def _consume(self, records: Sequence[Record], time: InvocationTime, name: str) -> BatchOutcome:
        """Publish the events of a batch, as far as the time goes.

        :param name: of the function; empty where there are no metrics.
        """
        self._aside = 0
        failed: Failed = {}
        changes = [change for record in records if (change := self._change(record, failed))]
        self._then.send(changes, failed, time)
        self._publication.log(changes, failed, time)
        logged = [each for each in changes if each.number not in failed]
        self._publication.announce(logged, failed, time)
        self._publication.call_hooks(changes, failed, time)
        self._then.forget(changes, failed, time)
        self._then.list_completed(changes, failed, time)
        self._then.delete_messages(changes, time)
        self._then.wake(changes, time)
        self._then.count_jobs(changes, time)
        self._then.follow(changes, failed, time)
        self._then.release(changes, failed, time)
        is_refused = any(trouble and trouble.is_refused for trouble in failed.values())
        self._give_up(changes, failed)
        self._publish_metrics([each for each in changes if each.number not in failed], name)
        first = next((each for each in map(number_of, records) if each in failed), None)
        passed = itertools.takewhile(lambda number: number != first, map(number_of, records))
        known = frozenset(passed)
        if time.has():
            self._then.tally(changes, known)
        if time.has():
            self._then.note_tick(changes, known)
        return BatchOutcome(first, is_refused=is_refused)

    def _publish_metrics(self, published: Sequence[Change], name: str) -> None:
        if self._aside:
            self.count(self._aside, name)
        refused_puts = self.backend.events.take_refused()
        if name:
            if refused_puts:  # a metric costs by the hour in which it comes; most have none
                publish(name, [(REFUSED_PUTS_METRIC, "Count", refused_puts)])
            events = [event for each in published for event in each.events]
            self._measure(measured(events), name)
            if self.backend.settings.metrics_by_type:
                self._by_type(((event.job_type, event) for event in events), name)
            if self.backend.settings.metrics_by_tenant:
                named = ((each.tenant, event) for each in published for event in each.events)
                self._by_tenant(named, name)

    def _redrive(self, time: InvocationTime, name: str) -> Failures:
        """Publish what was set aside, each by itself; return what still cannot be published."""
        log = self.backend.events
        left = []
        for change in log.aside(MAX_REDRIVEN):
            is_left = not time.has()
            if not is_left:
                self._memory.begin_again(change.number)
                failed = self._consume([json.loads(change.record)], time, name).first_failed
                is_left = failed is not None or self._aside > 0
            if is_left:
                left.append({"itemIdentifier": change.number})
            else:
                log.forget_aside(change.number)
        return {_DONE: left}

    # ------------------------------------------------------------------------------- reading

    def _change(self, record: Mapping[str, Any], failed: Failed) -> Change | None:
        """Return the change that a record describes; an unreadable one is set aside."""
        if number_of(record) in self._memory.given_up:
            return None
        try:
            return change_of(record, self.read)
        except Exception as problem:  # whatever is wrong with it, the shard must go on
            about = {"record": number_of(record), "item": item_of(record)}
            self.logger.exception("Unreadable record", extra=about)
            try:
                self._set_aside(record, repr(problem))
            except OjsError as trouble:
                failed[number_of(record)] = trouble_of(trouble)
            else:
                self._memory.given_up.update({number_of(record)} - {UNKNOWN})
            return None

    # ---------------------------------------------------------------------------- giving up

    def _give_up(self, changes: Sequence[Change], failed: Failed) -> None:
        """Set aside what failed too often; if that fails, too, it comes again."""
        for change in changes:
            trouble = failed.get(change.number)
            if trouble is None:
                continue
            age_ms = self.backend.clock.now() - commit_of(change.record).at
            if not trouble.is_over(self._memory.tried(change.number), age_ms):
                continue
            try:
                self._set_aside(change.record, trouble.reason)
            except OjsError:
                continue
            self._memory.given_up.update([change.number])
            del failed[change.number]

    def _set_aside(self, record: Mapping[str, Any], reason: str) -> None:
        text = json.dumps(record, default=_as_text)
        aside = SetAside(number=number_of(record), reason=reason[:500], record=text)
        self.backend.events.set_aside(aside, self.backend.clock.now())
        about = {"record": aside.number, "item": item_of(record), "reason": reason}
        self.logger.error("Set a record aside", extra=about)
        self._aside += 1


def _as_text(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
