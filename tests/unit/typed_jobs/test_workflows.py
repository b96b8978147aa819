"""Workflows of typed jobs, and the types of their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ojs_aws import Client, Jobs, SyncClient, chain, current_job, enqueue_many, group
from ojs_aws.client import (
    WorkflowFailedError,
    WorkflowParts,
    WorkflowStatus,
    WorkflowWaitTimeoutError,
    batch,
    dag,
)
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.typed_jobs.values import WrongValueError
from tests.simulation.world import World
from tests.unit.typed_jobs.conftest import Shop

jobs = Jobs()


@dataclass(frozen=True)
class Receipt:
    number: int


@jobs.job("email.send")
async def send(to: str) -> Receipt:
    if not to:
        raise ValueError("no address")
    return Receipt(len(to))


@jobs.job("report.make")
async def report(day: str, limit: int = 10) -> int:
    return limit + len(current_job().parent_results)


@jobs.job("report.once", unique={"keys": ["type", "args"]})
async def once(day: str) -> None: ...


async def run(shop: Shop) -> None:
    """Work until nothing begins any more."""
    for _ in range(6):
        await shop.work(jobs)
        for workflow in (await shop.client.workflows.list()).workflows:
            await shop.client.workflows.get(workflow.id)


async def test_a_chain_has_the_result_of_its_last_step(shop: Shop) -> None:
    handle = await chain(send.call("a@b.c"), report.call("today"), name="daily").enqueue()
    await run(shop)
    assert await handle.result() == 11
    assert (await handle.get()).name == "daily"


async def test_a_group_has_the_results_of_all(shop: Shop) -> None:
    handle = await group(send.call("a@b.c"), report.call("today", 3)).enqueue()
    await run(shop)
    assert await handle.result() == (Receipt(5), 3)


async def test_workflows_within_workflows_have_theirs(shop: Shop) -> None:
    inner = chain(report.call("x"), send.call("abc"))
    handle = await chain(send.call("a"), group(inner, report.call("y", 1))).enqueue()
    await run(shop)
    assert await handle.result() == (Receipt(3), 2)


async def test_a_workflow_that_fails_says_so(shop: Shop) -> None:
    failing = send.options(retry={"max_attempts": 1})
    handle = await chain(failing.call(""), report.call("today")).enqueue()
    with pytest.raises(WorkflowWaitTimeoutError):
        await handle.result(timeout="0s")
    await run(shop)
    said = r"failed at step 0 \(email.send, job 01[0-9a-f-]{34}\): ValueError: no address$"
    with pytest.raises(WorkflowFailedError, match=rf"\(chain\) {said}"):
        await handle.result()


async def test_a_workflow_within_a_workflow_names_the_step_that_failed(shop: Shop) -> None:
    failing = send.options(retry={"max_attempts": 1})
    handle = await group(report.call("x"), chain(failing.call(""), report.call("y"))).enqueue()
    await run(shop)
    with pytest.raises(WorkflowFailedError, match=r"at step 1\.0 \(email.send, job .*: ValueError"):
        await handle.result()


def test_a_failed_workflow_says_what_its_answer_has() -> None:
    """A server may leave the steps out."""
    errors: Any = [{"code": "timeout", "message": "too slow"}]
    status = WorkflowStatus(
        id="w1", type="dag", name="", state="failed", metadata={"errors": errors}
    )
    assert str(WorkflowFailedError(status)) == "Workflow w1 (dag) failed: timeout: too slow"
    status = WorkflowStatus(id="w1", type="dag", name="", state="cancelled")
    assert str(WorkflowFailedError(status)) == "Workflow w1 (dag) cancelled"


async def test_a_workflow_can_be_cancelled(shop: Shop) -> None:
    handle = await group(report.call("today")).enqueue()
    assert (await handle.cancel()).state == "cancelled"


def test_synchronous_code_starts_workflows(world: World) -> None:
    client = SyncClient(client=Client(transport=InProcessTransport(world.backend), middleware=[]))
    with client, client.use():
        handle = chain(send.call("a")).enqueue_sync()
        assert handle.get().state == "running"
        handle.cancel()
        with pytest.raises(WorkflowFailedError):
            handle.result()


def test_a_step_is_not_unique() -> None:
    """A duplicate would leave the step without a job; what a sender asks for stays."""
    asking = once.options(unique={"keys": ["type"]}).call("x")
    meant = once.options(unique=None).call("x")
    with pytest.warns(UserWarning, match="'report.once' is not unique in a chain") as warned:
        steps = chain(once.call("x"), asking, meant)
    assert [each.filename for each in warned] == [__file__]
    declared, asked, without = steps.to_parts().jobs()
    assert (declared.unique, without.unique) == (None, None)
    assert asked.unique == {"keys": ["type"]}
    assert once.call("x").to_job().unique is not None


async def test_a_large_result_is_fetched_by_its_reference(shop: Shop) -> None:
    """The workflow shows where it is."""
    sent = await send.enqueue("abcd")
    await shop.work(jobs)
    call = group(send.call("abcd"), report.call("x"))
    reference: Any = {"job_id": sent.id, "result": {"result_ref": f"/ojs/v1/jobs/{sent.id}"}}
    steps = [reference, {"job_id": "other", "result": 5}]
    assert call.wanted(steps) == [sent.id]
    large = {sent.id: await shop.client.result(sent.id)}
    assert call.result_of(steps, large) == (Receipt(4), 5)
    with pytest.raises(WrongValueError):
        call.result_of(steps, {})


def test_other_builders_take_calls() -> None:
    built = dag({"mail": send.call("a"), "both": group(report.call("x"))}, {"both": ["mail"]})
    called = batch(send.call("a"), on_success=report.call("x"))
    assert [job.type for job in built.jobs()] == ["email.send", "report.make"]
    assert isinstance(called, WorkflowParts)


async def test_only_calls_are_parts(shop: Shop) -> None:
    with pytest.raises(TypeError, match=r"takes calls such as send.call\(...\), not a TypedJob"):
        chain(send)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one call"):
        group()
    with pytest.raises(TypeError, match="must be a call"):
        await enqueue_many([chain(send.call("a"))])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Expected a workflow"):
        await shop.client.workflow(send.call("a"))  # type: ignore[arg-type]
