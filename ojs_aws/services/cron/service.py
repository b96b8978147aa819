"""Manages cron jobs: registration and all operations on them (ojs-cron, section 8)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import field_error, invalid, unknown_cron
from ojs_aws.domain.conflicts import StaleCronError
from ojs_aws.domain.credentials import Actor, stored_actor
from ojs_aws.domain.cron import transitions as cron
from ojs_aws.domain.cron.entry import (
    MAX_NAME_LENGTH,
    NAME_PATTERN,
    CronDefinition,
    CronEntry,
    Occurrence,
    OverlapPolicy,
)
from ojs_aws.domain.cron.occurrences import check_timezone
from ojs_aws.domain.cron.schedule import check_schedule
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendUnavailableError,
    InvalidRequestError,
    JsonValue,
    PayloadTooLargeError,
)
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.cron.scheduler import MAX_CONFLICTS, CronScheduler
from ojs_aws.services.jobs.push import Push

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.cron import CronEntries

MAX_TEMPLATE_BYTES: Final = 32_768
MAX_DESCRIPTION: Final = 1024

_NAME: Final = re.compile(NAME_PATTERN, re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Holds what a client asks for, its members not checked yet.

    :ivar document: the members of the job as the client wrote them.
    :ivar job: the envelope that they mean.
    """

    name: JsonValue
    expression: JsonValue
    timezone: JsonValue
    overlap: JsonValue
    is_enabled: JsonValue
    description: JsonValue
    document: RawJson
    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """Registers, lists, changes, removes and triggers cron jobs."""

    entries: CronEntries
    firing: CronScheduler
    push: Push
    clock: Clock

    def register(self, wanted: Registration, by: Actor | None = None) -> tuple[CronEntry, bool]:
        """Register a cron job, or give the one with this name a new definition.

        :param by: who does it.
        :returns: the entry, and whether it is new.
        :raises InvalidRequestError: naming the member at fault; nothing is stored.
        :raises PayloadTooLargeError: the job's members have more than 32 KB.
        """
        definition = self._definition(wanted, self.clock.now())
        existing = self.entries.load(definition.name)
        for _ in range(MAX_CONFLICTS):
            after = _signed(cron.register(existing, definition, self.clock.now()), by)
            try:
                self.entries.save(existing, after)
            except StaleCronError as stale:
                existing = stale.current
                continue
            self.firing.arm(after)
            return after, existing is None
        raise _contended(definition.name)

    def change(
        self,
        name: str,
        amended: Callable[[CronEntry], Registration],
        by: Actor | None = None,
    ) -> CronEntry:
        """Change a cron job, unless it has changed since it was read.

        :param amended: makes the registration after the change; called again for each change of
            others that came first.
        :param by: who does it.
        :raises NotFoundError: there is none of this name.
        :raises OjsError: as :meth:`register`, and whatever ``amended`` raises.
        """

        def changed(entry: CronEntry) -> CronEntry:
            now = self.clock.now()
            return _signed(cron.register(entry, self._definition(amended(entry), now), now), by)

        after = self._change(name, changed)
        self.firing.arm(after)
        return after

    def _definition(self, wanted: Registration, now: Instant) -> CronDefinition:
        """Return the definition, checked member by member."""
        name = check_name(wanted.name)
        timezone = check_timezone(wanted.timezone)
        check_schedule(wanted.expression, timezone, now)
        overlap, description = wanted.overlap, wanted.description
        if not isinstance(overlap, str) or overlap not in set(OverlapPolicy):
            raise invalid("overlap_policy", "one of " + ", ".join(OverlapPolicy), overlap)
        if not isinstance(wanted.is_enabled, bool):
            raise invalid("enabled", "a boolean", wanted.is_enabled)
        if description is not None and not (
            isinstance(description, str) and len(description) <= MAX_DESCRIPTION
        ):
            raise invalid("description", f"at most {MAX_DESCRIPTION} characters", description)
        record = self.push.check(wanted.job)
        if record.sequence is not None and overlap == OverlapPolicy.ENQUEUE:
            raise _waits_twice()
        size = len(wanted.document.encode("utf-8", "surrogatepass"))
        if size > MAX_TEMPLATE_BYTES:
            raise PayloadTooLargeError(
                f"The job of the cron job has {size} bytes; at most {MAX_TEMPLATE_BYTES} are "
                "accepted.",
                details={"size_bytes": size, "max_bytes": MAX_TEMPLATE_BYTES},
                hint="Store the data elsewhere and send a reference to it.",
            )
        return CronDefinition(
            name=name,
            expression=str(wanted.expression),
            type=record.type,
            queue=record.queue,
            document=wanted.document,
            envelope=wanted.job.to_json(),
            timezone=timezone,
            overlap=OverlapPolicy(overlap),
            is_enabled=wanted.is_enabled,
            description=description,
        )

    def get(self, name: str) -> CronEntry:
        """Read a cron job.

        :raises NotFoundError: there is none of this name.
        """
        return _found(self.entries.load(name), name)

    def list(self, *, is_enabled: bool | None = None) -> list[CronEntry]:
        """Return the cron jobs by name.

        :param is_enabled: only those that are, or are not; None means all.
        """
        entries = self.entries.all()
        if is_enabled is None:
            return entries
        return [entry for entry in entries if entry.definition.is_enabled is is_enabled]

    def set_enabled(self, name: str, *, is_enabled: bool, by: Actor | None = None) -> CronEntry:
        """Enable or disable a cron job; again changes nothing.

        :raises NotFoundError: there is none of this name.
        """

        def changed(entry: CronEntry) -> CronEntry:
            after = cron.set_enabled(entry, self.clock.now(), is_enabled=is_enabled)
            return entry if after is entry else _signed(after, by)

        after = self._change(name, changed)
        self.firing.arm(after)
        return after

    def delete(self, name: str) -> CronEntry:
        """Remove a cron job. Jobs that it enqueued stay, and held ones are released.

        :raises NotFoundError: there is none of this name.
        """
        entry = self.get(name)
        for _ in range(MAX_CONFLICTS):
            try:
                entry = self.firing.let_go(entry)
                self.entries.delete(entry)
            except StaleCronError as stale:
                entry = _found(stale.current, name)
                continue
            return entry
        raise _contended(name)

    def trigger(self, name: str, by: Actor | None = None) -> tuple[CronEntry, Occurrence]:
        """Run a cron job now, under its overlap policy, also while it is disabled.

        :param by: who does it.
        :returns: the entry, and what became of the occurrence.
        :raises NotFoundError: there is none of this name.
        """
        entry = self.firing.trigger(name, by)
        entry = _found(entry, name)
        if entry.latest is None:  # pragma: no cover - a trigger leaves an occurrence
            raise _contended(name)
        return entry, entry.latest

    def _change(self, name: str, decide: Callable[[CronEntry], CronEntry]) -> CronEntry:
        entry = self.get(name)
        for _ in range(MAX_CONFLICTS):
            after = decide(entry)
            if after is entry:
                return entry
            try:
                self.entries.save(entry, after)
            except StaleCronError as stale:
                entry = _found(stale.current, name)
                continue
            return after
        raise _contended(name)


def _signed(entry: CronEntry, by: Actor | None) -> CronEntry:
    """Return an entry with who made this version of it."""
    return replace(entry, changed_by=stored_actor(by, entry.version))


def check_name(value: JsonValue) -> str:
    """Return the name of a cron job, checked (section 2.2).

    :raises InvalidRequestError: saying what a name may hold.
    """
    if isinstance(value, str) and len(value) <= MAX_NAME_LENGTH and _NAME.fullmatch(value):
        return value
    expected = "lowercase letters, digits, hyphens and dots, at most 255 characters"
    raise invalid("name", expected, value, missing=value is None)


def _waits_twice() -> InvalidRequestError:
    """Return the error of a held run that would be pending for two reasons."""
    return field_error(
        "sequence",
        f"The 'sequence' attribute does not go with the overlap policy '{OverlapPolicy.ENQUEUE}'.",
        f"Use '{OverlapPolicy.ALLOW}': a sequence lets each run wait for the one before.",
    )


def _found(entry: CronEntry | None, name: str) -> CronEntry:
    if entry is None:
        raise unknown_cron(name)
    return entry


def _contended(name: str) -> BackendUnavailableError:
    return BackendUnavailableError(
        f"Cron job '{name}' is being changed by too many requests at once.",
        hint="Repeat the request.",
    )
