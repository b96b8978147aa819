"""Test the order of a chain by what it does."""

from __future__ import annotations

import pytest

from examples.middleware.chain_management import build
from ojs_aws.testing import run_execution


@pytest.mark.parametrize(
    ("environment", "layers"),
    [
        ("test", ["trace_context", "logging", "timeout"]),
        ("production", ["error_reporting", "trace_context", "logging", "metrics", "timeout"]),
    ],
)
async def test_the_layers_of_an_environment(environment: str, layers: list[str]) -> None:
    trace = await run_execution(build(environment), "email.send")
    assert [layer.name for layer in trace.layers] == layers
