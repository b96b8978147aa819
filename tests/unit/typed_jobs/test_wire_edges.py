"""Arguments at the edges of what the wire can say: the same value, whatever way it is written."""

from __future__ import annotations

import math
import typing
from typing import Any, Literal

import pytest
from pydantic import BaseModel, RootModel

from ojs_aws import Job, JobContext, Jobs
from ojs_aws.domain.json_text import RawJson
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.typed_jobs.arguments import (
    ArgumentDecoder,
    ArgumentEncoder,
    ArgumentTypes,
    UnexpectedArgumentsError,
)
from ojs_aws.typed_jobs.model_values import ModelCodec, _difference, _expected
from ojs_aws.typed_jobs.options import with_places
from ojs_aws.typed_jobs.signature import read_signature
from ojs_aws.typed_jobs.values import WrongValueError, plain_check
from ojs_aws.typed_jobs.workflows import _is_reference

Ctx = JobContext


class Order(BaseModel):
    number: int


class Tree(RootModel[dict[str, int]]):
    pass


def plain(a: str, b: int = 1, c: int = 2) -> None: ...
def named(a: str, *, b: int) -> None: ...
def moved(a: int = 1, *, b: int = 0) -> None: ...
def rest(*items: dict[str, int]) -> None: ...
def model(order: Order, note: str = "") -> None: ...
def tree(body: Tree) -> None: ...


def types_of(function: Any) -> ArgumentTypes:
    return ArgumentTypes(read_signature(function, has_context=False))


def encode(function: Any, *args: Any, is_whole: bool = False, **keywords: Any) -> Any:
    signature = read_signature(function, has_context=False)
    return ArgumentEncoder(signature, ArgumentTypes(signature)).encode(
        args, keywords, is_whole=is_whole
    )


def decode(function: Any, *args: Any) -> Any:
    return ArgumentDecoder(types_of(function)).decode(Job("a.b", [*args]))


# -------------------------------------------------------------------------------- senders
def test_defaults_are_written_out_where_they_count_or_lie_in_front() -> None:
    assert encode(plain, "x") == ["x"]
    assert encode(plain, "x", c=5) == ["x", 1, 5]
    assert encode(plain, "x", is_whole=True) == ["x", 1, 2]
    assert encode(plain, a="x", is_whole=True) == ["x", 1, 2]


def test_a_keyword_without_default_is_missed() -> None:
    with pytest.raises(TypeError, match="'b'"):
        encode(named, "x")


def test_arguments_with_a_model_are_written_together() -> None:
    """As one text; plain ones need no model for it."""
    assert encode(model, Order(number=1)) == RawJson('[{"number":1}]')
    assert types_of(plain).together(2) is None


# -------------------------------------------------------------------------------- workers
def test_an_object_of_keywords_is_found_where_an_earlier_version_put_it() -> None:
    assert decode(moved, {"b": 2}) == ([], {"b": 2})
    assert decode(moved, 5, {"b": 2}) == ([5], {"b": 2})


@pytest.mark.parametrize("value", [{}, {"x": 1}, {"b": 1, "x": 1}])
def test_another_object_is_a_wrong_argument(value: Any) -> None:
    with pytest.raises(WrongValueError) as wrong:
        decode(moved, value)
    assert wrong.value.field == "a"


def test_an_unknown_keyword_is_refused() -> None:
    with pytest.raises(UnexpectedArgumentsError, match="keywords"):
        decode(moved, 5, {"x": 1})


def test_an_object_is_an_argument_of_a_function_without_keywords() -> None:
    assert decode(rest, {"b": 2}) == ([{"b": 2}], {})


# -------------------------------------------------------------------------------- values
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (list[int], [1, 2]),
        (dict[str, int], {"a": 1}),
        (int | str, "x"),
        (int | None, None),
        (Literal["a", 1], 1),
        (int, 2**63),
        (int, -(2**63)),
        (int, 2**63 - 1),
        (float, 5),
        (float, 1.5),
    ],
)
def test_types_that_json_has_are_checked_without_a_model(kind: Any, value: Any) -> None:
    check = plain_check(kind)
    assert check is not None
    assert check(value, "f") == value


@pytest.mark.parametrize(
    "kind",
    [
        typing.List,  # noqa: UP006
        typing.Dict,  # noqa: UP006
        typing.Mapping,
        typing.Optional[typing.Dict],  # noqa: UP006, UP045
        dict[int, str],
        tuple[str, int],
        dict[str, Order],
        list[Order],
        int | Order,
    ],
)
def test_other_types_are_left_to_a_model(kind: Any) -> None:
    assert plain_check(kind) is None


@pytest.mark.parametrize(
    ("kind", "value", "field", "expected"),
    [
        (Literal["a", 1], "b", "f", "one of 'a', 1"),
        (Literal["a", 1], [], "f", "one of 'a', 1"),
        (Literal["a", 1], True, "f", "one of 'a', 1"),
        (list[int] | str, ["x"], "f[0]", "an integer"),
        (list[int] | str, 5, "f", "a list or a string"),
        (dict[str, int], {1: 1}, "f", "an object whose keys are strings"),
        (float, "5", "f", "a number"),
        (float, True, "f", "a number"),
    ],
)
def test_a_value_of_another_type_is_refused_where_it_stands(
    kind: Any, value: Any, field: str, expected: str
) -> None:
    """Inside a list or an object, if a part of it is what is wrong."""
    check = plain_check(kind)
    assert check is not None
    with pytest.raises(WrongValueError) as wrong:
        check(value, "f")
    assert (wrong.value.field, wrong.value.expected) == (field, expected)


def test_a_value_of_another_class_is_refused_by_its_name() -> None:
    with pytest.raises(WrongValueError, match="an Order, not str"):
        ModelCodec(Order).encode("x", "order")


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("int_type", "Input should be a valid integer", "a valid integer"),
        ("missing", "Field required", "there"),
        (
            "extra_forbidden",
            "Extra inputs are bad",
            "valid: extra inputs are bad",
        ),
        ("own_error", "the value 5 is bad", "valid (own_error)"),
    ],
)
def test_an_error_says_what_was_expected_and_not_what_came(
    kind: str, message: str, expected: str
) -> None:
    error: Any = {"type": kind, "msg": message, "loc": ()}
    assert _expected(error) == expected
    error["ctx"] = {"error": "5"}
    assert _expected(error) == f"valid ({kind})"


@pytest.mark.parametrize(
    ("given", "again", "field"),
    [
        (math.nan, math.nan, None),
        (1.0, 2.0, "f"),
        ("a", "b", "f"),
        ([1, 2], [1, 3], "f[1]"),
        ([1], [1, 2], "f"),
        ({"a": 1}, {"b": 1}, "f"),
        ([math.nan], [math.nan], None),
        (Order(number=1), Order(number=2), "f.number"),
    ],
)
def test_what_differs_from_what_was_read_back_is_named(
    given: object, again: object, field: str | None
) -> None:
    lost = _difference(given, again, "f")
    assert (lost and lost.field) == field


# -------------------------------------------------------------------------------- declarations
def test_a_unique_policy_is_checked_where_all_its_members_are_known() -> None:
    """Members that other clients send are left to the server."""
    known: Any = {
        "keys": ["type"],
        "args_keys": None,
        "meta_keys": None,
        "states": ["completed"],
        "period": None,
        "on_conflict": "maybe",
    }
    with pytest.raises(RegistrationError, match="on_conflict"):
        Jobs().job("a.b", unique=known)(plain)
    Jobs().job("a.b", unique={**known, "within": "1h"})(plain)


@pytest.mark.parametrize("keys", [[1], "day", 5])
def test_a_policy_that_is_wrong_is_left_as_it_is(keys: Any) -> None:
    """The check of the attributes says what is wrong with it."""
    options: Any = {"unique": {"args_keys": keys}}
    assert with_places(options, read_signature(plain, has_context=False), "a.b") == options


@pytest.mark.parametrize("key", ["00", "01", "\u0663", "-1"])
def test_a_position_is_written_in_one_way(key: str) -> None:
    options: Any = {"unique": {"args_keys": [key]}}
    with pytest.raises(RegistrationError, match="no such argument"):
        with_places(options, read_signature(plain, has_context=False), "a.b")


class Body(typing.TypedDict):
    user: str


def in_union(body: Body | None = None) -> None: ...
def annotated(body: typing.Annotated[Body, "text"]) -> None: ...
def literal(body: Literal["user"]) -> None: ...
def scalars(body: int | str) -> None: ...
def texts(body: typing.Annotated[str, "text"]) -> None: ...


@pytest.mark.parametrize(
    ("function", "is_held"),
    [(in_union, True), (annotated, True), (literal, False), (scalars, False), (texts, False)],
)
def test_a_member_is_found_in_an_argument_that_may_be_an_object_with_it(
    function: Any, is_held: bool
) -> None:
    options: Any = {"unique": {"args_keys": ["user"]}}
    signature = read_signature(function, has_context=False)
    if is_held:
        assert with_places(options, signature, "a.b") == options
        return
    with pytest.raises(RegistrationError, match="no such argument"):
        with_places(options, signature, "a.b")


def test_a_model_of_any_members_may_have_the_one_that_is_named() -> None:
    options: Any = {"unique": {"args_keys": ["user"]}}
    assert with_places(options, read_signature(tree, has_context=False), "a.b") == options


def test_a_generator_is_no_job() -> None:
    def one() -> Any:
        yield 1

    async def other() -> Any:
        yield 1

    for function in (one, other):
        with pytest.raises(RegistrationError, match="generator"):
            read_signature(function, has_context=False)


def test_a_function_without_parameters_has_no_context() -> None:
    def nothing() -> None: ...
    def keyword(*, ctx: JobContext) -> None: ...

    for function in (nothing, keyword):
        with pytest.raises(RegistrationError, match="must take the context first"):
            read_signature(function, has_context=True)


def test_a_second_context_is_refused_by_whatever_name_it_goes() -> None:
    async def early(ctx: JobContext, other: JobContext) -> None: ...
    async def late(ctx: JobContext, other: Ctx) -> None: ...

    with pytest.raises(RegistrationError, match="must be its first parameter, not 'other'"):
        read_signature(early, has_context=True)
    signature = read_signature(late, has_context=True)
    with pytest.raises(RegistrationError, match="must be its first parameter, not 'other'"):
        signature.check_context()


def test_a_context_is_found_where_annotations_are_no_texts() -> None:
    async def handle(name: str, ctx: Any) -> None: ...

    handle.__annotations__ = {"name": str, "ctx": JobContext}
    with pytest.raises(RegistrationError, match="must be its first parameter, not 'ctx'"):
        read_signature(handle, has_context=False)


def test_a_text_that_mentions_a_result_is_no_reference() -> None:
    assert not _is_reference({"result": "job_id"})
    assert not _is_reference({"result": "$ref"})
    assert not _is_reference({"result": {"other": 1}})
    assert not _is_reference({})
