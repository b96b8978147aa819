"""Which jobs get messages and when, and what becomes of messages that are of no use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, cast

import pytest

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import Limit, SequencePlace
from ojs_aws.domain.jobs.lists import ListedJob
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.jobs.fail import HIDE_LIMIT_S, blocked_until
from ojs_aws.services.stored_jobs.messages import (
    MAX_ASIDE_S,
    MAX_RECEIVED,
    STILL_HELD_MS,
    JobMessages,
    count_covered,
    message_of,
)
from ojs_aws.topology import MAX_DELAY_S
from tests.contract.test_job_store import NOW, a_job, a_reservation
from tests.job_steps import active
from tests.simulation.faults import Observed
from tests.simulation.world import World

REACH = MAX_DELAY_S * 1000


def waiting(state: JobState, after_ms: int, **more: Any) -> JobRecord:
    """A job that became scheduled or retryable now, and is due after a while."""
    due = Instant(NOW + after_ms)
    when = {"scheduled_at": due} if state is JobState.SCHEDULED else {"next_attempt_at": due}
    return a_job(state=state, **when, **more)


@pytest.fixture
def world() -> World:
    made = World()
    made.clock.at = NOW
    return made


T = TypeVar("T")


def observed(store: T, world: World) -> T:
    """The store, with faults before and after its calls."""
    return cast("T", Observed(store, world.faults))


def messages_of(world: World) -> JobMessages:
    return JobMessages(observed(world.messages, world), world.registry)


@pytest.mark.parametrize(
    ("job", "delays"),
    [
        (a_job(), [0]),
        (waiting(JobState.SCHEDULED, 5_000), [5]),
        (waiting(JobState.SCHEDULED, REACH), [MAX_DELAY_S]),
        (waiting(JobState.SCHEDULED, REACH + 1), []),
        (a_job(state=JobState.PENDING, expires_at=Instant(NOW + 5_000)), []),
        (
            a_job(
                state=JobState.SCHEDULED,
                scheduled_at=Instant(NOW + 1_000),
                expires_at=Instant(NOW + 5_000),
                sequence=SequencePlace(key="k", position=2, is_blocked=True),
            ),
            [],
        ),
        (a_job(state=JobState.ACTIVE, reservation=a_reservation()), []),
        (a_job(state=JobState.COMPLETED, completed_at=NOW), []),
    ],
)
def test_jobs_get_messages_that_can_run_within_sqs_s_delay(
    world: World, job: JobRecord, delays: list[int]
) -> None:
    """And no others: the sweep arms those that are due later, once."""
    messages_of(world).send_for([job], NOW)
    held = world.held()
    assert [(each.visible_at - NOW) // 1000 for each in held] == delays


@pytest.mark.parametrize(
    ("is_far", "due_ms", "counted"),
    [(False, REACH + 1, 1), (True, REACH, 1), (True, REACH + 1, 0)],
)
def test_waiting_jobs_have_messages_once_they_are_near(
    is_far: bool, due_ms: int, counted: int
) -> None:
    row = ListedJob(
        id="j",
        queue="q",
        sort_key=f"{NOW + due_ms:015d}",
        state=JobState.SCHEDULED,
        type="a",
        timeout_ms=None,
        visibility_timeout_ms=None,
        is_far=is_far,
    )
    assert count_covered([row], NOW) == counted


def test_a_job_without_a_message_has_none_to_delete(world: World) -> None:
    for handle in ("", "h"):
        job = a_job(state=JobState.ACTIVE, reservation=a_reservation(handle=handle))
        messages_of(world).delete_for(job)
    messages_of(world).delete_for(a_job())
    assert world.faults.calls == ["delete"]


@pytest.mark.parametrize(
    ("count", "seconds", "calls"),
    [
        (1, MAX_ASIDE_S, ["hide"]),
        (1, MAX_ASIDE_S + 1, ["send", "delete"]),
        (MAX_RECEIVED - 1, 5, ["hide"]),
        (MAX_RECEIVED, 5, ["send", "delete"]),
        (1, MAX_DELAY_S + 100, ["send", "delete"]),
    ],
)
def test_a_message_is_hidden_shortly_and_seldom_and_else_sent_again(
    world: World, count: int, seconds: int, calls: list[str]
) -> None:
    """For SQS's longest delay at most."""
    received = ReceivedMessage(message_of(a_job()), "h", count)
    messages_of(world).set_aside("default", [(received, seconds)], NOW)
    assert world.faults.calls == calls
    for each in world.held():
        assert each.visible_at == NOW + min(seconds, MAX_DELAY_S) * 1000


@pytest.mark.parametrize(
    ("delay_s", "has_message", "expected"),
    [
        (0, True, ["hide"]),
        (HIDE_LIMIT_S, True, ["hide"]),
        (HIDE_LIMIT_S + 1, True, ["send", "delete"]),
        (5, False, ["send"]),
    ],
)
def test_the_message_of_a_failed_attempt_serves_a_near_next_attempt(
    world: World, delay_s: int, has_message: bool, expected: list[str]
) -> None:
    """It is hidden until then; a Lambda worker's message is deleted by whoever invoked it."""
    job = active(world.backend)
    before = len(world.faults.calls)
    error = parse_object('{"type": "Broken", "message": "no"}')
    world.backend.jobs.fail(
        job.id, "w", error, delay_ms=delay_s * 1000, has_message=has_message, start=job
    )
    assert world.faults.calls[before:] == ["save", *expected]


def test_a_message_that_could_not_be_hidden_is_replaced(world: World) -> None:
    job = active(world.backend)
    world.messages.hide = None  # type: ignore[assignment]
    before = len(world.faults.calls)
    error = parse_object('{"type": "Broken", "message": "no"}')
    world.backend.jobs.fail(job.id, "w", error, delay_ms=5000, start=job)
    assert world.faults.calls[before:][-2:] == ["send", "delete"]


@pytest.mark.parametrize(("ms", "expected"), [(-1, None), (0, None), (1, NOW + 1)])
def test_a_limit_is_blocked_until_an_instant_that_is_to_come(ms: int, expected: int | None) -> None:
    text = encode({"rate_limit_until": format_instant(Instant(NOW + ms))})
    assert blocked_until(parse_object(text), NOW) == expected


@pytest.mark.parametrize(
    ("job", "calls"),
    [
        (a_job(), ["send"]),
        (waiting(JobState.SCHEDULED, REACH), ["send"]),
        (waiting(JobState.SCHEDULED, REACH + 1), ["note"]),
        (a_job(state=JobState.PENDING), ["note"]),
        (a_job(state=JobState.COMPLETED, completed_at=NOW), []),
    ],
)
def test_a_message_that_was_never_sent_is_sent_or_left_to_the_sweep(
    world: World, job: JobRecord, calls: list[str]
) -> None:
    """Which sends for what is due beyond SQS's reach; an ended job needs none."""
    world.registry.ensure("default", NOW)
    registry = observed(world.registry, world)
    assert replace(messages_of(world), queues=registry).send_late(job, NOW)
    assert world.faults.calls == calls


@pytest.mark.parametrize(
    ("left_ms", "handle", "deleted"),
    [
        (STILL_HELD_MS, "h", ["delete"]),
        (STILL_HELD_MS - 1, "h", []),
        (STILL_HELD_MS, "", []),
    ],
)
def test_a_left_message_is_deleted_while_nobody_else_can_have_it(
    world: World, left_ms: int, handle: str, deleted: list[str]
) -> None:
    """It is hidden for as long as the reservation lasted."""
    held = replace(a_reservation(handle=handle), expires_at=Instant(NOW + left_ms))
    job = a_job(state=JobState.COMPLETED, completed_at=NOW, reservation=held)
    messages_of(world).delete_left([job], NOW)
    assert world.faults.calls == deleted


def test_left_messages_are_deleted_only_while_there_is_time(world: World) -> None:
    """Those of each queue need a call."""
    held = replace(a_reservation(handle="h"), expires_at=Instant(NOW + STILL_HELD_MS))
    jobs = [
        a_job(state=JobState.COMPLETED, completed_at=NOW, reservation=held, queue=queue)
        for queue in ("a", "b", "c")
    ]
    left = iter([True, True, False])
    messages_of(world).delete_left(jobs, NOW, lambda: next(left))
    assert world.faults.calls == ["delete", "delete"]


@pytest.mark.parametrize(
    ("limit", "slots", "wakes"),
    [
        (None, ("queue:default",), True),
        (Limit(key="api", concurrency=1), ("api",), True),
        (Limit(key="api"), ("api",), False),
        (Limit(key="api"), ("api", "queue:default"), True),
        (Limit(key="api"), ("other",), True),
        (None, (), False),
    ],
)
def test_an_ended_job_wakes_those_that_wait_for_its_places(
    world: World, limit: Limit | None, slots: tuple[str, ...], wakes: bool
) -> None:
    """A place in a window of time is never given back."""
    world.registry.ensure("default", NOW)
    held = replace(a_reservation(), slots=slots)
    job = a_job(state=JobState.COMPLETED, completed_at=NOW, reservation=held, limit=limit)
    messages_of(world).pass_on(job, NOW)
    assert world.faults.calls == (["send"] if wakes else [])
