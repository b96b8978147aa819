"""Conditions and updates mean in memory what they mean in DynamoDB."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.memory_aws.expressions import InvalidExpressionError, Placeholders, condition
from ojs_aws.memory_aws.items import Item, Value
from ojs_aws.memory_aws.updates import update

ITEM: Item = {"a": {"N": "5"}, "s": {"S": "text"}, "t": {"SS": ["x", "y"]}, "b": {"B": b"\x01\x02"}}


def given(**values: Value) -> Placeholders:
    """Placeholders for every attribute, and these values."""
    names = {f"#{name}": name for name in (*ITEM, "gone", "other")}
    return Placeholders(names, {f":{name}": value for name, value in values.items()})


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("#a = :v", {"N": "5.0"}, True),
        ("#a < :v", {"N": "10"}, True),
        ("#a < :v", {"S": "9"}, False),
        ("#a <> :v", {"S": "5"}, True),
        ("#gone = :v", {"N": "5"}, False),
        ("#gone <> :v", {"N": "5"}, True),
        ("#gone < :v", {"N": "5"}, False),
        ("attribute_exists(#a) AND #a >= :v", {"N": "5"}, True),
        ("attribute_not_exists(#gone) AND #a > :v", {"N": "5"}, False),
        ("NOT #a = :v OR #s = :v", {"N": "5"}, False),
        ("(#gone = :v OR #a = :v)", {"N": "5"}, True),
        ("begins_with(#s, :v)", {"S": "te"}, True),
        ("begins_with(#b, :v)", {"B": b"\x01"}, True),
        ("begins_with(#a, :v)", {"S": "5"}, False),
        ("contains(#t, :v)", {"S": "y"}, True),
        ("contains(#t, :v)", {"S": "z"}, False),
        ("contains(#s, :v)", {"S": "ex"}, True),
        ("size(#t) <= :v", {"N": "2"}, True),
        ("size(#gone) <= :v", {"N": "2"}, False),
        ("#a BETWEEN :v AND :v", {"N": "5"}, True),
        ("#s BETWEEN :v AND :v", {"S": "texts"}, False),
    ],
)
def test_a_condition_holds_as_in_dynamodb(text: str, value: Value, *, holds: bool) -> None:
    assert condition(text)(ITEM, given(v=value)) is holds


def test_and_binds_more_tightly_than_or() -> None:
    test = condition("#a = :no AND #a = :no OR #a = :yes")
    assert test(ITEM, given(no={"N": "1"}, yes={"N": "5"}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#a",
        "#a = ",
        "a = :v",
        "#a.#s = :v",
        "#a IN (:v)",
        "((#a = :v))",
        "#a = :v)",
        "attribute_type(#a, :v)",
        "#a ! :v",
    ],
)
def test_what_no_adapter_writes_is_refused(text: str) -> None:
    with pytest.raises(InvalidExpressionError):
        condition(text)(ITEM, given(v={"N": "5"}))


def test_bounds_in_the_wrong_order_are_refused() -> None:
    test = condition("#a BETWEEN :high AND :low")
    with pytest.raises(InvalidExpressionError, match="BETWEEN"):
        test(ITEM, given(low={"N": "1"}, high={"N": "2"}))


@pytest.mark.parametrize(
    ("text", "value", "changed"),
    [
        ("SET #a = :v", {"S": "new"}, {"a": {"S": "new"}}),
        ("SET #other = #s", {"N": "1"}, {"other": {"S": "text"}}),
        ("SET #a = if_not_exists(#a, :v)", {"N": "9"}, {}),
        ("SET #gone = if_not_exists(#gone, :v) + :v", {"N": "2"}, {"gone": {"N": "4"}}),
        ("SET #a = #a - :v", {"N": "7"}, {"a": {"N": "-2"}}),
        ("ADD #a :v", {"N": "2"}, {"a": {"N": "7"}}),
        ("ADD #gone :v", {"N": "2"}, {"gone": {"N": "2"}}),
        ("ADD #t :v", {"SS": ["y", "z"]}, {"t": {"SS": ["x", "y", "z"]}}),
        ("SET #gone = #a, #a = :v", {"N": "1"}, {"gone": {"N": "5"}, "a": {"N": "1"}}),
        ("REMOVE #gone ADD #a :v", {"N": "0"}, {}),
    ],
)
def test_an_update_reads_the_item_as_it_was(text: str, value: Value, changed: Any) -> None:
    assert update(text)(ITEM, given(v=value)) == {**ITEM, **changed}


def test_a_removed_attribute_is_gone() -> None:
    assert "a" not in update("REMOVE #a, #s")(ITEM, given())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SET #a = :v, #a = :v", {"N": "1"}),
        ("SET #a = :v SET #s = :v", {"N": "1"}),
        ("SET #a = #gone", {"N": "1"}),
        ("SET #a = #s + :v", {"N": "1"}),
        ("ADD #s :v", {"N": "1"}),
        ("ADD #a :v", {"S": "1"}),
        ("DELETE #t :v", {"SS": ["x"]}),
        ("SET #a = list_append(#a, :v)", {"N": "1"}),
        ("", {"N": "1"}),
    ],
)
def test_an_update_that_dynamodb_refuses_is_refused(text: str, value: Value) -> None:
    with pytest.raises(InvalidExpressionError):
        update(text)(ITEM, given(v=value))


def test_placeholders_are_all_used_and_all_defined() -> None:
    names = {"#a": "a"}
    Placeholders(names, {}).check_used(["attribute_exists(#a)"])
    with pytest.raises(InvalidExpressionError, match="#b"):
        Placeholders(names, {}).check_used(["attribute_exists(#a) AND attribute_exists(#b)"])
    with pytest.raises(InvalidExpressionError, match=":v"):
        Placeholders(names, {":v": {"N": "1"}}).check_used(["attribute_exists(#a)"])
