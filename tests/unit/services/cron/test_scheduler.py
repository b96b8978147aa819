"""Cron jobs: the plan, overlap policies, catching up, and firing each occurrence once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.cron.entry import CronEntry, Occurrence, Outcome
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    InvalidRequestError,
    JsonValue,
    NotFoundError,
    PayloadTooLargeError,
    RateLimitedError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import decode, encode, parse_object
from ojs_aws.domain.timestamps import Instant, format_instant, parse_timestamp
from ojs_aws.middleware import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.services.cron.service import MAX_TEMPLATE_BYTES, Registration
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.render import render_job
from tests.simulation.world import World

START = "2026-02-12T20:15:10Z"
NAME = "report"
ERROR = parse_object('{"type": "Broken", "message": "it broke"}')


def at(text: str) -> Instant:
    """An instant."""
    return parse_timestamp(text, "test")


@pytest.fixture
def world() -> World:
    """A world that begins ten seconds past a quarter."""
    made = World()
    made.clock.at = at(START)
    return made


def wanted(
    name: JsonValue = NAME, expression: JsonValue = "* * * * *", **more: Any
) -> Registration:
    """A registration."""
    envelope = {"type": "report.make", "args": [1], "queue": "default", **more.pop("job", {})}
    document = encode({"type": "report.make", "args": [1]})
    values: dict[str, Any] = {
        "timezone": "UTC",
        "overlap": "skip",
        "is_enabled": True,
        "description": None,
        "document": document,
        "job": Job.from_json(encode(envelope)),
        **more,
    }
    return Registration(name=name, expression=expression, **values)


def register(world: World, *given: Any, **more: Any) -> CronEntry:
    """Register a cron job."""
    return world.backend.cron.service.register(wanted(*given, **more))[0]


def latest(world: World, name: str = NAME) -> Occurrence:
    """The last occurrence."""
    found = world.stored.crons[name].latest
    assert found is not None
    return found


def jobs(world: World, state: JobState | None = None) -> list[JobRecord]:
    """The jobs there are, in the order of their ids."""
    found = sorted(world.stored.jobs.values(), key=lambda job: job.id)
    return [job for job in found if state is None or job.state is state]


def fetch(world: World, count: int = 5) -> list[str]:
    """What a worker gets, in reservations of an hour."""
    request = FetchRequest(("default",), count, "w", 3_600_000)
    return [job.id for job in world.backend.jobs.fetch(request)]


def pass_minutes(world: World, count: int = 1) -> None:
    """Let minutes pass, with a tick in each."""
    for _ in range(count):
        world.clock.advance(s=60)
        world.backend.cron.scheduler.tick()


# ------------------------------------------------------------------------------- the plan
def test_a_cron_job_fires_at_its_times(world: World) -> None:
    """CRON-07: the next run is planned at registration and after each trigger."""
    entry = register(world)
    assert entry.next_run_at == at("2026-02-12T20:16:00Z")
    world.backend.cron.scheduler.tick()
    assert jobs(world) == []
    pass_minutes(world)
    entry = world.stored.crons[NAME]
    assert entry.last_run_at == at("2026-02-12T20:16:10Z")
    assert entry.next_run_at == at("2026-02-12T20:17:00Z")
    assert entry.run_count == 1
    assert [job.type for job in jobs(world, JobState.AVAILABLE)] == ["report.make"]


def test_a_triggered_job_says_where_it_comes_from(world: World) -> None:
    """CRON-20: beside the client's own metadata, which is kept to the letter."""
    envelope = (
        '{"type":"report.make","args":[1.10],"meta":{"owner":"a","n":1.50},"queue":"default"}'
    )
    asked = replace(wanted(), job=Job.from_json(envelope))
    world.backend.cron.service.register(asked)
    pass_minutes(world)
    rendered = render_job(jobs(world)[0])
    assert rendered["args"] == "[1.10]"
    assert '"n":1.50' in rendered["meta"]
    assert decode(rendered["meta"]) == {
        "owner": "a",
        "n": 1.5,
        "cron_name": NAME,
        "cron_triggered_at": "2026-02-12T20:16:10.000Z",
        "cron_scheduled_at": "2026-02-12T20:16:00.000Z",
    }


def test_an_alarm_rings_at_the_very_second(world: World) -> None:
    """Nobody waits for the tick; each occurrence sets the alarm of the next."""
    register(world)
    for minute in range(16, 19):
        due = at(f"2026-02-12T20:{minute}:00Z")
        world.clock.at = due - 1
        assert world.ringing() == []
        world.clock.at = due
        assert [world.backend.cron.scheduler.fire(name) for name in world.ringing()] == [[0]]
    assert len(jobs(world)) == 3


def test_what_is_far_away_has_no_alarm_until_the_tick_before_it(world: World) -> None:
    """Alarms are set by the tick that comes last before their second."""
    register(world, expression="30 21 * * *")
    assert world.alarms_set() == []
    world.clock.at = at("2026-02-12T21:28:40Z")
    world.backend.cron.scheduler.tick()
    assert world.alarms_set() == []
    world.clock.at = at("2026-02-12T21:28:50Z")
    world.backend.cron.scheduler.tick()
    assert world.alarms_set() == [(at("2026-02-12T21:30:00Z"), NAME)]


def test_a_late_alarm_finds_nothing_to_do(world: World) -> None:
    """Messages repeat; an entry may be gone or disabled meanwhile."""
    register(world)
    pass_minutes(world)
    assert world.backend.cron.scheduler.fire(NAME) == []
    assert world.backend.cron.scheduler.fire("unknown") == []
    assert len(jobs(world)) == 1


def test_missed_occurrences_fire_once(world: World) -> None:
    """CRON-25: after an outage of an hour, one run, and the plan goes on from now."""
    register(world)
    world.clock.advance(s=3600)
    report = world.backend.cron.scheduler.tick()
    assert (report.cron_due, report.cron_fired, report.cron_failed) == (1, 1, 0)
    assert report.cron_lag_ms == 3_610_000 - 60_000
    assert len(jobs(world)) == 1
    assert latest(world).scheduled_at == at("2026-02-12T20:16:00Z")
    assert world.stored.crons[NAME].next_run_at == at("2026-02-12T21:16:00Z")


def test_an_interval_counts_from_registration(world: World) -> None:
    """CRON-S02: and goes on from its own grid, however late a tick comes."""
    register(world, expression="@every 90s")
    assert world.stored.crons[NAME].next_run_at == at("2026-02-12T20:16:40Z")
    world.clock.advance(s=100)
    world.backend.cron.scheduler.tick()
    assert world.stored.crons[NAME].next_run_at == at("2026-02-12T20:18:10Z")


def test_registering_again_keeps_the_plan(world: World) -> None:
    """CRON-26: applications register at each start; an interval must not begin again."""
    first = register(world, expression="@every 1h")
    world.clock.advance(s=1800)
    again, is_new = world.backend.cron.service.register(
        wanted(expression="@every 1h", overlap="allow")
    )
    assert not is_new
    assert again.next_run_at == first.next_run_at
    assert again.created_at == first.created_at
    assert again.definition.overlap == "allow"
    changed = register(world, expression="@every 2h")
    assert changed.next_run_at == at("2026-02-12T22:45:10Z")


def test_a_disabled_cron_job_does_not_fire_and_catches_nothing_up(world: World) -> None:
    """CRON-28: next_run_at is null; enabling plans from then on."""
    register(world)
    assert world.backend.cron.service.set_enabled(NAME, is_enabled=False).next_run_at is None
    pass_minutes(world, 3)
    assert jobs(world) == []
    enabled = world.backend.cron.service.set_enabled(NAME, is_enabled=True)
    assert enabled.next_run_at == at("2026-02-12T20:19:00Z")
    assert world.backend.cron.service.set_enabled(NAME, is_enabled=True) == enabled
    pass_minutes(world)
    assert len(jobs(world)) == 1


def test_disabling_or_deleting_outweighs_an_alarm(world: World) -> None:
    """The decision falls when the occurrence is due, not when its alarm was set."""
    register(world)
    world.backend.cron.service.set_enabled(NAME, is_enabled=False)
    register(world, name="gone")
    world.backend.cron.service.delete("gone")
    world.clock.advance(s=60)
    for name in world.ringing():
        world.backend.cron.scheduler.fire(name)
    assert jobs(world) == []


def test_a_cron_job_that_is_registered_disabled_has_no_next_run(world: World) -> None:
    """CRON-28."""
    assert register(world, is_enabled=False).next_run_at is None


def test_an_occurrence_in_the_gap_is_skipped_and_published(world: World) -> None:
    """CRON-16, CRON-30: 2:30 did not exist in New York on 8 March 2026."""
    world.clock.at = at("2026-03-07T12:00:00Z")
    register(world, expression="30 2 * * *", timezone="America/New_York")
    world.clock.at = at("2026-03-08T12:00:00Z")
    world.backend.cron.scheduler.tick()
    assert jobs(world) == []
    assert latest(world).outcome is Outcome.SKIPPED
    assert latest(world).reason == "dst_skip"
    entry = world.stored.crons[NAME]
    assert format_instant(entry.next_run_at or Instant(0)) == "2026-03-09T06:30:00.000Z"
    assert entry.run_count == 0


def test_two_occurrences_in_gaps_are_skipped_one_after_the_other(world: World) -> None:
    """Each when its time comes: midnight did not exist in Brazil on two Sundays in a row."""
    world.clock.at = at("2016-01-01T12:00:00Z")
    register(world, expression="0 0 * 10 0#3", timezone="America/Sao_Paulo")
    for number, gap in enumerate(("2016-10-16T03:00:00Z", "2017-10-15T03:00:00Z"), 1):
        world.clock.at = Instant(at(gap) - 1)
        world.backend.cron.scheduler.tick()
        assert world.stored.crons[NAME].gap_at == at(gap)
        world.clock.at = at(gap)
        world.backend.cron.scheduler.tick()
        found = latest(world)
        assert (found.number, found.scheduled_at, found.reason) == (number, at(gap), "dst_skip")
    world.clock.at = at("2018-10-21T03:00:00Z")
    world.backend.cron.scheduler.tick()
    assert len(jobs(world)) == 1


def test_an_occurrence_at_the_end_of_a_gap_runs_beside_a_skipped_one(world: World) -> None:
    """2:30 did not exist in New York on 8 March 2026, and 3:00 is the instant of the transition."""
    world.clock.at = at("2026-03-08T06:59:59Z")
    register(world, expression="*/30 2-3 * * *", timezone="America/New_York")
    world.clock.at = at("2026-03-08T07:00:00Z")
    world.backend.cron.scheduler.tick()
    assert len(jobs(world)) == 1
    entry = world.stored.crons[NAME]
    assert (entry.gap_at, entry.next_run_at) == (None, at("2026-03-08T07:30:00Z"))


def test_a_gap_behind_a_missed_run_is_missed_with_it(world: World) -> None:
    """One run makes up for all that a tick comes too late for (section 7.3)."""
    world.clock.at = at("2016-01-01T12:00:00Z")
    register(world, expression="0 0-1 * 10 0#3", timezone="America/Sao_Paulo")
    world.clock.at = at("2018-01-01T12:00:00Z")
    world.backend.cron.scheduler.tick()
    assert (latest(world).outcome, latest(world).number) == (Outcome.TRIGGERED, 2)
    assert latest(world).scheduled_at == at("2016-10-16T03:00:00Z")


# ------------------------------------------------------------------------------- by hand
def test_a_trigger_by_hand_leaves_the_plan_alone(world: World) -> None:
    """Also for a disabled cron job."""
    planned = register(world).next_run_at
    entry, occurrence = world.backend.cron.service.trigger(NAME)
    assert occurrence.outcome is Outcome.TRIGGERED
    assert world.stored.jobs[occurrence.job_id].state is JobState.AVAILABLE
    assert (entry.next_run_at, entry.run_count) == (planned, 1)
    world.backend.cron.service.set_enabled(NAME, is_enabled=False)
    assert world.backend.cron.service.trigger(NAME)[1].outcome is Outcome.TRIGGERED
    with pytest.raises(NotFoundError):
        world.backend.cron.service.trigger("unknown")


def test_a_trigger_by_hand_obeys_the_overlap_policy(world: World) -> None:
    """It says why nothing was enqueued."""
    register(world)
    first = world.backend.cron.service.trigger(NAME)[1].job_id
    fetch(world)
    entry, occurrence = world.backend.cron.service.trigger(NAME)
    assert (occurrence.outcome, occurrence.blocked_by) == (Outcome.SKIPPED, first)
    assert entry.run_count == 1


def test_a_job_that_a_middleware_drops_is_a_skipped_occurrence(world: World) -> None:
    """The entry is not stuck, and its count says how many jobs there were."""

    def sieve(_: Job, __: object) -> None:
        return None

    around_push(world, sieve)
    register(world)
    pass_minutes(world)
    entry = world.stored.crons[NAME]
    assert (latest(world).outcome, latest(world).reason) == (Outcome.SKIPPED, "dropped_by:sieve")
    assert (entry.run_count, entry.runs) == (0, ())


def test_a_job_that_a_middleware_refuses_is_a_skipped_occurrence(world: World) -> None:
    """It would be refused at each repetition."""

    def refuse(_: Job, __: object) -> None:
        raise RuntimeError("no")

    around_push(world, refuse)
    register(world)
    pass_minutes(world)
    assert (latest(world).outcome, latest(world).reason) == (Outcome.SKIPPED, "x_enqueue_rejected")


def test_a_job_that_a_middleware_puts_off_is_enqueued_later(world: World) -> None:
    """A limit of rate is no refusal: the claim stays open until the job is stored."""
    limits = [RateLimitedError("slow")]

    def limit(job: Job, call_next: Callable[[Job], object]) -> object:
        if limits:
            raise limits.pop()
        return call_next(job)

    around_push(world, limit)
    register(world)
    pass_minutes(world)
    assert (jobs(world), world.stored.crons[NAME].is_claimed) == ([], True)
    pass_minutes(world)
    assert len(jobs(world)) == 2


def around_push(world: World, middleware: Callable[..., object]) -> None:
    """Put a middleware around the backend's PUSH."""
    enqueuing = Enqueuer(EnqueueChain([middleware]))
    world.backend.jobs.push = replace(world.backend.jobs.push, enqueuing=enqueuing)


# ------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "Daily"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "-x"}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": 5}, "name"),
        ({"name": None}, "name"),
        ({"name": "a\n"}, "name"),
        ({"expression": "61 * * * *"}, "cron"),
        ({"expression": 5}, "cron"),
        ({"expression": None}, "cron"),
        ({"timezone": "+05:00"}, "timezone"),
        ({"overlap": "maybe"}, "overlap_policy"),
        ({"overlap": 5}, "overlap_policy"),
        ({"is_enabled": "yes"}, "enabled"),
        ({"description": 5}, "description"),
        ({"description": "x" * 1025}, "description"),
        ({"job": {"type": "Not a type"}}, "type"),
        ({"job": {"args": {}}}, "args"),
        ({"job": {"queue": "NO"}}, "queue"),
        ({"job": {"retry": {"max_attempts": -1}}}, "retry.max_attempts"),
    ],
)
def test_bad_registrations_are_refused_and_nothing_is_stored(
    world: World, change: dict[str, Any], field: str
) -> None:
    """CRON-02 to CRON-05, CRON-11: with the member at fault."""
    with pytest.raises(InvalidRequestError) as caught:
        world.backend.cron.service.register(wanted(**change))
    assert caught.value.details["field"] == field
    assert world.stored.crons == {}


def test_a_large_job_is_refused(world: World) -> None:
    """Its entry is read and written at each occurrence."""
    most = encode({"args": ["x" * (MAX_TEMPLATE_BYTES - 13)]})
    with pytest.raises(PayloadTooLargeError):
        register(world, document=f"{most} ")
    assert world.stored.crons == {}
    register(world, document=most, description="x" * 1024)
    assert world.stored.crons[NAME].definition.description == "x" * 1024


def test_enabling_what_is_enabled_writes_nothing(world: World) -> None:
    register(world)
    before = len(world.faults.calls)
    world.backend.cron.service.set_enabled(NAME, is_enabled=True)
    assert "save" not in world.faults.calls[before:]
