"""Fires cron jobs: each occurrence once, whoever ticks (ojs-cron, sections 6 and 7).

There is no leader: any number of ticks may run, and one conditional write per occurrence decides.
It fixes the id of the job; the job is pushed after it, and the claim settled last. Whoever finds a
claim that was not settled pushes the same job again, which PUSH recognises.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.conflicts import StaleCronError
from ojs_aws.domain.credentials import Actor, stored_actor
from ojs_aws.domain.cron import transitions as cron
from ojs_aws.domain.cron.entry import CronEntry, OverlapPolicy
from ojs_aws.domain.errors import BackendUnavailableError, ConflictError, NotFoundError, OjsError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.runtime import IdGenerator
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.cron import job_of
from ojs_aws.services.jobs.one_job import JobChanges
from ojs_aws.services.jobs.push import Push
from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.services.stored_jobs.messages import seconds_until

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.cron import CronEntries
    from ojs_aws.adapters.sqs import CronWakeUps

MAX_CONFLICTS: Final = 10
MAX_PER_TICK: Final = 1000

MAX_FIRED: Final = 50
"""Entries that a tick fires itself; the others it leaves to wake-ups, which run side by side."""

GRACE_MS: Final = 5_000
"""A claim younger than this is being settled by whoever made it."""

AHEAD_MS: Final = 75_000
"""How far ahead alarms are set: a tick comes each minute, and may be late."""

MANY_QUEUED: Final = 2
"""Held runs of one cron job beyond which a warning is logged (section 6.1)."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CronReport:
    """Counts what a tick did.

    :ivar cron_due: entries that it looked at.
    :ivar cron_fired: occurrences that it claimed.
    :ivar cron_failed: entries that met an error; the next tick goes on with them.
    :ivar cron_lag_ms: how long the most overdue one had been due.
    """

    cron_due: int = 0
    cron_fired: int = 0
    cron_failed: int = 0
    cron_lag_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CronScheduler:
    """Fires what is due, and sets the alarms of what soon will be."""

    entries: CronEntries
    wake_ups: CronWakeUps
    push: Push
    changer: JobChanger
    changes: JobChanges
    ids: IdGenerator

    def tick(self) -> CronReport:
        """Fire every entry that is due; an error in one does not stop the others."""
        now = self.changer.clock.now()
        listed = self.entries.due(Instant(now + AHEAD_MS), MAX_PER_TICK)
        due = [name for name, since in listed if since <= now]
        report = CronReport(cron_due=len(due))
        for name in due[:MAX_FIRED]:
            report = self._fire(name, report)
        for name, since in listed[min(len(due), MAX_FIRED) :]:
            self._alarm(name, since, now)
        return report

    def _fire(self, name: str, report: CronReport) -> CronReport:
        try:
            lateness = self.fire(name)
        except Exception:  # whatever it was, the other cron jobs must have their turn
            _logger.exception("Cron job %s could not be fired", name)
            return replace(report, cron_failed=report.cron_failed + 1)
        return replace(
            report,
            cron_fired=report.cron_fired + len(lateness),
            cron_lag_ms=max([report.cron_lag_ms, *lateness]),
        )

    def fire(self, name: str) -> list[int]:
        """Do what is due for one entry: finish a claim, release a held run, claim occurrences.

        :returns: for each occurrence that this call claimed, by how much it was late (ms).
        :raises BackendError: a call failed; the next tick goes on from there.
        """
        lateness: list[int] = []
        entry = self.entries.load(name)
        for _ in range(MAX_CONFLICTS):
            if entry is None or _is_in_hands(entry, self.changer.clock.now()):
                break
            try:
                entry = self._finished(entry)
                now = self.changer.clock.now()
                states = self._states(entry, now)
                entry = self._released(entry, states)
                if not cron.is_due(entry, now):
                    break
                claimed = cron.claim(entry, now, self.ids.job_id(), states)
                self.entries.save(entry, claimed)
                if claimed.latest is not None:
                    lateness.append(now - claimed.latest.scheduled_at)
                self.arm(claimed)
                entry = self._finished(claimed)
                if not cron.is_due(entry, self.changer.clock.now()):
                    break
            except StaleCronError as stale:
                entry = stale.current
        return lateness

    def trigger(self, name: str, by: Actor | None = None) -> CronEntry | None:
        """Claim and enqueue one occurrence now, whatever the plan says.

        :param by: who does it.
        :returns: the entry with the occurrence as its latest; None where there is no entry.
        :raises BackendError: a call failed, or others changed the entry all the time.
        """
        job_id = self.ids.job_id()
        entry = self.entries.load(name)
        for _ in range(MAX_CONFLICTS):
            if entry is None:
                return None
            try:
                entry = self._finished(entry)
                now = self.changer.clock.now()
                claimed = cron.trigger(entry, now, now, job_id, self._states(entry, now))
                number = claimed.latest.number if claimed.latest else 0
                claimed = replace(claimed, triggered_by=stored_actor(by, number))
                self.entries.save(entry, claimed)
            except StaleCronError as stale:
                entry = stale.current
                continue
            return self._settled(claimed)
        raise BackendUnavailableError(
            f"Cron job '{name}' is being changed by too many requests at once."
        )

    def arm(self, entry: CronEntry) -> None:
        """Set the alarm of an entry that is due before the next tick but one."""
        now = self.changer.clock.now()
        if entry.next_run_at is not None and entry.next_run_at <= now + AHEAD_MS:
            self._alarm(entry.name, entry.next_run_at, now)

    def _alarm(self, name: str, at: Instant, now: Instant) -> None:
        try:
            self.wake_ups.set(name, seconds_until(at, now))
        except OjsError:
            _logger.warning("Could not set the alarm of cron job %s; the tick has to do", name)

    def let_go(self, entry: CronEntry) -> CronEntry:
        """Release every held run at once: nobody will be left to do it.

        A claim is settled before that. Its job may be on its way, and if that is one to be held it
        would wait for ever; whoever pushes it later finds it there.

        :raises StaleCronError: somebody else changed the entry meanwhile.
        """
        entry = self._finished(entry)
        for job_id in entry.held:
            self._activate(job_id)
        return entry

    # ------------------------------------------------------------------ one claim
    def _finished(self, entry: CronEntry) -> CronEntry:
        """Return the entry without an unsettled claim.

        :raises StaleCronError: somebody else changed it meanwhile.
        """
        if not entry.is_claimed:
            return entry
        after = self._enqueue(entry)
        self.entries.save(entry, after)
        return after

    def _settled(self, claimed: CronEntry) -> CronEntry:
        """Return the entry with this very claim settled, also if others settle it, too."""
        after = self._enqueue(claimed)
        try:
            self.entries.save(claimed, after)
        except StaleCronError:
            _logger.info("The claim of cron job %s was settled elsewhere", claimed.name)
        return after

    def _enqueue(self, entry: CronEntry) -> CronEntry:
        """Push the job of a claim, and make room for it."""
        claimed = entry.latest
        assert claimed is not None  # noqa: S101 - what is_claimed says
        for job_id in claimed.cancels:
            self._cancel(job_id)
        try:
            pushed = self.push(job_of(entry))
        except OjsError as problem:
            if problem.retryable:
                raise
            if self.changer.store.load(claimed.job_id) is not None:
                return cron.settle(entry, claimed.job_id)  # pushed before, by another middleware
            _logger.warning("Cron job %s: the job was refused: %s", entry.name, problem.message)
            return cron.settle(entry, claimed.job_id, problem.code)
        if pushed.record is None:
            return cron.settle(entry, claimed.job_id, f"dropped_by:{pushed.dropped_by}")
        if pushed.record.id != claimed.job_id:
            return cron.settle(entry, claimed.job_id, "duplicate", pushed.record.id)
        if claimed.is_held and len(entry.held) > MANY_QUEUED:
            _logger.warning("Cron job %s has %d runs waiting", entry.name, len(entry.held))
        return cron.settle(entry, claimed.job_id)

    def _cancel(self, job_id: str) -> None:
        try:
            self.changes.cancel(job_id)
        except (ConflictError, NotFoundError):
            _logger.info("Job %s ended before it could be cancelled", job_id)

    # ------------------------------------------------------------------ held runs
    def _released(self, entry: CronEntry, states: dict[str, JobState]) -> CronEntry:
        """Return the entry after the next held run, if there is one, was released."""
        if not entry.held:
            return entry
        turn = cron.next_in_line(entry, states)
        if turn:
            self._activate(turn)
        after = cron.release(entry, turn, states)
        if after is not entry:
            self.entries.save(entry, after)
        return after

    def _activate(self, job_id: str) -> None:
        try:
            self.changes.activate(job_id)
        except (ConflictError, NotFoundError):
            _logger.info("Job %s did not wait any more", job_id)

    def _states(self, entry: CronEntry, now: Instant) -> dict[str, JobState]:
        """Return the states of the entry's runs as of now; none are read if runs may overlap."""
        is_watched = entry.definition.overlap is not OverlapPolicy.ALLOW or entry.held
        if not entry.runs or not is_watched:
            return {}
        states: dict[str, JobState] = {}
        for job_id, job in self.changer.store.load_many(entry.runs).items():
            try:
                states[job_id] = self.changer.settled(job, now).state
            except NotFoundError:
                continue
        return states


def _is_in_hands(entry: CronEntry, now: Instant) -> bool:
    """Return whether somebody else is settling a claim just now."""
    return (
        entry.latest is not None and entry.is_claimed and now - entry.latest.claimed_at < GRACE_MS
    )
