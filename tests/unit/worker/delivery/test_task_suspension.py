"""Task definitions that cannot work: their bindings are suspended, and resumed when one starts.

The names of tests about a requirement begin with its section of ojs-serverless.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from ojs_aws.domain.bindings import COOLDOWN_MS
from ojs_aws.domain.bindings.tasks import Task, TaskAttempt
from ojs_aws.domain.job import JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.worker.delivery.task_settle import TaskSuspensions
from tests.fake_ecs import refusal
from tests.unit.worker.test_bound_tasks import BINDING, CLUSTER, DEFINITION, Bench

PULL: Final = "CannotPullContainerError: pull image manifest has been retried 1 time(s): not found"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def fail_to_start(bench: Bench, reason: str = PULL) -> str:
    """Let the task of a job fail to start, and settle it."""
    job_id = bench.push()
    before = {*bench.ecs.tasks}
    bench.dispatch()
    (arn,) = {*bench.ecs.tasks} - before
    bench.ecs.end(arn, None, "TaskFailedToStart", reason)
    assert bench.settle(arn) == []
    return job_id


def is_suspended(bench: Bench) -> bool:
    return "render" in bench.states.of("media").suspended


def let_a_trial_begin(bench: Bench) -> str:
    """Dispatch two jobs after the cooldown: one task starts."""
    before = {*bench.ecs.tasks}
    bench.pass_s(COOLDOWN_MS / 1000)
    bench.push()
    bench.push()
    bench.dispatch()
    (arn,) = {*bench.ecs.tasks} - before
    return arn


@pytest.mark.parametrize(
    "reason",
    [
        PULL,
        "CannotPullImageManifestError: image manifest does not match",
        "ResourceInitializationError: unable to pull secrets or registry auth",
        "CannotCreateContainerError: no such user",
        'CannotStartContainerError: exec: "/job.sh": no such file or directory',
        "CannotCreateVolumeError: denied",
        "exec /job.sh: exec format error",
    ],
)
def test_7_2_a_task_that_cannot_start_suspends_its_binding(bench: Bench, reason: str) -> None:
    """Its job is given back, and the attempt does not count."""
    job_id = fail_to_start(bench, reason)
    given = bench.job(job_id)
    assert (given.state, given.uncounted_attempts) == (JobState.RETRYABLE, 1)
    (suspension,) = bench.states.of("media").suspended.values()
    assert suspension.reason == f"{DEFINITION} cannot start: {reason}"
    assert suspension.since == bench.world.clock.at
    assert not suspension.is_lasting


def test_7_2_a_container_that_ecs_cannot_start_suspends_its_binding(bench: Bench) -> None:
    """Also where the container says it, with an exit code of the runtime."""
    job_id = bench.push()
    bench.dispatch()
    bench.ecs.end(bench.arn, 127)
    bench.ecs.tasks[bench.arn]["containers"][1]["reason"] = "CannotStartContainerError: no file"
    bench.settle()
    assert bench.job(job_id).uncounted_attempts == 1
    assert is_suspended(bench)


def test_a_complete_job_suspends_nothing(bench: Bench) -> None:
    """Although a container beside its own did not start."""
    job_id = bench.push()
    bench.dispatch()
    bench.ecs.end(bench.arn, 0)
    bench.ecs.tasks[bench.arn]["containers"][1]["reason"] = "CannotStartContainerError: no file"
    bench.settle()
    assert bench.job(job_id).state is JobState.COMPLETED
    assert not is_suspended(bench)


@pytest.mark.parametrize(
    "reason",
    [
        "CannotPullContainerError: toomanyrequests: You have reached your pull rate limit",
        "ResourceInitializationError: ThrottlingException: Rate exceeded",
        "Capacity is unavailable at this time. Please try again later.",
        "Unexpected EC2 error while attempting to create a network interface",
    ],
)
def test_7_2_what_passes_by_itself_suspends_nothing(bench: Bench, reason: str) -> None:
    """The job is given back, and the next task may start."""
    job_id = fail_to_start(bench, reason)
    assert bench.job(job_id).uncounted_attempts == 1
    assert not is_suspended(bench)


def test_7_2_a_suspended_binding_starts_nothing_before_its_trial(bench: Bench) -> None:
    """Then one task, and no other before it has started."""
    fail_to_start(bench)
    bench.push()
    bench.pass_s(COOLDOWN_MS / 1000 - 1)
    bench.dispatch()
    assert len(bench.ecs.tasks) == 1
    bench.pass_s(1)
    let_a_trial_begin(bench)
    bench.push()
    bench.dispatch()
    assert len(bench.ecs.tasks) == 2
    assert is_suspended(bench)


def test_7_2_a_task_that_has_started_resumes_its_binding(bench: Bench) -> None:
    """At the next sweep, not when ECS has accepted it."""
    fail_to_start(bench)
    arn = let_a_trial_begin(bench)
    assert bench.sweep() == 0
    assert is_suspended(bench)
    bench.ecs.start(arn)
    assert bench.sweep() == 0
    assert not is_suspended(bench)


def test_7_2_a_task_that_ended_soon_resumes_its_binding(bench: Bench) -> None:
    """The sweep finds it among those that have stopped, whatever its exit code."""
    fail_to_start(bench)
    arn = let_a_trial_begin(bench)
    bench.ecs.start(arn)
    bench.ecs.end(arn, 3)
    assert bench.sweep() == 0
    assert not is_suspended(bench)


def test_7_2_a_trial_that_cannot_start_keeps_the_suspension(bench: Bench) -> None:
    """Although ECS had begun to run it."""
    fail_to_start(bench)
    since = bench.states.of("media").suspended["render"].since
    arn = let_a_trial_begin(bench)
    bench.ecs.start(arn)
    bench.ecs.end(arn, None, "TaskFailedToStart", PULL)
    assert bench.sweep() == 0
    assert bench.states.of("media").suspended["render"].since == since


def test_7_2_a_task_from_before_resumes_nothing(bench: Bench) -> None:
    """It says nothing about the image that is missing now."""
    bench.push()
    bench.dispatch()
    bench.ecs.start(bench.arn)
    bench.pass_s(1)
    fail_to_start(bench)
    assert bench.sweep() == 0
    assert is_suspended(bench)


def test_7_2_nobody_but_people_resumes_what_somebody_suspended(bench: Bench) -> None:
    """Also if a task of it starts."""
    bench.push()
    bench.dispatch()
    bench.states.suspend("media", "render", "repairs", bench.world.clock.now(), is_lasting=True)
    bench.ecs.start(bench.arn)
    assert bench.sweep() == 0
    assert is_suspended(bench)


def test_7_2_an_older_revision_suspends_nothing() -> None:
    """A deployment has replaced it since its task was started."""
    bench = Bench()
    newer = TaskSuspensions(bench.states, [replace(BINDING, target=DEFINITION + "1")])
    bench.settler = replace(bench.settler, suspensions=newer)
    job_id = fail_to_start(bench)
    assert bench.job(job_id).uncounted_attempts == 1
    assert not is_suspended(bench)


def test_7_2_a_binding_of_another_queue_goes_on(bench: Bench) -> None:
    """A suspension is of a queue's binding."""
    bench.settler.suspensions.suspend("other", DEFINITION, PULL, bench.world.clock.now())
    assert bench.states.of("other").suspended == {}


def test_7_2_an_end_comes_back_while_its_binding_cannot_be_suspended(bench: Bench) -> None:
    """Its job is held meanwhile, so no task is started in vain."""
    job_id = bench.push()
    bench.dispatch()
    bench.ecs.end(bench.arn, None, "TaskFailedToStart", PULL)
    bench.lose_job_writes()
    assert bench.settle() == [bench.arn]
    assert bench.job(job_id).state is JobState.ACTIVE
    assert bench.settle() == []
    assert is_suspended(bench)
    assert bench.job(job_id).state is JobState.RETRYABLE


def test_a_trial_that_cannot_be_ended_is_an_error_of_the_sweep(bench: Bench) -> None:
    """The next sweep ends it."""
    fail_to_start(bench)
    bench.ecs.start(let_a_trial_begin(bench))
    bench.lose_job_writes()
    assert bench.sweep() == 1
    assert bench.sweep() == 0
    assert not is_suspended(bench)


def test_a_refused_start_is_resumed_by_a_task_that_starts(bench: Bench) -> None:
    """As a definition that cannot start is."""
    bench.ecs.faults["RunTask"] = refusal("RunTask", "AccessDeniedException"), False
    bench.push()
    bench.dispatch()
    assert is_suspended(bench)
    bench.ecs.start(let_a_trial_begin(bench))
    assert bench.sweep() == 0
    assert not is_suspended(bench)


def test_families_are_named_once(bench: Bench) -> None:
    """With their clusters, for any number of bindings and revisions."""
    other = replace(BINDING, name="b", target=DEFINITION.replace(":7", ":8"))
    third = replace(BINDING, name="c", target=DEFINITION.replace("render:7", "encode:1"))
    found = TaskSuspensions(bench.states, [BINDING, other, third]).families
    assert found == [(CLUSTER, "encode"), (CLUSTER, "render")]


def test_a_sweep_reads_suspensions_for_tasks_that_have_started(bench: Bench) -> None:
    """Once for a queue, and not at all before one has."""
    bench.push()
    bench.push()
    bench.dispatch()
    bench.calls.made.clear()
    bench.sweep()
    assert bench.calls.made["GetItem"] == 0
    for arn in bench.ecs.tasks:
        bench.ecs.start(arn)
    bench.sweep()
    assert bench.calls.made["GetItem"] == 1


def test_7_2_a_complete_job_resumes_its_binding(bench: Bench) -> None:
    """Although a container beside its own did not start."""
    fail_to_start(bench)
    arn = let_a_trial_begin(bench)
    bench.ecs.start(arn)
    bench.ecs.end(arn, 0)
    bench.ecs.tasks[arn]["containers"][1]["reason"] = "CannotStartContainerError: no file"
    assert bench.sweep() == 0
    assert not is_suspended(bench)


def started(bench: Bench, seconds: int) -> Task:
    """A task that started so long after the clock's time."""
    attempt = TaskAttempt(job_id="j", attempt=1, reservation_id="r")
    return Task(
        arn="a",
        cluster=CLUSTER,
        group="g",
        attempt=attempt,
        definition=DEFINITION,
        started_at=Instant(bench.world.clock.at + seconds * 1000),
        end=None,
    )


@pytest.mark.parametrize(
    ("seconds", "stays"),
    [((0,), False), ((-1,), True), ((-1, 1), False), ((1, -1), False)],
    ids=["at this moment", "before", "the later one", "the earlier one"],
)
def test_7_2_the_latest_start_counts(
    bench: Bench, seconds: tuple[int, ...], *, stays: bool
) -> None:
    """From the moment of the suspension on."""
    bench.states.suspend("media", "render", "x", bench.world.clock.now())
    bench.settler.suspensions.resume([started(bench, each) for each in seconds])
    assert is_suspended(bench) is stays


def test_7_2_a_start_says_nothing_of_other_bindings(bench: Bench) -> None:
    """Of the same queue, with definitions of their own."""
    bench.states.suspend("media", "encode", "x", bench.world.clock.now())
    bench.settler.suspensions.resume([started(bench, 1)])
    assert "encode" in bench.states.of("media").suspended
