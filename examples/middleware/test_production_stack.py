"""Test a whole production chain around its handler."""

from __future__ import annotations

import sys

import pytest

from examples.middleware.production_stack import chain, send
from ojs_aws import Job, JobContext
from ojs_aws.testing import ExecutionTrace, run_execution

LAYERS = ["error_reporting", "logging", "metrics", "trace_context", "timeout"]


async def executed() -> ExecutionTrace:
    """Run the example's handler in its chain."""

    async def handle(ctx: JobContext, *_: object) -> dict[str, str]:
        return await send(ctx.job, ctx)

    return await run_execution(chain, Job("email.send", ["ada@example.com", "welcome"]), handle)


async def test_the_error_reports_are_outermost() -> None:
    trace = await executed()
    assert trace.result == {"message_id": "msg_abc123", "to": "ada@example.com"}
    assert trace.order == [
        *(f"enter {name}" for name in LAYERS),
        "handler",
        *(f"leave {name}" for name in reversed(LAYERS)),
    ]


async def test_an_error_is_reported_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["production_stack.py", "--fail"])
    trace = await executed()
    assert isinstance(trace.error, ConnectionError)
    assert all(layer.error is trace.error for layer in trace.layers)
    assert "report ConnectionError: SMTP connection refused" in capsys.readouterr().out
