"""Which push is one that was sent again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.jobs.new_jobs import is_same_envelope
from tests.contract.test_job_store import NOW, POLICY, a_job


def scheduled(at: int) -> RawJson:
    return RawJson(f'{{"args":[1],"scheduled_at":"{format_instant(Instant(at))}"}}')


STORED = a_job(document=scheduled(NOW + 10_000))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"type": "demo.other"}, False),
        ({"queue": "other"}, False),
        ({"document": RawJson('{"args":[2]}')}, False),
        ({"document": scheduled(NOW + 10_001)}, False),
        ({"retry_document": RawJson('{"max_attempts": 6}')}, False),
    ],
)
def test_the_same_envelope_again_is_the_same_job(changes: dict[str, Any], expected: bool) -> None:
    assert is_same_envelope(STORED, replace(STORED, **changes)) == expected


@pytest.mark.parametrize(("shift_ms", "expected"), [(0, True), (700, True), (699, False)])
def test_a_relative_instant_may_be_as_much_later_as_the_push(shift_ms: int, expected: bool) -> None:
    again = replace(
        STORED, created_at=Instant(NOW + 700), document=scheduled(NOW + 10_000 + shift_ms)
    )
    assert is_same_envelope(STORED, again) == expected


@pytest.mark.parametrize(
    ("stored_is_queues", "wanted", "expected"),
    [
        (True, {"retry_document": POLICY, "is_retry_queues": True}, True),
        (True, {"retry_document": RawJson('{"max_attempts": 9}'), "is_retry_queues": True}, True),
        (True, {"retry_document": POLICY, "is_retry_queues": False}, True),
        (False, {"retry_document": RawJson('{"max_attempts": 9}')}, False),
    ],
)
def test_a_queues_default_policy_may_differ_now(
    stored_is_queues: bool, wanted: dict[str, Any], expected: bool
) -> None:
    """Not the one that the client sent."""
    stored: JobRecord = replace(STORED, retry_document=POLICY, is_retry_queues=stored_is_queues)
    assert is_same_envelope(stored, replace(stored, **wanted)) == expected
