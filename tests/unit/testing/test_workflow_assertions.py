"""Workflows run step by step, and assertions about them can fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ojs_aws import Job, chain, group
from ojs_aws.client import batch
from ojs_aws.testing import Ojs
from tests.unit.testing.orders import break_down, build_report, send_mail


@pytest.fixture
def ojs() -> Iterator[Ojs]:
    with Ojs.fake() as ojs:
        yield ojs


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
