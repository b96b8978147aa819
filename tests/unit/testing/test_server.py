"""Real mode: the local server in a process of its own, for tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import ANY

import pytest

from ojs_aws import Client, Jobs, UniquePolicy, chain
from ojs_aws.domain.errors import JsonValue
from ojs_aws.errors import NotFoundError, SchemaValidationError
from ojs_aws.testing import OjsServer, ServerError
from tests.unit.testing.shop import count, follow_up, jobs, send_mail

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def started() -> Iterator[OjsServer]:
    """One server for all tests of this module."""
    with OjsServer(lambda_workers=["tests.unit.testing.served:worker"]) as server:
        yield server


@pytest.fixture
def server(started: OjsServer) -> Iterator[OjsServer]:
    """The server without anything of the test before."""
    started.reset()
    with started.use():
        yield started


async def test_a_job_is_done_by_a_worker_in_the_tests_process(server: OjsServer) -> None:
    handle = await send_mail.enqueue("a@b.c")
    with server.work(jobs):
        done = await server.wait(handle)
    assert (done.state, done.returned) == ("completed", "sent to a@b.c")


def test_code_without_async_uses_the_same_server(server: OjsServer) -> None:
    handle = count.enqueue_sync(2)
    with server.work(jobs):
        server.drain_sync()
    assert server.sync_client.get(handle.id)["result"] == 600


async def test_a_handler_sends_jobs_to_the_same_server(server: OjsServer) -> None:
    with server.work(jobs):
        handle = await follow_up.enqueue("a@b.c")
        sent = str((await server.wait(handle))["result"])
        assert (await server.wait(sent)).type == "shop.send_mail"


async def test_wait_names_the_error_of_a_job_that_failed(server: OjsServer) -> None:
    handle = await send_mail.options(retry={"max_attempts": 1}).enqueue("nobody")
    with server.work(jobs), pytest.raises(AssertionError, match="'nobody' is no address") as seen:
        await server.wait(handle)
    assert "is discarded" in str(seen.value)


async def test_wait_for_a_failure_finds_the_retry(server: OjsServer) -> None:
    slow = send_mail.options(retry={"max_attempts": 2, "initial_interval": "PT1H"})
    handle = await slow.enqueue("nobody")
    with server.work(jobs):
        assert (await server.wait(handle, "retryable", "discarded")).attempt == 1


async def test_wait_ends_when_no_worker_runs(server: OjsServer) -> None:
    handle = await send_mail.enqueue("a@b.c")
    with pytest.raises(AssertionError, match=r"is available .* within 100ms. .*worker serves\."):
        await server.wait(handle, timeout="100ms")
    with pytest.raises(ValueError, match=r"no state 'complete'. Did you mean 'completed'"):
        await server.wait(handle, "complete")
    with pytest.raises(AssertionError, match=r"served:worker serves\.\n.*shop.send_mail"):
        await server.drain("email", timeout="100ms")


async def test_a_forgotten_await_names_the_method_of_the_server(server: OjsServer) -> None:
    """As users know it, not by the class that it is written in."""
    for forgotten in (server.drain(), server.wait("an-id")):
        assert "OjsServer." in repr(forgotten)
        forgotten.close()


async def test_drain_names_the_jobs_that_failed(server: OjsServer) -> None:
    """With their tracebacks."""
    await send_mail.enqueue("nobody")
    with server.work(jobs):
        with pytest.raises(AssertionError, match=r"in send_mail(.|\n)*is no address") as seen:
            await server.drain()
        await server.drain(raise_errors=False)
    assert "shop.send_mail" in str(seen.value)
    server.assert_failed(send_mail)
    server.assert_performed(send_mail)


async def test_assertions_see_the_jobs_of_the_server(server: OjsServer) -> None:
    """They are those of the fake, with types."""
    await send_mail.enqueue("a@b.c")
    await count.enqueue(2)
    server.assert_enqueued(send_mail.call(ANY), queue="email", count=1)
    server.refute_enqueued(follow_up)
    with server.work(jobs):
        await server.drain()
    [job] = server.assert_enqueued(count.call(2), state="completed")
    assert (job.returned, job.arguments) == (600, {"pages": 2})
    server.assert_job_state(job, "completed")
    server.assert_completed(count, count=1)
    server.assert_performed(send_mail)
    server.refute_performed(follow_up)
    with pytest.raises(AssertionError, match="failures: expected '1 or more', is 0"):
        server.assert_failed(count)
    with pytest.raises(AssertionError, match="expected 3, is 2"):
        server.assert_enqueued(count.call(3))


async def test_a_client_of_another_url_reaches_the_server(server: OjsServer) -> None:
    """So the application's own clients need no setting."""
    async with Client("https://jobs.example.com") as client:
        await client.enqueue("a.b", [1])
    server.assert_enqueued("a.b", args=[1])


async def test_drain_waits_for_the_steps_of_a_workflow(server: OjsServer) -> None:
    flow = chain(count.call(2), send_mail.call("a@b.c"))
    with server.work(jobs):
        handle = await flow.enqueue()
        await server.drain()
    assert await handle.result(timeout="1s") == "sent to a@b.c"


async def test_drain_leaves_retries_to_their_time(server: OjsServer) -> None:
    slow = send_mail.options(retry={"max_attempts": 2, "initial_interval": "PT1H"})
    handle = await slow.enqueue("nobody")
    with server.work(jobs):
        await server.drain(raise_errors=False)
    server.assert_job_state(handle.id, "retryable")


async def test_drain_with_scheduled_waits_for_retries(server: OjsServer) -> None:
    handle = await send_mail.enqueue("nobody")
    with server.work(jobs):
        await server.drain(with_scheduled=True, raise_errors=False)
    server.assert_job_state(handle.id, "discarded")


async def test_a_lambda_worker_runs_in_the_server(server: OjsServer) -> None:
    enqueued = await server.client.enqueue("served.upper", ["abc"], queue="served")
    assert (await server.wait(enqueued))["result"] == "ABC"


async def test_a_job_of_a_lambda_worker_sends_jobs_to_the_server(server: OjsServer) -> None:
    enqueued = await server.client.enqueue("served.more", [], queue="served")
    sent = str((await server.wait(enqueued))["result"])
    assert (await server.wait(sent)).type == "served.upper"


async def test_reset_forgets_everything(server: OjsServer) -> None:
    """Of each feature; the same requests then do what they do on a new server."""
    client = server.client
    unique = UniquePolicy(keys=["type", "args"], on_conflict="reject")
    first = await client.enqueue("a.b", [1], queue="q", unique=unique)
    await client.enqueue("a.b", [2], queue="other", scheduled_at="+PT1H")
    await client.queues.pause("q")
    await client.rate_limits.set("stripe", {"concurrency": 2})
    await client.schemas.register("a.b", 1, {"type": "array"})
    await client.cron.register("nightly", "0 3 * * *", "a.b")
    await chain(count.call(2), send_mail.call("a@b.c")).enqueue()

    server.reset()

    with pytest.raises(NotFoundError):
        await client.get(first.id)
    assert (await client.jobs.list()).jobs == []
    assert (await client.workflows.list()).workflows == []
    assert (await client.cron.list()) == []
    assert (await client.schemas.list()) == []
    assert [each.name for each in await client.queues.list() if each.paused] == []
    assert (await client.rate_limits.list()).limits == []
    assert (await client.events.read()).events == []
    assert (await client.enqueue("a.b", [1], queue="q", unique=unique)).id != first.id


async def test_reset_lets_the_functions_forget_schemas(server: OjsServer) -> None:
    """A process keeps a schema for a minute, and that there is none for five seconds."""
    client, uri = server.client, "urn:ojs:schema:shop.mail:1"
    shape: dict[str, JsonValue] = {"type": "array", "minItems": 1}
    await client.schemas.register("shop.mail", "1.0", shape, uri=uri)
    with pytest.raises(SchemaValidationError):
        await client.enqueue("shop.mail", [], schema=uri)

    server.reset()
    await client.enqueue("shop.mail", [], schema=uri)

    server.reset()
    await client.schemas.register("shop.mail", "1.0", shape, uri=uri)
    with pytest.raises(SchemaValidationError):
        await client.enqueue("shop.mail", [], schema=uri)


def test_reset_waits_for_running_invocations(server: OjsServer) -> None:
    """So that nothing of them is in the next test."""
    server.sync_client.enqueue("served.slow", ["late"], queue="served")
    _until(lambda: server.sync_client.jobs.list(states=["active"]).jobs)
    server.reset()
    time.sleep(0.3)
    assert server.sync_client.jobs.list().jobs == []


@pytest.mark.slow  # a reset waits for five seconds
def test_a_job_that_hangs_in_the_server_does_not_reach_the_next_test() -> None:
    """The server is started again."""
    with OjsServer(lambda_workers=["tests.unit.testing.served:worker"]) as server:
        server.sync_client.enqueue("served.hangs", queue="served")
        _until(lambda: server.sync_client.jobs.list(states=["active"]).jobs)
        before = server.url
        server.reset()
        assert server.url != before
        assert server.sync_client.jobs.list().jobs == []


def test_the_server_ends_with_the_tests_that_were_killed() -> None:
    """No process is left behind."""
    program = (
        "import os, signal\n"
        "from ojs_aws.testing.server.processes import ServerChild\n"
        "child = ServerChild((), {})\n"
        "print(child._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    number = int(done.stdout)

    def has_ended() -> bool:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{number}/stat")  # ended, and its new parent has not looked yet
        return state.exists() and ") Z " in state.read_text()

    _until(has_ended)


def test_a_worker_that_cannot_start_fails_the_test(server: OjsServer) -> None:
    def wait_in_vain() -> None:
        with server.work(Jobs()):
            server.wait_sync(waiting, timeout="5s")

    waiting = server.sync_client.enqueue("a.b")
    with pytest.raises(RuntimeError, match="no handlers"):
        wait_in_vain()


def test_an_unknown_setting_is_named() -> None:
    """With the one that was meant."""
    with pytest.raises(ValueError, match="Did you mean 'OJS_MAX_ENVELOPE_BYTES'"):
        OjsServer(settings={"OJS_MAX_ENVELOP_BYTES": "1024"})
    with pytest.raises(TypeError, match="is a string: '1024', not 1024"):
        OjsServer(settings={"OJS_MAX_ENVELOPE_BYTES": 1024})  # type: ignore[dict-item]
    OjsServer(settings={"OJS_MAX_ENVELOPE_BYTES": "1024", "SHOP_COLOUR": "red"})


def test_an_unknown_lambda_worker_is_named() -> None:
    with pytest.raises(ServerError, match="nowhere"), OjsServer(lambda_workers=["nowhere:worker"]):
        pass


def _until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_process_of_the_server_does_without_what_only_tests_need() -> None:
    """It would start a quarter of a second later."""
    code = "import sys, ojs_aws.testing.server.process; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "ojs_aws.local.server" in loaded
    assert not loaded & {"ojs_aws.client.client", "ojs_aws.testing.ojs", "httpx", "pytest"}
