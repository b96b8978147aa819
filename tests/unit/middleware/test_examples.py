"""The examples of the specification's section 10 run, and produce the flows shown there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ojs_aws.middleware import check
from tests.unit.middleware.doubles import FakeTransport, client_with

ROOT = Path(__file__).parents[3]


def run(name: str, *arguments: str) -> list[str]:
    """The lines that an example prints."""
    done = subprocess.run(
        [sys.executable, f"examples/middleware/{name}.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_section_10_1_the_enqueue_flow_of_the_specification_runs() -> None:
    """With the very values of the specification's flow."""
    lines = run("enqueue_flow")
    assert lines[:5] == [
        "Input: email.send",
        (
            "After TraceContextMiddleware: email.send "
            "meta.traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 "
            "meta.tracestate=rojo=00f067aa0ba902b7"
        ),
        "After LocaleMiddleware: email.send meta.locale=en-US meta.timezone=America/New_York",
        "DeduplicationMiddleware lets pass: email.send",
        (
            "Enqueued: email.send ['user@example.com', 'welcome'] in default, "
            "meta ['locale', 'span_id', 'timezone', 'trace_id', 'traceparent', 'tracestate']"
        ),
    ]
    assert lines[-2:] == ["report.build: dropped by deduplication", "2 jobs stored"]


def test_section_10_2_the_production_stack_s_flow() -> None:
    """In through logging and the span to the handler, out through span, metrics and logging."""
    lines = run("production_stack")
    assert [line.split(" type=")[0].split(" trace=")[0] for line in lines] == [
        "log INFO Job started",
        "log INFO Sending",
        "span ojs.job.execute OK",
        "metric ojs.jobs.duration_ms ...",
        "metric ojs.jobs.completed +1",
        "log INFO Job completed",
        "result {'message_id': 'msg_abc123', 'to': 'user@example.com'}",
    ]
    assert "trace=4bf92f3577b34da6a3ce929d0e0e4736" in lines[2], "the enqueuing trace goes on"


def test_section_10_3_an_error_passes_every_layer_on_its_way_out() -> None:
    lines = run("production_stack", "--fail")
    assert [line.split(" type=")[0].split(" trace=")[0] for line in lines] == [
        "log INFO Job started",
        "log INFO Sending",
        "span ojs.job.execute ERROR",
        "metric ojs.jobs.duration_ms ...",
        "metric ojs.jobs.failed +1",
        "log ERROR Job failed",
        "report ConnectionError: SMTP connection refused (job email.send, report.attempt=1)",
        "the worker gets ConnectionError, and the retry policy applies",
    ]
    assert "events=['exception']" in lines[2]


def test_section_10_4_the_chains_of_the_management_example() -> None:
    """MW-CHAIN-003, MW-CHAIN-004."""
    assert run("chain_management") == [
        "<ExecutionChain logging > timeout>",
        "<ExecutionChain logging > metrics > timeout>",
        "<ExecutionChain error_reporting > logging > metrics > timeout>",
        "<ExecutionChain error_reporting > trace_context > logging > metrics > timeout>",
        "<ExecutionChain trace_context > logging > timeout>",
    ]


async def test_own_middleware_and_hooks_serve_client_worker_and_backend() -> None:
    """The file of the documentation's example, in the client here."""
    from examples.middleware.audit import Audit, backend_chain, extensions

    assert check(Audit("shop"))
    assert backend_chain.names() == ["logging", "audit"]
    assert "audit" in extensions.execution.names()
    transport = FakeTransport()
    client = client_with(transport, middleware=extensions.enqueuing, hooks=extensions.hooks)
    await client.enqueue("email.send", ["somebody@example.com"])
    assert transport.pushed[0].meta["enqueued_by"]
    with pytest.raises(ValueError, match="that domain"):
        await client.enqueue("email.send", ["somebody@blocked.example"])
