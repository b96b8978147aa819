"""The order of a chain: five operations, three kinds of reference, and the freeze."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.middleware import (
    AmbiguousMiddlewareError,
    ChainFrozenError,
    EnqueueChain,
    ExecutionChain,
    Hooks,
    LoggingMiddleware,
    TimeoutMiddleware,
    UnknownMiddlewareError,
)
from ojs_aws.worker import LambdaWorker
from tests.unit.middleware.doubles import Traced, context, job, store

AnyChain: TypeAlias = EnqueueChain | ExecutionChain
both = pytest.mark.parametrize("kind", [EnqueueChain, ExecutionChain])


async def run(chain: AnyChain) -> None:
    if isinstance(chain, EnqueueChain):
        await chain.run(job(), store)
    else:
        await chain.run(job(), context(), lambda *_: None)


def traced(label: str) -> Traced:
    return Traced([], label)


@both
def test_appendix_a_add_appends(kind: Callable[..., AnyChain]) -> None:
    """MW-CHAIN-001."""
    assert kind([traced("A")]).add(traced("B")).names() == ["A", "B"]


@both
def test_appendix_a_prepend_inserts_first(kind: Callable[..., AnyChain]) -> None:
    """MW-CHAIN-002."""
    assert kind([traced("A")]).prepend(traced("B")).names() == ["B", "A"]


@both
def test_appendix_a_insert_before_is_immediate(kind: Callable[..., AnyChain]) -> None:
    """MW-CHAIN-003."""
    chain = kind([traced("A"), traced("B"), traced("C")])
    assert chain.insert_before("C", traced("X")).names() == ["A", "B", "X", "C"]
    assert chain.insert_before("A", traced("Y")).names() == ["Y", "A", "B", "X", "C"]


@both
def test_appendix_a_insert_after_is_immediate(kind: Callable[..., AnyChain]) -> None:
    """MW-CHAIN-004."""
    chain = kind([traced("A"), traced("B"), traced("C")])
    assert chain.insert_after("A", traced("X")).names() == ["A", "X", "B", "C"]
    assert chain.insert_after("C", traced("Y")).names() == ["A", "X", "B", "C", "Y"]


@both
def test_appendix_a_remove_takes_one_out(kind: Callable[..., AnyChain]) -> None:
    """MW-CHAIN-005: and says so when there is no such middleware."""
    chain = kind([traced("A"), traced("B")])
    assert chain.remove("A").names() == ["B"]
    with pytest.raises(UnknownMiddlewareError, match="A"):
        chain.remove("A")


def test_mw_chain_003_004_the_specification_s_own_sequence() -> None:
    """Section 10.4, with classes as in its text (MW-CHAIN-003..006)."""

    class Metrics(Traced):
        def __init__(self) -> None:
            super().__init__([], "metrics")

    class Reporting(Metrics):
        def __init__(self) -> None:
            super().__init__()
            self.name = "reporting"

    chain = ExecutionChain()
    chain.add(LoggingMiddleware)
    chain.add(TimeoutMiddleware)
    chain.insert_before(TimeoutMiddleware, Metrics)
    chain.prepend(Reporting)
    assert chain.names() == ["reporting", "logging", "metrics", "timeout"]
    chain.remove(Reporting)
    chain.remove(Metrics)
    assert chain.names() == ["logging", "timeout"]


@both
def test_appendix_a_identity_is_a_class_a_name_or_an_instance(
    kind: Callable[..., AnyChain],
) -> None:
    """MW-CHAIN-006, MW-CHAIN-007, MW-CHAIN-009: each in every operation with a target."""
    one = LoggingMiddleware()
    for reference in (LoggingMiddleware, "logging", one):
        chain = kind([traced("A"), one, traced("B")])
        chain.insert_before(reference, traced("X")).insert_after(reference, traced("Y"))
        assert chain.names() == ["A", "X", "logging", "Y", "B"]
        assert chain.remove(reference).names() == ["A", "X", "Y", "B"]


def test_mw_chain_024_a_class_may_appear_twice_and_is_then_ambiguous() -> None:
    """MW-CHAIN-009, MW-CHAIN-024: names and instances still tell them apart."""
    first, second = LoggingMiddleware(), LoggingMiddleware()
    chain = EnqueueChain([first, second])
    assert chain.names() == ["logging", "logging-2"]
    with pytest.raises(AmbiguousMiddlewareError, match="logging, logging-2"):
        chain.remove(LoggingMiddleware)
    assert list(chain.remove(first)) == [second]


@both
async def test_appendix_a_no_modification_once_jobs_are_processed(
    kind: Callable[..., AnyChain],
) -> None:
    """MW-CHAIN-010, MW-CHAIN-011: every operation is refused then, and nothing has changed."""
    chain = kind([traced("A")])
    before = chain.is_frozen
    await run(chain)
    assert (before, chain.is_frozen) == (False, True)
    new = traced("B")
    changes: list[Callable[[], object]] = [
        lambda: chain.add(new),
        lambda: chain.prepend(new),
        lambda: chain.insert_before("A", new),
        lambda: chain.insert_after("A", new),
        lambda: chain.remove("A"),
    ]
    for change in changes:
        with pytest.raises(ChainFrozenError, match="frozen when it processed its first job"):
            change()
    assert chain.names() == ["A"]


def test_the_error_names_the_first_freeze() -> None:
    """Freezing again is no error."""
    chain = EnqueueChain().freeze("the worker started").freeze("later")
    with pytest.raises(ChainFrozenError, match="frozen when the worker started"):
        chain.add(LoggingMiddleware)


async def test_mw_chain_010_a_handler_cannot_change_its_own_chain() -> None:
    """MW-CHAIN-010: not even while the very first job runs."""
    chain = ExecutionChain()

    def handler(*_: object) -> None:
        chain.add(LoggingMiddleware)

    with pytest.raises(ChainFrozenError):
        await chain.run(job(), context(), handler)


@both
def test_appendix_a_a_chain_can_be_inspected(kind: Callable[..., AnyChain]) -> None:
    """MW-CHAIN-012."""
    members = [traced("B"), traced("A")]
    chain = kind(members)
    assert list(chain) == members
    assert chain.names() == ["B", "A"]
    assert len(chain) == 2
    assert repr(chain) == f"<{kind.__name__} B > A>"
    assert repr(kind().freeze()) == f"<{kind.__name__} empty, frozen>"


def test_mw_builtin_017_018_the_default_chains() -> None:
    """MW-BUILTIN-016..018, MW-CHAIN-019, MW-CHAIN-020: in the recommended order."""
    assert EnqueueChain.default().names() == ["logging"]
    names = ExecutionChain.default().names()
    assert names == ["logging", "metrics", "error_reporting", "timeout"]


def test_mw_builtin_019_two_default_chains_are_two() -> None:
    """MW-BUILTIN-019: editing one leaves the other alone."""
    ExecutionChain.default().remove(TimeoutMiddleware)
    assert len(ExecutionChain.default()) == 4


@pytest.mark.parametrize("nothing", [object(), 3, None])
def test_river_010_what_is_no_middleware_is_refused_when_it_is_added(nothing: Any) -> None:
    """RIVER-010: not when the first job comes."""
    with pytest.raises(TypeError, match=r"calls: enqueue\(job, call_next\)"):
        EnqueueChain([nothing])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "prepend", "insert_before", "insert_after", "remove"]),
            st.integers(min_value=0, max_value=30),
        ),
        max_size=30,
    )
)
async def test_appendix_a_ordering_is_that_of_a_list_after_any_operations(
    operations: list[tuple[str, int]],
) -> None:
    """MW-CHAIN-013..017: names, iteration and the running order agree with a list, always."""
    model: list[str] = []
    trace: list[str] = []
    chain = ExecutionChain()
    for number, (operation, pick) in enumerate(operations):
        label = f"m{number}"
        if operation in {"add", "prepend"}:
            getattr(chain, operation)(Traced(trace, label))
            model.insert(len(model) if operation == "add" else 0, label)
        elif model:
            target = model[pick % len(model)]
            at = model.index(target)
            if operation == "remove":
                chain.remove(target)
                del model[at]
            else:
                getattr(chain, operation)(target, Traced(trace, label))
                model.insert(at + (operation == "insert_after"), label)
    assert chain.names() == model
    assert [getattr(member, "name", "") for member in chain] == model
    await chain.run(job(), context(), lambda *_: trace.append("handler"))
    inward = [f"{label}-in" for label in model]
    outward = [f"{label}-out" for label in reversed(model)]
    assert trace == [*inward, "handler", *outward]


def test_mw_chain_010_a_worker_s_chain_can_be_replaced_until_it_starts() -> None:
    """MW-CHAIN-010: assigning is no way around the freeze."""
    worker = LambdaWorker()
    worker.middleware = ExecutionChain([LoggingMiddleware])
    worker.hooks = Hooks()
    assert worker.freeze().chain.names() == ["logging"]
    with pytest.raises(ChainFrozenError, match="the worker started"):
        worker.middleware = ExecutionChain()
    with pytest.raises(ChainFrozenError, match="the worker started"):
        worker.hooks = Hooks()
