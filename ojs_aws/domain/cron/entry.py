"""Holds a registered cron job (ojs-cron, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ojs_aws.domain.cron.occurrences import DEFAULT_TIMEZONE
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant

NAME_PATTERN: Final = r"[a-z0-9][a-z0-9.-]*"
MAX_NAME_LENGTH: Final = 255


class OverlapPolicy(StrEnum):
    """Says what happens if an occurrence is due while an earlier run is active (section 6)."""

    SKIP = "skip"
    ALLOW = "allow"
    CANCEL_PREVIOUS = "cancel_previous"
    ENQUEUE = "enqueue"


class Outcome(StrEnum):
    """Says how an occurrence ended."""

    CLAIMED = "claimed"
    """Its job is being enqueued."""
    TRIGGERED = "triggered"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """Holds one time at which an entry was due or was triggered by hand.

    :ivar number: counts the occurrences of the entry.
    :ivar scheduled_at: when it was due.
    :ivar claimed_at: when somebody noticed.
    :ivar job_id: the job that it enqueues; empty when it is skipped.
    :ivar reason: why it was skipped.
    :ivar blocked_by: the active job for which it was skipped.
    :ivar cancels: active jobs that make room for its own.
    :ivar is_held: whether its job waits until earlier runs have ended.
    """

    number: int
    scheduled_at: Instant
    claimed_at: Instant
    outcome: Outcome
    job_id: str = ""
    reason: str = ""
    blocked_by: str = ""
    cancels: tuple[str, ...] = ()
    is_held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CronDefinition:
    """Holds what a client registers.

    :ivar document: the members of the job as the client wrote them: type, args, meta, options.
    :ivar envelope: the canonical envelope of the jobs, without an id.
    :ivar queue: of the envelope.
    """

    name: str
    expression: str
    type: str
    queue: str
    document: RawJson
    envelope: RawJson
    timezone: str = DEFAULT_TIMEZONE
    overlap: OverlapPolicy = OverlapPolicy.SKIP
    is_enabled: bool = True
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CronEntry:
    """Holds a registered cron job. Immutable: transitions return a new one.

    :ivar version: number of writes so far; each write is conditional on the one it read.
    :ivar anchor: what an interval counts from, in whole seconds.
    :ivar next_run_at: None while disabled.
    :ivar gap_at: a transition of the clocks that leaves out an occurrence before the next run.
    :ivar run_count: occurrences that were not skipped.
    :ivar runs: jobs that had not ended when last seen, oldest first.
    :ivar held: those of them that wait for the ones before.
    :ivar latest: the last occurrence.
    :ivar changed_by: who registered or changed it last, and which version that made.
    :ivar triggered_by: who triggered it last, and the number of the occurrence.
    """

    definition: CronDefinition
    version: int
    created_at: Instant
    updated_at: Instant
    anchor: Instant
    next_run_at: Instant | None = None
    gap_at: Instant | None = None
    last_run_at: Instant | None = None
    run_count: int = 0
    runs: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    latest: Occurrence | None = None
    changed_by: str = ""
    triggered_by: str = ""

    @property
    def name(self) -> str:
        """Return the name under which it is registered."""
        return self.definition.name

    @property
    def is_claimed(self) -> bool:
        """Return whether a claim is open: its job may or may not be enqueued yet."""
        return self.latest is not None and self.latest.outcome is Outcome.CLAIMED

    @property
    def attention_at(self) -> Instant | None:
        """Return when a tick must next look at it; None for never."""
        moments = [self.next_run_at, self.gap_at]
        if self.latest is not None and (self.is_claimed or self.held):
            moments.append(self.latest.claimed_at)
        return min((moment for moment in moments if moment is not None), default=None)
