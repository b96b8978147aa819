"""The structured error object (core, section 8; binding, section 10.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import Failure
from ojs_aws.domain.jobs.failures import MAX_EXTRA_BYTES, read_failure, render_failure
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
def test_the_type_is_the_most_specific_name(error: dict[str, Any], kind: str) -> None:
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


def test_the_errors_of_both_documents_are_read() -> None:
    """ERR-011; ojs-retry, section 7.3: as their examples have them."""
    core = read(
        type="SmtpConnectionError",
        message="Connection refused to smtp.example.com:587 after 30s timeout",
        backtrace=["at SmtpClient.connect (smtp.js:42:15)"],
    )
    assert (core.type, core.code, core.retryable) == ("SmtpConnectionError", "", None)
    assert core.backtrace == ("at SmtpClient.connect (smtp.js:42:15)",)
    assert (core.attempt, core.occurred_at) == (2, NOW)
    declined = read(
        type="external.stripe.card_declined", message="declined", code="DISCARD", details={}
    )
    assert (declined.type, declined.code, declined.extra) == (
        "external.stripe.card_declined",
        "DISCARD",
        {"details": "{}"},
    )


def test_what_the_system_says_of_a_failure_is_not_the_clients_to_say() -> None:
    """Attempt and time."""
    failure = read(message="m", attempt=99, occurred_at="1999-01-01T00:00:00Z", timestamp="x")
    shown = json.loads(render_failure(failure))
    assert (shown["attempt"], shown["occurred_at"]) == (2, "2025-10-09T08:53:20.000Z")
    assert failure.extra == {}


def test_long_texts_are_cut_and_not_refused() -> None:
    """ERR-010: a failure must always be reportable."""
    failure = read(message="m" * 20_000, type="t" * 300, code="c" * 300)
    assert (len(failure.message), len(failure.type), len(failure.code)) == (10_000, 256, 256)


@pytest.mark.parametrize(("size", "is_kept"), [(16_000, True), (17_000, False)])
def test_what_is_sent_beside_is_kept_up_to_its_limit_in_bytes(size: int, is_kept: bool) -> None:
    """32 KiB; two bytes to a letter here. Beyond, texts are cut."""
    text = '{"message":"m","details":{"x":"' + "ä" * size + '"}}'
    extra = read_failure(parse_object(text), 1, NOW).extra
    assert ("truncated" not in extra) is is_kept
    assert (extra["details"] == '{"x":"' + "ä" * size + '"}') is is_kept
    assert sum(map(len, extra.values())) <= MAX_EXTRA_BYTES


def test_a_failure_too_large_to_cut_keeps_what_has_room() -> None:
    """Lists and numbers are kept whole or not at all; the details come first."""
    long = json.dumps(["x" * 20_000, "y" * 20_000])
    text = f'{{"message":"m","a":"{"z" * 40_000}","details":{{"list":{long},"n":7}},"b":[1]}}'
    extra = read_failure(parse_object(text), 1, NOW).extra
    assert (extra["truncated"], extra["details"], extra["b"]) == ("true", '{"n":7}', "[1]")
    assert extra["a"].endswith('…"')
    assert sum(len(raw.encode()) for raw in extra.values()) <= MAX_EXTRA_BYTES


def test_what_the_worker_did_not_say_is_not_answered() -> None:
    """No backtrace, no verdict; the code has a default, because clients read it."""
    shown = json.loads(render_failure(read(message="m")))
    assert not {"backtrace", "retryable"} & set(shown)
    assert shown["code"] == "handler_error"
    full = json.loads(render_failure(read(message="m", backtrace=["a"], retryable=False)))
    assert (full["backtrace"], full["retryable"]) == (["a"], False)
