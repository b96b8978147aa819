"""How the silence of a worker, and a return of its jobs, end an attempt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs import deadlines, held_job, lifecycle
from ojs_aws.domain.retry import Exhaustion, RetryPolicy
from ojs_aws.domain.timestamps import Instant
from tests.unit.domain.jobs.test_lifecycle import START, S, a_job, broken, reserved


def with_beating_worker(alive_ms: int = 10_000, **changes: Any) -> JobRecord:
    """An active job whose worker is known to beat."""
    held = replace(reserved(START), alive_until=Instant(START + alive_ms))
    return lifecycle.claim(a_job(**changes), held, Instant(START))


def test_wrk_007_a_silent_worker_loses_its_job_before_the_reservation_ends() -> None:
    """Worker protocol, section 10.2: available at once, with the error ``worker_death``."""
    job = with_beating_worker()
    assert deadlines.next_due(job) == START + 10_000
    assert deadlines.settle_once(job, Instant(START + 9_999)) is None
    back = deadlines.settle(job, Instant(START + 20_000))
    assert (back.state, back.attempt, back.started_at) == (S.AVAILABLE, 1, None)
    assert back.enqueued_at == START + 10_000
    failure = back.failures[-1]
    assert (failure.type, failure.code) == ("worker_death", "stalled")
    assert failure.message == "Worker 'w' missed its heartbeats and counts as dead."
    assert failure.extra == {
        "timeout_kind": '"stalled"',
        "limit_seconds": "10",
        "elapsed_seconds": "10",
    }


def test_a_silent_worker_costs_the_job_an_attempt() -> None:
    """The last one discards it, as the policy says."""
    policy = RetryPolicy(max_attempts=1, on_exhaustion=Exhaustion.DEAD_LETTER)
    gone = deadlines.settle(with_beating_worker(retry=policy), Instant(START + 10_000))
    assert (gone.state, gone.is_dead_letter) == (S.DISCARDED, True)


def test_a_heartbeat_moves_the_silence_and_never_back() -> None:
    """Whichever of two heartbeats is written last."""
    job = with_beating_worker()
    later = held_job.extend(job, Instant(START), Instant(START + 15_000))
    assert deadlines.next_due(later) == START + 15_000
    assert held_job.extend(later, Instant(START), Instant(START + 12_000)) is later
    assert held_job.extend(later, Instant(START)) is later


@pytest.mark.parametrize(
    ("alive_ms", "visibility_ms", "timeout_ms", "kind"),
    [
        (10, 20, 30, "worker_death"),
        (20, 10, 30, "visibility_timeout"),
        (20, 20, 30, "worker_death"),  # a heartbeat would have moved both
        (20, 20, 20, "timeout"),
        (30, 20, 10, "timeout"),
    ],
)
def test_the_earliest_deadline_ends_the_attempt(
    alive_ms: int, visibility_ms: int, timeout_ms: int, kind: str
) -> None:
    """And its name says which; the execution timeout outweighs the others at the same instant."""
    held = replace(
        reserved(START, visibility_ms, timeout_ms), alive_until=Instant(START + alive_ms)
    )
    job = lifecycle.claim(a_job(), held, Instant(START))
    after = deadlines.settle_once(job, Instant(START + 99))
    assert after is not None
    assert after.failures[-1].type == kind


def test_a_timeout_says_what_the_limit_was_and_how_long_it_took() -> None:
    """ojs-timeouts, section 8."""
    job = lifecycle.claim(a_job(timeout_ms=2500), reserved(START, 9_000, 2500), Instant(START))
    failure = deadlines.settle(job, Instant(START + 3_000)).failures[0]
    assert failure.extra == {
        "timeout_kind": '"execution"',
        "limit_seconds": "2.5",
        "elapsed_seconds": "2.5",
    }


@given(st.integers(0, 12), st.lists(st.sampled_from(["fail", "silence", "expiry", "timeout"])))
def test_ret_01_a_job_never_has_more_attempts_than_its_policy_allows(
    max_attempts: int, endings: list[str]
) -> None:
    """However the attempts end: by the worker's word, or by time."""
    job, now = a_job(retry=RetryPolicy(max_attempts=max_attempts)), START
    attempts = 0
    for ending in [*endings, *(["fail"] * 13)]:
        job = deadlines.settle(job, Instant(now))
        if job.state is S.DISCARDED:
            break
        held = replace(
            reserved(now),
            alive_until=Instant(now + 10_000 if ending == "silence" else now + 90_000),
        )
        if ending == "timeout":
            held = replace(held, execution_ends_at=Instant(now + 5_000))
        job = lifecycle.claim(job, held, Instant(now))
        attempts += 1
        if ending == "fail":
            job = lifecycle.fail(job, broken(now), Instant(now))
        now += 1_000_000
    assert deadlines.settle(job, Instant(now)).state is S.DISCARDED
    assert attempts == job.attempt == max(max_attempts, 1)


def test_a_job_that_is_given_back_is_as_after_its_reservation_only_earlier() -> None:
    """The same edge of the table; the number of the attempt stays, and does not count."""
    now = Instant(START + 500)
    active = a_job(
        S.ACTIVE,
        attempt=3,
        uncounted_attempts=1,
        started_at=Instant(START),
        reservation=reserved(START),
        checkpoints=2,
    )
    assert lifecycle.requeue(active, None, now) == replace(
        active,
        state=S.AVAILABLE,
        version=active.version + 1,
        enqueued_at=now,
        order=now * 1000,
        started_at=None,
        reservation=None,
        uncounted_attempts=2,
    )
    failure = broken(now)
    assert lifecycle.requeue(active, failure, now).failures == (failure,)
    for state in S:
        if state is not S.ACTIVE:
            with pytest.raises(ConflictError):
                lifecycle.requeue(a_job(state), None, now)


def test_only_what_was_given_back_is_a_requeue() -> None:
    """Neither the end of a reservation, nor an operator's retry, which counts from 0 again."""
    active = a_job(S.ACTIVE, attempt=1, started_at=Instant(START), reservation=reserved(START))
    after = lifecycle.requeue(active, None, Instant(START))
    over = deadlines.settle(active, Instant(START + 30_000))
    assert over.state is S.AVAILABLE
    assert lifecycle.is_requeue(active, after)
    assert not lifecycle.is_requeue(active, over)
    assert not lifecycle.is_requeue(None, a_job())
    given_up = replace(after, state=S.DISCARDED)
    retried = lifecycle.retry_discarded(given_up, Instant(START), 1)
    assert not lifecycle.is_requeue(given_up, retried)
