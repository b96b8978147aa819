"""Which job types may be registered, and what describes bindings and their targets."""

from __future__ import annotations

import json

import pytest

from ojs_aws.domain.bindings import (
    MAX_TYPES,
    Binding,
    read_bindings,
    read_targets,
    types_of,
)

FUNCTION = Binding(name="shop", queues=["email"], target="arn", types=["*"], reservation_s=60)


@pytest.mark.parametrize(
    "types", [["a"], ["email.*", "*"], ["x" * 128], [f"t{each}" for each in range(MAX_TYPES)]]
)
def test_a_list_of_types_and_their_beginnings_is_registered(types: list[str]) -> None:
    assert types_of(types) == tuple(types)


def test_a_type_that_is_named_twice_counts_once() -> None:
    assert types_of(["b", "a", "b"]) == ("b", "a")


@pytest.mark.parametrize("value", [None, "a", [], ["a"] * (MAX_TYPES + 1)])
def test_what_is_no_list_of_types_is_refused(value: object) -> None:
    """An empty one, or one that is too long."""
    with pytest.raises(ValueError, match="a list of 1 to 100 job types"):
        types_of(value)


@pytest.mark.parametrize("name", ["", "A", "1a", "*.send", "a*b", "x" * 129, 7, None])
def test_what_is_no_type_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match="is no job type"):
        types_of(["a", name])


def test_bindings_are_read_as_the_construct_writes_them() -> None:
    said = {"name": "shop", "queues": ["email"], "target": "arn", "types": ["*"]}
    assert read_bindings(json.dumps([{**said, "reservation_s": 60}])) == [FUNCTION]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "there are no bindings"),
        ("{", "a JSON array"),
        ("7", "a JSON array"),
        ('[{"x": 1}]', "a JSON array"),
    ],
)
def test_a_dispatcher_without_bindings_does_not_start(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_bindings(text)


def test_a_target_is_a_function_unless_it_says_more() -> None:
    more: dict[str, dict[str, object]] = {
        "f": {},
        "t": {"family": "render"},
        "e": {"prefixes": ["https://a.example.com/"]},
    }
    text = json.dumps({name: {"queues": ["q"], "types": [], **each} for name, each in more.items()})
    kinds = {name: target.kind for name, target in read_targets(text).items()}
    assert kinds == {"f": "lambda", "t": "ecs", "e": "https"}
    assert read_targets("") == {}
