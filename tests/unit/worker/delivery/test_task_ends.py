"""What the ends of tasks cost, and what a fault of one means for the others."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.bindings import BindingConfig
from ojs_aws.domain.errors import BackendUnavailableError, ConflictError, NotFoundError
from ojs_aws.domain.job import JobState
from ojs_aws.topology import TASK_LEASE_S
from tests.unit.worker.test_bound_tasks import BINDING, Bench


@pytest.fixture
def bench() -> Bench:
    """A job whose task has ended."""
    bench = Bench()
    bench.push()
    bench.dispatch()
    bench.ecs.end(bench.arn, 0)
    return bench


def test_an_event_about_an_attempt_that_is_over_costs_a_read(bench: Bench) -> None:
    bench.settle()
    bench.calls.made.clear()
    bench.settle()
    assert bench.calls.made == {"GetItem": 1}


def test_swept_tasks_that_were_settled_cost_one_read_together(bench: Bench) -> None:
    """And none of their own."""
    bench.push()
    before = {*bench.ecs.tasks}
    bench.dispatch()
    (arn,) = {*bench.ecs.tasks} - before
    bench.ecs.end(arn, 1)
    bench.settle()
    bench.calls.made.clear()
    assert bench.sweep() == 0
    assert bench.calls.made == {"BatchGetItem": 1}


@pytest.mark.parametrize("seconds", [TASK_LEASE_S, TASK_LEASE_S + 1])
def test_a_task_is_swept_while_its_reservation_may_last(bench: Bench, seconds: int) -> None:
    """Up to the moment at which one ends that was made at the task's end."""
    bench.pass_s(seconds)
    bench.calls.made.clear()
    assert bench.sweep() == 0
    assert (bench.calls.made.total() > 0) is (seconds == TASK_LEASE_S)


@pytest.mark.parametrize(
    ("problem", "level", "comes_back"),
    [
        (NotFoundError("removed meanwhile"), "WARNING", False),
        (BackendUnavailableError("throttled"), "WARNING", True),
        (ValueError("a bug"), "ERROR", True),
    ],
)
def test_an_end_that_cannot_be_settled_comes_back_alone(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    problem: Exception,
    level: str,
    *,
    comes_back: bool,
) -> None:
    """Unless its job is gone. A bug is an error with its traceback."""
    first = bench.arn
    second = bench.push()
    bench.dispatch()
    for arn in bench.ecs.tasks:
        bench.ecs.end(arn, 0)
    ack = type(bench.backend.jobs.ack).__call__

    def broken(self: Any, job_id: str, *given: Any, **more: Any) -> Any:
        if job_id != second:
            raise problem
        return ack(self, job_id, *given, **more)

    monkeypatch.setattr(type(bench.backend.jobs.ack), "__call__", broken)
    with caplog.at_level(logging.WARNING):
        assert bench.settle() == ([first] if comes_back else [])
    assert [(each.levelname, bool(each.exc_info)) for each in caplog.records] == [
        (level, level == "ERROR")
    ]
    assert bench.job(second).state is JobState.COMPLETED


@pytest.mark.parametrize("problem", [NotFoundError("removed"), ConflictError("reported")])
def test_an_overdue_task_whose_attempt_has_just_ended_fails_no_sweep(
    monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    """Whether the job was removed, or reported on: the task is stopped in time."""
    bench = Bench(replace(BINDING, config=BindingConfig(timeout_ms=1000)))
    job_id = bench.push()
    bench.dispatch()
    bench.ecs.start(bench.arn)
    bench.pass_s(1)

    def refuse(*_: object, **__: object) -> None:
        bench.backend.jobs.cancel(job_id)
        raise problem

    monkeypatch.setattr(type(bench.settler), "time_out", refuse)
    assert bench.sweep() == 0
    assert bench.ecs.tasks[bench.arn]["lastStatus"] == "STOPPED"


def test_a_task_that_cannot_be_looked_after_does_not_stop_the_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reservations of the others are extended."""
    bench = Bench()
    first, second = bench.push(), bench.push()
    bench.dispatch()
    bench.pass_s(TASK_LEASE_S - 1)
    extend = type(bench.backend.workers.heartbeat).extend

    def broken(self: Any, worker_id: str | None, job_id: str, *given: Any, **more: Any) -> Any:
        if job_id == first:
            raise ValueError(job_id)
        return extend(self, worker_id, job_id, *given, **more)

    monkeypatch.setattr(type(bench.backend.workers.heartbeat), "extend", broken)
    assert bench.sweep() == 1
    ends = [held.due_at for each in (first, second) if (held := bench.job(each).reservation)]
    now = bench.world.clock.at
    assert ends == [now + 1000, now + TASK_LEASE_S * 1000]
