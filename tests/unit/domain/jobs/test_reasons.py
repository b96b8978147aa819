"""Why a job does not run, as far as the job itself shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.bindings.tasks import task_of
from ojs_aws.domain.job import Failure, JobState, Reservation
from ojs_aws.domain.job_policies import Limit, OnLimit
from ojs_aws.domain.jobs.reasons import ReasonCode, reasons_of
from ojs_aws.domain.retry import RetryPolicy
from ojs_aws.domain.timestamps import Instant, span_text
from tests.unit.domain.jobs.test_lifecycle import a_job

NOW = Instant(1_700_000_000_000)
S, R = JobState, ReasonCode
LIMIT = Limit(key="k", concurrency=1, on_limit=OnLimit.DROP)


def failure(at: int, attempt: int = 1) -> Failure:
    """A failed attempt."""
    return Failure(type="SmtpError", message="secret", attempt=attempt, occurred_at=Instant(at))


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (999, "0 s"),
        (1_000, "1 s"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (3_605_000, "1 h"),
        (7_500_000, "2 h 5 min"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_a_span_is_shown_in_its_two_largest_units(milliseconds: int, text: str) -> None:
    """More says nothing to people."""
    assert span_text(milliseconds) == text


@given(st.integers(0, 10**12))
def test_a_longer_span_never_looks_like_nothing(milliseconds: int) -> None:
    """From a second on there is a number above zero."""
    assert (span_text(milliseconds) == "0 s") == (milliseconds < 1000)


def test_a_scheduled_job_says_when_it_is_due() -> None:
    """And how long that is."""
    (reason,) = reasons_of(a_job(S.SCHEDULED, scheduled_at=Instant(NOW + 65_000)), NOW)
    assert (reason.code, reason.until) == (R.SCHEDULED, NOW + 65_000)
    assert reason.message.endswith("in 1 min 5 s.")


@pytest.mark.parametrize(("ahead", "codes"), [(1, [R.SCHEDULED]), (0, []), (-60_000, [])])
def test_a_time_that_is_over_is_not_what_a_blocked_job_waits_for(
    ahead: int, codes: list[ReasonCode]
) -> None:
    """It waits for others of its sequence."""
    job = a_job(S.SCHEDULED, scheduled_at=Instant(NOW + ahead))
    assert [each.code for each in reasons_of(job, NOW)] == codes


def test_a_retryable_job_names_the_error_s_type_and_not_its_message() -> None:
    """Messages may quote arguments."""
    waiting = a_job(
        S.RETRYABLE,
        attempt=2,
        retry=RetryPolicy(max_attempts=5),
        failures=(failure(NOW - 1),),
        next_attempt_at=Instant(NOW + 4_000),
    )
    (reason,) = reasons_of(waiting, NOW)
    assert reason.message.startswith("Attempt 2 of 5 failed with SmtpError; the next one is due at")
    assert (reason.until, reason.data) == (NOW + 4_000, {"attempt": 2, "max_attempts": 5})
    assert "secret" not in reason.message


def test_a_pending_job_waits_for_its_activation() -> None:
    """It may expire meanwhile."""
    codes = [each.code for each in reasons_of(a_job(S.PENDING, expires_at=Instant(NOW + 1)), NOW)]
    assert codes == [R.NOT_ACTIVATED, R.EXPIRES]


@pytest.mark.parametrize(
    ("ends_in", "beats_in", "text"),
    [(60_000, 30_000, "another worker can have it"), (10_000, 30_000, "times out")],
)
def test_an_active_job_says_who_has_it_and_what_ends_that(
    ends_in: int, beats_in: int, text: str
) -> None:
    """The execution timeout, or the end of the reservation."""
    held = Reservation(
        worker_id="w",
        expires_at=Instant(NOW + beats_in),
        execution_ends_at=Instant(NOW + ends_in),
    )
    running = a_job(S.ACTIVE, attempt=1, started_at=Instant(NOW - 3_000), reservation=held)
    (reason,) = reasons_of(running, NOW)
    assert (reason.code, reason.until) == (R.RUNNING, NOW + min(ends_in, beats_in))
    assert reason.message.startswith("It runs: worker 'w' has had attempt 1 for 3 s.")
    assert text in reason.message
    assert task_of(running) == ""
    in_task = replace(running, reservation=replace(held, id="r", worker_id="tasks_1"))
    (reason,) = reasons_of(in_task, NOW, task_of(in_task))
    assert reason.data["task"] == f"ojs_{running.id}_1_r"
    assert task_of(replace(running, reservation=None)) == ""


@pytest.mark.parametrize(
    ("changed", "code", "text"),
    [
        ({"state": S.COMPLETED}, R.COMPLETED, "completed"),
        ({"state": S.CANCELLED}, R.CANCELLED, "cancelled"),
        ({"attempt": 3, "failures": (failure(NOW),)}, R.FAILED, "Its last attempt of 3 failed"),
        ({"attempt": 1, "failures": (failure(NOW),)}, R.FAILED, "which is not retried"),
        ({"attempt": 3, "failures": (failure(NOW),), "is_dead_letter": True}, R.FAILED, "retry it"),
        ({"expires_at": NOW}, R.EXPIRED, "before it could begin"),
        ({"expires_at": NOW, "failures": (failure(NOW - 9),)}, R.EXPIRED, "before it could"),
        ({"expires_at": NOW, "attempt": 3, "failures": (failure(NOW),)}, R.FAILED, "SmtpError"),
        ({"limit": LIMIT, "attempt": 1, "failures": (failure(NOW - 9),)}, R.LIMIT, "limit 'k'"),
        ({"limit": LIMIT, "attempt": 3, "failures": (failure(NOW),)}, R.FAILED, "SmtpError"),
        ({}, R.FAILED, "It was discarded."),
    ],
)
def test_a_job_that_has_ended_says_how(
    changed: dict[str, object], code: ReasonCode, text: str
) -> None:
    """Nothing else is said of it."""
    ended = a_job(S.DISCARDED, discarded_at=NOW, retry=RetryPolicy(max_attempts=3))
    (reason,) = reasons_of(replace(ended, **changed), NOW)  # type: ignore[arg-type]
    assert reason.code is code
    assert text in reason.message
