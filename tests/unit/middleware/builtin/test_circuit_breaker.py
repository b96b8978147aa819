"""A circuit opens after too many failures, tries after a while, and closes again."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from ojs_aws.middleware import (
    CircuitBreakerMiddleware,
    CircuitOpenError,
    CircuitState,
    ExecutionChain,
    TimeoutMiddleware,
)
from ojs_aws.middleware.protocols import ExecutionSide
from ojs_aws.worker.failure import SnoozeError
from tests.load import HUNG_S
from tests.unit.middleware.builtin.encryption.test_kms import Clock
from tests.unit.middleware.doubles import context, job

CLOSED, OPEN, HALF_OPEN = CircuitState.CLOSED, CircuitState.OPEN, CircuitState.HALF_OPEN

_executes: ExecutionSide = CircuitBreakerMiddleware()


class Service:
    """What handlers call: broken or not, and how often it was called."""

    def __init__(self) -> None:
        self.problem: BaseException | None = OSError("down")
        self.calls = 0

    async def handler(self, *_: object) -> str:
        self.calls += 1
        await asyncio.sleep(0)
        if self.problem is not None:
            raise self.problem
        return "done"


class Bench:
    """A breaker of three failures within a minute, ten seconds of rest, and a clock."""

    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        given: dict[str, Any] = {
            "failures": 3,
            "window_s": 60,
            "cooldown_s": 10,
            "clock": self.clock,
        } | options
        self.breaker = CircuitBreakerMiddleware(**given)
        self.chain = ExecutionChain([self.breaker])
        self.service = Service()

    async def run(self, **members: Any) -> object:
        executed = job(**members)
        return await self.chain.run(executed, context(executed), self.service.handler)

    async def fail(self, times: int, **members: Any) -> None:
        for _ in range(times):
            with pytest.raises(OSError, match="down"):
                await self.run(**members)


async def test_mw_exe_018_an_open_circuit_fails_fast_and_closes_after_a_success() -> None:
    """Closed, open, half-open, closed."""
    bench = Bench()
    await bench.fail(3)
    assert bench.breaker.state("a.b") is OPEN
    bench.clock.now = 4
    with pytest.raises(CircuitOpenError, match="again in 6 s") as raised:
        await bench.run()
    assert (raised.value.key, raised.value.retry_after_s) == ("a.b", 6)
    assert bench.service.calls == 3
    bench.clock.now = 10
    assert bench.breaker.state("a.b") is HALF_OPEN
    bench.service.problem = None
    assert await bench.run() == "done"
    assert bench.breaker.states() == {"a.b": CLOSED}
    bench.service.problem = OSError("down")
    await bench.fail(2)
    assert bench.breaker.state("a.b") is CLOSED


async def test_a_failed_trial_opens_it_again_for_the_whole_time() -> None:
    """The cooldown counts from the trial."""
    bench = Bench()
    await bench.fail(3)
    bench.clock.now = 11
    await bench.fail(1)
    bench.clock.now = 20
    with pytest.raises(CircuitOpenError):
        await bench.run()
    bench.clock.now = 21
    assert bench.breaker.state("a.b") is HALF_OPEN


async def test_only_failures_within_the_window_count() -> None:
    """A failure a day never opens anything."""
    bench = Bench()
    for moment in (0, 40, 80, 120):
        bench.clock.now = moment
        await bench.fail(1)
    assert bench.breaker.state("a.b") is CLOSED
    bench.clock.now = 140
    await bench.fail(1)
    assert bench.breaker.state("a.b") is OPEN


async def test_each_type_or_key_has_a_circuit_of_its_own() -> None:
    """Another type is not punished."""
    bench = Bench()
    await bench.fail(3)
    await bench.fail(1, type="c.d")
    keyed = Bench(key=lambda it: it.meta.get("host"))
    await keyed.fail(3, meta={"host": "x"})
    await keyed.fail(5)
    assert keyed.breaker.states() == {"x": OPEN}
    keyed.breaker.reset("x")
    assert keyed.breaker.state("x") is CLOSED


async def test_errors_that_say_nothing_about_the_service_do_not_count() -> None:
    """They close a half-open circuit: the service answered."""
    bench = Bench(counts=lambda problem: not isinstance(problem, ValueError))
    bench.service.problem = ValueError("bad input")
    for _ in range(5):
        with pytest.raises(ValueError, match="bad input"):
            await bench.run()
    assert bench.breaker.states() == {}


async def test_a_snooze_opens_no_circuit() -> None:
    """It says nothing about the service."""
    bench = Bench(failures=1)
    bench.service.problem = SnoozeError("10m")
    with pytest.raises(SnoozeError):
        await bench.run()
    assert bench.breaker.state("a.b") is CLOSED


async def test_a_timeout_counts_and_a_given_up_job_does_not() -> None:
    """Shutdown says nothing about the service; a trial that was given up leaves its place."""
    bench = Bench(failures=1)

    async def endless(*_: object) -> None:
        await asyncio.sleep(60)

    async def give_up() -> None:
        work = asyncio.create_task(bench.chain.run(job(), context(), endless))
        await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait({work})

    await give_up()
    assert bench.breaker.state("a.b") is CLOSED
    inner = ExecutionChain([bench.breaker, TimeoutMiddleware(0.001)])
    with pytest.raises(Exception, match="exceeded its timeout"):
        await inner.run(job(), context(), endless)
    assert bench.breaker.state("a.b") is OPEN
    bench.clock.now = 10
    await give_up()
    bench.service.problem = None
    assert await bench.run() == "done"


async def test_half_open_only_one_of_fifty_jobs_is_tried() -> None:
    """The others fail fast, and say that a trial is under way."""
    bench = Bench()
    await bench.fail(3)
    bench.clock.now = 10
    bench.service.problem = None
    outcomes = await asyncio.gather(*(bench.run() for _ in range(50)), return_exceptions=True)
    assert outcomes.count("done") == 1
    refused = [one for one in outcomes if isinstance(one, CircuitOpenError)]
    assert len(refused) == 49
    assert "when the trial succeeds" in str(refused[0])
    assert bench.breaker.state("a.b") is CLOSED


async def test_what_began_before_the_circuit_opened_says_nothing_about_the_trial() -> None:
    """Late failures of slow jobs do not open a circuit that was just closed."""
    bench = Bench()
    gate = asyncio.Event()

    async def slow(*_: object) -> None:
        await gate.wait()
        raise OSError("down")

    late = [asyncio.create_task(bench.chain.run(job(), context(), slow)) for _ in range(5)]
    await asyncio.sleep(0)
    await bench.fail(3)
    bench.clock.now = 10
    bench.service.problem = None
    await bench.run()
    gate.set()
    await asyncio.wait(late)
    assert bench.breaker.state("a.b") is CLOSED
    for one in late:
        assert isinstance(one.exception(), OSError)


def test_one_breaker_serves_many_threads() -> None:
    """Fifty event loops, each with a job that fails: exactly as many as open it are executed."""
    bench = Bench(failures=50)
    barrier = threading.Barrier(50, timeout=HUNG_S)

    async def failing(*_: object) -> None:
        barrier.wait()
        raise OSError("down")

    def in_own_loop() -> None:
        with pytest.raises(OSError, match="down"):
            asyncio.run(bench.chain.run(job(), context(), failing))

    threads = [threading.Thread(target=in_own_loop) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HUNG_S)
    assert bench.breaker.state("a.b") is OPEN


async def test_no_more_circuits_are_kept_than_memory_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keys may be made of anything."""
    monkeypatch.setattr("ojs_aws.middleware.builtin.circuit_breaker.MAX_CIRCUITS", 2)
    bench = Bench()
    for name in ("a.b", "c.d", "e.f"):
        await bench.fail(1, type=name)
    assert set(bench.breaker.states()) == {"c.d", "e.f"}


@pytest.mark.parametrize("name", ["failures", "window_s", "cooldown_s", "trials"])
def test_numbers_must_be_positive(name: str) -> None:
    """When the middleware is made."""
    options: dict[str, Any] = {name: 0}
    with pytest.raises(ValueError, match=name):
        CircuitBreakerMiddleware(**options)
