"""The kit takes the place of the backend for typed jobs and for every client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from unittest.mock import ANY

import pytest

from ojs_aws import Client, Job, Jobs, SyncClient, enqueue_many
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant
from ojs_aws.errors import (
    DuplicateError,
    InvalidRequestError,
    NotFoundError,
    WaitTimeoutError,
)
from ojs_aws.middleware import EnqueueChain
from ojs_aws.testing import Ojs
from tests.unit.testing.orders import build_report, send_mail


@dataclass
class Item:
    """An argument with a type."""

    name: str
    count: int


@pytest.fixture
def ojs() -> Iterator[Ojs]:
    with Ojs.fake() as ojs:
        yield ojs


async def test_a_typed_job_is_kept_and_does_not_run(ojs: Ojs) -> None:
    handle = await send_mail.enqueue("a@b.c", 1)
    [job] = ojs.all_enqueued()
    assert (job.id, job.type, job.queue, job.args) == (
        handle.id,
        "orders.mail",
        "mail",
        ["a@b.c", 1],
    )
    assert job.state == "available"
    assert (job.attempt, job.max_attempts) == (0, 3)


def test_a_synchronous_caller_needs_no_event_loop(ojs: Ojs) -> None:
    send_mail.enqueue_sync("a@b.c")
    ojs.assert_enqueued(send_mail)


async def test_a_client_that_was_made_before_the_test_enqueues_here() -> None:
    client = Client("https://nowhere.invalid")
    with Ojs.fake() as ojs:
        enqueued = await client.enqueue("any.type", [1], queue="other")
        assert [job.id for job in ojs.all_enqueued()] == [enqueued.id]
        assert (await client.get(enqueued.id)).state == "available"


def test_a_synchronous_client_enqueues_here(ojs: Ojs) -> None:
    with SyncClient("https://nowhere.invalid") as client:
        client.enqueue("any.type", [1])
        client.enqueue_many([Job("any.type", [2]), Job("any.type", [3])])
    ojs.assert_enqueued("any.type", count=3)


async def test_a_client_from_the_environment_needs_no_url_in_a_test(ojs: Ojs) -> None:
    client = Client.from_env({})
    await client.enqueue("any.type")
    ojs.assert_enqueued("any.type")
    ojs.restore()
    with pytest.raises(ValueError, match="OJS_URL"):
        await client.enqueue("any.type")


async def test_the_configured_client_is_used_with_its_middleware(ojs: Ojs) -> None:
    async def mark(job: Job, call_next: Any) -> Any:
        job.meta["marked"] = True
        return await call_next(job)

    jobs = Jobs()
    jobs.configure(lambda: Client("https://nowhere.invalid", middleware=[mark]))

    @jobs.job("configured.job")
    async def job() -> None: ...

    await job.enqueue()
    ojs.assert_enqueued(job, meta={"marked": True})


async def test_the_middleware_of_the_kit_serves_jobs_that_nobody_configured() -> None:
    def drop(job: Job, call_next: object) -> None:
        return None

    with Ojs.fake(middleware=EnqueueChain([drop])) as ojs:
        handle = await send_mail.enqueue("a@b.c")
        assert not handle.is_enqueued
        ojs.refute_enqueued(send_mail)


async def test_the_real_validation_refuses_what_the_backend_would(ojs: Ojs) -> None:
    with pytest.raises(InvalidRequestError):
        await ojs.client.enqueue(Job("any.type", queue="Not A Queue"))
    assert ojs.all_enqueued() == []


async def test_what_was_enqueued_went_through_json(ojs: Ojs) -> None:
    args: list[Any] = [{"list": [1]}]
    await ojs.client.enqueue("any.type", args)
    args.append("later")
    [job] = ojs.all_enqueued()
    assert job.args == [{"list": [1]}]
    job.args.append("mine")
    assert ojs.all_enqueued()[0].args == [{"list": [1]}]


async def test_a_unique_job_is_refused_as_in_production(ojs: Ojs) -> None:
    unique: dict[str, Any] = {"keys": ["type", "args"]}
    await ojs.client.enqueue("any.type", [1], unique=unique)
    with pytest.raises(DuplicateError):
        await ojs.client.enqueue("any.type", [1], unique=unique)
    ojs.assert_enqueued("any.type", count=1)


async def test_a_job_can_be_cancelled_and_a_missing_one_not(ojs: Ojs) -> None:
    handle = await send_mail.enqueue("a@b.c")
    await handle.cancel()
    ojs.assert_job_state(handle.id, "cancelled")
    with pytest.raises(NotFoundError):
        await ojs.client.get("01990000-0000-7000-8000-000000000000")


async def test_many_jobs_of_one_request_are_all_kept(ojs: Ojs) -> None:
    await enqueue_many(send_mail.call("a@b.c", number) for number in range(250))
    assert [job.args[1] for job in ojs.all_enqueued(send_mail)] == [*range(250)]


# ------------------------------------------------------------------------------- isolation
async def test_a_test_does_not_see_the_jobs_of_the_one_before() -> None:
    with Ojs.fake():
        await send_mail.enqueue("a@b.c")
    with Ojs.fake() as ojs:
        ojs.refute_enqueued(send_mail)


async def test_the_inner_one_of_two_is_used_and_then_the_outer_again() -> None:
    with Ojs.fake() as outer:
        with Ojs.fake() as inner:
            await send_mail.enqueue("inner@b.c")
            await outer.client.enqueue("any.type")
        await send_mail.enqueue("outer@b.c")
        assert [job.type for job in inner.all_enqueued()] == ["orders.mail"]
        assert [job.type for job in outer.all_enqueued()] == ["any.type", "orders.mail"]


async def test_tasks_side_by_side_each_use_their_own() -> None:
    async def one(name: str) -> list[str]:
        with Ojs.fake() as ojs:
            await asyncio.sleep(0)
            await send_mail.enqueue(name)
            await asyncio.to_thread(send_mail.enqueue_sync, name)
            return [str(job.args[0]) for job in ojs.all_enqueued()]

    names = [str(number) for number in range(5)]
    assert await asyncio.gather(*map(one, names)) == [[name, name] for name in names]


def test_threads_side_by_side_each_use_their_own() -> None:
    barrier = threading.Barrier(4)

    def one(name: str) -> list[str]:
        with Ojs.fake() as ojs:
            barrier.wait()
            send_mail.enqueue_sync(name)
            barrier.wait()
            return [str(job.args[0]) for job in ojs.all_enqueued()]

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(one, "abcd")] == [["a"], ["b"], ["c"], ["d"]]


def test_a_thread_without_a_context_finds_the_test(ojs: Ojs) -> None:
    thread = threading.Thread(target=send_mail.enqueue_sync, args=("a@b.c",))
    thread.start()
    thread.join()
    ojs.assert_enqueued(send_mail)


def test_a_pool_that_outlives_a_test_finds_the_next_one() -> None:
    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            with Ojs.fake() as ojs:
                pool.submit(send_mail.enqueue_sync, "a@b.c").result()
                ojs.assert_enqueued(send_mail, count=1)


async def test_after_the_end_clients_reach_their_own_server_again() -> None:
    ojs = Ojs.fake()
    ojs.restore()
    ojs.restore()
    with pytest.raises(ValueError, match="OJS_URL"):
        await send_mail.enqueue("a@b.c")


async def test_one_that_was_never_ended_fails_the_next_and_is_ended() -> None:
    Ojs.fake()
    with pytest.raises(RuntimeError, match=r"test_ojs.py:\d+ was begun without `with`"):
        Ojs.fake()
    with Ojs.fake() as ojs:
        ojs.refute_enqueued(send_mail)
    with pytest.raises(ValueError, match="OJS_URL"):
        await send_mail.enqueue("a@b.c")


async def test_one_without_a_block_is_active_until_it_is_restored() -> None:
    """As the specification has it: testing.fake(), and testing.restore()."""
    ojs = Ojs.fake()
    await send_mail.enqueue("a@b.c")
    ojs.assert_enqueued(send_mail)
    ojs.restore()
    with Ojs.inline() as inline:
        assert inline.all_enqueued() == []


# ----------------------------------------------------------------------- capture and clear
async def test_capture_collects_what_its_block_enqueues(ojs: Ojs) -> None:
    await send_mail.enqueue("before")
    with ojs.capture() as new:
        await send_mail.enqueue("within")
        assert len(new) == 1
    await send_mail.enqueue("after")
    assert [job.args[0] for job in new] == ["within"]
    await ojs.drain()
    assert new[0].state == "completed"


async def test_clear_all_forgets_the_jobs(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    ojs.clear_all()
    assert ojs.all_enqueued() == []
    assert len(await ojs.drain()) == 0
    await ojs.client.enqueue("any.type", [1], unique={"keys": ["type"]})
    ojs.clear_all()
    await ojs.client.enqueue("any.type", [1], unique={"keys": ["type"]})
    ojs.assert_enqueued("any.type", count=1)


# ------------------------------------------------------------------------------ assertions
async def test_a_job_is_found_by_type_typed_job_and_call(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c", 7, urgent=True)
    ojs.assert_enqueued("orders.mail", args=["a@b.c", 7, {"urgent": True}], queue="mail", count=1)
    ojs.assert_enqueued("orders.mail", args=[ANY, 7, ANY])
    [job] = ojs.assert_enqueued(send_mail.call("a@b.c", ANY, urgent=True))
    assert job.arguments == {"to": "a@b.c", "order": 7, "urgent": True}
    ojs.refute_enqueued(send_mail.call("a@b.c", ANY))
    ojs.refute_enqueued(build_report)


async def test_a_delay_and_a_schedule_can_be_expected(ojs: Ojs) -> None:
    ojs.freeze_time("2026-02-13T10:00:00Z")
    await send_mail.options(delay="24h", tags=["a"]).enqueue("a@b.c")
    moment = datetime(2026, 2, 14, 10, tzinfo=UTC)
    ojs.assert_enqueued(send_mail, delay="PT24H", scheduled_at=moment, tags=["a"])
    ojs.assert_enqueued(send_mail, scheduled_at="2026-02-14T11:00:00+01:00")
    with pytest.raises(AssertionError, match="delay: expected 'PT1H', is 'PT24H'"):
        ojs.assert_enqueued(send_mail, delay=timedelta(hours=1))
    with pytest.raises(AssertionError, match="scheduled_at: expected"):
        ojs.assert_enqueued(send_mail, scheduled_at=moment + timedelta(hours=1))
    with pytest.raises(AssertionError, match="tags: expected"):
        ojs.assert_enqueued(send_mail, tags=["b"])


async def test_true_and_one_are_two_values(ojs: Ojs) -> None:
    await ojs.client.enqueue("any.type", [1, {"is": True}], meta={"one": 1})
    ojs.refute_enqueued("any.type", args=[True, {"is": True}])
    ojs.refute_enqueued("any.type", args=[1, {"is": 1}])
    ojs.refute_enqueued("any.type", meta={"one": True})
    ojs.assert_enqueued("any.type", args=[1, {"is": True}], meta={"one": 1})


async def test_a_job_can_be_looked_at_by_its_handle(ojs: Ojs) -> None:
    handle = await send_mail.enqueue("a@b.c")
    enqueued = await ojs.client.enqueue("any.type")
    assert ojs.job(handle).type == "orders.mail"
    assert ojs.job(enqueued).type == "any.type"
    ojs.assert_job_state(handle, "available")
    with pytest.raises(LookupError, match="There is no job"):
        ojs.job("x")


async def test_a_default_that_was_left_out_is_the_same_call(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    ojs.assert_enqueued(send_mail.call("a@b.c", 0, urgent=False))


async def test_any_stands_for_parts_of_arguments_with_types(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("typed.order")
    async def order(item: Item, others: list[Item], *, at: date | None = None) -> None: ...

    @jobs.job("typed.rest")
    async def rest(*items: Item) -> None: ...

    await order.enqueue(Item("a", 1), [Item("b", 2)], at=date(2026, 2, 13))
    [job] = ojs.assert_enqueued(order.call(Item("a", ANY), [ANY], at=date(2026, 2, 13)))
    assert job.arguments["others"] == [Item("b", 2)]
    ojs.assert_enqueued(order.call(Item("a", 1), [Item("b", 2)], at=ANY))
    ojs.refute_enqueued(order.call(Item("b", ANY), ANY, at=ANY))
    ojs.refute_enqueued(order.call(Item("a", 1), [], at=ANY))
    await rest.enqueue(Item("a", 1), Item("b", 2))
    ojs.assert_enqueued(rest.call(Item("a", 1), ANY))
    ojs.refute_enqueued(rest.call(ANY))
    with pytest.raises(TypeError, match="missing a required argument"):
        ojs.assert_enqueued(order.call(at=ANY))  # type: ignore[call-arg]


async def test_a_call_with_any_cannot_be_sent(ojs: Ojs) -> None:
    with pytest.raises(TypeError, match="ANY can be compared"):
        await send_mail.enqueue(ANY)


async def test_a_difference_deep_within_is_shown_by_its_place(ojs: Ojs) -> None:
    rows: list[Any] = [{"id": number, "name": "x" * 10} for number in range(30)]
    await ojs.client.enqueue("any.type", [{"rows": rows, "text": "a" * 500}])
    expected: list[Any] = [*rows[:7], {"id": 7, "name": "y"}, *rows[8:]]
    with pytest.raises(AssertionError) as failed:
        ojs.assert_enqueued("any.type", args=[{"rows": expected, "text": "a" * 400 + "b" * 100}])
    message = str(failed.value)
    assert "args[0]['rows'][7]['name']: expected 'y', is 'xxxxxxxxxx'" in message
    assert "at character 401" in message
    assert len(message) < 1200
    with pytest.raises(AssertionError, match=r"args\[0\]\['rows'\] \(- expected, \+ is\)"):
        ojs.assert_enqueued("any.type", args=[{"rows": rows[:20], "text": ANY}])


async def test_a_wrong_expectation_fails_with_the_nearest_first(ojs: Ojs) -> None:
    await send_mail.enqueue("x@y.z", 9)
    await send_mail.enqueue("a@b.c", 1)
    await build_report.enqueue("monday")
    with pytest.raises(AssertionError) as failed:
        ojs.assert_enqueued(send_mail.call("a@b.c", 2), queue="mail")
    message = str(failed.value)
    assert message.startswith("No job 'orders.mail'(to='a@b.c', order=2, urgent=False)")
    assert "order: expected 2, is 1" in message
    assert message.index("is 1") < message.index("is 'x@y.z'") < message.index("orders.report")


@pytest.mark.parametrize(
    ("criteria", "place"),
    [
        ({"args": ["a@b.c"]}, "args: expected ['a@b.c'], is ['a@b.c', 1]"),
        ({"args": ["a@b.c", 2]}, "args[1]: expected 2, is 1"),
        ({"queue": "default"}, "queue: expected 'default', is 'mail'"),
        ({"meta": {"tenant": 1}}, "meta['tenant']: expected 1, is nothing"),
        ({"priority": 5}, "priority: expected 5, is 0"),
        ({"state": "completed"}, "state: expected 'completed', is 'available'"),
        ({"count": 2}, "Expected 2 jobs 'orders.mail' that were enqueued, and found 1"),
        ({"count": 0}, "Expected 0 jobs 'orders.mail'"),
    ],
)
async def test_each_criterion_can_fail(ojs: Ojs, criteria: Any, place: str) -> None:
    await send_mail.enqueue("a@b.c", 1)
    with pytest.raises(AssertionError) as failed:
        ojs.assert_enqueued("orders.mail", **criteria)
    assert place in str(failed.value)


async def test_refute_fails_for_a_job_that_is_there(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c", 1)
    ojs.refute_enqueued(send_mail, queue="default")
    with pytest.raises(AssertionError, match="and none should"):
        ojs.refute_enqueued(send_mail, queue="mail")


def test_assertions_without_any_job_say_so(ojs: Ojs) -> None:
    with pytest.raises(AssertionError, match="Nothing was enqueued"):
        ojs.assert_enqueued(send_mail)
    with pytest.raises(AssertionError, match="There is no job"):
        ojs.assert_job_state("x", "completed")


def test_a_mistaken_assertion_is_no_failure_of_the_test(ojs: Ojs) -> None:
    with pytest.raises(TypeError, match="queu"):
        ojs.assert_enqueued(send_mail, queu="mail")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="Name a job by its type"):
        ojs.assert_enqueued(len)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="not both"):
        ojs.assert_enqueued(send_mail.call("a"), args=["a"])


async def test_a_state_that_is_another_fails(ojs: Ojs) -> None:
    handle = await send_mail.enqueue("a@b.c")
    with pytest.raises(AssertionError, match=r"Expected the state 'completed'.*available"):
        ojs.assert_job_state(handle.id, "completed")


async def test_states_and_counts_that_do_not_exist_are_refused(ojs: Ojs) -> None:
    handle = await send_mail.enqueue("a@b.c")
    with pytest.raises(ValueError, match=r"no state 'complete'. Did you mean 'completed'.*retry"):
        ojs.assert_enqueued(send_mail, state="complete")
    with pytest.raises(ValueError, match="no state 'done'"):
        ojs.assert_job_state(handle, "done")
    for count in ("1", True, -1):
        with pytest.raises(TypeError, match="count is a number of jobs, such as count=1"):
            ojs.assert_enqueued(send_mail, count=count)  # type: ignore[arg-type]
    ojs.assert_enqueued(send_mail, state=ANY, count=1)


async def test_a_drain_that_was_not_awaited_is_named(ojs: Ojs) -> None:
    """By the assertion that fails, and by Python as users know it."""
    await send_mail.enqueue("a@b.c")
    forgotten = ojs.drain()
    assert "Ojs.drain" in repr(forgotten)
    hint = r"drain\(\) was called and not awaited"
    with pytest.raises(AssertionError, match=hint):
        ojs.assert_completed(send_mail)
    with pytest.raises(AssertionError, match=hint):
        ojs.refute_enqueued(send_mail, state="available")
    with pytest.raises(AssertionError, match=hint):
        ojs.assert_workflow_created("chain")
    await forgotten
    ojs.assert_completed(send_mail)
    with pytest.raises(AssertionError) as failed:
        ojs.assert_completed(build_report)
    assert "not awaited" not in str(failed.value)


def test_a_failure_that_never_came_fails_the_test() -> None:
    def sign_up() -> None:
        with Ojs.fake() as ojs:
            ojs.fail_next("orders.mial", TimeoutError("SMTP"))
            send_mail.enqueue_sync("a@b.c")
            ojs.drain_sync()

    with pytest.raises(AssertionError, match=r"was never used.* Did you mean 'orders.mail'"):
        sign_up()


# ------------------------------------------------------------------------------ outcomes
async def test_a_result_can_be_awaited_while_another_task_drains(ojs: Ojs) -> None:
    handle = await send_mail.enqueue("a@b.c")
    result, _ = await asyncio.gather(handle.result(), ojs.drain())
    assert result == "a@b.c:0:False"


async def test_a_result_that_nobody_makes_is_not_awaited_for_long(
    ojs: Ojs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ojs_aws.testing.transport.PATIENCE_S", 0.05)
    handle = await send_mail.enqueue("a@b.c")
    with pytest.raises(WaitTimeoutError, match=r"nothing runs by itself: call drain\(\)") as failed:
        await handle.result(timeout="1s")
    assert "ojs-aws why" not in str(failed.value)


async def test_a_job_of_a_transaction_is_enqueued_at_once(ojs: Ojs) -> None:
    direct = Client.from_env({})
    prepared = await direct.transact_item("any.type", [1])
    assert prepared.items == []
    ojs.assert_enqueued("any.type", args=[1])


async def test_arguments_that_are_no_list_are_named_by_their_type(ojs: Ojs) -> None:
    with pytest.raises(TypeError, match=r'such as args=\["a@b.c"\], not a str'):
        ojs.assert_enqueued("orders.mail", args="a@b.c")
    with pytest.raises(TypeError, match=r"one call of a job, not a value of type int: perform\("):
        await ojs.perform(5)  # type: ignore[call-overload]


async def test_what_waits_is_not_looked_at_in_each_step(
    ojs: Ojs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only jobs whose time has come are: the cost grows with what happens."""
    for _ in range(40):
        await send_mail.options(delay="1h").enqueue("a@b.c")
    seen: list[str] = []
    settle_once = deadlines.settle_once

    def counted(job: JobRecord, now: Instant) -> JobRecord | None:
        seen.append(job.id)
        return settle_once(job, now)

    monkeypatch.setattr(deadlines, "settle_once", counted)
    for _ in range(20):
        ojs.advance_time("1m")
    assert seen == []
    ojs.advance_time("40m")
    assert len({*seen}) == 40
    assert len(seen) <= 3 * 40
    ojs.assert_enqueued(send_mail, state="available", count=40)


async def test_jobs_expire_by_the_clock_of_the_test(ojs: Ojs) -> None:
    """Wherever they wait: in their queue, for their time, or for a retry."""
    ready = await send_mail.options(expires_at="+10m").enqueue("a@b.c")
    later = await send_mail.options(delay="5m", expires_at="+20m").enqueue("a@b.c")
    ojs.advance_time("9m")
    ojs.assert_job_state(ready, "available")
    ojs.advance_time("1m")
    ojs.assert_job_state(ready, "discarded")
    ojs.assert_job_state(later, "available")
    ojs.advance_time("10m")
    ojs.assert_job_state(later, "discarded")
