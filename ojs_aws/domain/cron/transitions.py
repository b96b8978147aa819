"""Moves a cron job from one version to the next (ojs-cron, sections 6 and 7).

Pure: each function takes an entry and returns its next version. An occurrence is claimed by
writing the claim, which fixes the id of the job to come; the job is pushed afterwards, and the
claim settled. Whoever finds a claim that was not settled goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ojs_aws.domain.cron.entry import CronDefinition, CronEntry, Occurrence, Outcome, OverlapPolicy
from ojs_aws.domain.cron.schedule import parse_schedule
from ojs_aws.domain.job import JobState
from ojs_aws.domain.timestamps import Instant

MAX_RUNS: Final = 100
"""Unfinished runs that an entry remembers."""

MAX_UNWATCHED: Final = 10
"""The same where runs may overlap: nobody looks at them, unless the policy changes."""

OVERLAP: Final = "overlap_skip"
DST: Final = "dst_skip"


def register(existing: CronEntry | None, definition: CronDefinition, now: Instant) -> CronEntry:
    """Return a new entry, or the entry with a new definition (section 8.1).

    The next run stays as planned when the schedule does: applications register at each start.
    """
    if existing is None:
        fresh = CronEntry(
            definition=definition, version=1, created_at=now, updated_at=now, anchor=now
        )
        return _planned_afresh(fresh, now)
    old = existing.definition
    changed = _next(existing, definition=definition, updated_at=now)
    schedule = (definition.expression, definition.timezone, definition.is_enabled)
    is_same = schedule == (old.expression, old.timezone, old.is_enabled)
    return changed if is_same else _planned_afresh(changed, now)


def set_enabled(entry: CronEntry, now: Instant, *, is_enabled: bool) -> CronEntry:
    """Enable or disable an entry (section 8.5). Occurrences missed while disabled are lost."""
    if entry.definition.is_enabled is is_enabled:
        return entry
    definition = replace(entry.definition, is_enabled=is_enabled)
    return _planned_afresh(_next(entry, definition=definition, updated_at=now), now)


def is_due(entry: CronEntry, now: Instant) -> bool:
    """Return whether an occurrence must be claimed, one skipped by a clock change included."""
    moments = (entry.next_run_at, entry.gap_at)
    return any(moment is not None and moment <= now for moment in moments)


def claim(entry: CronEntry, now: Instant, job_id: str, states: Mapping[str, JobState]) -> CronEntry:
    """Claim one due occurrence, however many were missed (section 7.3).

    :param job_id: the id of the job to come.
    :param states: of the entry's runs, as they are now; runs that are gone are not in it.
    """
    if entry.gap_at is not None and entry.gap_at <= now:
        skipped = _occurrence(entry, entry.gap_at, now, Outcome.SKIPPED, reason=DST)
        return _next(entry, gap_at=_following_gap(entry, entry.gap_at), latest=skipped)
    due = entry.next_run_at
    assert due is not None  # noqa: S101 - what is_due says
    return _planned(trigger(entry, due, now, job_id, states), now)


def trigger(
    entry: CronEntry, due: Instant, now: Instant, job_id: str, states: Mapping[str, JobState]
) -> CronEntry:
    """Claim an occurrence by hand, under the overlap policy; the schedule does not change."""
    policy = entry.definition.overlap
    alive = tuple(
        run for run in entry.runs if policy is OverlapPolicy.ALLOW or _is_alive(states, run)
    )
    active = [run for run in alive if states.get(run) is JobState.ACTIVE]
    held = tuple(run for run in entry.held if run in alive)
    is_held = policy is OverlapPolicy.ENQUEUE and bool(alive)
    is_full = is_held and len(alive) >= MAX_RUNS
    if is_full or (policy is OverlapPolicy.SKIP and active):
        blocked_by = (active or [*alive])[-1]
        latest = _occurrence(
            entry, due, now, Outcome.SKIPPED, reason=OVERLAP, blocked_by=blocked_by
        )
        return _next(entry, runs=alive, held=held, latest=latest)
    most = MAX_UNWATCHED if policy is OverlapPolicy.ALLOW else MAX_RUNS
    cancels = tuple(active) if policy is OverlapPolicy.CANCEL_PREVIOUS else ()
    latest = _occurrence(
        entry, due, now, Outcome.CLAIMED, job_id=job_id, cancels=cancels, is_held=is_held
    )
    return _next(
        entry,
        runs=(*_room(alive, held, most), job_id),
        held=(*held, job_id) if is_held else held,
        latest=latest,
        last_run_at=now,
        run_count=entry.run_count + 1,
    )


def _room(alive: tuple[str, ...], held: tuple[str, ...], most: int) -> tuple[str, ...]:
    """Return the runs without the oldest if there are too many; held runs are kept."""
    if len(alive) < most:
        return alive
    oldest = next((run for run in alive if run not in held), "")
    return tuple(run for run in alive if run != oldest)


def settle(entry: CronEntry, job_id: str, refusal: str = "", blocked_by: str = "") -> CronEntry:
    """Close the claim once its job is enqueued, or will never be.

    :param refusal: why not; empty for success.
    """
    latest = entry.latest
    if latest is None or not entry.is_claimed or latest.job_id != job_id:
        return entry
    if not refusal:
        return _next(entry, latest=replace(latest, outcome=Outcome.TRIGGERED))
    skipped = replace(latest, outcome=Outcome.SKIPPED, reason=refusal, blocked_by=blocked_by)
    return _next(
        entry,
        latest=skipped,
        runs=tuple(run for run in entry.runs if run != job_id),
        held=tuple(run for run in entry.held if run != job_id),
        run_count=entry.run_count - 1,
    )


def next_in_line(entry: CronEntry, states: Mapping[str, JobState]) -> str:
    """Return the held job that runs next; empty while an earlier run is active."""
    first = next((run for run in entry.runs if _is_alive(states, run)), "")
    return first if first in entry.held else ""


def release(entry: CronEntry, job_id: str, states: Mapping[str, JobState]) -> CronEntry:
    """Return the entry without one held job and without the runs that have ended."""
    alive = tuple(run for run in entry.runs if _is_alive(states, run))
    held = tuple(run for run in entry.held if run in alive and run != job_id)
    if (alive, held) == (entry.runs, entry.held):
        return entry
    return _next(entry, runs=alive, held=held)


def _is_alive(states: Mapping[str, JobState], run: str) -> bool:
    return run in states and not states[run].is_terminal


def _occurrence(
    entry: CronEntry,
    due: Instant,
    now: Instant,
    outcome: Outcome,
    *,
    job_id: str = "",
    reason: str = "",
    blocked_by: str = "",
    cancels: tuple[str, ...] = (),
    is_held: bool = False,
) -> Occurrence:
    return Occurrence(
        number=entry.latest.number + 1 if entry.latest else 1,
        scheduled_at=due,
        claimed_at=now,
        outcome=outcome,
        job_id=job_id,
        reason=reason,
        blocked_by=blocked_by,
        cancels=cancels,
        is_held=is_held,
    )


def coming_runs(entry: CronEntry, count: int) -> list[Instant]:
    """Return when a cron job runs next, as long as nobody changes it; nothing while disabled."""
    schedule = parse_schedule(entry.definition.expression, entry.definition.timezone)
    runs: list[Instant] = []
    at = entry.next_run_at
    while at is not None and len(runs) < count:
        runs.append(at)
        at = schedule.after(at, entry.anchor).at
    return runs


def _planned_afresh(entry: CronEntry, now: Instant) -> CronEntry:
    """Return the plan of an entry whose schedule begins now.

    It begins after the latest occurrence, which a clock ahead of this one may have claimed.
    """
    whole_second = Instant(-(-now // 1000) * 1000)
    latest = entry.latest.scheduled_at if entry.latest else now
    return _planned(replace(entry, anchor=whole_second), max(now, latest))


def _planned(entry: CronEntry, now: Instant) -> CronEntry:
    """Return the entry with its next run after now; its version stays."""
    if not entry.definition.is_enabled:
        return replace(entry, next_run_at=None, gap_at=None)
    schedule = parse_schedule(entry.definition.expression, entry.definition.timezone)
    upcoming = schedule.after(now, entry.anchor)
    return replace(entry, next_run_at=upcoming.at, gap_at=upcoming.gap_at)


def _following_gap(entry: CronEntry, gap_at: Instant) -> Instant | None:
    """Return the gap that swallowed another occurrence between a gap and the next run, if any."""
    if entry.next_run_at == gap_at:
        return None
    schedule = parse_schedule(entry.definition.expression, entry.definition.timezone)
    return schedule.after(gap_at, entry.anchor).gap_at


def _next(entry: CronEntry, **changes: Any) -> CronEntry:
    return replace(entry, version=entry.version + 1, **changes)
