"""A job as the system holds it."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.job import JobRecord, JobState, Reservation, StoredElsewhere
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.retry import RetryPolicy
from ojs_aws.domain.timestamps import Instant

JOB = JobRecord(
    id="01990000-0000-7000-8000-000000000001",
    type="a.b",
    queue="default",
    state=JobState.AVAILABLE,
    priority=0,
    attempt=0,
    version=1,
    order=1_760_000_000_000_000,
    document=RawJson('{"args":["\u00e4"]}'),
    timeout_ms=60_000,
    created_at=Instant(1_760_000_000_000),
)


def test_there_are_eight_states_and_three_of_them_are_terminal() -> None:
    """STATE-003, ENV-053."""
    assert {state.value for state in JobState} == {
        "scheduled",
        "available",
        "pending",
        "active",
        "completed",
        "retryable",
        "cancelled",
        "discarded",
    }
    terminal = {state.value for state in JobState if state.is_terminal}
    assert terminal == {"completed", "cancelled", "discarded"}
    assert json.dumps(JobState.SCHEDULED) == '"scheduled"'


places = st.tuples(st.integers(-100, 100), st.integers(0, 10**16 - 1))


@given(places, places)
def test_the_ready_list_is_by_priority_and_then_first_in_first_out(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    """ENV-031, ENV-032: texts sort as the numbers do."""
    first = replace(JOB, priority=one[0], order=one[1])
    second = replace(JOB, priority=other[0], order=other[1])
    by_rule = (-one[0], one[1]) < (-other[0], other[1])
    assert (first.ready_key < second.ready_key) is by_rule


@pytest.mark.parametrize(("max_attempts", "allowed"), [(0, 1), (1, 1), (2, 2), (25, 25)])
def test_a_job_runs_at_least_once(max_attempts: int, allowed: int) -> None:
    """ojs-retry, section 2.2: 0 and 1 both mean no retry."""
    assert replace(JOB, retry=RetryPolicy(max_attempts=max_attempts)).allowed_attempts == allowed


def test_an_attempt_ends_with_the_first_of_its_two_deadlines() -> None:
    """The visibility timeout, or the execution timeout."""
    held = Reservation(worker_id="", expires_at=Instant(5), execution_ends_at=Instant(9))
    assert held.due_at == 5
    assert replace(held, expires_at=Instant(10)).due_at == 9


def test_a_documents_size_is_known_wherever_it_is() -> None:
    """In bytes, not characters."""
    assert JOB.document_bytes == 15
    elsewhere = StoredElsewhere(storage="s3", digest="x", size_bytes=500_000)
    assert replace(JOB, document=elsewhere).document_bytes == 500_000


def test_a_record_never_changes() -> None:
    """Transitions return another one."""
    with pytest.raises(FrozenInstanceError):
        JOB.attempt = 1  # type: ignore[misc]
