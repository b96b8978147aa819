"""Publishes the events of committed changes: to the log, then to the bus, then to the hooks.

Each can be repeated: what the memory has is left out. What fails is noted with its record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.events import Event
from ojs_aws.transport.events.invocation_time import HOOK_MS, InvocationTime
from ojs_aws.transport.events.records import Change, about
from ojs_aws.transport.events.stream_retries import Failed, Memory, Trouble, refused, trouble_of

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from ojs_aws.services.backend import Backend

Hooks = Callable[[Event], None]
"""Called with each event, at least once, in order for each subject; raises to have it repeated."""

OUTAGE: Final = 3
"""Items whose events cannot be logged before the others of the batch are not even tried."""


class Publication:
    """Publishes the events of a batch of changes."""

    def __init__(
        self, backend: Backend, memory: Memory, logger: Logger, hooks: Hooks | None
    ) -> None:
        """Remember in ``memory`` what is published."""
        self._backend = backend
        self._memory = memory
        self._logger = logger
        self._hooks = hooks
        self._announce = backend.stores.announce()

    def log(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Append missing events to the log: all at once, else each change by itself."""
        logged = self._memory.logged
        pending = [each for each in changes if any(e.id not in logged for e in each.events)]
        if not pending:
            return
        if time.has():
            try:
                self._append([event for change in pending for event in change.events])
            except Exception:  # a single event may be the reason
                self._logger.warning("Could not log a batch at once", exc_info=True)
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
                self._logger.exception("Could not log", extra=about(change))
                failed[change.number] = trouble_of(problem)
                held.add(change.subject)

    def _append(self, events: Sequence[Event]) -> None:
        missing = [event for event in events if event.id not in self._memory.logged]
        self._backend.events.append(missing, self._backend.clock.now())
        self._memory.logged.update(event.id for event in missing)

    def announce(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Put the events on the bus that it does not have yet."""
        announced = self._memory.announced
        events = [e for change in changes for e in change.events if e.id not in announced]
        if not events:
            return
        missing = {event.id for event in events}
        trouble: Trouble | None = None
        if time.has():
            missing = self._refused(events)
            announced.update(event.id for event in events if event.id not in missing)
            kinds = {event.type for event in events if event.id in missing}
            alike = [e for change in changes for e in change.events if e.type in kinds]
            is_outage = not any(event.id in announced for event in alike)
            trouble = refused("The bus refused it.", is_outage=is_outage)
        for change in changes:
            if any(event.id in missing for event in change.events):
                failed[change.number] = trouble

    def _refused(self, events: Sequence[Event]) -> set[str]:
        """Put events on the bus; return the ids of those that it did not take."""
        try:
            missing = set(self._announce(events))
        except Exception:  # whatever happened, it is not known to be there
            self._logger.exception("Could not publish to the bus")
            missing = {event.id for event in events}
        if missing:
            self._logger.warning("The bus refused events", extra={"count": len(missing)})
        return missing

    def call_hooks(self, changes: Sequence[Change], failed: Failed, time: InvocationTime) -> None:
        """Call the hooks while there is time; after one fails, later events of its subject wait."""
        if self._hooks is None:
            return
        held: set[str] = set()
        for change in changes:
            if change.number in failed or change.subject in held or not time.has(HOOK_MS):
                failed.setdefault(change.number, None)
                held.add(change.subject)
                continue
            try:
                for event in change.events:
                    if event.id not in self._memory.hooked:
                        self._hooks(event)
                        self._memory.hooked.update([event.id])
            except Exception as problem:  # a user's code may raise anything
                self._logger.exception("A hook failed", extra=about(change))
                failed[change.number] = Trouble(f"A hook failed: {problem!r}")
                held.add(change.subject)
