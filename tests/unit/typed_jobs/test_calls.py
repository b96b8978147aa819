"""What a typed job costs its sender, counted by the interpreter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import pytest

from benchmarks.overhead import instructions_of
from benchmarks.typed_jobs import Nowhere, Order, send, take
from ojs_aws import Client
from ojs_aws.client.transports.requests import Transport


def instructions(send_one: Callable[[], Any]) -> int:
    """Count what the interpreter does to send a job; the run before imports and compiles."""

    def run() -> None:
        with pytest.raises(StopIteration):
            send_one().send(None)

    run()
    return instructions_of(run)


def test_a_typed_job_takes_no_more_instructions_than_an_untyped_one() -> None:
    """`python -m benchmarks.typed_jobs` measures the time."""
    client = Client(transport=cast("Transport", Nowhere()), middleware=[])
    order = Order(number=1, name="pen", price=1.5)
    fields: Any = order.model_dump(mode="json")
    with client.use():
        untyped = instructions(lambda: client.enqueue("email.send", ["a", "x", 2], queue="email"))
        assert instructions(lambda: send.enqueue("a", "x", 2)) <= untyped
        untyped = instructions(lambda: client.enqueue("order.take", ["a", fields], queue="email"))
        assert instructions(lambda: take.enqueue("a", order)) <= untyped


def test_no_signature_is_bound_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a mistake is explained by one."""
    monkeypatch.delattr(inspect.Signature, "bind")
    assert send.call("a", template="x").to_job().args == ["a", "x"]
