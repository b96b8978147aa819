"""Test a whole production chain around its handler."""

from __future__ import annotations

import sys

import pytest

from examples.middleware.production_stack import chain, send
from ojs_aws import Job, JobContext
from ojs_aws.testing import ExecutionOnion, run_execution

LAYERS = ["error_reporting", "logging", "metrics", "trace_context", "timeout"]


async def executed() -> ExecutionOnion:
    """Run the example's handler in its chain."""

    async def handle(ctx: JobContext, *_: object) -> dict[str, str]:
        return await send(ctx.job, ctx)

    return await run_execution(chain, Job("email.send", ["ada@example.com", "welcome"]), handle)


async def test_the_error_reports_are_outermost() -> None:
    onion = await executed()
    assert onion.result == {"message_id": "msg_abc123", "to": "ada@example.com"}
    assert onion.order == [
        *(f"enter {name}" for name in LAYERS),
        "handler",
        *(f"leave {name}" for name in reversed(LAYERS)),
    ]


async def test_an_error_is_reported_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["production_stack.py", "--fail"])
    onion = await executed()
    assert isinstance(onion.error, ConnectionError)
    assert all(layer.error is onion.error for layer in onion.layers)
    assert "report ConnectionError: SMTP connection refused" in capsys.readouterr().out
