"""A round whose claims others make first: how often it tries, and when it looks again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ojs_aws.domain.job import StoredElsewhere
from ojs_aws.domain.jobs.lists import Page
from ojs_aws.services.jobs.fetch.candidates import QueueSnapshot
from ojs_aws.services.jobs.fetch.claim_round import AGAIN_S, FURTHER_TRIES, MAX_LOOKS, ClaimRound
from ojs_aws.services.jobs.fetch.job_claims import MAX_CLAIMED_BYTES, SPARE_TRIES
from ojs_aws.services.limits.check import LimitCheck
from tests.contract.test_job_store import a_job, a_reservation
from tests.unit.services.jobs.fetch.scripted import (
    Jobs,
    claims_of,
    look_at,
    message,
    some_jobs,
    taken,
)


def no_look(_room: int) -> QueueSnapshot:
    pytest.fail("it looked again")


def test_a_round_looks_again_when_others_took_all_that_it_tried() -> None:
    """With room for what is missing and for what it lost."""
    table, first, free = Jobs(), some_jobs(SPARE_TRIES + 2), a_job(99)
    table.add(*map(taken, first), free)
    rooms: list[int] = []

    def again(room: int) -> QueueSnapshot:
        rooms.append(room)
        return look_at(free)

    claimed = ClaimRound(claims_of(table)).run(look_at(*first), 1, again)
    assert [job.id for job in claimed] == [free.id]
    assert rooms == [1 + len(first)]


def test_a_round_that_always_loses_ends_after_some_looks() -> None:
    """With a few tries after each of them; others need the table, too."""
    table, looks = Jobs(), [some_jobs(30, first=1 + 100 * number) for number in range(9)]
    for jobs in looks:
        table.add(*map(taken, jobs))
    seen = iter(looks)
    claims = claims_of(table)
    assert ClaimRound(claims).run(look_at(*next(seen)), 1, lambda _: look_at(*next(seen))) == []
    tries = SPARE_TRIES + 2 + (MAX_LOOKS - 1) * (1 + FURTHER_TRIES)
    assert (len(table.claims), claims.lost) == (tries, tries)
    assert [*seen] == looks[MAX_LOOKS:]


def test_tries_that_are_left_stay_after_a_further_look() -> None:
    """A look for jobs of higher priority takes none of them away."""
    table, (lost, low) = Jobs(), some_jobs(2)
    low = replace(low, priority=-1)
    high = some_jobs(SPARE_TRIES, first=50)
    table.add(taken(lost), low, *map(taken, high[:-1]), high[-1])
    looks = iter([look_at(*high)])
    claims = claims_of(table, message(low))
    look = look_at(lost, is_partial=True)
    claimed = ClaimRound(claims).run(look, 1, lambda _: next(looks))
    assert [job.id for job in claimed] == [high[-1].id]


def test_nothing_is_looked_at_again_where_no_claim_was_lost() -> None:
    """Though there may be more behind the head: the next fetch sees them."""
    table, (job,) = Jobs(), some_jobs(1)
    table.add(job)
    claimed = ClaimRound(claims_of(table)).run(look_at(job, is_partial=True), 2, no_look)
    assert [each.id for each in claimed] == [job.id]


def test_a_head_that_shows_the_whole_line_is_not_looked_at_again() -> None:
    """While there are tries left: nobody else is in line."""
    table, (lost, free) = Jobs(), some_jobs(2)
    table.add(taken(lost), free)
    claimed = ClaimRound(claims_of(table)).run(look_at(lost, free), 2, no_look)
    assert [each.id for each in claimed] == [free.id]


def test_an_answer_that_is_full_ends_the_round() -> None:
    table = Jobs()
    jobs = some_jobs(3, document=StoredElsewhere("s3", "d", MAX_CLAIMED_BYTES // 2))
    table.add(*jobs)
    claimed = ClaimRound(claims_of(table)).run(look_at(*jobs), 3, no_look)
    assert [each.id for each in claimed] == [job.id for job in jobs[:2]]


@pytest.mark.parametrize(
    ("need", "passes_by", "looks"), [(1, True, 0), (2, True, 1), (2, False, 0), (1, False, 0)]
)
def test_a_round_looks_behind_the_head_for_what_limits_let_it_miss(
    need: int, passes_by: bool, looks: int
) -> None:
    table, (job,) = Jobs(pages=[Page(())]), some_jobs(1)
    table.add(job)
    limiting = LimitCheck("default", has_passed_by=passes_by)
    ClaimRound(claims_of(table, limiting=limiting)).run(look_at(job), need, no_look)
    assert len(table.listings) == looks


@pytest.mark.parametrize(("need", "reads"), [(1, 0), (2, 1)])
def test_a_round_asks_for_swapped_jobs_if_it_needs_more(need: int, reads: int) -> None:
    table, (job, held, swapped) = Jobs(), some_jobs(3)
    reservation = replace(a_reservation(), message_job_id=swapped.id)
    table.add(job, swapped, replace(taken(held), reservation=reservation))
    claims = claims_of(table, message(job), message(held))
    claims.seen[held.id] = table.jobs[held.id]
    claimed = ClaimRound(claims).run(look_at(job), need, no_look)
    assert (len(claimed), table.reads) == (need, [(swapped.id,)] * reads)


@pytest.mark.parametrize("what", ["nothing", "overtaken", "tries", "full"])
def test_messages_come_back_soon_after_a_round_that_did_not_see_all(what: str) -> None:
    """Else one whose job is gone is deleted."""
    table, job = Jobs(), a_job()
    claims = claims_of(table, message(job))
    claims.seen[job.id] = None
    claims.is_overtaken = what == "overtaken"
    claims.tries_left = 0 if what == "tries" else 1
    size = MAX_CLAIMED_BYTES if what == "full" else 1
    claims.claimed = [a_job(9, document=StoredElsewhere("s3", "d", size))]
    handle = f"handle of {job.id}"
    kept = ClaimRound(claims).release()
    assert (kept, table.deleted, table.hidden) == (
        (frozenset(), [handle], {}) if what == "nothing" else ({handle}, [], {handle: AGAIN_S})
    )
    assert claims.held == []
