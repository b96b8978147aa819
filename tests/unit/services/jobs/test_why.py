"""Why an available job does not run: each cause outside of the job has its test."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.credentials import Actor
from ojs_aws.domain.errors import NotFoundError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.ready_keys import ready_since
from ojs_aws.domain.jobs.reasons import ReasonCode
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.queues import LastTick
from ojs_aws.domain.queues.tallies import Tally, TallyKind
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.domain.workers import WorkerInfo, WorkerReport
from ojs_aws.services.jobs import why
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.next_in_line import lately_limited, next_in_line
from ojs_aws.services.jobs.why import Diagnosis, Why
from tests.job_steps import pushed
from tests.jobs import any_job
from tests.simulation.world import World, count_changes
from tests.unit.services.queues.test_service_trigger_faults import refuse

R = ReasonCode
SERVES = '{"queues":["default"]}'


@pytest.fixture
def world() -> World:
    """A backend with a worker for the queue, and a sweep that is on time."""
    world = World()
    count_changes(world)
    world.registry.ensure("default", world.clock.now())
    beat(world)
    return world


def beat(world: World, worker: str = "w", about: str = SERVES, **report: Any) -> None:
    """Let a worker send a heartbeat."""
    world.backend.workers.heartbeat(worker, [], None, WorkerReport(about=about, **report))


def push(world: World, **attributes: Any) -> str:
    """Push a job; a moment passes."""
    record = world.backend.jobs.push(any_job("demo.echo", [1], **attributes)).record
    assert record is not None
    world.clock.advance(ms=10)
    return record.id


def wait(world: World, seconds: int = 70) -> None:
    """Let time pass; worker and sweep go on."""
    world.clock.advance(s=seconds)
    beat(world)
    world.registry.remember_tick(LastTick(world.clock.now(), 0))


def asked(world: World, job_id: str, **options: Any) -> Diagnosis:
    """Ask why a job does not run."""
    return world.backend.jobs.why(job_id, **options)


def codes(world: World, job_id: str) -> list[ReasonCode]:
    """Return the codes of the reasons."""
    return [each.code for each in asked(world, job_id).reasons]


def test_a_new_job_with_a_worker_is_ready(world: World) -> None:
    """Everything was checked."""
    found = asked(world, push(world))
    assert [each.code for each in found.reasons] == [R.READY]
    assert found.checked == ("job", "queue", "limits", "workers", "line", "messages", "sweep")


FULL = '{"queues":["default"],"concurrency":2}'


@pytest.mark.parametrize(
    ("late_s", "active", "text"),
    [
        (22, 1, "It is the next of its queue, and any worker can take it."),
        (22, 2, "It is the next of its queue, and all 2 slots of its workers are busy."),
        (
            23,
            2,
            "It is the next of its queue, but its workers may hang: the last heartbeat was 23 s ",
        ),
    ],
)
def test_the_next_job_is_told_of_workers_that_may_hang_or_are_full(
    world: World, late_s: int, active: int, text: str
) -> None:
    """A worker that hangs counts as alive for three heartbeats, and takes no job."""
    beat(world, about=FULL, active_jobs=active, interval_ms=15_000)
    world.clock.advance(s=late_s)
    job_id = push(world)
    (reason,) = asked(world, job_id).reasons
    assert reason.code is R.READY
    assert reason.message.startswith(text)


@pytest.mark.parametrize(("late_ms", "is_late"), [(22_500, False), (22_501, True)])
def test_a_worker_may_hang_once_it_is_half_an_interval_late(late_ms: int, is_late: bool) -> None:
    """Three heartbeats are 45 seconds here, so it is late after one and a half."""
    now = Instant(1_760_000_000_000)
    seen = Instant(now - late_ms)
    worker = WorkerInfo(id="w", last_seen=seen, interval_ms=15_000, about=FULL)
    assert ("may hang" in next_in_line([worker], now).message) is is_late


def test_the_last_of_several_heartbeats_says_when_workers_count_as_dead() -> None:
    """One of them may still take the job until then."""
    now = Instant(1_760_000_000_000)
    workers = [
        WorkerInfo(id=f"w{late}", last_seen=Instant(now - late * 1000), interval_ms=15_000)
        for late in (30, 25, 40)
    ]
    reason = next_in_line(workers, now)
    assert "the last heartbeat was 25 s ago." in reason.message
    assert "they count as dead in 20 s." in reason.message
    assert reason.data["last_seen"] == format_instant(Instant(now - 25_000))


@pytest.mark.parametrize(
    ("slots", "active", "end"),
    [
        (1, 1, "and the only slot of its workers is busy."),
        (2, 2, "and all 2 slots of its workers are busy."),
        (2, 1, "and any worker can take it."),
        (0, 0, "and any worker can take it."),
    ],
)
def test_a_worker_that_says_how_many_jobs_it_takes_may_be_full(
    slots: int, active: int, end: str
) -> None:
    """One that does not say so may take another job."""
    now = Instant(1_760_000_000_000)
    about = f'{{"concurrency":{slots}}}' if slots else ""
    worker = WorkerInfo(id="w", last_seen=now, about=about, active_jobs=active)
    assert next_in_line([worker], now).message.endswith(end)


def test_a_job_that_waits_for_long_is_told_of_full_workers(world: World) -> None:
    """As one that has just come is; nothing else explains why it waits."""
    job_id = push(world)
    wait(world)
    beat(world, about=FULL, active_jobs=2, interval_ms=15_000)
    (reason,) = asked(world, job_id).reasons
    assert reason.code is R.READY
    assert reason.message == (
        "It has been first in line for 1 min 10 s, and all 2 slots of its workers are busy."
    )


def test_another_worker_with_room_can_take_the_next_job(world: World) -> None:
    """One that hangs, or is full, holds nothing back then."""
    beat(world, about=FULL, active_jobs=2, interval_ms=15_000)
    world.clock.advance(s=23)
    beat(world, "v", about=FULL, active_jobs=1, interval_ms=15_000)
    (reason,) = asked(world, push(world)).reasons
    assert reason.message.endswith("any worker can take it.")


def test_an_unknown_job_is_not_found(world: World) -> None:
    """As everywhere."""
    with pytest.raises(NotFoundError):
        asked(world, "01990000-0000-7000-8000-00000000ffff")


def test_a_paused_queue_comes_first(world: World) -> None:
    """With how long it has been paused."""
    push(world)
    second = push(world)
    world.backend.queues.service.pause("default", Actor("key:1", "alice"))
    wait(world)
    paused, line = asked(world, second).reasons
    assert (paused.code, line.code) == (R.QUEUE_PAUSED, R.IN_LINE)
    assert "has been paused by alice for 1 min 10 s." in paused.message
    assert paused.data["by"] == {"id": "key:1", "name": "alice"}
    (hidden, _) = asked(world, second, names_others=False).reasons
    assert "alice" not in f"{hidden.message} {hidden.data}"
    assert paused.hint == "ojs-aws queues resume default"
    assert line.message == "1 job is before it in its queue."  # the pace says nothing now


def test_a_job_in_line_knows_its_place_and_the_pace(world: World) -> None:
    """One job a minute starts, and two are before it."""
    ids = [push(world) for _ in range(8)]
    for _ in range(5):
        (done,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
        world.backend.jobs.ack(done.id, "w", None)
        wait(world, 30)
    (reason,) = asked(world, ids[7]).reasons
    assert reason.code is R.IN_LINE
    assert reason.data["before"] == 2
    assert reason.data["started_per_minute"] == 1.0
    assert reason.data["wait_ms"] == 120_000
    assert "turn comes in about 2 min" in reason.message


def test_a_fair_job_of_a_wide_queue_waits_for_its_own_line() -> None:
    """As many start in each line, so its turn comes as many times later."""
    world = World(settings=Settings(queues=("mail",), wide_queues=(("mail", 2),)))
    count_changes(world)
    world.backend.queues.config.change("mail", {"ordering_shards": 2})
    beat(world, about='{"queues":["mail"]}')
    jobs = [pushed(world.backend, queue="mail", fairness={"key": "a"}) for _ in range(12)]
    (done,) = world.backend.jobs.fetch(FetchRequest(("mail",), worker_id="w"))
    world.backend.jobs.ack(done.id, "w", None)
    wait(world, 60)
    last = max((job for job in jobs if job.id != done.id), key=lambda job: job.order)
    others = [job for job in jobs if job.shard == last.shard and job.id != done.id]
    reason = asked(world, last.id).reasons[0]
    before = len(others) - 1
    assert "before it in its line, one of 2 of the queue. Its key 'a' is" in reason.message
    assert (reason.data["before"], reason.data["wait_ms"]) == (before, before * 2 * 5 * 60_000)


def test_a_higher_priority_goes_before_it(world: World) -> None:
    """The line is in the order of FETCH."""
    first = push(world)
    push(world, priority=5)
    (reason,) = asked(world, first).reasons
    assert (reason.code, reason.data["before"]) == (R.IN_LINE, 1)
    assert "1 job is before it" in reason.message
    assert "None has started in the last 5 minutes." in reason.message


def test_a_place_far_behind_is_more_than_so_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bounded number of rows is read."""
    monkeypatch.setattr(why, "MAX_COUNTED", 3)
    ids = [push(world) for _ in range(6)]
    assert asked(world, ids[3]).reasons[0].data["is_exact"] is True
    (reason,) = asked(world, ids[5]).reasons
    assert (reason.data["before"], reason.data["is_exact"]) == (3, False)
    assert reason.message.startswith("More than 3 jobs are before it")


def test_a_full_limit_names_those_that_hold_it(world: World) -> None:
    """But not to callers who may not see other jobs."""
    limit = {"key": "stripe", "concurrency": 1}
    holder = push(world, rate_limit=limit)
    waiting = push(world, rate_limit=limit)
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    reason = asked(world, waiting).reasons[0]
    assert (reason.code, reason.data["held_by"]) == (R.LIMIT, [holder])
    assert "1 of 1 jobs" in reason.message
    assert "held_by" not in asked(world, waiting, names_others=False).reasons[0].data


def test_a_limit_that_is_free_for_a_moment_is_still_the_cause(world: World) -> None:
    """A job has just ended, and others still wait: more workers would not help."""
    limit = {"key": "stripe", "concurrency": 1}
    ids = [push(world, rate_limit=limit) for _ in range(3)]
    world.backend.jobs.fetch(FetchRequest(("default",), 2, worker_id="w"))
    world.clock.advance(s=70)
    world.backend.jobs.ack(ids[0], "w", None)
    reason = asked(world, ids[1]).reasons[0]
    assert (reason.code, reason.data["key"]) == (R.LIMIT, "stripe")
    assert "kept jobs waiting 1 min 10 s ago" in reason.message
    world.backend.jobs.fetch(FetchRequest(("default",), 1, worker_id="w"))
    world.backend.jobs.ack(ids[1], "w", None)
    assert R.LIMIT not in [each.code for each in asked(world, ids[2]).reasons]


def test_a_limit_is_not_the_cause_of_a_job_that_has_just_come(world: World) -> None:
    """It is free, and the next worker that asks takes the job: for a minute."""
    limit = {"key": "stripe", "concurrency": 1}
    holder, waiting = push(world, rate_limit=limit), push(world, rate_limit=limit)
    world.backend.jobs.fetch(FetchRequest(("default",), 2, worker_id="w"))
    ready_at = ready_since(world.stored.jobs[waiting].ready_key)
    world.clock.advance(ms=60_000 - (world.clock.now() - ready_at))
    world.backend.jobs.ack(holder, "w", None)
    assert R.LIMIT not in [each.code for each in asked(world, waiting).reasons]
    world.clock.advance(ms=1)
    assert R.LIMIT in [each.code for each in asked(world, waiting).reasons]


def test_a_limit_that_kept_jobs_waiting_in_the_last_minute_is_the_cause() -> None:
    """Also if none has been refused since one began."""
    bucket = Bucket(key="k", exhausted_at=Instant(1_000))
    assert [each.code for each in lately_limited([bucket], Instant(61_000))] == [R.LIMIT]
    assert lately_limited([bucket, Bucket(key="never")], Instant(61_001)) == []


@pytest.mark.parametrize(
    ("policy", "strategy"),
    [
        ({"rate": {"limit": 1, "period": "minute"}}, "rate"),
        ({"throttle": {"limit": 1, "period": "minute"}}, "throttle"),
    ],
)
def test_a_limit_in_time_says_when_it_opens(
    world: World, policy: dict[str, Any], strategy: str
) -> None:
    """Set by an operator for the whole queue."""
    world.backend.limits.limit_queue("default", policy)
    push(world)
    waiting = push(world)
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    reason = asked(world, waiting).reasons[0]
    assert (reason.code, reason.data["strategy"]) == (R.LIMIT, strategy)
    assert reason.until is not None
    assert "queue:default" in reason.message


def test_a_limit_of_the_jobs_tenant_counts(world: World) -> None:
    """And the hint names the tenant; that of another limit names its key."""
    waiting = push(world, meta={"tenant_id": "acme"})
    world.backend.tenant_admin.change("acme", lambda before: replace(before, is_suspended=True))
    reason = asked(world, waiting).reasons[0]
    assert (reason.code, reason.hint) == (R.LIMIT, "ojs-aws tenants show acme")
    world.backend.limits.override("type:demo.echo", {"concurrency": 0})
    reason = asked(world, push(world)).reasons[0]
    assert reason.hint == "ojs-aws rate-limits show type:demo.echo"


def test_a_limit_of_the_job_s_type_counts(world: World) -> None:
    """No job need name it."""
    world.backend.limits.override("type:demo.echo", {"concurrency": 0})
    assert codes(world, push(world))[0] is R.LIMIT


def test_without_any_worker_that_is_said(world: World) -> None:
    """Nobody serves the queue, and nothing of it has started."""
    world.clock.advance(s=600)
    beat(world, "other", '{"queues":["email"]}')
    assert codes(world, push(world)) == [R.NO_WORKER]


def test_a_worker_that_died_is_named(world: World) -> None:
    """It served the queue a moment ago, and nothing has started since."""
    push(world)
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    world.clock.advance(s=150)
    job_id = push(world)
    (reason, *_) = asked(world, job_id).reasons
    assert (reason.code, reason.data["workers"]) == (R.NO_WORKER, ["w"])
    assert "Worker 'w' did, and has been silent for 2 min 30 s: it died or hangs." in reason.message
    assert reason.hint == "ojs-aws workers list"


def test_starts_after_a_worker_died_show_another_one(world: World) -> None:
    """Such as a function, which sends no heartbeats."""
    world.clock.advance(s=300)
    push(world)
    world.backend.jobs.fetch(FetchRequest(("default",)))
    assert codes(world, push(world)) == [R.READY]


def test_workers_that_are_quiet_take_no_jobs(world: World) -> None:
    """Each of them says so."""
    beat(world, state="quiet")
    (reason,) = asked(world, push(world)).reasons
    assert (reason.code, reason.data["workers"]) == (R.WORKERS_QUIET, ["w"])


def test_a_lost_message_is_found_missing(world: World) -> None:
    """The job waits longer than a minute, and SQS has nothing for its queue."""
    job_id = push(world)
    world.lose_messages()
    wait(world)
    assert codes(world, job_id) == [R.MESSAGE_MISSING]


def test_a_queue_without_an_sqs_queue_has_no_messages(world: World) -> None:
    """So it is after a restore, until the first message makes it."""
    job_id = push(world)
    refuse(world.messages, "backlog", QueueMissingError("no such queue"))
    wait(world)
    assert codes(world, job_id) == [R.MESSAGE_MISSING]


def test_what_nothing_explains_is_unknown(world: World) -> None:
    """A message is there, and nobody takes it."""
    job_id = push(world)
    wait(world)
    (reason,) = asked(world, job_id).reasons
    assert (reason.code, reason.data["messages"]) == (R.UNKNOWN, 1)


@pytest.mark.parametrize("options", [{}, {"scheduled_at": "+PT1H"}])
def test_a_sweep_that_does_not_come_is_named(world: World, options: dict[str, Any]) -> None:
    """It sends what is missing, and what is due later."""
    job_id = push(world, **options)
    wait(world)
    world.clock.advance(s=200)
    beat(world)
    assert R.SWEEP_LATE in codes(world, job_id)


def test_a_worker_that_is_silent_comes_before_its_job(world: World) -> None:
    """Its job comes back when its reservation ends."""
    job_id = push(world, visibility_timeout_ms=3_600_000, timeout_ms=3_600_000)
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    assert codes(world, job_id) == [R.RUNNING]
    world.clock.advance(s=300)
    assert asked(world, job_id).job.state is JobState.ACTIVE
    assert codes(world, job_id) == [R.WORKER_SILENT, R.RUNNING]


def test_a_job_that_became_due_meanwhile_is_judged_as_available(world: World) -> None:
    """Nobody need have written the transition."""
    job_id = push(world, scheduled_at="+PT10S")
    assert codes(world, job_id)[0] is R.SCHEDULED
    world.clock.advance(s=11)
    assert codes(world, job_id) == [R.READY]


def did(world: World, *minutes: tuple[int, int]) -> Why:
    """Ask where a queue started so many jobs, so many milliseconds ago."""
    now = world.clock.now()
    tallies = [
        (Instant(now - ago_ms), Tally(counts=Counter({TallyKind.STARTED: started})))
        for ago_ms, started in minutes
    ]
    return replace(world.backend.jobs.why, minutes=lambda *_: tallies)


@pytest.mark.parametrize(("more_ms", "pace"), [(0, 2.0), (1, 0.0)])
def test_the_pace_is_that_of_whole_recent_minutes(world: World, more_ms: int, pace: float) -> None:
    """The one that began just as long ago is among them."""
    push(world)
    waiting = push(world)
    ago = why.RECENT_MINUTES * 60_000 + more_ms
    (reason,) = did(world, (ago, 10))(waiting).reasons
    assert reason.data["started_per_minute"] == pace


@pytest.mark.parametrize(
    ("waits_ms", "code"), [(why.FRESH_MS, R.READY), (why.FRESH_MS + 1, R.UNKNOWN)]
)
def test_a_job_that_waits_for_a_minute_is_still_ready(
    world: World, waits_ms: int, code: ReasonCode
) -> None:
    job_id = push(world)
    world.clock.advance(ms=waits_ms - 10)
    world.registry.remember_tick(LastTick(world.clock.now(), 0))
    beat(world)
    assert codes(world, job_id) == [code]


def test_a_limit_in_time_has_no_holders(world: World) -> None:
    """Its jobs may have ended long ago."""
    world.backend.limits.limit_queue("default", {"rate": {"limit": 1, "period": "minute"}})
    push(world)
    waiting = push(world)
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    assert "held_by" not in asked(world, waiting).reasons[0].data


def test_active_jobs_without_a_place_do_not_hold_a_limit(world: World) -> None:
    limit = {"key": "stripe", "concurrency": 1}
    push(world, priority=10)
    holder, waiting = (push(world, rate_limit=limit) for _ in range(2))
    assert len(world.backend.jobs.fetch(FetchRequest(("default",), 2, worker_id="w"))) == 2
    assert asked(world, waiting).reasons[0].data["held_by"] == [holder]


def test_workers_that_do_not_say_whom_they_serve_may_serve_any_queue(world: World) -> None:
    job_id = push(world)
    world.clock.advance(s=600)
    beat(world, "x", about='{"hostname":"h"}')
    assert R.NO_WORKER not in codes(world, job_id)


@pytest.mark.parametrize(("more_ms", "is_served"), [(0, False), (1, True)])
def test_a_start_after_the_last_heartbeat_is_of_another_worker(
    world: World, more_ms: int, is_served: bool
) -> None:
    """The last heartbeat of all workers that served the queue; the worker itself is named."""
    world.clock.advance(s=60)
    beat(world, "later")
    world.clock.advance(s=300)
    found = did(world, (300_000 - more_ms, 1))(push(world))
    served = [each for each in found.reasons if each.code is R.NO_WORKER]
    assert bool(served) is not is_served
    if served:
        assert "Worker 'later' did" in served[0].message


def test_a_place_that_is_not_known_has_no_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However fast the line moves."""
    monkeypatch.setattr(why, "MAX_COUNTED", 3)
    ids = [push(world) for _ in range(6)]
    for number, known in ((3, True), (5, False)):
        (reason,) = did(world, (0, 10))(ids[number]).reasons
        assert ("wait_ms" in reason.data) is known


def test_a_worker_without_a_name_is_not_looked_up(world: World) -> None:
    job_id = push(world)
    world.backend.jobs.fetch(FetchRequest(("default",)))

    def never() -> Any:
        pytest.fail("it was looked up")

    (reason,) = replace(world.backend.jobs.why, workers=never)(job_id).reasons
    assert reason.code is R.RUNNING


def test_the_next_job_waits_for_no_worker_where_none_sends_heartbeats() -> None:
    """A function may take it."""
    reason = next_in_line([], Instant(1_760_000_000_000))
    assert reason.message == "It is the next of its queue, and any worker can take it."
