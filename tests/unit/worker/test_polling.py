"""The long-running worker: fetching, concurrency, heartbeats, directives, and the way out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ojs_aws.domain.access import UnauthenticatedError
from ojs_aws.domain.errors import BackendError, PayloadTooLargeError
from ojs_aws.domain.jobs.validation import MAX_VISIBILITY_MS
from ojs_aws.middleware.context import JobContext
from ojs_aws.services.workers import MAX_INTERVAL_MS
from ojs_aws.worker import Worker
from ojs_aws.worker.lifecycle import WorkerState, reactions
from ojs_aws.worker.reports import LONGEST_BEAT_S, LONGEST_RESERVATION_S
from ojs_aws.worker.reservations import HeartbeatReply
from tests.unit.worker.doubles import FakeSource, StillTimer, job, settle, until


class Bench:
    """A worker with one handler, ``a.b``, which waits until its job is released."""

    def __init__(self, **given: Any) -> None:
        self.source = FakeSource()
        self.timer = StillTimer()
        self.worker = Worker(source=self.source, timer=self.timer, middleware=[], **given)
        self.lifecycle = self.worker.lifecycle
        self.gates: dict[str, asyncio.Event] = {}
        self.contexts: list[JobContext] = []
        self.stopped: list[str] = []
        self.peak = 0

        @self.worker.handler("a.b")
        async def handle(ctx: JobContext) -> str:
            self.contexts.append(ctx)
            self.peak = max(self.peak, self.worker.active_jobs)
            try:
                await self.gates.setdefault(ctx.job.id, asyncio.Event()).wait()
            except asyncio.CancelledError:
                self.stopped.append(ctx.job.id)
                raise
            return "done"

    def release(self, *jobs: Any) -> None:
        for released in jobs:
            self.gates.setdefault(released.id, asyncio.Event()).set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        serving = asyncio.ensure_future(self.worker.serve())
        await settle()
        try:
            yield serving
        finally:
            self.lifecycle.terminate("test")
            self.lifecycle.force("test")
            await settle()
            assert serving.done()
            serving.result()


async def test_running_means_fetching_and_executing() -> None:
    """WRK-009: jobs are fetched, executed and acknowledged with their results."""
    bench, first = Bench(), job(1)
    bench.source.ready = [first]
    async with bench.running():
        bench.release(first)
        await settle()
        assert bench.source.acked == {first.id: '"done"'}


async def test_no_more_jobs_than_the_concurrency() -> None:
    """Worker protocol, 8.2: never above it, and no fetch while it is reached."""
    bench, jobs = Bench(concurrency=2), [job(n) for n in range(5)]
    bench.source.ready = list(jobs)
    async with bench.running():
        await bench.timer.advance(10)
        assert bench.source.fetches == [2]
        bench.release(jobs[0])
        await bench.timer.advance(1)
        assert bench.source.fetches[:2] == [2, 1]
        bench.release(*jobs)
        await bench.timer.advance(1)
        assert len(bench.source.acked) == 5
        assert bench.peak == 2


@pytest.mark.parametrize("heartbeat_s", [0.0, -1.0, 3600.1])
def test_a_heartbeat_that_the_backend_refuses_is_refused_at_once(heartbeat_s: float) -> None:
    """Each fetch names it, and would fail."""
    assert LONGEST_BEAT_S * 1000 == MAX_INTERVAL_MS
    Bench(heartbeat_s=LONGEST_BEAT_S)
    with pytest.raises(ValueError, match="heartbeat_s must be positive, at most 3600"):
        Bench(heartbeat_s=heartbeat_s)


@pytest.mark.parametrize("visibility_timeout_s", [-5, 0.0004, 43_200.001])
def test_a_visibility_timeout_that_the_backend_refuses_is_refused_at_once(
    visibility_timeout_s: float,
) -> None:
    """Each fetch names it, and would fail."""
    assert LONGEST_RESERVATION_S * 1000 == MAX_VISIBILITY_MS
    for allowed in (0.001, LONGEST_RESERVATION_S):
        Bench(visibility_timeout_s=allowed)
    with pytest.raises(ValueError, match="visibility_timeout_s must be positive, at most 43200"):
        Bench(visibility_timeout_s=visibility_timeout_s)


async def test_a_handler_that_cancels_its_own_task_fails_its_job() -> None:
    """At once; its slot is free then, and heartbeats go on without it."""
    bench, first, second = Bench(concurrency=1), job(1, "self.cancelling"), job(2)

    @bench.worker.handler("self.cancelling")
    async def cancel(ctx: JobContext) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    bench.source.ready = [first, second]
    async with bench.running():
        await bench.timer.advance(15)
        assert bench.source.failed[first.id]["type"] == "CancelledError"
        assert bench.source.beats[-1] == ("running", [second.id])


async def test_an_idle_worker_asks_ever_more_rarely() -> None:
    """And at once again after a find."""
    bench = Bench()
    async with bench.running():
        await bench.timer.advance(60)
        idle = len(bench.source.fetches)
        assert 30 <= idle <= 40
        bench.source.ready = [job(1)]
        await bench.timer.advance(2)
        assert len(bench.source.fetches) > idle + 2


async def test_a_backend_that_is_down_is_asked_again() -> None:
    """A failing fetch ends nothing."""
    bench = Bench()
    bench.source.problems = [BackendError("down"), BackendError("down")]
    bench.source.ready = [job(1)]
    async with bench.running():
        await bench.timer.advance(5)
        assert bench.worker.active_jobs == 1


async def test_heartbeats_come_at_the_interval_with_all_active_jobs() -> None:
    """WRK-003, WRK-004, WRK-014: 15 s by default, idle or busy."""
    bench, first = Bench(), job(1)
    async with bench.running():
        assert bench.source.beats == [("running", [])]
        bench.source.ready = [first]
        await bench.timer.advance(15)
        await bench.timer.advance(15)
        assert bench.source.beats[1:] == [("running", [first.id])] * 2


async def test_heartbeats_go_on_beside_a_synchronous_handler() -> None:
    """WRK-003: a handler that computes without a pause does not hold them up."""
    bench, first, end = Bench(), job(1, "cpu.bound"), threading.Event()

    @bench.worker.handler("cpu.bound")
    def compute(ctx: JobContext) -> int:
        n = 0
        while not end.is_set():
            n += 1
        return n

    bench.source.ready = [first]
    async with bench.running():
        await bench.timer.advance(45)
        assert bench.source.beats.count(("running", [first.id])) == 3
        end.set()
        await until(lambda: first.id in bench.source.acked)


async def test_a_short_reservation_is_extended_in_time() -> None:
    """WRK-014: a job with six seconds of its own gets a beat every two."""
    bench, first = Bench(), job(1, visibility_timeout_s=6)
    bench.source.ready = [first]
    async with bench.running():
        await bench.timer.advance(6.5)
        assert bench.source.beats.count(("running", [first.id])) == 3


async def test_a_failing_heartbeat_changes_nothing() -> None:
    """Worker protocol, 4.6: the state stays, the next beat tries again."""
    bench = Bench()
    bench.source.replies = [BackendError("down")]
    async with bench.running():
        await bench.timer.advance(15)
        assert bench.lifecycle.state is WorkerState.RUNNING
        assert len(bench.source.beats) == 2


async def test_heartbeats_go_on_after_an_error_of_any_kind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Such as one of a source of somebody's own, or of AWS credentials."""
    bench = Bench(heartbeat_s=10)
    bench.source.replies = [LookupError("odd")]
    async with bench.running():
        await bench.timer.advance(10)
        assert len(bench.source.beats) == 2
        assert "odd" in caplog.text


async def test_quiet_stops_fetching_and_lets_jobs_finish() -> None:
    """WRK-010, WRK-013: no fetch after the directive; the active job ends; beats go on."""
    bench, first = Bench(), job(1)
    bench.source.ready = [first]
    async with bench.running():
        bench.source.replies = [HeartbeatReply("quiet")]
        await bench.timer.advance(15)
        fetched = len(bench.source.fetches)
        assert bench.source.beats[-1] == ("quiet", [first.id])
        bench.source.ready = [job(2)]
        await bench.timer.advance(60)
        assert len(bench.source.fetches) == fetched
        bench.release(first)
        await bench.timer.advance(15)
        assert list(bench.source.acked) == [first.id]
        assert bench.source.beats[-1] == ("quiet", [])


async def test_an_operator_may_take_quiet_back() -> None:
    """A worker that the server quieted fetches again when the server says running."""
    bench = Bench()
    async with bench.running():
        bench.source.replies = [HeartbeatReply("quiet")]
        await bench.timer.advance(60)
        fetched = len(bench.source.fetches)
        assert not bench.lifecycle.is_running
        bench.source.directive = "running"
        await bench.timer.advance(15)
        assert bench.lifecycle.state is WorkerState.RUNNING
        assert len(bench.source.fetches) > fetched


async def test_a_worker_that_a_signal_quieted_is_not_woken_by_the_server() -> None:
    """Worker protocol, section 2.3: only SIGCONT wakes it; also after the server said quiet too."""
    bench = Bench()
    async with bench.running():
        bench.lifecycle.quiet("SIGTSTP")
        bench.source.replies = [
            HeartbeatReply("running"),
            HeartbeatReply("quiet"),
            HeartbeatReply("running"),
        ]
        await bench.timer.advance(60)
        assert not bench.lifecycle.is_running
        bench.lifecycle.resume("SIGCONT")
        assert bench.lifecycle.state is WorkerState.RUNNING


async def test_terminate_waits_for_jobs_and_ends_when_they_are_done() -> None:
    """WRK-011, WRK-013: the directive ends the worker as soon as its last job has ended."""
    bench, first = Bench(), job(1)
    bench.source.ready = [first]
    async with bench.running() as serving:
        bench.source.replies = [HeartbeatReply("terminate")]
        await bench.timer.advance(16)
        fetched = len(bench.source.fetches)
        assert bench.source.beats[-1] == ("terminate", [first.id])
        assert not serving.done()
        bench.release(first)
        await settle()
        assert serving.done()
        assert list(bench.source.acked) == [first.id]
        assert len(bench.source.fetches) == fetched
        assert bench.source.beats[-1] == ("terminate", [])
        assert bench.source.is_closed


@pytest.mark.parametrize("raised", [1, 2])
async def test_an_interrupt_in_a_handler_ends_the_worker_gracefully(raised: int) -> None:
    """Its job fails, so that it cannot end workers for ever; the others have their grace period."""
    bench, waiting = Bench(grace_s=5), job(9)

    @bench.worker.handler("a.interrupt")
    async def handle(ctx: JobContext) -> None:
        raise KeyboardInterrupt

    interrupted = [job(number, "a.interrupt") for number in range(raised)]
    bench.source.ready = [waiting, *interrupted]
    async with bench.running() as serving:
        await bench.timer.advance(1)
        failed = bench.source.failed
        assert [failed[each.id]["type"] for each in interrupted] == raised * ["KeyboardInterrupt"]
        assert not serving.done()
        await bench.timer.advance(5)
        assert serving.done()
        assert [*bench.source.requeued] == [waiting.id]


async def test_the_grace_period_bounds_the_way_out() -> None:
    """WRK-011, WRK-012, GS-003: then the handler is stopped and the job goes back, uncounted."""
    bench, first = Bench(grace_s=5), job(1)
    bench.source.ready = [first]
    async with bench.running() as serving:
        bench.lifecycle.terminate("SIGTERM")
        await bench.timer.advance(4.9)
        assert not serving.done()
        await bench.timer.advance(0.2)
        assert serving.done()
        assert bench.stopped == [first.id]
        assert bench.source.requeued[first.id]["type"] == "ShutdownError"
        assert not bench.source.acked
        assert not bench.source.failed


async def test_a_fetch_without_an_answer_does_not_outlast_the_grace_period() -> None:
    """Jobs that run go back in time, though the backend lets the worker wait."""
    bench, first = Bench(grace_s=5), job(1)
    bench.source.ready = [first]
    async with bench.running() as serving:
        bench.source.is_silent = True
        await bench.timer.advance(2)
        bench.lifecycle.terminate("SIGTERM")
        await bench.timer.advance(4.9)
        assert not serving.done()
        await bench.timer.advance(0.2)
        assert serving.done()
        assert [*bench.source.requeued] == [first.id]


async def test_a_job_that_cannot_be_given_back_is_left_to_its_reservation() -> None:
    """WRK-012: the worker still ends, and the job is neither lost nor completed."""
    bench, first = Bench(grace_s=1), job(1)
    bench.source.ready = [first]
    async with bench.running() as serving:
        bench.source.is_down = True
        bench.lifecycle.terminate("SIGTERM")
        await bench.timer.advance(10)
        assert serving.done()
        assert not bench.source.acked
        assert not bench.source.failed


async def test_a_second_signal_ends_at_once() -> None:
    """GS-002, GS-R002: no waiting, nothing reported; the jobs come back."""
    bench, first = Bench(), job(1)
    bench.source.ready = [first]
    async with bench.running() as serving:
        react = reactions(bench.lifecycle)
        react["SIGTERM"]()
        await settle()
        assert not serving.done()
        react["SIGINT"]()
        await settle()
        assert serving.done()
        assert not bench.source.acked
        assert not bench.source.failed


async def test_a_signal_quiets_and_another_wakes() -> None:
    """GS-R001; worker protocol, 9.3 and 9.4: SIGTSTP and SIGCONT."""
    bench = Bench()
    async with bench.running():
        react = reactions(bench.lifecycle)
        react["SIGTSTP"]()
        await settle()
        fetched = len(bench.source.fetches)
        assert bench.source.beats[-1] == ("quiet", [])
        await bench.timer.advance(60)
        assert len(bench.source.fetches) == fetched
        react["SIGCONT"]()
        await settle()
        assert len(bench.source.fetches) == fetched + 1
        assert bench.lifecycle.state is WorkerState.RUNNING


async def test_two_workers_take_over_from_each_other() -> None:
    """WRK-015: one is quieted, the other gets all that is new."""
    old, new = Bench(), Bench()
    new.source = new.worker._source = old.source
    async with old.running(), new.running():
        old.lifecycle.quiet("deploy")
        await settle()
        old.source.ready = [job(n) for n in range(3)]
        await new.timer.advance(3)
        await old.timer.advance(3)
        assert (old.worker.active_jobs, new.worker.active_jobs) == (0, 3)


@pytest.mark.parametrize("how", ["cancelled", "lost"])
async def test_a_job_that_is_not_to_be_executed_any_more_is_stopped(how: str) -> None:
    """Its handler is cancelled, the context says so, and nothing is reported."""
    bench, first, second = Bench(), job(1), job(2)
    ids = frozenset({first.id})
    gone = HeartbeatReply(cancelled=ids) if how == "cancelled" else HeartbeatReply(lost=ids)
    bench.source.ready = [first, second]
    async with bench.running():
        bench.source.replies = [gone]
        await bench.timer.advance(15)
        assert bench.stopped == [first.id]
        assert [ctx.is_cancelled for ctx in bench.contexts] == [True, False]
        assert bench.worker.active_jobs == 1
        assert not bench.source.acked
        assert not bench.source.failed


async def test_a_handler_s_own_heartbeat_is_sent() -> None:
    """MW-EXE-015: with the id of its job."""
    bench, first = Bench(), job(1)
    bench.source.ready = [first]
    async with bench.running():
        await bench.contexts[0].heartbeat()
        assert bench.source.beats[-1] == ("running", [first.id])


async def test_a_report_is_repeated_while_the_backend_is_down() -> None:
    """The work is done; an outage must not undo it."""
    bench, first = Bench(), job(1)
    bench.source.ready = [first]
    async with bench.running():
        bench.source.is_down = True
        bench.release(first)
        await bench.timer.advance(3)
        bench.source.is_down = False
        await bench.timer.advance(10)
        assert list(bench.source.acked) == [first.id]


async def test_a_refused_report_ends_nothing() -> None:
    """Worker protocol, 10.4: the worker logs it and goes on."""
    bench, first, second = Bench(), job(1), job(2)
    bench.source.ready = [first]
    async with bench.running():
        bench.source.held.clear()
        bench.release(first)
        await settle()
        bench.source.ready = [second]
        bench.release(second)
        await bench.timer.advance(3)
        assert list(bench.source.acked) == [second.id]


async def test_what_the_worker_logs_of_a_job_names_it_in_its_fields(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """ojs-logging, 7.1: one query finds every line about a job, by its id."""
    bench, first, second = Bench(), job(1), job(2)
    bench.source.ready = [first, second]
    async with bench.running():
        bench.source.is_down = True
        bench.release(second)
        await bench.timer.advance(3)
        bench.source.is_down = False
        await bench.timer.advance(10)
        bench.source.held.clear()
        bench.release(first)
        await settle()
    by_message = {each.msg: vars(each) for each in caplog.records if hasattr(each, "job_id")}
    again = by_message["Reporting job %s again: %s"]
    assert (again["job_id"], again["job_type"], again["queue"]) == (
        second.id,
        second.type,
        second.queue,
    )
    assert by_message["The outcome of job %s no longer counts: %s"]["job_id"] == first.id


async def test_a_result_that_the_backend_refuses_fails_the_job() -> None:
    """Rather than being executed again and again."""
    bench, first = Bench(), job(1)
    bench.source.ready = [first]
    async with bench.running():
        bench.source.problems = [PayloadTooLargeError("2 MiB")]
        bench.release(first)
        await settle()
        assert bench.source.failed[first.id]["type"] == "ResultRefused"


async def test_credentials_that_are_refused_say_nothing_of_a_result() -> None:
    """They may be new ones that the API has not read yet: the report is repeated."""
    bench, first = Bench(), job(1)
    bench.source.ready = [first]
    async with bench.running():
        bench.source.problems = [UnauthenticatedError("who are you?")]
        bench.release(first)
        await bench.timer.advance(0.5)
        assert bench.source.acked == {first.id: '"done"'}
        assert not bench.source.failed


async def test_a_job_that_comes_back_replaces_its_first_execution() -> None:
    """The reservation was lost and given to this very worker again."""
    bench, first = Bench(), job(1)
    bench.source.ready = [first]
    async with bench.running():
        bench.source.ready = [job(1)]
        await bench.timer.advance(3)
        assert bench.stopped == [first.id]
        bench.release(first)
        await settle()
        assert list(bench.source.acked) == [first.id]


async def test_mw_chain_011_handlers_and_middleware_freeze_at_the_start() -> None:
    """MW-CHAIN-010, MW-CHAIN-011."""
    bench = Bench()
    async with bench.running():
        with pytest.raises(ValueError, match="after the worker had started"):
            bench.worker.handler("a.c")(lambda ctx: None)
        with pytest.raises(Exception, match=r"(?i)froze"):
            bench.worker.middleware.add(object())


async def test_a_worker_without_handlers_does_not_start() -> None:
    """It would take jobs only to fail them."""
    with pytest.raises(RuntimeError, match="no handlers"):
        await Worker(source=FakeSource()).serve()


@pytest.mark.parametrize(
    "given", [{}, {"url": "ftp://x"}, {"queues": []}, {"queues": "email"}, {"concurrency": 0}]
)
def test_what_cannot_work_is_refused(given: dict[str, Any]) -> None:
    """With a ValueError or an error of the catalogue, when the worker is made."""
    source = None if given in ({}, {"url": "ftp://x"}) else FakeSource()
    with pytest.raises(ValueError, match=r".+"):
        Worker(source=source, **given)


async def test_a_handler_that_changes_the_job_s_id_ends_its_own_job() -> None:
    """The report, the heartbeats and the place in the worker are the claimed job's."""
    bench, first = Bench(), job(1, "a.forger")

    @bench.worker.handler("a.forger")
    async def forge(ctx: JobContext) -> None:
        ctx.job.id = "01900000-0000-7000-8000-00000000ffff"
        await ctx.checkpoint(1)
        await ctx.heartbeat()

    claimed = first.id
    bench.source.ready = [first]
    async with bench.running():
        assert list(bench.source.acked) == [claimed]
        assert bench.source.checkpoints == ["1"]
        assert bench.source.beats[-1] == ("running", [claimed])
        assert bench.worker.active_jobs == 0
