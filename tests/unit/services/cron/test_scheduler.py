"""Cron jobs: the plan, overlap policies, catching up, and firing each occurrence once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ojs_aws.domain.conflicts import StaleCronError
from ojs_aws.domain.cron.entry import CronEntry, Occurrence, Outcome
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendError,
    ConflictError,
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
from ojs_aws.services.cron.runs import job_of
from ojs_aws.services.cron.service import MAX_TEMPLATE_BYTES, Registration
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.render import render_job
from tests.load import HUNG_S
from tests.simulation.faults import Fault, ProcessDiedError
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


# ------------------------------------------------------------------------------- overlap
def test_skip_leaves_an_occurrence_out_while_a_run_is_active(world: World) -> None:
    """CRON-18, CRON-19: and says for which run; a waiting run is no obstacle."""
    register(world)
    pass_minutes(world, 2)
    assert len(jobs(world)) == 2
    (active, *_) = fetch(world, 1)
    pass_minutes(world)
    assert len(jobs(world)) == 2
    assert (latest(world).reason, latest(world).blocked_by) == ("overlap_skip", active)
    assert world.stored.crons[NAME].run_count == 2
    world.backend.jobs.ack(active, "w", None)
    pass_minutes(world)
    assert len(jobs(world)) == 3


def test_overlap_is_judged_when_the_occurrence_is_due(world: World) -> None:
    """A run that ends between the alarm's setting and its ringing does not block."""
    register(world)
    pass_minutes(world)
    (active,) = fetch(world)
    world.clock.at = at("2026-02-12T20:16:59Z")
    world.backend.cron.scheduler.tick()
    world.backend.jobs.ack(active, "w", None)
    world.clock.at = at("2026-02-12T20:17:00Z")
    world.backend.cron.scheduler.fire(NAME)
    assert len(jobs(world)) == 2


def test_a_run_whose_worker_died_does_not_block(world: World) -> None:
    """Its reservation is over, though nobody has written that down yet."""
    register(world, job={"retry": {"max_attempts": 1}})
    pass_minutes(world)
    world.backend.jobs.fetch(FetchRequest(("default",), 1, "w", 30_000))
    pass_minutes(world)
    assert [job.state for job in jobs(world)] == [JobState.DISCARDED, JobState.AVAILABLE]


def test_allow_runs_side_by_side(world: World) -> None:
    """CRON-18: without a look at the earlier runs."""
    register(world, overlap="allow")
    for _ in range(15):
        pass_minutes(world)
        assert len(fetch(world)) == 1
    assert len(jobs(world, JobState.ACTIVE)) == 15
    assert len(world.stored.crons[NAME].runs) == 10


def test_cancel_previous_makes_room(world: World) -> None:
    """CRON-18: the active run is cancelled, a waiting one is not."""
    register(world, overlap="cancel_previous")
    pass_minutes(world)
    (first,) = fetch(world)
    pass_minutes(world)
    assert world.stored.jobs[first].state is JobState.CANCELLED
    pass_minutes(world)
    assert len(jobs(world, JobState.AVAILABLE)) == 2


def test_a_run_that_is_gone_before_it_is_cancelled_makes_room(world: World) -> None:
    """Somebody removes it between the claim of the occurrence and the cancellation."""
    register(world, overlap="cancel_previous")
    pass_minutes(world)
    (first,) = fetch(world)
    plain = world.cron.save

    def save(before: CronEntry | None, after: CronEntry) -> None:
        plain(before, after)
        if after.is_claimed:
            assert after.latest is not None
            assert after.latest.cancels == (first,)
            del world.stored.jobs[first]

    world.cron.save = save  # type: ignore[method-assign]
    pass_minutes(world)
    assert [job.state for job in jobs(world)] == [JobState.AVAILABLE]


def test_enqueue_never_runs_two_at_once_and_loses_none(world: World) -> None:
    """CRON-18: runs wait for the ones before them, in their order."""
    register(world, overlap="enqueue")
    pass_minutes(world, 4)
    done = []
    for _ in range(4):
        (active,) = fetch(world, 5)
        assert len(jobs(world, JobState.ACTIVE)) == 1
        world.backend.jobs.ack(active, "w", None)
        done.append(active)
        world.backend.cron.scheduler.fire(NAME)
    assert done == sorted(done)
    assert fetch(world) == []


def test_a_held_run_waits_for_the_retries_of_the_one_before(world: World) -> None:
    """The earlier run has not ended as long as an attempt is left."""
    register(world, overlap="enqueue", job={"retry": {"max_attempts": 2, "jitter": False}})
    pass_minutes(world, 2)
    (first,) = fetch(world)
    world.backend.jobs.fail(first, "w", ERROR)
    world.backend.cron.scheduler.fire(NAME)
    assert len(jobs(world, JobState.PENDING)) == 1


def test_a_held_run_is_released_by_the_tick_also_when_disabled(world: World) -> None:
    """Pausing a cron job does not strand what it enqueued."""
    register(world, overlap="enqueue")
    pass_minutes(world, 2)
    world.backend.cron.service.set_enabled(NAME, is_enabled=False)
    (first,) = fetch(world)
    world.backend.jobs.ack(first, "w", None)
    pass_minutes(world)
    assert len(fetch(world)) == 1
    assert world.stored.crons[NAME].held == ()


def test_deleting_lets_held_runs_go(world: World) -> None:
    """Section 8.4: jobs that were enqueued are not affected, and nobody else would release them."""
    register(world, overlap="enqueue")
    pass_minutes(world, 3)
    world.backend.cron.service.delete(NAME)
    assert len(jobs(world, JobState.AVAILABLE)) == 3
    with pytest.raises(NotFoundError):
        world.backend.cron.service.get(NAME)


def test_deleting_lets_go_what_is_only_just_being_enqueued(world: World) -> None:
    """A tick has claimed an occurrence, and pushes its held job after the cron job is gone."""
    register(world, overlap="enqueue")
    pass_minutes(world)
    before = len(world.faults.calls)
    pass_minutes(world)
    at = world.faults.calls.index("insert", before) - before
    world.clock.advance(s=60)
    world.faults.faulty, world.faults.fault = len(world.faults.calls) + at, Fault.DIES_BEFORE
    with pytest.raises(ProcessDiedError):
        world.backend.cron.scheduler.tick()
    claimed = world.stored.crons[NAME]
    assert claimed.is_claimed
    assert len(claimed.held) == 2
    world.backend.cron.service.delete(NAME)
    world.backend.jobs.push(job_of(claimed))  # as if the tick had not died, but was late
    assert len(jobs(world, JobState.AVAILABLE)) == 3
    assert jobs(world, JobState.PENDING) == []


def test_runs_that_wait_are_bounded(world: World) -> None:
    """A hundred at most; further occurrences are skipped."""
    register(world, overlap="enqueue")
    pass_minutes(world, 103)
    assert len(jobs(world)) == 100
    assert latest(world).reason == "overlap_skip"


def test_many_waiting_runs_are_warned_of(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """CRON-S04: from the third on."""
    register(world, overlap="enqueue")
    pass_minutes(world, 3)
    assert "waiting" not in caplog.text
    pass_minutes(world)
    assert "has 3 runs waiting" in caplog.text


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


# ------------------------------------------------------------------------------- once
def test_a_tick_that_another_one_overtakes_has_not_failed(world: World) -> None:
    """The other one fired what was due."""
    register(world)
    world.clock.advance(s=60)
    plain = world.cron.save

    def save(before: CronEntry | None, after: CronEntry) -> None:
        world.cron.save = plain  # type: ignore[method-assign]
        world.backend.cron.scheduler.tick()
        plain(before, after)

    world.cron.save = save  # type: ignore[method-assign]
    report = world.backend.cron.scheduler.tick()
    assert (report.cron_due, report.cron_fired, report.cron_failed) == (1, 0, 0)
    assert len(jobs(world)) == 1


@pytest.mark.parametrize("overlap", ["allow", "skip", "enqueue"])
def test_any_number_of_ticks_fires_an_occurrence_once(world: World, overlap: str) -> None:
    """CRON-21: no leader is needed. All read the same version; one conditional write decides."""
    register(world, overlap=overlap)
    ticks = 16
    all_have_read = threading.Barrier(ticks)
    one_at_a_time = threading.Lock()
    plain_load, plain_save, plain_insert = world.cron.load, world.cron.save, world.store.insert

    def load(name: str) -> CronEntry | None:
        entry = plain_load(name)
        all_have_read.wait(HUNG_S)
        return entry

    def save(before: CronEntry | None, after: CronEntry) -> None:
        with one_at_a_time:
            plain_save(before, after)

    def insert(job: JobRecord) -> None:
        with one_at_a_time:
            plain_insert(job)

    world.cron.load, world.cron.save = load, save  # type: ignore[method-assign]
    world.store.insert = insert  # type: ignore[method-assign]
    for minute in range(1, 6):
        world.clock.advance(s=60)
        threads = [threading.Thread(target=world.backend.cron.scheduler.tick) for _ in range(ticks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(jobs(world)) == minute
        assert world.stored.crons[NAME].run_count == minute


def _attempt(call: Callable[[], Any]) -> None:
    for _ in range(2):
        try:
            call()
        except (BackendError, ProcessDiedError):
            continue
        except (ConflictError, NotFoundError, StaleCronError):
            return
        return


def _play(world: World) -> None:
    """Three policies; runs that are fetched and never end; ticks that may die anywhere."""
    for overlap in ("skip", "enqueue", "cancel_previous"):
        name = overlap.replace("_", "-")
        _attempt(partial(register, world, name=name, overlap=overlap))
    for _ in range(3):
        world.clock.advance(s=60)
        _attempt(world.backend.cron.scheduler.tick)
        _attempt(lambda: fetch(world, 1))


@pytest.mark.parametrize("fault", list(Fault))
def test_no_fault_fires_twice_or_leaves_a_claim_open(fault: Fault) -> None:
    """Inject every fault into every call of ticks: each occurrence has one job, or is skipped."""
    clean = _world()
    _play(clean)
    for faulty in range(len(clean.faults.calls)):
        world = _world()
        world.faults.faulty, world.faults.fault = faulty, fault
        _play(world)
        world.faults.faulty = None
        world.clock.advance(s=60)
        world.backend.cron.scheduler.tick()
        where = f"call {faulty} ({world.faults.calls[faulty]}) {fault.value}"
        scheduled = [decode(render_job(job)["meta"]) for job in jobs(world)]
        seen = [(m["cron_name"], m["cron_scheduled_at"]) for m in scheduled if isinstance(m, dict)]
        assert len(seen) == len(set(seen)), where
        for entry in world.stored.crons.values():
            assert not entry.is_claimed, where
            runs = [name for name, _ in seen if name == entry.name]
            assert len(runs) == entry.run_count, where
            assert entry.next_run_at == at("2026-02-12T20:20:00Z"), where


def _world() -> World:
    world = World()
    world.clock.at = at(START)
    return world
