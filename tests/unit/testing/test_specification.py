"""Each requirement of ojs-testing, and each of its examples as they read here.

The names of the tests are those of section 11; where the specification contradicts itself, decision
86 says what holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from ojs_aws import Job, Jobs
from ojs_aws.client import chain
from ojs_aws.domain.attributes import check_job_id
from ojs_aws.errors import ConflictError, InvalidRequestError, NotFoundError
from ojs_aws.testing import Ojs

jobs = Jobs()


@jobs.job("email.send")
async def send(message: dict[str, str]) -> str:
    """Send a mail."""
    return message["to"]


@jobs.job("payment.process")
async def pay(order: dict[str, str]) -> None:
    """Process a payment."""


@jobs.job("reminder.send")
async def remind(user: dict[str, str]) -> None:
    """Remind somebody."""


@pytest.fixture
def ojs() -> Iterator[Ojs]:
    with Ojs.fake(jobs=jobs) as ojs:
        yield ojs


TO_USER: dict[str, Any] = {"to": "user@example.com"}


# ----------------------------------------------------------- section 11: what must be there
async def test_tst_001_fake_mode_keeps_jobs_without_a_backend(ojs: Ojs) -> None:
    enqueued = await ojs.client.enqueue("email.send", [TO_USER], queue="mail", meta={"a": 1})
    [job] = ojs.all_enqueued()
    assert (job.id, job.queue, job.args, job.meta) == (enqueued.id, "mail", [TO_USER], {"a": 1})
    check_job_id(job.id)  # a UUIDv7


async def test_tst_002_assert_enqueued_matches_type_args_queue_and_meta(ojs: Ojs) -> None:
    await ojs.client.enqueue("email.send", [TO_USER], queue="mail", meta={"a": 1, "b": 2})
    ojs.assert_enqueued("email.send")
    ojs.assert_enqueued("email.send", args=[TO_USER], queue="mail", meta={"a": 1}, count=1)
    with pytest.raises(AssertionError, match="queue: expected 'other', is 'mail'"):
        ojs.assert_enqueued("email.send", queue="other")


async def test_tst_003_refute_enqueued_is_the_inverse(ojs: Ojs) -> None:
    ojs.refute_enqueued("email.send")
    await ojs.client.enqueue("email.send", [TO_USER])
    ojs.refute_enqueued("email.send", args=[{"to": "other@example.com"}])
    with pytest.raises(AssertionError):
        ojs.refute_enqueued("email.send")


async def test_tst_004_clear_all_forgets_the_jobs(ojs: Ojs) -> None:
    await ojs.client.enqueue("email.send", [TO_USER])
    ojs.clear_all()
    assert ojs.all_enqueued() == []


async def test_tst_005_parallel_tests_share_nothing() -> None:
    async def one(name: str) -> list[Any]:
        with Ojs.fake(jobs=jobs) as mine:
            await send.enqueue({"to": name})
            await asyncio.sleep(0)
            return [job.args for job in mine.all_enqueued()]

    found = await asyncio.gather(one("a"), one("b"))
    assert [*found] == [[[{"to": "a"}]], [[{"to": "b"}]]]


async def test_tst_006_restore_gives_the_clients_their_backend_again() -> None:
    ojs = Ojs.fake()
    ojs.restore()
    with pytest.raises(ValueError, match="OJS_URL"):
        await send.enqueue({"to": "a"})


# ---------------------------------------------------------- section 11: what is recommended
async def test_tst_r001_inline_mode_runs_the_handler_at_once() -> None:
    with Ojs.inline(jobs=jobs) as ojs:
        await ojs.client.enqueue("email.send", [TO_USER])
        ojs.assert_performed("email.send")
        ojs.assert_completed("email.send")


async def test_tst_r002_drain_runs_the_jobs(ojs: Ojs) -> None:
    await ojs.client.enqueue("email.send", [{"to": "a@example.com"}])
    await ojs.client.enqueue("email.send", [{"to": "b@example.com"}])
    ojs.assert_enqueued("email.send", count=2)
    report = await ojs.drain()
    assert [each.job.args for each in report.executions] == [
        [{"to": "a@example.com"}],
        [{"to": "b@example.com"}],
    ]
    ojs.assert_completed("email.send", count=2)


async def test_tst_r003_execution_assertions_know_what_ran(ojs: Ojs) -> None:
    await send.enqueue(TO_USER)
    ojs.refute_performed("email.send")
    await ojs.drain()
    ojs.assert_performed("email.send")
    ojs.assert_completed("email.send")


async def test_tst_r004_and_example_13_2_time_is_under_control(ojs: Ojs) -> None:
    ojs.freeze_time("2026-02-13T10:00:00Z")
    await remind.options(delay="PT24H").enqueue({"user_id": "u_123"})
    ojs.assert_enqueued("reminder.send")
    ojs.advance_time("PT24H")
    await ojs.drain(with_scheduled=True)
    ojs.assert_completed("reminder.send")


async def test_tst_r005_failures_are_injected(ojs: Ojs) -> None:
    ojs.fail_next("email.send", ConnectionError("SMTP connection refused"))
    await send.enqueue(TO_USER)
    await ojs.drain()
    ojs.assert_failed("email.send")
    ojs.fail_all("email.send", ConnectionError)
    await ojs.drain(with_scheduled=True)
    ojs.assert_failed("email.send", state="discarded")


# ------------------------------------------------------------------ section 5.1: the operations
async def test_the_operations_of_fake_mode_answer(ojs: Ojs) -> None:
    one = await ojs.client.enqueue("email.send", [TO_USER])
    many = await ojs.client.enqueue_many([Job("email.send"), Job("email.send")])
    assert len({one.id, *(each.id for each in many)}) == 3
    assert (await ojs.client.cancel(one.id)).state == "cancelled"
    assert (await ojs.client.get(one.id)).state == "cancelled"
    with pytest.raises(NotFoundError):
        await ojs.client.get("01990000-0000-7000-8000-000000000000")


async def test_invalid_jobs_and_transitions_are_refused(ojs: Ojs) -> None:
    with pytest.raises(InvalidRequestError):
        await ojs.client.enqueue("Not A Type")
    enqueued = await ojs.client.enqueue("email.send", [TO_USER])
    await ojs.drain()
    with pytest.raises(ConflictError):
        await ojs.client.cancel(enqueued.id)


# ------------------------------------------------------------------------ section 13: examples
async def test_example_13_1_a_job_that_failed_once_is_attempted_twice(ojs: Ojs) -> None:
    ojs.fail_next("payment.process", TimeoutError("timeout"))
    await pay.enqueue({"order_id": "ord_123"})
    await ojs.drain(with_scheduled=True)
    [job] = ojs.all_enqueued("payment.process")
    assert job.attempt == 2


async def test_example_13_3_a_workflow_enqueues_its_first_step(ojs: Ojs) -> None:
    types = ["data.fetch", "data.transform", "data.load"]
    await ojs.client.workflow(chain(*map(Job, types)))
    ojs.assert_workflow_created("chain", step_count=3, step_types=types)
    ojs.assert_enqueued("data.fetch")
    ojs.refute_enqueued("data.transform")


def test_example_10_3_works_without_an_event_loop(ojs: Ojs) -> None:
    send.enqueue_sync(TO_USER)
    ojs.drain_sync()
    ojs.assert_completed("email.send")
