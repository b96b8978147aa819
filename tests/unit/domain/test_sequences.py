"""Whose turn it is in a sequence: positions, what an end means, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.errors import ConflictError, InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState, is_blocked
from ojs_aws.domain.job_policies import OnDiscard, SequencePlace
from ojs_aws.domain.jobs import deadlines, lifecycle
from ojs_aws.domain.sequences import (
    CHECK_MS,
    DEAD_MS,
    BlockedJob,
    Sequence,
    actions_of,
    announced,
    cancelled,
    enqueue,
    is_over,
    read_sequence,
    released,
    too_many,
    turn_is_over,
    what_follows,
)
from ojs_aws.domain.timestamps import Instant
from tests.contract.test_job_store import a_job as job

NOW = Instant(1_000_000)
PLACE = SequencePlace(key="k")
BLOCKED = SequencePlace(key="k", position=2, is_blocked=True, checks=True)


def ordered(number: int = 1, **more: Any) -> JobRecord:
    """A job of the sequence."""
    return job(**{"id": f"job-{number}", "sequence": PLACE, **more})


def live(**more: Any) -> Sequence:
    """A sequence whose head is at position 3."""
    known = {"key": "k", "next": 7, "head": 3, "job_id": "h", "version": 4, "checked_at": NOW}
    return Sequence(**{**known, **more})


def test_a_key_or_an_object_names_a_sequence() -> None:
    assert read_sequence(None) is None
    assert read_sequence("k") == SequencePlace(key="k", on_discard=OnDiscard.STOP)
    given: Any = {"key": "k", "on_discard": "cancel"}
    assert read_sequence(given) == SequencePlace(key="k", on_discard=OnDiscard.CANCEL)


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (True, "sequence"),
        ("-k", "sequence"),
        ("k" * 257, "sequence"),
        ({"key": "k", "on_discard": None}, "sequence.on_discard"),
        ({"key": "k", "on_discard": "no"}, "sequence.on_discard"),
        ({"key": "k", "also": 1}, "sequence.also"),
    ],
)
def test_another_form_is_refused(value: Any, field: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        read_sequence(value)
    assert refused.value.details["field"] == field


def test_the_first_job_of_an_idle_sequence_is_its_head() -> None:
    jobs, change = enqueue([ordered(1, tenant="t"), ordered(2, tenant="t")], None, NOW)
    assert [(each.state, is_blocked(each)) for each in jobs] == [
        (JobState.AVAILABLE, False),
        (JobState.PENDING, True),
    ]
    assert [each.sequence and each.sequence.position for each in jobs] == [1, 2]
    assert jobs[1].enqueued_at is None
    assert change.before is None
    assert change.after == Sequence(
        key="k", tenant="t", next=3, head=1, job_id="job-1", version=1, checked_at=NOW
    )
    assert change.blocked == (BlockedJob(2, "job-2"),)


@pytest.mark.parametrize(("ago", "checks"), [(CHECK_MS - 1, False), (CHECK_MS, True)])
def test_a_job_behind_others_is_blocked_and_may_have_the_head_checked(
    ago: int, checks: bool
) -> None:
    before = live(checked_at=Instant(NOW - ago))
    jobs, change = enqueue([ordered(1), ordered(2)], before, NOW)
    assert [each.sequence for each in jobs] == [
        replace(PLACE, position=7, is_blocked=True, checks=checks),
        replace(PLACE, position=8, is_blocked=True),
    ]
    assert change.after == replace(before, next=9, checked_at=NOW if checks else before.checked_at)
    assert [each.position for each in change.blocked] == [7, 8]


@pytest.mark.parametrize(
    ("due", "state"),
    [
        (None, JobState.AVAILABLE),
        (NOW, JobState.AVAILABLE),
        (Instant(NOW + 1), JobState.SCHEDULED),
    ],
)
@pytest.mark.parametrize("stored", [JobState.PENDING, JobState.SCHEDULED])
def test_a_job_whose_turn_comes_waits_for_its_time(
    stored: JobState, due: Instant | None, state: JobState
) -> None:
    waiting = ordered(state=stored, scheduled_at=due, sequence=BLOCKED)
    after = released(waiting, NOW, 77)
    assert (after.state, after.enqueued_at, after.order) == (state, NOW, 77)
    assert after.version == waiting.version + 1
    assert after.sequence == SequencePlace(key="k", position=2)


def test_a_blocked_job_that_is_scheduled_stays_so_until_its_turn_comes() -> None:
    due = Instant(NOW + 5_000)
    late = ordered(2, state=JobState.SCHEDULED, scheduled_at=due)
    [blocked], _ = enqueue([late], live(), NOW)
    assert (blocked.state, is_blocked(blocked)) == (JobState.SCHEDULED, True)
    assert deadlines.settle(blocked, due) == blocked
    expiring = replace(blocked, expires_at=Instant(due + 1))
    assert deadlines.settle(expiring, due) == expiring
    assert deadlines.settle(expiring, Instant(due + 1)).state is JobState.DISCARDED


def test_a_cancelled_job_is_blocked_no_more() -> None:
    after = cancelled(ordered(state=JobState.PENDING, sequence=BLOCKED), NOW)
    assert (after.state, after.sequence) == (
        JobState.CANCELLED,
        SequencePlace(key="k", position=2),
    )


def test_a_blocked_job_is_not_activated_and_another_pending_one_is() -> None:
    pending = ordered(state=JobState.PENDING, sequence=BLOCKED)
    with pytest.raises(ConflictError, match="its sequence 'k'"):
        lifecycle.activate(pending, NOW, 1)
    assert lifecycle.activate(replace(pending, sequence=None), NOW, 1).state is JobState.AVAILABLE


@pytest.mark.parametrize("choice", [*OnDiscard])
@pytest.mark.parametrize(
    ("state", "attempt", "is_chosen"),
    [
        (JobState.DISCARDED, 1, True),
        (JobState.DISCARDED, 0, False),
        (JobState.CANCELLED, 1, False),
        (JobState.COMPLETED, 1, False),
    ],
)
def test_only_a_job_that_failed_has_its_choice(
    choice: OnDiscard, state: JobState, attempt: int, is_chosen: bool
) -> None:
    ended = ordered(state=state, attempt=attempt, sequence=replace(PLACE, on_discard=choice))
    assert what_follows(ended) is (choice if is_chosen else OnDiscard.SKIP)


def test_what_is_gone_is_over() -> None:
    assert what_follows(None) is OnDiscard.SKIP
    assert what_follows(ordered(sequence=None, state=JobState.DISCARDED)) is OnDiscard.SKIP
    assert is_over(None)
    assert is_over(ordered(state=JobState.CANCELLED))
    assert not is_over(ordered())
    assert not is_blocked(ordered(sequence=None))


def test_refusals_say_what_helps() -> None:
    assert turn_is_over(ordered()).message == (
        "Cannot retry job: another job of its sequence 'k' has its turn."
    )
    refused = too_many(102, 100)
    assert refused.details == {"field": "sequence", "size": 102, "max_size": 100}
    assert refused.hint == "Send 25 such jobs at once, or fewer."


def test_the_next_job_of_an_idle_sequence_has_the_turn() -> None:
    """It is the head, and what the sequence names stays."""
    idle = live(job_id="", checked_at=Instant(NOW - CHECK_MS), batches=("b",))
    placed, change = enqueue([ordered(1), ordered(2)], idle, NOW)
    assert [each.sequence and each.sequence.position for each in placed] == [7, 8]
    assert [is_blocked(each) for each in placed] == [False, True]
    assert not any(each.sequence and each.sequence.checks for each in placed)
    after = change.after
    assert (after.job_id, after.head, after.next) == ("job-1", 7, 9)
    assert (after.version, after.batches, after.checked_at) == (5, ("b",), NOW)
    assert [each.position for each in change.blocked] == [8]


def test_batches_are_announced_in_any_sequence() -> None:
    begun = announced("k", "t", None, "b", NOW)
    assert (begun.key, begun.tenant, begun.next, begun.head, begun.job_id) == ("k", "t", 1, 0, "")
    assert (begun.version, begun.checked_at, begun.batches) == (1, NOW, ("b",))
    known = live(batches=("b2",))
    both = replace(known, batches=("b1", "b2"), version=5)
    assert announced("k", "", known, "b1", NOW) == replace(both, named_at=NOW)
    early = Instant(NOW - DEAD_MS)
    assert announced("k", "", replace(known, named_at=early), "b1", NOW).named_at == early
    left_over = live(named_at=early)  # as by an earlier version, which removes only the names
    assert announced("k", "", left_over, "b1", NOW).named_at == NOW


@pytest.mark.parametrize(
    ("named_at", "has"), [(None, False), (NOW - DEAD_MS + 1, False), (NOW - DEAD_MS, True)]
)
def test_a_batch_is_dead_an_hour_after_it_was_named(named_at: int | None, has: bool) -> None:
    named = None if named_at is None else Instant(named_at)
    assert live(named_at=named).has_dead_batches(NOW) is has


def test_what_sequences_need_of_a_transaction() -> None:
    """A row for each job, and an item for each key of each tenant."""
    other = replace(PLACE, key="other")
    jobs = [ordered(1), ordered(2), ordered(3, sequence=other), ordered(4, tenant="t")]
    assert actions_of([*jobs, ordered(5, sequence=None)]) == 4 + 3
    assert actions_of([ordered(6, sequence=None)]) == 0
