"""When a message that a round had no use for comes back, and which are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.limits import LimitRefusal
from ojs_aws.domain.queues import Backlog, Message, ReceivedMessage
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.claim_round import (
    AGAIN_S,
    FAILED_AGAIN_S,
    RECENT_MS,
    UnusedMessages,
)
from ojs_aws.services.limits.check import LimitCheck
from ojs_aws.services.stored_jobs.messages import MAX_HIDDEN, JobMessages, message_of
from ojs_aws.topology import MAX_DELAY_S
from tests.contract.test_job_store import NOW, a_job, a_reservation

GONE = "deleted"
OTHER = "01990000-0000-7000-8000-00000000ffff"
LONG_AGO = Instant(NOW - 3_600_000)
LIMITED = LimitCheck("default", frozenset({"type:demo.echo"}))


@dataclass
class Messages:
    """Keeps what becomes of each message: the seconds for which it is hidden, or its end."""

    ended: dict[str, int | str] = field(default_factory=dict)
    waiting: int = 0

    def delete(self, _queue: str, handles: Sequence[str]) -> None:
        self.ended |= dict.fromkeys(handles, GONE)

    def hide(self, _queue: str, handles: Sequence[tuple[str, int]]) -> None:
        self.ended |= dict(handles)

    def send(self, _queue: str, message: Message, delay_s: int) -> None:
        self.ended[f"new {message.job_id}"] = delay_s

    def backlog(self, _queue: str) -> Backlog:
        return Backlog(self.waiting, 0)


def unused(messages: Messages, job: JobRecord | None, **more: Any) -> UnusedMessages:
    """A round that began now, and has seen one job."""
    kept = JobMessages(cast("MessageQueue", messages), cast("QueueRegistry", None))
    seen = {a_job().id: job}
    given = {"limiting": LimitCheck("default"), "began": NOW, "is_complete": True, **more}
    return UnusedMessages("default", kept, seen=given.pop("seen", seen), now=NOW, **given)


def what_becomes(job: JobRecord | None, message: Message | None = None, **more: Any) -> int | str:
    """Of the message of a job that was seen so."""
    messages = Messages()
    received = ReceivedMessage(message or message_of(a_job()), "h")
    kept = unused(messages, job, **more).give_back([received])
    assert (messages.ended["h"] != GONE) is ("h" in kept)
    return messages.ended["h"]


def long_ago(state: JobState, **more: Any) -> JobRecord:
    """A job that was executed, and that nothing happened to lately."""
    times = {"created_at": LONG_AGO, "enqueued_at": LONG_AGO, "started_at": LONG_AGO, "attempt": 1}
    return a_job(state=state, **{**times, **more})


def held(**more: Any) -> JobRecord:
    """An active job under its own message, for thirty seconds."""
    own = replace(a_reservation(), **{"message_job_id": a_job().id, **more})
    return long_ago(JobState.ACTIVE, reservation=own)


def due_in(ms: int, state: JobState = JobState.RETRYABLE) -> JobRecord:
    due = Instant(NOW + ms)
    name = "next_attempt_at" if state is JobState.RETRYABLE else "scheduled_at"
    return long_ago(state, **{name: due})


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (None, GONE),
        (long_ago(JobState.COMPLETED), GONE),
        (long_ago(JobState.PENDING), GONE),
        (long_ago(JobState.AVAILABLE), 0),
        (held(), 30),
        (held(expires_at=NOW), 1),
        (held(expires_at=Instant(NOW + 10**7), execution_ends_at=Instant(NOW + 10**7)), 10_000),
        (due_in(5_000), 5),
        (due_in(5_000, JobState.SCHEDULED), 5),
        (due_in(MAX_DELAY_S * 1000), MAX_DELAY_S),
        (due_in(MAX_DELAY_S * 1000 + 1), GONE),
        (due_in(0), 1),
    ],
)
def test_a_message_comes_back_when_the_job_that_it_names_needs_it(
    job: JobRecord | None, expected: int | str
) -> None:
    """Not before a second is over; the sweep sends another one for what is due much later."""
    assert what_becomes(job) == expected


@pytest.mark.parametrize("job", [None, long_ago(JobState.COMPLETED), held(), due_in(60_000)])
def test_a_round_that_has_not_seen_all_lets_messages_come_back_soon(job: JobRecord | None) -> None:
    """Another job may need them; that of an available job comes back at once."""
    assert what_becomes(job, is_complete=False) == AGAIN_S
    assert what_becomes(long_ago(JobState.AVAILABLE), is_complete=False) == 0


def test_the_message_of_a_job_that_could_not_be_written_comes_back_later() -> None:
    """One that was not looked at comes back at once."""
    job_id = a_job().id
    assert what_becomes(None, seen={}) == 0
    assert what_becomes(None, seen={}, failed={job_id}) == FAILED_AGAIN_S
    assert what_becomes(held(), failed={job_id}) == FAILED_AGAIN_S


@pytest.mark.parametrize(
    ("ago_ms", "expected"), [(0, AGAIN_S), (RECENT_MS, AGAIN_S), (RECENT_MS + 1, GONE)]
)
def test_the_message_of_a_job_that_just_ended_comes_back_once(
    ago_ms: int, expected: int | str
) -> None:
    """The job may have run with the message of another one that still waits."""
    ended = Instant(NOW - ago_ms)
    assert what_becomes(long_ago(JobState.COMPLETED, completed_at=ended)) == expected


@pytest.mark.parametrize(
    ("message_job_id", "expected"), [("", 30), (a_job().id, 30), (OTHER, AGAIN_S)]
)
def test_the_message_of_a_job_that_runs_under_its_own_waits_for_its_end(
    message_job_id: str, expected: int
) -> None:
    """One that runs under the message of another job leaves its own to that one."""
    job = held(message_job_id=message_job_id)
    assert what_becomes(replace(job, started_at=NOW)) == expected


def test_a_job_that_never_began_has_used_no_other_message() -> None:
    job = replace(long_ago(JobState.COMPLETED, completed_at=NOW), attempt=0)
    assert what_becomes(job) == GONE


WAKING = replace(message_of(a_job()), sort_key="")
LIMIT = Limit(key="api", concurrency=1)


@pytest.mark.parametrize(
    ("limiting", "limit", "state", "message", "expected"),
    [
        (LimitCheck("default"), LIMIT, JobState.COMPLETED, WAKING, GONE),
        (LIMITED, None, JobState.COMPLETED, WAKING, GONE),
        (LimitCheck("default", is_whole=True), None, JobState.COMPLETED, WAKING, GONE),
        (LimitCheck("default"), None, JobState.COMPLETED, WAKING, AGAIN_S),
        (
            LimitCheck("default", tenants=frozenset({"acme"})),
            None,
            JobState.COMPLETED,
            WAKING,
            GONE,
        ),
        (
            LimitCheck("default", tenants=frozenset({"b"})),
            None,
            JobState.COMPLETED,
            WAKING,
            AGAIN_S,
        ),
        (LIMITED, None, JobState.RETRYABLE, WAKING, AGAIN_S),
        (LIMITED, None, JobState.COMPLETED, message_of(a_job()), AGAIN_S),
    ],
)
def test_a_message_that_was_sent_for_a_free_place_is_one_more_than_jobs(
    limiting: LimitCheck, limit: Limit | None, state: JobState, message: Message, expected: int
) -> None:
    """It names a job that ended, and no place in line, where there are limits."""
    job = long_ago(state, limit=limit, completed_at=NOW, next_attempt_at=NOW, tenant="acme")
    assert what_becomes(job, message, limiting=limiting) == expected


def at_its_limit() -> LimitCheck:
    """A round that has kept a job waiting for ten seconds."""
    refusal = LimitRefusal("rate", Instant(NOW + 10_000), per_s=100_000.0)
    return LimitCheck("default", refused={"api": refusal}, has_passed_by=True)


@pytest.mark.parametrize(
    ("job", "message", "waits"),
    [
        (long_ago(JobState.AVAILABLE), message_of(a_job()), True),
        (held(message_job_id=OTHER), message_of(a_job()), True),
        (held(), message_of(a_job()), False),
        (held(message_job_id=""), message_of(a_job()), False),
        (long_ago(JobState.COMPLETED), message_of(a_job()), True),
        (long_ago(JobState.COMPLETED), WAKING, False),
        (due_in(5_000), message_of(a_job()), False),
        (None, message_of(a_job()), False),
    ],
)
def test_messages_wait_for_a_limit_with_the_jobs_that_need_them(
    job: JobRecord | None, message: Message, waits: bool
) -> None:
    """Its own job may have run under the message of one that waits."""
    assert (what_becomes(job, message, limiting=at_its_limit()) == 10) is waits
    assert what_becomes(None, message, seen={}, limiting=at_its_limit()) == 10


@pytest.mark.parametrize(("waiting", "is_hidden"), [(MAX_HIDDEN, True), (MAX_HIDDEN + 1, False)])
def test_no_message_is_hidden_for_a_limit_where_sqs_hides_too_many(
    waiting: int, is_hidden: bool
) -> None:
    """Another one is sent in its place."""
    messages = Messages(waiting=waiting)
    left = unused(messages, long_ago(JobState.AVAILABLE), limiting=at_its_limit())
    received = ReceivedMessage(message_of(a_job()), "h")
    assert left.give_back([received]) == ({"h"} if is_hidden else set())
    assert (messages.ended["h"] == GONE) is not is_hidden
    assert (f"new {a_job().id}" in messages.ended) is not is_hidden
