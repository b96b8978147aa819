"""Each assertion about executions holds when it should, and fails when it should not.

Workflows run step by step, and assertions about them can fail.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ojs_aws import Job, chain, group
from ojs_aws.client import batch
from ojs_aws.testing import Ojs
from tests.unit.testing.orders import break_down, build_report, send_mail, wait_for_ever


@pytest.fixture
def ojs() -> Iterator[Ojs]:
    with Ojs.fake() as ojs:
        yield ojs


async def test_a_job_is_performed_once_it_ran(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    ojs.refute_performed(send_mail)
    with pytest.raises(AssertionError, match="executions: expected '1 or more', is 0"):
        ojs.assert_performed(send_mail)
    await ojs.drain()
    [job] = ojs.assert_performed(send_mail.call("a@b.c"), queue="mail", count=1)
    assert job.returned == "a@b.c:0:False"
    with pytest.raises(AssertionError, match="was executed, and none should"):
        ojs.refute_performed(send_mail)
    with pytest.raises(AssertionError, match="Expected 2 jobs"):
        ojs.assert_performed(send_mail, count=2)


async def test_a_job_that_failed_was_performed_and_not_completed(ojs: Ojs) -> None:
    await break_down.enqueue(7)
    with pytest.raises(AssertionError, match="failures: expected '1 or more', is 0"):
        ojs.assert_failed(break_down)
    await ojs.drain(raise_errors=False)
    ojs.assert_performed(break_down)
    ojs.assert_failed(break_down, state="retryable")
    with pytest.raises(AssertionError, match=r"is 'retryable \(ValueError: number 7\)'"):
        ojs.assert_completed(break_down)


async def test_a_job_that_failed_once_and_then_completed_did_both(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    ojs.fail_next(send_mail, TimeoutError("SMTP"))
    await ojs.drain(with_scheduled=True)
    ojs.assert_failed(send_mail)
    ojs.assert_completed(send_mail, attempt=2)


async def test_a_snoozed_job_was_performed_and_did_not_fail(ojs: Ojs) -> None:
    await wait_for_ever.enqueue()
    await ojs.drain()
    ojs.assert_performed(wait_for_ever, state="retryable")
    with pytest.raises(AssertionError):
        ojs.assert_failed(wait_for_ever)


async def test_a_job_that_expired_failed_and_was_not_performed(ojs: Ojs) -> None:
    await send_mail.options(expires_at="2026-02-13T11:00:00Z").enqueue("a@b.c")
    await ojs.drain()
    ojs.assert_failed(send_mail, state="discarded")
    ojs.refute_performed(send_mail)


async def test_assertions_name_the_nearest_job(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    await build_report.enqueue("monday")
    await ojs.drain()
    with pytest.raises(AssertionError, match=r"(?s)to: expected 'x@b.c'.*orders.report"):
        ojs.assert_completed(send_mail.call("x@b.c"))


def test_assertions_without_any_job_say_so(ojs: Ojs) -> None:
    for check in (ojs.assert_performed, ojs.assert_completed, ojs.assert_failed):
        with pytest.raises(AssertionError, match="Nothing was enqueued"):
            check(send_mail)


async def test_a_chain_enqueues_its_first_step_and_then_the_next(ojs: Ojs) -> None:
    handle = await chain(send_mail.call("a@b.c"), build_report.call("monday")).enqueue()
    [workflow] = ojs.assert_workflow_created("chain", step_count=2, count=1)
    assert workflow.step_types == ("orders.mail", "orders.report")
    ojs.assert_enqueued(send_mail)
    ojs.refute_enqueued(build_report)
    await ojs.drain()
    ojs.assert_completed(build_report)
    assert await handle.result() == {"monday": 1}
    assert ojs.all_workflows()[0].state == "completed"


async def test_a_chain_whose_step_fails_goes_no_further(ojs: Ojs) -> None:
    await chain(break_down.call(1), build_report.call("monday")).enqueue()
    await ojs.drain(with_scheduled=True, raise_errors=False)
    ojs.refute_enqueued(build_report)
    assert ojs.all_workflows()[0].state == "failed"


async def test_a_batch_enqueues_its_callback_at_the_end(ojs: Ojs) -> None:
    jobs = [Job("orders.report", [day]) for day in "abc"]
    await ojs.client.workflow(batch(*jobs, on_complete=Job("orders.mail", ["end"]), name="days"))
    [workflow] = ojs.assert_workflow_created("batch", step_types=["orders.report"] * 3, name="days")
    assert workflow.callbacks == {"on_complete": "orders.mail"}
    await ojs.drain()
    ojs.assert_completed("orders.report", count=3)
    ojs.assert_completed("orders.mail", args=["end"], count=1)


async def test_a_group_within_a_chain_is_one_step(ojs: Ojs) -> None:
    inner = group(build_report.call("a"), build_report.call("b"))
    await chain(send_mail.call("a@b.c"), inner).enqueue()
    [workflow] = ojs.assert_workflow_created("chain", step_types=["orders.mail", "group"])
    assert workflow.job_types == ("orders.mail", "orders.report", "orders.report")


async def test_an_assertion_about_workflows_can_fail(ojs: Ojs) -> None:
    with pytest.raises(AssertionError, match="No workflow was started"):
        ojs.assert_workflow_created("chain")
    await chain(send_mail.call("a@b.c"), name="mine").enqueue()
    with pytest.raises(AssertionError, match="type: expected 'group', is 'chain'"):
        ojs.assert_workflow_created("group")
    with pytest.raises(AssertionError, match="step_count: expected 2, is 1"):
        ojs.assert_workflow_created("chain", step_count=2)
    with pytest.raises(AssertionError, match="name: expected 'other', is 'mine'"):
        ojs.assert_workflow_created("chain", name="other")
    with pytest.raises(AssertionError, match="step_types: expected"):
        ojs.assert_workflow_created("chain", step_types=["x"])
    with pytest.raises(AssertionError, match=r"Expected 2 workflows .* and found 1"):
        ojs.assert_workflow_created("chain", count=2)
