"""Test middleware and a hook for themselves, and in a client."""

from __future__ import annotations

import logging

import pytest

from examples.middleware.audit import Audit, backend_chain, extensions
from ojs_aws import Job
from ojs_aws.testing import Ojs, run_enqueue, run_execution


async def test_a_job_says_who_enqueued_it() -> None:
    trace = await run_enqueue([Audit("ada")], Job("email.send"))
    assert trace.layer("audit").changed == {"meta": (None, {"enqueued_by": "ada"})}
    again = await run_enqueue([Audit("bob")], trace.job)
    assert again.layer("audit").changed == {}


async def test_each_execution_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "audit")
    job = Job("email.send", meta={"enqueued_by": "ada"})
    trace = await run_execution(extensions.execution, job, attempt=2)
    assert trace.layer("audit").error is None
    lines = [record.message for record in caplog.records if record.name == "audit"]
    assert lines == ["email.send for ada, attempt 2"]


async def test_the_backend_logs_first() -> None:
    trace = await run_enqueue(backend_chain, Job("email.send"))
    assert [layer.name for layer in trace.layers] == ["logging", "audit"]
    assert trace.job.meta["enqueued_by"] == "backend"


async def test_blocked_receivers_are_refused() -> None:
    with Ojs.fake(middleware=extensions.enqueuing, hooks=extensions.hooks) as ojs:
        await ojs.client.enqueue("email.send", ["ada@example.com"])
        with pytest.raises(ValueError, match="that domain"):
            await ojs.client.enqueue("email.send", ["ada@blocked.example"])
        ojs.assert_enqueued("email.send", count=1)
