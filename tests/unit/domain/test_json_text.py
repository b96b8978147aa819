"""JSON as text: it comes back to the character, and what parsers dispute is refused."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import InvalidPayloadError, JsonValue, PayloadTooLargeError
from ojs_aws.domain.json_members import MAX_NATIVE_DEPTH, check_native
from ojs_aws.domain.json_text import (
    _STRING,
    AssembledText,
    RawJson,
    assemble,
    assemble_array,
    decode,
    encode,
    json_type,
    parse_object,
    parse_objects,
    stored_texts,
)

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), values), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_members_keep_their_own_text_and_order(
    value: dict[str, object], ascii_only: bool, indent: int | str | None
) -> None:
    """ENV-065, promise 7: however the client writes its JSON."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    members = parse_object(text)
    assert list(members) == list(value)
    assert {name: member.value for name, member in members.items()} == value
    for name, member in members.items():
        assert member.raw in text
        assert json.loads(member.raw) == value[name]


spaces = st.text(" \t\r\n", max_size=2)
texts = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    values,
    st.booleans(),
    st.sampled_from([None, 1, "\t"]),
)


@given(st.dictionaries(st.text(), texts), st.data())
def test_the_text_of_a_member_is_what_stands_between_the_signs(
    raws: dict[str, str], data: st.DataObject
) -> None:
    """ENV-065: without the space around it, and in the order in which it came."""

    def space() -> str:
        return data.draw(spaces)

    pairs = [
        f"{space()}{json.dumps(name)}{space()}:{space()}{raw}{space()}"
        for name, raw in raws.items()
    ]
    body = space() + "{" + (",".join(pairs) or space()) + "}" + space()
    assert [(name, member.raw) for name, member in parse_object(body).items()] == [*raws.items()]


@given(st.dictionaries(st.text(), values))
def test_assembling_is_the_inverse_of_parsing(value: dict[str, object]) -> None:
    """Twice through changes nothing."""
    text = assemble({name: member.raw for name, member in parse_object(json.dumps(value)).items()})
    again = assemble({name: member.raw for name, member in parse_object(text).items()})
    assert text == again
    assert json.loads(text) == value


@given(st.lists(st.tuples(spaces, texts, spaces)))
def test_the_objects_of_an_array_keep_their_own_text(items: list[tuple[str, str, str]]) -> None:
    """As if each were parsed alone; what is no object is left out."""
    array = RawJson("[" + ",".join("".join(item) for item in items) + " ]")
    alone = [parse_object(text) for _, text, _ in items if isinstance(json.loads(text), dict)]
    assert parse_objects(array) == alone


@given(values)
def test_what_is_encoded_is_decoded_to_the_same(value: object) -> None:
    """Integers stay integers, floats floats; lone surrogates survive as escapes."""
    text = encode(value)  # type: ignore[arg-type]
    text.encode("utf-8")
    assert decode(text) == value
    check_native(value, "args")


@pytest.mark.parametrize(
    "raw",
    [
        "1.00",
        "1e-7",
        "-0",
        "-0.0",
        "0.1000000000000000055511151231257827",
        "123456789012345678901234567890",
        "9" * 4300,
        "-" + "9" * 4300,
        '"\\ud83d\\ude00\\u0000\\/"',
        '"\\ud800"',
        '"\U0001f600"',
        '{ "b" : 1 , "a" : [ ] }',
        "[" * 99 + "]" * 99,
        '"' + "[{" * 500 + '"',
    ],
)
def test_a_value_keeps_every_character(raw: str) -> None:
    """Spelling, escapes, spaces, size and order."""
    assert parse_object(f'{{"x": {raw} }}')["x"].raw == raw


@pytest.mark.parametrize(
    "body",
    [
        "",
        "  ",
        "null",
        "[]",
        '"text"',
        "{",
        '{"a":1,}',
        '{"a" 1}',
        "{'a':1}",
        '{"a":1} x',
        '{"a":NaN}',
        '{"a":[Infinity]}',
        '{"a":-Infinity}',
        '{"a":1e999}',
        '{"a":01}',
        '{"a":+1}',
        '{"a":.5}',
        '{"a":1,"a":2}',
        '{"a":{"b":1,"b":1}}',
        '{"a":[{"b":1,"b":1}]}',
        '{"a":"\t"}',
        '{"a":"\\x"}',
        '{"a":tru}',
        '{"a":' + "9" * 4301 + "}",
        '{"a":-' + "9" * 4301 + "}",
        '{"a":-1e999}',
        '{"a":"\ud800"}',
        '{"\udfff":1}',
        '{"a":1 "b":2}',
        '{"a":1]',
        '{"a":1}{}',
        '{"a":1}]',
        "{]",
        "nul",
        '{"a":' + "[" * 100 + "]" * 100 + "}",
        '{"a":' * 5000,
        b'{"a":"\xff"}',
        b'\xef\xbb\xbf{"a":1}',
        '{"a":1,,"b":2}',
        "{1:2}",
    ],
)
def test_what_parsers_dispute_is_refused(body: str | bytes) -> None:
    """With invalid_payload, whatever it is."""
    with pytest.raises(InvalidPayloadError) as refused:
        parse_object(body)
    assert (refused.value.code, refused.value.status) == ("invalid_payload", 400)


@given(st.binary(max_size=200))
def test_no_bytes_can_raise_anything_else(body: bytes) -> None:
    """Promise 8: what a client sends is refused or read."""
    with suppress(InvalidPayloadError):
        parse_object(body)


def test_the_message_says_where_it_went_wrong() -> None:
    """Line and column."""
    with pytest.raises(InvalidPayloadError, match="line 2, column 7"):
        parse_object('{"a": 1,\n "b": }')


def test_a_body_one_byte_over_is_refused_with_both_numbers() -> None:
    """ENV-022, SEC-006: bytes, not characters."""
    body = '{"a":"ä"}'
    parse_object(body, max_bytes=10)
    with pytest.raises(PayloadTooLargeError) as refused:
        parse_object(body, max_bytes=9)
    assert refused.value.details == {"size_bytes": 10, "max_bytes": 9}


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("-inf"),
        b"x",
        {1: 2},
        {None: 2},
        [object()],
        {"a": {2}},
        1j,
        (1, {"a": b""}),
        pytest.param(10**4300, id="long"),
        pytest.param(-(10**4300), id="long and negative"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(value: object) -> None:
    """ENV-019, ENV-024, ENV-025: before anything is sent."""
    with pytest.raises(InvalidPayloadError, match="args"):
        check_native([value], "args")


def test_text_that_is_known_to_be_json_is_put_together_as_it_is() -> None:
    """Nothing is encoded again."""
    assert assemble({"a": RawJson("1.00"), "ü": RawJson("[ ]")}) == '{"a":1.00,"ü":[ ]}'


@pytest.mark.parametrize(
    "value", [10**4300 - 1, 1 - 10**4300, True, 0.1, [1, "a"], {"": [None]}], ids=type
)
def test_what_json_can_say_is_not_refused(value: JsonValue) -> None:
    """To the last digit that the server takes."""
    check_native(value, "args")
    decode(encode(value))


def test_the_place_of_what_is_refused_is_its_path() -> None:
    """As a person would write it."""
    with pytest.raises(InvalidPayloadError, match=r"args\[0\]\.when\[1\] is a datetime"):
        check_native([{"when": (1, datetime(2026, 1, 1, tzinfo=UTC))}], "args")


def nested(levels: int) -> JsonValue:
    """So many arrays within each other."""
    value: JsonValue = None
    for _ in range(levels):
        value = [value]
    return value


def test_a_value_may_be_as_deep_as_a_server_may_accept_and_not_deeper() -> None:
    """Also one that contains itself: refused, and no RecursionError."""
    check_native(nested(MAX_NATIVE_DEPTH), "args")
    endless: list[JsonValue] = []
    endless.append(endless)
    for value in (nested(MAX_NATIVE_DEPTH + 1), endless):
        with pytest.raises(InvalidPayloadError, match="nested too deeply"):
            check_native(value, "args")


def depth_of(value: object) -> int:
    """Levels of arrays and objects."""
    if isinstance(value, dict):
        value = [*value.values()]
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@given(values, st.text('[]{}",\\ ', max_size=20))
def test_depth_counts_brackets_and_not_what_stands_in_strings(value: object, noise: str) -> None:
    """SEC-006: the limit is exact, the object itself being one level."""
    body = json.dumps({noise: noise, "x": value})
    depth = 1 + depth_of(value)
    parse_object(body, max_depth=depth)
    with pytest.raises(InvalidPayloadError, match="nested deeper"):
        parse_object(body, max_depth=depth - 1)


@given(st.text('"\\[a\n'))
def test_the_depth_is_found_in_one_pass(text: str) -> None:
    """Every quote begins a match, closed or not, so that no text is searched from a second quote.

    Otherwise a megabyte of escaped quotes in a string without an end takes an hour.
    """
    assert '"' not in _STRING.sub("", text)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "boolean"),
        (0, "number"),
        (0.5, "number"),
        ("", "string"),
        ([], "array"),
        ((), "array"),
        ({}, "object"),
        (b"", "bytes"),
    ],
)
def test_types_have_the_names_of_json(value: object, name: str) -> None:
    """In messages; what JSON does not have keeps the name it has in Python."""
    assert json_type(value) == name


@pytest.mark.parametrize(
    ("body", "name"), [("[]", "array"), (" null ", "null"), ("1.5", "number"), ('"{}"', "string")]
)
def test_an_error_of_a_body_that_is_no_object_says_what_it_is(body: str, name: str) -> None:
    """Expected and received."""
    with pytest.raises(InvalidPayloadError) as refused:
        parse_object(body)
    assert refused.value.details == {"expected": "object", "received": name}


def test_a_repeated_key_is_named() -> None:
    """However it is escaped."""
    with pytest.raises(InvalidPayloadError) as refused:
        parse_object('{"b":1,"a":2,"\\u0061":3}')
    assert refused.value.details == {"key": "a"}


def _pickled(text: RawJson) -> RawJson:
    copied: RawJson = pickle.loads(pickle.dumps(text))  # noqa: S301 - of our own
    return copied


@pytest.mark.parametrize("duplicate", [copy.deepcopy, _pickled])
def test_an_assembled_text_knows_its_members(duplicate: Callable[[RawJson], RawJson]) -> None:
    """They are those that a parser would find; changing what is returned changes nothing."""
    members = {"b": RawJson("1.00"), "é": RawJson('{"x": 1}'), '"': RawJson("[ ]")}
    text = AssembledText.of(members)
    assert text == assemble(members) == '{"b":1.00,"é":{"x": 1},"\\"":[ ]}'
    for each in (text, duplicate(text)):
        assert stored_texts(each) == stored_texts(str(each)) == members
        stored_texts(each).clear()
        assert list(stored_texts(each)) == list(members)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"a" 1}', "Expecting ':' at line 1, column 6"),
        ('{"a":1 "b":2}', "Expecting ',' at line 1, column 8"),
        ('{"a":1,}', "Expecting a key in double quotes at line 1, column 8"),
        ('{"a":1,2}', "Expecting a key in double quotes at line 1, column 8"),
        ('{"a":}', "Expecting value at line 1, column 6"),
        ("{a:1}", "Expecting a key in double quotes at line 1, column 2"),
        ('{"a":1}x', "Extra data at line 1, column 8"),
    ],
)
def test_an_error_between_members_has_its_place(body: str, message: str) -> None:
    """Line and column, as editors count them."""
    with pytest.raises(InvalidPayloadError) as refused:
        parse_object(body)
    assert message in refused.value.message


def test_arrays_are_put_together_as_they_are() -> None:
    """Nothing is encoded again."""
    assert assemble_array([]) == "[]"
    assert assemble_array([RawJson("1.00"), RawJson("[ ]")]) == "[1.00,[ ]]"
