"""What the backend finds: each finding has a test, and a healthy deployment has none."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues import LastTick
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.services.events import Commit, events_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.system.queue_findings import Finding, Severity
from ojs_aws.services.workers.service import Directive
from tests.jobs import any_job
from tests.simulation.world import World, count_changes
from tests.unit.services.system.test_missing_handlers import discard

ERROR = parse_object('{"type": "Broken", "message": "no"}')


@pytest.fixture
def world() -> World:
    """A backend with a worker for the queue, and a sweep that is on time."""
    world = World()
    count_changes(world)
    world.registry.ensure("default", world.clock.now())
    beat(world)
    return world


def beat(world: World) -> None:
    """Let the worker and the sweep go on."""
    about = '{"queues":["default"]}'
    world.backend.workers.heartbeat("w", [], None, WorkerReport(about=about))
    world.registry.remember_tick(LastTick(world.clock.now(), 0))


def push(world: World, **attributes: Any) -> str:
    """Push a job."""
    record = world.backend.jobs.push(any_job("demo.echo", [1], **attributes)).record
    assert record is not None
    return record.id


def found(world: World) -> list[Finding]:
    """Return what is found."""
    return [*world.backend.findings().findings]


def test_a_healthy_deployment_has_no_findings(world: World) -> None:
    """And what was looked at is said."""
    push(world)
    report = world.backend.findings()
    assert report.findings == ()
    assert report.checks == {
        "sweep": "The sweep last ended 0 s ago, and was 0 s behind.",
        "queues": "1 queue, none paused. 1 job available; the next of each queue has waited for "
        "0 s at most.",
        "failures": "No attempt failed in the last 1 h 53 min.",
        "workers": "1 worker sends heartbeats, none of them quiet; none stopped sending them. "
        "Workers in Lambda send none.",
        "dead_letters": "There are 0 dead letters.",
    }


def test_a_sweep_that_never_ended_is_a_warning() -> None:
    """As just after a deployment."""
    (finding,) = found(World())
    assert (finding.code, finding.severity) == ("sweep_never", Severity.WARNING)


def test_a_late_sweep_is_an_error_and_comes_first(world: World) -> None:
    """It missed three minutes."""
    world.backend.queues.service.pause("default")
    world.clock.advance(s=181)
    world.backend.workers.heartbeat("w", [], None, WorkerReport())
    findings = found(world)
    assert [each.code for each in findings] == ["sweep_late", "queue_paused"]
    assert findings[0].severity is Severity.ERROR
    assert findings[1].message == "The queue 'default' has been paused for 3 min 1 s."
    assert findings[1].hint.endswith(": ojs-aws queues resume default")


def test_a_job_that_waits_too_long_is_found_with_its_cause(world: World) -> None:
    """The jobs of a paused queue are not: its pause is the finding."""
    world.registry.ensure("other", world.clock.now())
    waits = push(world, queue="other")
    push(world)
    world.backend.queues.service.pause("default")
    world.clock.advance(s=301)
    beat(world)
    paused, finding = found(world)
    assert (paused.code, finding.code) == ("queue_paused", "job_waits")
    assert finding.message.startswith(
        "The next job of queue 'other' has waited for 5 min 1 s. No worker that sends heartbeats"
    )
    assert finding.data["job_id"] == waits
    assert finding.data["reasons"] == ["no_worker"]
    assert finding.hint == f"ojs-aws why {waits}"


def test_a_job_that_is_deleted_meanwhile_has_no_cause(world: World) -> None:
    """The index may show it for a moment longer."""
    waits = push(world)
    world.clock.advance(s=301)
    beat(world)
    listed = world.store.listed
    record = world.stored.jobs[waits]

    def delete_then_list(*given: Any, **more: Any) -> Any:
        page = listed(*given, **more)
        world.stored.jobs.pop(record.id, None)
        return page

    world.store.listed = delete_then_list  # type: ignore[method-assign]
    (finding,) = found(world)
    assert finding.message == "The next job of queue 'default' has waited for 5 min 1 s."
    assert "reasons" not in finding.data


@pytest.mark.parametrize(("failed", "completed", "is_found"), [(9, 0, 0), (10, 10, 1), (10, 11, 0)])
def test_a_queue_in_which_most_executions_fail_is_found(
    world: World, failed: int, completed: int, is_found: int
) -> None:
    """At least ten failures, and half of all; those that are retried count."""
    for number in range(failed + completed):
        push(world, retry={"max_attempts": 2})
        (job,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
        if number < failed:
            world.backend.jobs.fail(job.id, "w", ERROR)
        else:
            world.backend.jobs.ack(job.id, "w", None)
    findings = found(world)
    assert [each.code for each in findings] == ["jobs_fail"] * is_found
    if is_found:
        text = f"In queue 'default' {failed} of {failed + completed} executions failed"
        assert findings[0].message == f"{text} in the last 5 minutes."


@pytest.mark.parametrize(("failed", "is_found"), [(9, False), (10, True)])
def test_failures_that_are_no_finding_are_called_normal(
    world: World, failed: int, is_found: bool
) -> None:
    """With what would be a finding; where one is, the failures are not said to be normal."""
    for _ in range(failed):
        push(world, retry={"max_attempts": 1})
        (job,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
        world.backend.jobs.fail(job.id, "w", ERROR)
        after = world.backend.jobs.info(job.id)
        world.backend.failures.record(events_of(job, after, Commit(world.clock.now())))
    report = world.backend.findings()
    assert {each.check for each in report.findings} == ({"failures"} if is_found else set())
    text = report.checks["failures"]
    assert text.startswith(f"{failed} failed attempts in the last ")
    normal = "No queue fails at present: that would be at least 10 failures in 5 minutes"
    assert (normal in text) is not is_found


def test_workers_that_stopped_sending_heartbeats_are_found(world: World) -> None:
    """By name."""
    world.clock.advance(s=600)
    world.registry.remember_tick(LastTick(world.clock.now(), 0))
    (finding,) = found(world)
    data = {"count": 1, "worker_ids": ["w"], "queues": []}
    assert (finding.code, finding.data) == ("workers_silent", data)
    assert finding.message == "Worker 'w' sent its last heartbeat 10 min ago."


def direct(world: World, directive: Directive, *workers: str) -> None:
    """Ask workers for something."""
    for each in workers:
        world.backend.workers.service.direct(each, directive)


def test_quiet_workers_that_keep_jobs_waiting_are_found_at_once(world: World) -> None:
    """If all of the queue's are quiet, and nothing else explains why its jobs wait."""
    world.backend.workers.heartbeat("v", [], None, WorkerReport(about='{"queues":["default"]}'))
    direct(world, Directive.QUIET, "w")
    push(world)
    assert found(world) == []
    direct(world, Directive.QUIET, "v")
    (finding,) = found(world)
    assert finding.code == "workers_quiet"
    assert finding.message == (
        "In queue 'default' 1 job waits, and none of its 2 workers takes new jobs: they are quiet "
        "or terminate (v, w)."
    )
    assert finding.hint == "ojs-aws workers resume --queue default"
    assert finding.data == {"queue": "default", "worker_ids": ["v", "w"]}
    world.backend.queues.service.pause("default")
    assert [each.code for each in found(world)] == ["queue_paused"]


@pytest.mark.parametrize(
    ("slots", "usual_s", "runs_s", "is_found"),
    [(4, 1, 61, True), (4, 1, 59, False), (4, 20, 80, False), (5, 1, 61, False)],
)
def test_jobs_that_run_long_and_keep_others_waiting_are_found(
    world: World, slots: int, usual_s: int, runs_s: int, is_found: bool
) -> None:
    """After a minute and five times what is usual, if they hold half of the places."""
    about = f'{{"queues":["default"],"concurrency":{slots}}}'
    for _ in range(3):
        push(world)
        (job,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
        world.clock.advance(s=usual_s)
        world.backend.jobs.ack(job.id, "w", None)
    stuck = [push(world) for _ in range(2)]
    world.backend.jobs.fetch(FetchRequest(("default",), count=2, worker_id="w"))
    push(world)
    world.clock.advance(s=runs_s)
    report = WorkerReport(about=about, active_jobs=2, job_ids=tuple(stuck))
    world.backend.workers.heartbeat("w", stuck, None, report)
    world.registry.remember_tick(LastTick(world.clock.now(), 0))
    findings = [each for each in found(world) if each.code != "jobs_hang"]
    assert [each.code for each in findings] == ["jobs_run_long"] * is_found
    if is_found:
        assert findings[0].message.startswith(
            "In queue 'default' 1 job waits, and jobs that run unusually long hold 2 of the 4 "
            "slots of its workers: 'demo.echo' for 1 min 1 s and 1 more, where 95% end within "
        )
        assert findings[0].hint.endswith(f": ojs-aws jobs cancel {' '.join(stuck)}")
        assert findings[0].data["queues"] == ["default"]


def let_its_worker_die(world: World, queue: str = "default") -> None:
    """Let a worker fetch the next job, and miss its heartbeats."""
    fetch = FetchRequest((queue,), worker_id="d", visibility_timeout_ms=30_000)
    (job,) = world.backend.jobs.fetch(fetch)
    world.backend.workers.heartbeat("d", [job.id], None, WorkerReport(interval_ms=5_000))
    world.clock.advance(s=60)
    after = world.backend.jobs.info(job.id)
    world.backend.failures.record(events_of(job, after, Commit(world.clock.now())))
    beat(world)


def test_a_job_that_kills_its_workers_is_found(world: World) -> None:
    """After three deaths, until the job has ended or half an hour passed without another."""
    killer = push(world, retry={"max_attempts": 50})
    for deaths in range(1, 4):
        let_its_worker_die(world)
        assert [each.code for each in found(world) if each.check == "failures"] == [
            "workers_die"
        ] * (deaths == 3)
    (finding,) = (each for each in found(world) if each.check == "failures")
    assert finding.data["job_id"] == killer
    assert finding.data["deaths_of_job"] == 3
    assert "All of them were attempts of one job, 'demo.echo'" in finding.message
    assert finding.hint == f"ojs-aws jobs show {killer}"
    world.clock.advance(s=1_800)
    beat(world)
    assert "workers_die" not in {each.code for each in found(world)}
    let_its_worker_die(world)
    assert "workers_die" in {each.code for each in found(world)}
    world.backend.jobs.cancel(killer)
    assert "workers_die" not in {each.code for each in found(world)}


def test_dead_letters_are_found_and_the_queues_with_most_of_them(world: World) -> None:
    """As their totals count them."""
    world.registry.ensure("email", world.clock.now())
    for queue in ("default", "email", "email"):
        push(world, queue=queue, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
        (job,) = world.backend.jobs.fetch(FetchRequest((queue,), worker_id="w"))
        world.backend.jobs.fail(job.id, "w", ERROR)
    (finding,) = found(world)
    assert (finding.code, finding.message) == ("dead_letters", "There are 3 dead letters.")
    assert finding.data == {"count": 3, "queues": ["email", "default"]}


@pytest.mark.parametrize(
    ("queue", "codes"), [("default", {"queue_paused", "handlers_missing"}), ("other", set())]
)
def test_a_caller_with_bounds_gets_what_is_found_in_its_queues(
    world: World, queue: str, codes: set[str]
) -> None:
    """From the queues as well as from failed jobs."""
    discard(world, "report.new")
    world.backend.queues.service.pause("default")
    report = world.backend.findings(lambda name, _: name == queue)
    assert {each.code for each in report.findings} == codes
