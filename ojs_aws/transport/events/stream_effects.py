"""Does what follows a committed change: events, messages, counters, workflows, cron.

Each can be repeated: what the memory has is left out. What fails is noted, and tried again with its
record, unless something else makes up for it anyhow. No call begins once an invocation has no time
for one that hangs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.events import FAILED, HANDLED_MARK, Announce, Event
from ojs_aws.domain.job import JobRecord, StoredElsewhere
from ojs_aws.services.workflows.stream_stage import follow
from ojs_aws.transport.events.records import Change, about
from ojs_aws.transport.events.stream_reader import (
    HOOK_MS,
    Failed,
    InvocationTime,
    Memory,
    Trouble,
    refused,
    trouble_of,
)
from ojs_aws.transport.tracing import WORKFLOW_SPAN, Tracing

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from ojs_aws.services.backend import Backend

Hooks = Callable[[Event], None]
"""Called with each event, at least once, in order for each subject; raises to have it repeated."""

OUTAGE: Final = 3
"""Items whose events cannot be logged before the others of the batch are not even tried."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Publishes the events of a batch of changes, and remembers in ``memory`` what is published."""

    backend: Backend
    memory: Memory
    logger: Logger
    hooks: Hooks | None
    bus: Announce

    def log(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Append missing events to the log: all at once, else each change by itself."""
        logged = self.memory.logged
        pending = [each for each in changes if any(e.id not in logged for e in each.events)]
        if not pending:
            return
        if time.has():
            try:
                self._append([event for change in pending for event in change.events])
            except Exception:  # a single event may be the reason
                self.logger.warning("Could not log a batch at once", exc_info=True)
            else:
                return
        self._log_one_by_one(pending, failed, time)

    def _log_one_by_one(
        self, pending: Sequence[Change], failed: Failed, time: InvocationTime
    ) -> None:
        held: set[str] = set()
        for change in pending:
            if change.subject in held or len(held) >= OUTAGE or not time.has():
                failed.setdefault(change.number, None)
                continue
            try:
                self._append(change.events)
            except Exception as problem:
                self.logger.exception("Could not log", extra=about(change))
                failed[change.number] = trouble_of(problem)
                held.add(change.subject)

    def _append(self, events: Sequence[Event]) -> None:
        missing = [event for event in events if event.id not in self.memory.logged]
        self.backend.events.append(missing, self.backend.clock.now())
        self.memory.logged.update(event.id for event in missing)

    def announce(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Put the events on the bus that it does not have yet."""
        announced = self.memory.announced
        events = [e for change in changes for e in change.events if e.id not in announced]
        if not events:
            return
        missing = {event.id for event in events}
        trouble: Trouble | None = None
        if time.has():
            missing = self._put_on_bus(events)
            announced.update(event.id for event in events if event.id not in missing)
            kinds = {event.type for event in events if event.id in missing}
            alike = [e for change in changes for e in change.events if e.type in kinds]
            is_outage = not any(event.id in announced for event in alike)
            trouble = refused("The bus refused it.", is_outage=is_outage)
        for change in changes:
            if any(event.id in missing for event in change.events):
                failed[change.number] = trouble

    def _put_on_bus(self, events: Sequence[Event]) -> set[str]:
        """Put events on the bus; return the ids of those that it did not take."""
        try:
            missing = set(self.bus(events))
        except Exception:  # whatever happened, it is not known to be there
            self.logger.exception("Could not publish to the bus")
            missing = {event.id for event in events}
        if missing:
            self.logger.warning("The bus refused events", extra={"count": len(missing)})
        return missing

    def call_hooks(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Call the hooks while there is time; after one fails, later events of its subject wait."""
        if self.hooks is None:
            return
        held: set[str] = set()
        for change in changes:
            if change.number in failed or change.subject in held or not time.has(HOOK_MS):
                failed.setdefault(change.number, None)
                held.add(change.subject)
                continue
            try:
                for event in change.events:
                    if event.id not in self.memory.hooked:
                        self.hooks(event)
                        self.memory.hooked.update([event.id])
            except Exception as problem:  # a user's code may raise anything
                self.logger.exception("A hook failed", extra=about(change))
                failed[change.number] = Trouble(f"A hook failed: {problem!r}")
                held.add(change.subject)


@dataclass(frozen=True, slots=True)
class Consequences:
    """Applies the effects of a batch of changes, and remembers in ``memory`` what is done."""

    backend: Backend
    memory: Memory
    logger: Logger
    tracing: Tracing

    def send(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Send the messages of jobs that applications stored in their own transactions."""
        unsent: list[Change] = []
        for change in changes:
            if change.unsent is None or change.number in self.memory.sent:
                continue
            if not time.has():
                failed[change.number] = None
            elif self.backend.jobs.new_jobs.send_late(change.unsent):
                self.memory.sent.update([change.number])
            else:
                unsent.append(change)
        is_outage = not any(each.unsent and each.number in self.memory.sent for each in changes)
        for change in unsent:
            failed[change.number] = refused("Its message was not sent.", is_outage=is_outage)

    def forget(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Remove what jobs left behind: DynamoDB removes only their items."""
        for change in changes:
            if not (change.expired or change.replaced or change.removed):
                continue
            if not time.has():
                failed.setdefault(change.number, None)
                continue
            try:
                if change.expired is not None:
                    self._forget_documents(change.expired)
                if change.replaced is not None:
                    self.backend.stores.store.forget_document(*change.replaced)
                if (gone := change.removed) is not None:
                    self.backend.stores.unique().forget(gone.unique_key, gone.id)
            except OjsError as problem:
                self.logger.warning(
                    "Could not remove what a job left", exc_info=True, extra=about(change)
                )
                failed[change.number] = trouble_of(problem)

    def _forget_documents(self, job: JobRecord) -> None:
        """Remove a job's documents; not the result if a job with this id exists again."""
        store = self.backend.stores.store
        if isinstance(job.result, StoredElsewhere) and store.load(job.id) is not None:
            job = replace(job, result=None)
        store.forget_documents(job)

    def list_completed(
        self, changes: Sequence[Change], failed: Failed, time: InvocationTime
    ) -> None:
        """List the completed jobs that ACK did not; each record once in this process."""
        listed = self.memory.listed
        found = [each for each in changes if each.unlisted and each.number not in listed]
        if not found:
            return
        trouble: Trouble | None = None
        if time.has():
            try:
                self.backend.stores.store.list_completed([e.unlisted for e in found if e.unlisted])
            except OjsError as problem:
                self.logger.warning("Could not list completed jobs", exc_info=True)
                trouble = trouble_of(problem)
            else:
                listed.update(each.number for each in found)
                return
        for change in found:
            failed.setdefault(change.number, trouble)

    def delete_messages(self, changes: Sequence[Change], time: InvocationTime) -> None:
        """Delete the messages of completed jobs, ten in a call; each record once in this process.

        One that is not deleted comes back when its reservation ends, and is found to be stray.
        """
        deleted = self.memory.deleted
        found = [each for each in changes if each.holding and each.number not in deleted]
        self.backend.job_messages.delete_left(
            [each.holding for each in found if each.holding], self.backend.clock.now(), time.has
        )
        deleted.update(each.number for each in found)

    def wake(self, changes: Sequence[Change], time: InvocationTime) -> None:
        """Let the next run of a cron job begin; the tick would do so within a minute."""
        for name in dict.fromkeys(change.job_messages for change in changes if change.job_messages):
            if not time.has():
                return
            try:
                self.backend.stores.wake_ups().set(name, 0)
            except OjsError:
                self.logger.warning("Could not wake a cron job", extra={"cron_name": name})

    def count_jobs(self, changes: Sequence[Change], time: InvocationTime) -> None:
        """Count jobs that came and went in bounded queues; each record once in this process.

        The tick recounts what could not be counted, or had no time.
        """
        counted = self.memory.counted
        found = [each for each in changes if each.jobs and each.number not in counted]
        try:
            if time.has():
                self.backend.queues.backpressure.follow([each.jobs for each in found if each.jobs])
        except OjsError:
            self.logger.warning("Could not count the jobs of queues", exc_info=True)
        counted.update(each.number for each in found)

    def follow(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Move workflows on, even if something else failed."""
        found = [(each.number, each.following) for each in changes if each.following is not None]
        if not found:
            return
        with self.tracing.span(WORKFLOW_SPAN):
            failures = follow(lambda: self.backend.workflows.advance, found, time.has)
        for number, problem in failures.items():
            failed.setdefault(number, None if problem is None else trouble_of(problem))

    def release(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Move sequences on; each record once in this process."""
        done = self.memory.released
        moved = [(each.number, each.in_sequence) for each in changes if each.number not in done]
        found = [(number, moves) for number, moves in moved if moves is not None]
        if not found:
            return
        from ojs_aws.services.sequences import advance  # few jobs are part of one

        failures = advance.follow(lambda: self.backend.sequence_advance, found, time.has)
        for number, problem in failures.items():
            failed.setdefault(number, None if problem is None else trouble_of(problem))
        done.update(number for number, _ in found if number not in failures)

    def note_tick(self, changes: Sequence[Change], passed: frozenset[str]) -> None:
        """Note the latest tick whose change, and those before it, will not come again."""
        ticks = [each.ticked for each in changes if each.ticked and each.number in passed]
        if not ticks:
            return
        try:
            self.backend.stores.watermarks().move(HANDLED_MARK, max(ticks))
        except OjsError:  # the next tick's makes up for it
            self.logger.warning("Could not note how far events are", exc_info=True)

    def tally(self, changes: Sequence[Change], passed: frozenset[str]) -> None:
        """Count what changed with the records that will not come again; the last thing done.

        What was set aside counts when it is published. Nothing here holds back a record.
        """
        known = self.memory
        found = [each for each in changes if each.changed and each.number in passed]
        found = [each for each in found if each.number not in known.given_up]
        found = [each for each in found if each.number not in known.tallied]
        if not found:
            return
        changed = [each.changed for each in found if each.changed]
        self.backend.queues.counters(changed)
        if runs := [each for each in changed if each.run_ms is not None]:
            self.backend.queues.costs.note(runs)
        known.tallied.update(each.number for each in found)
        failures = [event for each in found for event in each.events if event.type == FAILED]
        if failures:
            self.backend.failures.record(failures)
