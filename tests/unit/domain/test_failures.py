"""The structured error object (core, section 8; binding, section 10.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.failures import read_failure, render_failure
from ojs_aws.domain.job import Failure
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.timestamps import Instant

NOW = Instant(1_760_000_000_000)


def read(**error: Any) -> Failure:
    """Read an error object."""
    return read_failure(parse_object(json.dumps(error)), 2, NOW)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "T", "code": "c", "details": {"error_class": "E"}}, "T"),
        ({"code": "c", "details": {"error_class": "E"}}, "E"),
        ({"code": "c"}, "c"),
        ({}, "handler_error"),
    ],
)
def test_the_type_is_the_most_telling_name(error: dict[str, Any], kind: str) -> None:
    """ERR-002: type, else details.error_class, else code."""
    assert read(message="m", **error).type == kind


@pytest.mark.parametrize(
    "error",
    [
        {},
        {"type": "T"},
        {"message": None},
        {"message": 5},
        {"message": "m", "type": 5},
        {"message": "m", "code": []},
        {"message": "m", "retryable": "no"},
        {"message": "m", "details": "x"},
        {"message": "m", "backtrace": "x"},
        {"message": "m", "backtrace": [1]},
    ],
)
def test_a_malformed_error_is_refused(error: dict[str, Any]) -> None:
    """OP-034, ERR-003, ERR-004."""
    with pytest.raises(InvalidRequestError, match=r"error\."):
        read(**error)


def test_backtraces_are_bounded_in_frames_and_characters() -> None:
    """ERR-009: 50 frames, 10,000 characters in all."""
    assert len(read(message="m", backtrace=["x"] * 200).backtrace) == 50
    long = read(message="m", backtrace=["y" * 4000] * 4).backtrace
    assert sum(map(len, long)) == 10_000


def test_it_is_answered_with_the_names_of_both_documents() -> None:
    """And with what the client sent beside them, as it sent it."""
    text = '{"code":"c","message":"m","retryable":true,"details":{"b":1.00,"a":2},"x":[ ]}'
    shown = render_failure(read_failure(parse_object(text), 2, NOW))
    assert '"details":{"b":1.00,"a":2}' in shown
    assert '"x":[ ]' in shown
    decoded = json.loads(shown)
    assert decoded["attempt"] == 2
    assert decoded["occurred_at"] == decoded["timestamp"] == "2025-10-09T08:53:20.000Z"
    assert (decoded["type"], decoded["code"], decoded["retryable"]) == ("c", "c", True)
