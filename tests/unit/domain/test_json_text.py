"""JSON as text: it comes back to the character, and what parsers dispute is refused."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import InvalidPayloadError, PayloadTooLargeError
from ojs_aws.domain.json_text import RawJson, assemble, check_native, decode, encode, parse_object

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


@given(st.dictionaries(st.text(), values))
def test_assembling_is_the_inverse_of_parsing(value: dict[str, object]) -> None:
    """Twice through changes nothing."""
    text = assemble({name: member.raw for name, member in parse_object(json.dumps(value)).items()})
    again = assemble({name: member.raw for name, member in parse_object(text).items()})
    assert text == again
    assert json.loads(text) == value


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
        '{"a":' + "9" * 4302 + "}",
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
    "value", [float("nan"), float("inf"), b"x", {1: 2}, [object()], {"a": {2}}, 1j]
)
def test_what_json_cannot_say_is_refused_with_its_place(value: object) -> None:
    """ENV-019, ENV-024, ENV-025: before anything is sent."""
    with pytest.raises(InvalidPayloadError, match="args"):
        check_native([value], "args")


def test_text_that_is_known_to_be_json_is_put_together_as_it_is() -> None:
    """Nothing is encoded again."""
    assert assemble({"a": RawJson("1.00"), "ü": RawJson("[ ]")}) == '{"a":1.00,"ü":[ ]}'
