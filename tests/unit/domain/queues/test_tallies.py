"""What a queue did in a time, and how long its jobs waited and ran."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.queues.tallies import TOP, Tally, TallyKind, Times, range_of, total, typical
from ojs_aws.domain.timestamps import Instant

JOB = JobRecord(
    id="a",
    type="t",
    queue="q",
    state=JobState.AVAILABLE,
    priority=0,
    attempt=0,
    version=1,
    order=1,
    document="{}",  # type: ignore[arg-type]
    timeout_ms=1,
    created_at=Instant(0),
    enqueued_at=Instant(10),
)
ACTIVE = replace(JOB, state=JobState.ACTIVE, attempt=1, started_at=Instant(40))


def counted(*states: JobRecord | None) -> Tally:
    """What the changes from one to the next count."""
    tally = Tally()
    for before, after in itertools.pairwise(states):
        assert after is not None
        tally.count(before, after)
    return tally


def test_a_life_counts_each_of_its_steps_once() -> None:
    """It waits from when it became available, and runs from its start."""
    done = replace(ACTIVE, state=JobState.COMPLETED, completed_at=Instant(140))
    tally = counted(None, JOB, ACTIVE, replace(ACTIVE, attempt=1), done)
    assert tally.counts == {TallyKind.ENQUEUED: 1, TallyKind.STARTED: 1, TallyKind.COMPLETED: 1}
    assert (tally.waits.average_ms, tally.runs.average_ms) == (30, 100)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (JobState.DISCARDED, TallyKind.FAILED),
        (JobState.CANCELLED, TallyKind.CANCELLED),
        (JobState.RETRYABLE, TallyKind.RETRIED),
        (JobState.AVAILABLE, TallyKind.RETRIED),
    ],
)
def test_an_execution_that_did_not_complete_is_counted_by_its_outcome(
    state: JobState, kind: TallyKind
) -> None:
    """Its time is none of those that ran."""
    tally = counted(ACTIVE, replace(ACTIVE, state=state))
    assert tally.counts == {kind: 1}
    assert tally.runs.average_ms is None


def test_a_job_that_only_waits_counts_when_it_came() -> None:
    """Its schedule's end is no second coming; neither is the end of a backoff."""
    scheduled = replace(JOB, state=JobState.SCHEDULED)
    assert counted(None, scheduled, JOB).counts == {TallyKind.ENQUEUED: 1}
    assert not counted(replace(JOB, state=JobState.RETRYABLE), JOB)


@given(st.lists(st.integers(0, 10**10), min_size=1), st.sampled_from([0.0, 0.5, 0.95, 0.99]))
def test_a_percentile_is_right_to_within_a_fifth(values: list[int], share: float) -> None:
    """Whatever the times; the average is exact."""
    times = Times()
    for value in values:
        times.add(value)
    exact = sorted(values)[min(len(values) - 1, int(len(values) * share))]
    found = times.percentile_ms(share)
    assert found is not None
    if range_of(exact) < TOP:
        assert abs(found - exact) <= 0.2 * exact + 0.5  # it is whole
    assert times.average_ms == round(sum(values) / len(values))


def test_tallies_add_up() -> None:
    """Minutes make hours: in any order the same."""
    parts = []
    for seed in range(20):
        part, chance = Tally(), random.Random(seed)
        part.counts[chance.choice(list(TallyKind))] += chance.randint(1, 9)
        part.waits.add(chance.randint(0, 10**6))
        part.runs.add(chance.randint(0, 10**6))
        parts.append(part)
    whole = total(parts)
    assert whole == total(reversed(parts))
    assert (whole.waits.count, whole.runs.count) == (20, 20)
    assert whole.waits.total_ms == sum(part.waits.total_ms for part in parts)


def test_nothing_has_no_average_and_no_percentile() -> None:
    """Rather than 0, which would be a time."""
    assert (Times().average_ms, Times().percentile_ms(0.5)) == (None, None)
    assert [typical(range_of(value)) for value in (-5, 0, 1)] == [0, 0, 1]
