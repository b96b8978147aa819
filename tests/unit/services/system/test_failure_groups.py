"""Failures grouped by error: from published events to the report."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.errors import BackendUnavailableError, InvalidRequestError
from ojs_aws.domain.events import Event
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.events import Commit, events_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.system.failure_groups import FEW_HOURS, LONGEST_MS, USUAL_MS
from tests.jobs import any_job
from tests.simulation.world import World


def fail(world: World, message: str, queue: str = "default", **more: Any) -> str:
    """Push a job and fail it for good, and count that, as the stream's consumer does."""
    record = world.backend.jobs.push(
        any_job("demo.echo", [1], queue=queue, retry={"max_attempts": 1})
    ).record
    assert record is not None
    (before,) = world.backend.jobs.fetch(FetchRequest((queue,), worker_id="w"))
    error = parse_object(encode({"type": "Broken", "message": message, **more}))
    world.backend.jobs.fail(record.id, "w", error)
    after = world.stored.jobs[record.id]
    world.backend.failures.record(events_of(before, after, Commit(world.clock.now())))
    world.clock.advance(s=60)
    return record.id


def test_failures_are_grouped_over_queues_and_hours() -> None:
    """The largest group first, with the first and the last job."""
    world = World()
    ids = [fail(world, f"no user {n}", queue) for n, queue in enumerate(("default", "email"))]
    world.clock.advance(s=7200)
    ids.append(fail(world, "no user 7"))
    fail(world, "connection refused", "email")
    report = world.backend.failures.report(Instant(world.clock.now() - 3 * 3_600_000))
    first, second = report.groups
    assert (first.group.message, first.group.count, first.queues) == (
        "no user *",
        3,
        ("default", "email"),
    )
    assert first.group.job_ids == (ids[0], ids[2])
    assert (second.group.message, second.queues) == ("connection refused", ("email",))
    (recent,) = world.backend.failures.report(queue="default").groups
    assert recent.group.count == 1


def test_a_group_has_a_count_of_each_hour() -> None:
    """Of six hours at once where it is more than a day, so that a week has 28 or 29."""
    world = World()
    world.clock.at = Instant(world.clock.at - world.clock.at % USUAL_MS)
    begin = world.clock.now()
    for hours in (0, 0, 3, 26):
        world.clock.at = Instant(begin + hours * USUAL_MS)
        fail(world, "one")
    long = world.backend.failures.report(begin)
    assert (long.window_ms, long.groups[0].counts) == (6 * USUAL_MS, (3, 0, 0, 0, 1))
    short = world.backend.failures.report(Instant(begin + 3 * USUAL_MS))
    assert (short.window_ms, short.groups[0].counts) == (USUAL_MS, (1, *[0] * 22, 1))


def test_messages_are_redacted_as_the_settings_say() -> None:
    """What is not kept with the job is not in its group either."""
    world = World(settings=Settings(redact_messages=True))
    fail(world, "secret words")
    (only,) = world.backend.failures.report().groups
    assert "secret" not in only.group.message
    assert only.group.type == "Broken"


def test_failures_that_cannot_be_counted_hold_nothing_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither AWS, nor an event that cannot be read, nor one queue another one."""
    world = World()
    add = world.failure_groups.add

    def refuse(queue: str, *given: Any) -> None:
        if queue == "default":
            raise BackendUnavailableError("no")
        add(queue, *given)

    monkeypatch.setattr(world.failure_groups, "add", refuse)
    fail(world, "one")
    fail(world, "two", "email")
    world.backend.failures.record([None])  # type: ignore[list-item]
    assert [each.queues for each in world.backend.failures.report().groups] == [("email",)]


def test_failures_are_kept_for_a_week() -> None:
    """Who asks for more is refused."""
    world = World()
    fail(world, "one")
    week = Instant(world.clock.now() - 7 * 86_400_000)
    assert len(world.backend.failures.report(week).groups) == 1
    with pytest.raises(InvalidRequestError, match="7 days"):
        world.backend.failures.report(Instant(week - 2 * 3_600_000))


@pytest.mark.parametrize(("late_ms", "is_refused"), [(-1, False), (0, False), (1, True)])
def test_a_week_of_failures_begins_with_the_hour_in_which_it_began(
    late_ms: int, is_refused: bool
) -> None:
    """Failures are counted by the hour, so that the first hour counts as a whole."""
    world = World()
    begin = Instant(world.clock.at - world.clock.at % USUAL_MS)
    world.clock.at = begin + LONGEST_MS + USUAL_MS + late_ms
    if not is_refused:
        assert world.backend.failures.report(begin).since == begin
        return
    with pytest.raises(InvalidRequestError, match="7 days"):
        world.backend.failures.report(begin)


def test_one_queue_that_cannot_be_counted_does_not_hold_the_others_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are in one batch of the stream."""
    record, batch = world.backend.failures.record, list[Event]()
    monkeypatch.setattr(type(world.backend.failures), "record", lambda _, each: batch.extend(each))
    for queue in ("default", "email"):
        fail(world, "one", queue)
    monkeypatch.undo()
    add = world.failure_groups.add

    def refuse(queue: str, *given: Any) -> None:
        if queue == "default":
            raise BackendUnavailableError("no")
        add(queue, *given)

    monkeypatch.setattr(world.failure_groups, "add", refuse)
    record(batch)
    assert [each.queues for each in world.backend.failures.report().groups] == [("email",)]


@pytest.mark.parametrize(("ago_h", "window_h"), [(FEW_HOURS - 1, 1), (FEW_HOURS, 6)])
def test_each_of_a_few_hours_is_counted_apart(world: World, ago_h: int, window_h: int) -> None:
    """The hour that has begun is one of them."""
    since = Instant(world.clock.at - ago_h * USUAL_MS)
    assert world.backend.failures.report(since).window_ms == window_h * USUAL_MS
