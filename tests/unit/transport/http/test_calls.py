"""The text of an answer: what is ready-made stays as it is, the rest is encoded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.json_text import encode
from ojs_aws.transport.http.calls import JsonOf, array_of, beside, json_of

TEXT: JsonOf[Any] = JsonOf('{"b":1.0, "a" : [1e400,"\\u00e9"]}')
"""A client's text, which decoding and encoding would change."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (TEXT, f"{TEXT}"),
        ({"job": TEXT, "id": "x"}, f'{{"job":{TEXT},"id":"x"}}'),
        ({"jobs": [{"job": TEXT}, 1]}, f'{{"jobs":[{{"job":{TEXT}}},1]}}'),
        ([None, {"a": {"b": [TEXT]}}], f'[null,{{"a":{{"b":[{TEXT}]}}}}]'),
        (array_of([TEXT, TEXT]), f"[{TEXT},{TEXT}]"),
        (beside({"a": 1}, {"job": TEXT}), f'{{"a":1,"job":{TEXT}}}'),
    ],
)
def test_ready_made_text_stays_character_for_character(value: object, text: str) -> None:
    """However deep it stands."""
    assert json_of(value) == text


@given(VALUES)
def test_a_value_without_such_text_is_encoded_as_ever(value: Any) -> None:
    """Also with lone surrogates, which are escaped."""
    assert str(json_of(value)) == encode(value)


@given(VALUES)
def test_text_among_values_changes_none_of_them(value: Any) -> None:
    """The members beside it are what they were."""
    made = json_of({"before": value, "text": json_of(value), "after": [value, json_of(value)]})
    assert json.loads(made) == {"before": value, "text": value, "after": [value, value]}
