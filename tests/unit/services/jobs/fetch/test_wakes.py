"""Which messages of ended jobs wake jobs of other lines, and which jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.queues import Message, ReceivedMessage
from ojs_aws.services.jobs.fetch.candidates import Candidate, ready_job
from ojs_aws.services.jobs.fetch.job_claims import JobClaims
from ojs_aws.services.jobs.fetch.wakes import woken
from ojs_aws.services.limits.check import LimitCheck
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import Jobs, claims_of, message

API = Limit(key="api", concurrency=1)


def ended(number: int, state: JobState = JobState.COMPLETED, **more: Any) -> JobRecord:
    """A job of line 1 whose attempt is over."""
    return a_job(number, state=state, attempt=1, shard=1, **more)


def waking(job: JobRecord) -> ReceivedMessage:
    """The message of who ended it."""
    return ReceivedMessage(Message(job.id, shard=job.shard), f"wake {job.id}")


def ready(number: int, shard: int, limit: Limit | None = API) -> Candidate:
    """A job that waits."""
    return ready_job(a_job(number, limit=limit, shard=shard))


def claims_with(*over: JobRecord, is_whole: bool = False) -> JobClaims:
    """A round that holds the messages of who ended these jobs, and has looked at them."""
    limiting = LimitCheck("default", is_whole=is_whole)
    claims = claims_of(Jobs(), *map(waking, over), limiting=limiting)
    claims.seen |= {job.id: job for job in over}
    return claims


class Lines:
    """The other lines, and how often they were looked at."""

    def __init__(self, *found: Candidate) -> None:
        self.found, self.looks = [*found], 0

    def __call__(self) -> list[Candidate]:
        self.looks += 1
        return self.found


def test_a_job_that_waits_for_the_slot_is_woken_with_the_message() -> None:
    """The first of them; jobs without the limit are left to their own messages."""
    lines = Lines(ready(2, 2, None), ready(3, 3), ready(4, 4))
    claims = claims_with(ended(1, limit=API))
    assert woken(claims, [ready(5, 1, None)], lines) == [lines.found[1]]
    assert claims.woken == {lines.found[1].id: waking(ended(1)).handle}
    claims.claim(lines.found[0])
    assert len(claims.held) == 1


@pytest.mark.parametrize(
    "job",
    [
        ended(1),
        ended(1, JobState.ACTIVE, limit=API),
        ended(1, JobState.AVAILABLE, limit=API),
        ended(1, JobState.SCHEDULED, limit=API),
        a_job(1, state=JobState.CANCELLED, shard=1, limit=API),
    ],
)
def test_other_messages_wake_nobody(job: JobRecord) -> None:
    """A job without a limit, one that has not ended, and one that never began."""
    lines = Lines(ready(2, 2))
    assert woken(claims_with(job), [], lines) == []
    assert lines.looks == 0


def test_the_own_message_of_a_job_that_has_ended_wakes_nobody() -> None:
    """It came twice; and nothing is known of a job that is gone."""
    over, lines = ended(1, limit=API), Lines(ready(2, 2))
    own = message(replace(over, state=JobState.AVAILABLE))
    assert own.message.sort_key
    claims = claims_of(Jobs(), own)
    claims.seen[over.id] = over
    assert woken(claims, [], lines) == []
    claims = claims_with(over)
    claims.seen[over.id] = None
    assert woken(claims, [], lines) == []
    assert lines.looks == 0


@pytest.mark.parametrize("state", [JobState.RETRYABLE, JobState.DISCARDED, JobState.CANCELLED])
def test_a_failed_or_cancelled_attempt_gives_its_slot_back_too(state: JobState) -> None:
    """It is over."""
    lines = Lines(ready(2, 2))
    assert woken(claims_with(ended(1, state, limit=API)), [], lines) == lines.found


def test_who_waits_in_the_lines_that_were_looked_at_is_enough() -> None:
    """One for each message, unless its own message is there."""
    lines = Lines(ready(7, 2), ready(8, 3))
    one, two = ended(1, limit=API), ended(2, limit=API)
    assert woken(claims_with(one), [ready(5, 1)], lines) == []
    assert lines.looks == 0
    assert woken(claims_with(one, two), [ready(5, 1)], lines) == lines.found[:1]
    claims = claims_with(one)
    claims.held.append(message(a_job(5, limit=API, shard=1)))
    assert woken(claims, [ready(5, 1)], lines) == lines.found[:1]


def test_a_slot_is_for_those_that_need_it() -> None:
    """A message wakes no job of another limit, but any where the queue itself is limited."""
    other = Limit(key="other", concurrency=1)
    lines = Lines(ready(2, 2, other), ready(3, 3))
    assert woken(claims_with(ended(1, limit=API)), [ready(5, 1, other)], lines) == lines.found[1:]
    whole = claims_with(ended(1, limit=API), is_whole=True)
    assert woken(whole, [], lines) == lines.found[:1]


def test_a_message_that_wakes_is_kept_for_the_job_that_it_wakes() -> None:
    """A job of the line that it names does not take it."""
    claims = claims_with(ended(1, limit=API))
    (next_one,) = woken(claims, [], Lines(ready(3, 3)))
    table = Jobs()
    in_line = a_job(5, shard=1)
    table.add(in_line, a_job(3, limit=API, shard=3))
    claims.changer = replace(claims.changer, store=table)  # type: ignore[arg-type]
    claims.claim(ready_job(in_line))
    assert len(claims.held) == 1
    claims.claim(next_one)
    assert claims.held == []
    assert {job.id for job in claims.under.values()} == {next_one.id}


def test_an_error_lets_the_message_come_back() -> None:
    """Nobody knows who waits."""

    def fails() -> list[Candidate]:
        raise BackendUnavailableError("DynamoDB is away")

    claims = claims_with(ended(1, limit=API))
    assert woken(claims, [], fails) == []
    assert claims.is_overtaken
    assert claims.now == NOW
