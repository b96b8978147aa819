"""Shared instances: what tasks and threads, one after the other and at once, may not notice."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    EnqueueChain,
    ErrorReportingMiddleware,
    ExecutionChain,
    JobContext,
    LoggingMiddleware,
    MetricsMiddleware,
    TimeoutMiddleware,
    TraceContextMiddleware,
)
from ojs_aws.middleware.builtin.error_reports import ErrorReport
from tests.load import HUNG_S
from tests.unit.middleware.doubles import enqueue_sync, job, store

COUNT = 50


class Collected:
    """A logger, a metric sink and a reporter in one; appending to a list is atomic."""

    def __init__(self) -> None:
        self.logs: list[tuple[str, str]] = []
        self.tags: list[tuple[str, str]] = []
        self.reports: list[tuple[str, str]] = []

    def log(self, level: int, msg: object, /, *, extra: dict[str, Any]) -> None:
        self.logs.append((str(msg), extra["job_id"]))

    def emit(self, name: str, value: float, unit: str, attributes: Mapping[str, str]) -> None:
        if name in {"ojs.jobs.completed", "ojs.jobs.failed"}:
            self.tags.append((name, attributes["type"]))

    def idle(self) -> None:
        """Nothing is held back."""

    def report(self, report: ErrorReport) -> None:
        self.reports.append((report.job_id, report.message))

    def chain(self) -> ExecutionChain:
        return ExecutionChain(
            [
                TraceContextMiddleware(environ={}),
                LoggingMiddleware(self),
                MetricsMiddleware(self),
                ErrorReportingMiddleware(self.report),
                TimeoutMiddleware(),
            ]
        )


def numbered(number: int) -> Job:
    """A job of its own type; odd ones are to fail."""
    return job(number, type=f"t.n{number}", id=f"01900000-0000-7000-8000-{number:012d}", attempt=1)


async def handler(given: Job, ctx: JobContext) -> object:
    ctx.metadata["n"] = given.args[0]
    for _ in range(3):
        await asyncio.sleep(0)
    if given.args[0] in range(1, COUNT, 2):
        raise ValueError(f"{ctx.metadata['n']}")
    return ctx.metadata["n"]


async def executed(
    chain: ExecutionChain, number: int, meet: Callable[[], object] = lambda: None
) -> object:
    """Run a job; inside of its handler it waits for the others to ``meet``."""
    given = numbered(number)

    async def meets(executed: Job, ctx: JobContext) -> object:
        meet()
        return await handler(executed, ctx)

    try:
        return await chain.run(given, JobContext(given), meets)
    except ValueError as problem:
        return str(problem)


def expect_each_job_once(collected: Collected, results: list[object], rounds: int) -> None:
    ids = [numbered(n).id for n in range(COUNT)]
    odd = range(1, COUNT, 2)
    assert results == [str(n) if n % 2 else n for n in range(COUNT)] * rounds
    assert sorted(collected.reports) == sorted([(ids[n], str(n)) for n in odd] * rounds)
    ended = [("Job failed" if n % 2 else "Job completed", ids[n]) for n in range(COUNT)]
    began = [("Job started", known) for known in ids]
    assert sorted(collected.logs) == sorted((began + ended) * rounds)
    counted = [
        ("ojs.jobs.failed" if n % 2 else "ojs.jobs.completed", f"t.n{n}") for n in range(COUNT)
    ]
    assert sorted(collected.tags) == sorted(counted * rounds)


async def test_appendix_a_thread_safety_fifty_tasks_share_the_built_ins() -> None:
    """MW-CHAIN-026, MW-CHAIN-027: twice in one process, as in a warm Lambda function."""
    collected = Collected()
    chain = collected.chain()
    results: list[object] = []
    for _ in range(2):
        results += await asyncio.gather(*(executed(chain, n) for n in range(COUNT)))
    expect_each_job_once(collected, results, rounds=2)


def test_appendix_a_thread_safety_threads_share_the_built_ins() -> None:
    """MW-CHAIN-026, MW-CHAIN-027: ten at a time, each with an event loop of its own."""
    collected = Collected()
    chain = collected.chain()
    meet = threading.Barrier(10, timeout=HUNG_S).wait

    def execute(number: int) -> object:
        return asyncio.run(executed(chain, number, meet))

    with ThreadPoolExecutor(10) as threads:
        results = list(threads.map(execute, range(COUNT)))
    expect_each_job_once(collected, results, rounds=1)


def test_mw_chain_026_threads_share_an_enqueue_chain() -> None:
    """As they do in PUSH: each job gets what was meant for it, or is dropped alone."""

    async def drops_odd(job: Job, call_next: Any) -> Any:
        job.meta["n"] = job.args[0]
        await asyncio.sleep(0)
        return None if job.args[0] in range(1, COUNT, 2) else await call_next(job)

    chain = EnqueueChain([LoggingMiddleware(Collected()), drops_odd])
    with ThreadPoolExecutor(8) as threads:
        outcomes = list(
            threads.map(lambda n: enqueue_sync(chain, numbered(n), lambda job: job), range(COUNT))
        )
    kept = [(stored.meta["n"] if stored else None, by) for stored, by in outcomes]
    assert kept == [(None, "drops_odd") if n % 2 else (n, "") for n in range(COUNT)]


async def test_mw_chain_028_one_instance_serves_every_job() -> None:
    """A class is made into an instance once, when it is added."""
    seen: list[int] = []

    class Notes:
        async def call(self, job: Job, ctx: JobContext, call_next: Any) -> Any:
            seen.append(id(self))
            return await call_next()

    chain = ExecutionChain([Notes])
    for number in range(0, 10, 2):
        await executed(chain, number)
    assert seen == [id(next(iter(chain)))] * 5


async def test_mw_chain_029_the_defaults_never_touch_the_network(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither for a job that completes nor for one that fails."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a default middleware has used the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    chain = ExecutionChain.default()
    with caplog.at_level(logging.INFO):
        assert [await executed(chain, n) for n in range(2)] == [0, "1"]
        assert await EnqueueChain.default().run(job(), store) is not None
    assert "has used the network" not in caplog.text


def test_a_forked_process_runs_its_chain_in_a_loop_of_its_own() -> None:
    """The thread of the parent's loop is not there; without another the child would hang."""
    forking = textwrap.dedent(
        """
        import asyncio, os, warnings
        from ojs_aws.middleware.synchronous import run_in_loop
        warnings.simplefilter("ignore")  # from Python 3.12 on, forking with threads is warned of
        run_in_loop(asyncio.sleep(0))
        child = os.fork()
        if not child:
            run_in_loop(asyncio.sleep(0))
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", forking], capture_output=True, text=True, timeout=HUNG_S, check=True
    )
    assert ended.stdout == "7\n"
