"""What a middleware can get wrong: each mistake is refused, or cannot lie to the caller."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    EnqueueChain,
    ExecutionChain,
    Hooks,
    IdChangedError,
    InvalidMiddlewareError,
    JobContext,
    JobTimeoutError,
    LoggingMiddleware,
    NextCalledTwiceError,
    NextNotAwaitedError,
    SuppressedErrorWarning,
    TimeoutMiddleware,
    TraceContextMiddleware,
    hook,
)
from ojs_aws.middleware.builtin.metrics import default_sink
from ojs_aws.middleware.enqueuer import Enqueuer
from tests.unit.middleware.doubles import JOB_ID, context, enqueue_sync, job, store


# ---------------------------------------------------------------------- the enqueue outcome
async def test_mw_enq_020_a_job_that_was_dropped_further_in_is_never_returned() -> None:
    """MW-ENQ-020: whatever an outer middleware returns, the caller learns that it was dropped."""

    async def ignores(job: Job, call_next: Any) -> Any:
        await call_next(job)
        return job

    async def drops(job: Job, call_next: Any) -> Any:
        return None

    assert await EnqueueChain([ignores, drops]).run_tracked(job(), store) == (None, "drops")


async def test_who_catches_the_store_s_error_has_dropped_the_job() -> None:
    """MW-ENQ-020: nothing was stored, and it is reported who decided that."""

    async def catches(job: Job, call_next: Any) -> Any:
        try:
            return await call_next(job)
        except KeyError:
            return job

    async def refuses(_: Job) -> Job:
        raise KeyError("taken")

    assert await EnqueueChain([catches]).run_tracked(job(), refuses) == (None, "catches")


async def test_a_drop_by_the_store_itself_has_no_middleware_s_name() -> None:
    """The backend's chain dropped it; whoever stores knows by whom."""

    async def passes(job: Job, call_next: Any) -> Any:
        return await call_next(job)

    assert await EnqueueChain([passes]).run_tracked(job(), lambda _: None) == (None, "")


async def test_mw_enq_012_the_id_cannot_be_changed_after_storing_either() -> None:
    """MW-ENQ-012: the error carries the stored id."""

    async def forger(job: Job, call_next: Any) -> Any:
        return (await call_next(job)).copy(id="other")

    with pytest.raises(IdChangedError, match="'forger'") as raised:
        await EnqueueChain([forger]).run(job(), store)
    assert raised.value.stored_job_ids == (JOB_ID,)  # type: ignore[attr-defined]


async def test_mw_enq_012_the_stored_job_s_id_cannot_be_changed_in_place_either() -> None:
    """MW-ENQ-012: nor is the caller given another id than that under which the job is stored."""

    async def forger(job: Job, call_next: Any) -> Any:
        stored = await call_next(job)
        stored.id = "other"
        return stored

    with pytest.raises(IdChangedError, match="stored job's id") as raised:
        await EnqueueChain([forger]).run(job(), store)
    assert raised.value.stored_job_ids == (JOB_ID,)  # type: ignore[attr-defined]


async def test_call_next_of_an_execution_says_that_it_takes_nothing() -> None:
    """Who knows the other chain writes ``call_next(job)``."""

    async def passes(job: Job, ctx: JobContext, call_next: Any) -> Any:
        return await call_next(job)

    with pytest.raises(TypeError, match=r"'passes'.*call_next\(\)"):
        await ExecutionChain([passes]).run(job(), context(), lambda *_: None)


async def test_an_error_object_that_is_raised_again_forgets_earlier_jobs() -> None:
    """RIVER-005: stored ids are those of this job."""
    reused = KeyError("one object for ever")

    async def late_or_early(job: Job, call_next: Any) -> Any:
        if job.args == ["late"]:
            await call_next(job)
        raise reused

    chain = EnqueueChain([late_or_early])
    ids: list[object] = []
    for when in ("late", "early"):
        with pytest.raises(KeyError) as raised:
            await chain.run(job(when), store)
        ids.append(getattr(raised.value, "stored_job_ids", None))
    assert ids == [(JOB_ID,), None]


# ---------------------------------------------------------------------- call_next
async def test_forgetting_to_await_call_next_is_an_error_when_enqueueing() -> None:
    """Otherwise the job would be lost, and the caller would believe that it is enqueued."""

    def synchronous(job: Job, call_next: Any) -> Any:
        call_next(job)
        return job

    async def asynchronous(job: Job, call_next: Any) -> Any:
        call_next(job)
        return job

    for member in (synchronous, asynchronous):
        with pytest.raises(NextNotAwaitedError, match=f"'{member.__name__}'"):
            await EnqueueChain([member]).run(job(), store)


async def test_forgetting_to_await_call_next_is_an_error_when_executing() -> None:
    """Otherwise the job would be acknowledged, and its handler had never run."""

    async def forgetful(job: Job, ctx: JobContext, call_next: Any) -> Any:
        call_next()

    ctx = context()
    with pytest.raises(NextNotAwaitedError) as raised:
        await ExecutionChain([forgetful]).run(job(), ctx, lambda *_: 1)
    assert ctx.failure_origin(raised.value) == "middleware:forgetful"


async def test_a_forgotten_await_is_one_error_and_no_warning_beside_it() -> None:
    """Warnings are errors here; they are collected, as Python reports this one from a finaliser."""

    async def drops_it(job: Job, call_next: Any) -> Any:
        call_next(job)
        return job

    async def returns_it(job: Job, call_next: Any) -> Any:
        return call_next(job)

    async def keeps_it(job: Job, call_next: Any) -> Any:
        going = call_next(job)
        return job if going else None

    async def fails(job: Job, call_next: Any) -> Any:
        call_next(job)
        raise KeyError("before it was awaited")

    async def executes(job: Job, ctx: JobContext, call_next: Any) -> Any:
        return call_next()

    class Batches:
        async def enqueue_many(self, jobs: list[Job], call_next: Any) -> Any:
            return call_next(jobs)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for member in (drops_it, returns_it, keeps_it):
            for chain in (EnqueueChain([member]), EnqueueChain([member]).measure()):
                with pytest.raises(NextNotAwaitedError):
                    await chain.run(job(), store)
        with pytest.raises(KeyError):
            await EnqueueChain([fails]).run(job(), store)
        with pytest.raises(NextNotAwaitedError):
            await ExecutionChain([executes]).run(job(), context(), lambda *_: 1)
        with pytest.raises(NextNotAwaitedError):
            await Enqueuer(EnqueueChain([Batches])).many([job()], nothing_is_stored)
        gc.collect()
    assert [str(each.message) for each in caught] == []


async def nothing_is_stored(_: list[Job]) -> list[Any]:
    raise AssertionError("nothing goes on")


async def test_a_job_that_a_forgotten_task_stores_after_all_was_not_dropped() -> None:
    """The layer that swallowed the mistake says nothing of a job that is there."""
    left = list[asyncio.Future[Any]]()

    async def outer(job: Job, call_next: Any) -> Any:
        result = await call_next(job)
        await asyncio.gather(*left)
        return result

    async def swallows(job: Job, call_next: Any) -> Any:
        try:
            return await call_next(job)
        except NextNotAwaitedError:
            return None

    async def forgets(job: Job, call_next: Any) -> Any:
        left.append(asyncio.ensure_future(call_next(job)))
        await asyncio.sleep(0)
        return job

    async def slow_store(job: Job) -> Job:
        await asyncio.sleep(0)
        return job

    chain = EnqueueChain([outer, swallows, forgets])
    with pytest.warns(RuntimeWarning, match="after the job had been stored"):
        stored, dropped_by = await chain.run_tracked(job(), slow_store)
    assert stored is not None
    assert dropped_by == ""


async def test_mw_exe_020_a_forgotten_task_does_not_take_an_error_s_origin() -> None:
    """What it raises later is another error; whose the first one was stays known."""
    left = list[asyncio.Future[Any]]()

    async def outer(job: Job, ctx: JobContext, call_next: Any) -> Any:
        try:
            return await call_next()
        finally:
            await asyncio.gather(*left, return_exceptions=True)

    async def forgets(job: Job, ctx: JobContext, call_next: Any) -> Any:
        left.append(asyncio.ensure_future(call_next()))
        await asyncio.sleep(0)

    async def raises(job: Job, ctx: JobContext, call_next: Any) -> Any:
        await asyncio.sleep(0)
        raise ValueError("late")

    async def handler(job: Job, ctx: JobContext) -> None: ...

    ctx = context()
    with pytest.raises(NextNotAwaitedError) as caught:
        await ExecutionChain([outer, forgets, raises]).run(job(), ctx, handler)
    assert ctx.failure_origin(caught.value) == "middleware:forgets"


async def test_mw_exe_006_call_next_is_of_no_use_after_its_middleware_returned() -> None:
    """MW-EXE-006: the handler must not run once the job's outcome is decided."""
    escaped: list[Any] = []

    async def leaks(*given: Any) -> Any:
        escaped.append(given[-1])
        return given[0]

    ran: list[str] = []
    await ExecutionChain([leaks]).run(job(), context(), lambda *_: ran.append("handler"))
    await EnqueueChain([leaks]).run(job(), store)
    with pytest.raises(NextCalledTwiceError):
        escaped[0]()
    with pytest.raises(NextCalledTwiceError):
        escaped[1](job())
    assert ran == []


async def test_mw_exe_023_a_suppressed_error_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """MW-EXE-023: for every job, with its id; Python shows a warning once."""

    async def swallows(job: Job, ctx: JobContext, call_next: Any) -> Any:
        try:
            await call_next()
        except ValueError:
            return None

    def fails(*_: object) -> None:
        raise ValueError("x")

    chain = ExecutionChain([swallows])
    for _ in range(2):
        with pytest.warns(SuppressedErrorWarning):
            await chain.run(job(), context(), fails)
    records = [record for record in caplog.records if "'swallows'" in record.message]
    assert [record.__dict__["job_id"] for record in records] == [JOB_ID, JOB_ID]


# ---------------------------------------------------------------------- configuration
@pytest.mark.parametrize("kind", [EnqueueChain, ExecutionChain])
def test_river_010_a_wrong_signature_is_refused_when_it_is_added(kind: Callable[..., Any]) -> None:
    """RIVER-010: and not when the first job comes. Each chain refuses what is the other's."""

    class ForEnqueueing:
        async def call(self, job: Job, call_next: Any) -> Any: ...

    class ForExecuting:
        async def call(self, job: Job, ctx: JobContext, call_next: Any) -> Any: ...

    fits, does_not = ForEnqueueing, ForExecuting
    if kind is ExecutionChain:
        fits, does_not = does_not, fits  # type: ignore[assignment]
    assert len(kind([fits])) == 1
    with pytest.raises(InvalidMiddlewareError, match="cannot be called as e"):
        kind([does_not])


def test_a_generator_is_refused() -> None:
    """Its body would never run."""

    async def generator(job: Job, call_next: Any) -> Any:
        yield job

    with pytest.raises(InvalidMiddlewareError, match="generator"):
        EnqueueChain([generator])


def test_mw_chain_006_an_absent_class_stands_for_its_subclasses() -> None:
    """MW-CHAIN-006: one's own timeout in place of the default one is still the timeout."""

    class MyTimeout(TimeoutMiddleware):
        pass

    chain = ExecutionChain([MyTimeout]).insert_before(TimeoutMiddleware, LoggingMiddleware)
    assert chain.names() == ["logging", "my_timeout"]
    chain.add(TimeoutMiddleware).remove(TimeoutMiddleware)
    assert chain.names() == ["logging", "my_timeout"]


def test_mw_chain_007_a_bound_method_is_itself_each_time() -> None:
    """MW-CHAIN-007: though Python makes a new object of it."""

    class Service:
        async def tag(self, job: Job, call_next: Any) -> Any: ...

    service = Service()
    assert len(EnqueueChain([service.tag]).remove(service.tag)) == 0


# ---------------------------------------------------------------------- the timeout
@pytest.mark.parametrize("raises", [True, False])
async def test_mw_builtin_010_the_result_after_a_timeout_is_ignored(
    raises: bool,
) -> None:
    """MW-BUILTIN-010: it can neither succeed after all nor hide the timeout."""

    async def stubborn(*_: object) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if raises:
                raise ValueError("in its cleanup") from None
        return "done after all"

    ctx = context()
    ctx.remaining_s = lambda: 0.001  # type: ignore[method-assign]
    with pytest.raises(JobTimeoutError):
        await ExecutionChain([TimeoutMiddleware]).run(job(), ctx, stubborn)


# ---------------------------------------------------------------------- from synchronous code
variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="")


async def test_a_chain_that_waits_runs_from_synchronous_code_inside_a_loop() -> None:
    """Always in one and the same loop, and with the caller's context variables."""
    seen: list[tuple[object, str, bool]] = []

    async def waits(job: Job, call_next: Any) -> Any:
        await asyncio.sleep(0)
        is_elsewhere = threading.current_thread() is not threading.main_thread()
        seen.append((asyncio.get_running_loop(), variable.get(), is_elsewhere))
        return await call_next(job)

    chain = EnqueueChain([waits])
    variable.set("mine")
    for _ in range(2):
        assert enqueue_sync(chain, job(), lambda kept: kept)[0] is not None
    assert seen[0] == seen[1]
    assert seen[0][1:] == ("mine", True)


def test_an_error_passes_through_the_loop() -> None:
    """The very object."""
    problem = KeyError("schema")

    async def aborts(job: Job, call_next: Any) -> Any:
        await asyncio.sleep(0)
        raise problem

    with pytest.raises(KeyError) as raised:
        enqueue_sync(EnqueueChain([aborts]), job(), lambda kept: kept)
    assert raised.value is problem


def test_a_hook_that_exits_ends_neither_the_loop_nor_later_jobs() -> None:
    """The loop is the process's own: without it every later job would wait for ever."""

    @hook("insert_begin")
    async def exits(given: Job) -> None:
        await asyncio.sleep(0)
        if given.args:
            sys.exit("configuration is missing")

    chain, hooks = EnqueueChain(), Hooks([exits])
    with pytest.raises(SystemExit, match="configuration"):
        enqueue_sync(chain, job(1), store, hooks)
    stored, _ = enqueue_sync(chain, job(), store, hooks)
    assert stored is not None


def test_a_middleware_that_would_wait_for_itself_is_refused() -> None:
    """It enqueues synchronously from inside the loop that would have to do it."""
    inner = EnqueueChain([lambda job, call_next: job])

    async def nests(job: Job, call_next: Any) -> Any:
        enqueue_sync(inner, job, lambda kept: kept)

    with pytest.raises(RuntimeError, match="must not enqueue synchronously"):
        enqueue_sync(EnqueueChain([nests]), job(), lambda kept: kept)


def test_the_default_chain_of_the_backend_does_not_import_asyncio() -> None:
    """A cold start of PUSH would pay for it."""
    program = (
        "import sys; from ojs_aws.domain.envelope import Job; "
        "from ojs_aws.middleware import extensions; "
        "from ojs_aws.middleware.chain import run_coroutine; "
        "from ojs_aws.middleware.enqueuer import Enqueuer; "
        "e = Enqueuer(extensions.enqueue_chain('')); "
        "run_coroutine(e.single(Job('a.b', id='x'), lambda job: job), never_waits=e.never_waits); "
        "sys.exit('asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("is_passed", [True, False])
async def test_what_is_no_job_is_refused_with_the_middleware_s_name(is_passed: bool) -> None:
    async def careless(job: Job, call_next: Any) -> Any:
        if is_passed:
            await call_next(job)
        return True

    with pytest.raises(InvalidMiddlewareError, match=r"careless.*bool") as refused:
        await EnqueueChain([careless]).run(job(), store)
    stored: object = getattr(refused.value, "stored_job_ids", None)
    assert stored == ((JOB_ID,) if is_passed else None)


async def test_call_next_of_an_enqueueing_says_what_it_takes() -> None:
    """A forgotten argument names the middleware, in both kinds of enqueue middleware."""

    async def careless(job: Job, call_next: Any) -> Any:
        return await call_next()

    class Careless:
        async def enqueue_many(self, jobs: list[Job], call_next: Any) -> Any:
            return await call_next(*jobs)

    with pytest.raises(TypeError, match=r"'careless'.*call_next\(job\)"):
        await EnqueueChain([careless]).run(job(), store)
    with pytest.raises(TypeError, match=r"'careless'.*call_next\(jobs\)"):
        await Enqueuer(EnqueueChain([Careless])).many([job(1), job(2)], nothing_is_stored)


async def test_what_is_passed_on_must_be_a_job() -> None:
    async def careless(job: Job, call_next: Any) -> Any:
        return await call_next(None)

    with pytest.raises(InvalidMiddlewareError, match=r"careless.*NoneType"):
        await EnqueueChain([careless]).run(job(), store)


async def test_failed_executions_leave_no_circle_for_the_garbage_collector() -> None:
    async def passes(job: Job, ctx: JobContext, call_next: Any) -> object:
        return await call_next()

    class NotedError(Exception):
        pass

    def fail(*_: object) -> None:
        raise NotedError

    chain, left = ExecutionChain([passes]), []

    async def once() -> None:
        try:
            await chain.run(job(), context(), fail)
        except NotedError as problem:
            left.append(weakref.ref(problem))

    gc.disable()
    try:
        await once()
        assert left[0]() is None
    finally:
        gc.enable()


def test_threads_change_a_chain_one_after_the_other() -> None:
    """While one adds, another waits: neither works on what the other has just replaced."""
    chain = EnqueueChain()

    class Passes:
        async def enqueue(self, job: Job, call_next: Any) -> Any:
            return await call_next(job)

    other = threading.Thread(target=lambda: chain.prepend(Passes(), name="second"))

    class Slow(Passes):
        @property
        def name(self) -> str:
            if other.ident is None:
                other.start()
                other.join(0.1)
            return "first"

    chain.prepend(Slow())
    other.join()
    assert chain.names() == ["second", "first"]


def test_what_the_environment_holds_is_no_default_of_a_signature() -> None:
    """`help()` and documentation tools print defaults."""
    for function in (TraceContextMiddleware.__init__, default_sink):
        assert inspect.signature(function).parameters["environ"].default is None
