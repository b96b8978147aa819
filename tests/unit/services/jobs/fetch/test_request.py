"""What a FETCH may ask for, to the last number that is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.jobs.held_job import ASSUMED_SILENCE_MS
from ojs_aws.domain.jobs.validation import MAX_VISIBILITY_MS
from ojs_aws.services.jobs.fetch.request import MAX_QUEUES, FetchRequest

MOST = 10


def many(count: int) -> tuple[str, ...]:
    return tuple(f"q{number}" for number in range(count))


@pytest.mark.parametrize(
    ("field", "accepted", "refused"),
    [
        ("queues", [many(1), many(MAX_QUEUES)], [(), many(MAX_QUEUES + 1)]),
        ("count", [1, MOST], [0, -1, MOST + 1]),
        ("visibility_timeout_ms", [None, 1, MAX_VISIBILITY_MS], [0, -1, MAX_VISIBILITY_MS + 1]),
    ],
)
def test_numbers_are_accepted_up_to_their_bounds(
    field: str, accepted: list[Any], refused: list[Any]
) -> None:
    for value in accepted:
        FetchRequest(**{"queues": ("default",), field: value}).check(MOST)
    for value in refused:
        with pytest.raises(InvalidRequestError) as error:
            FetchRequest(**{"queues": ("default",), field: value}).check(MOST)
        assert error.value.details["field"] == field


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"worker_id": "w"}, ASSUMED_SILENCE_MS),
        ({}, None),
        ({"worker_id": "w", "heartbeat_interval_ms": 5000}, None),
        ({"worker_id": "w", "visibility_timeout_ms": 5000}, None),
    ],
)
def test_jobs_are_listed_soon_for_workers_that_may_beat_and_do_not_say_so(
    more: dict[str, Any], expected: int | None
) -> None:
    assert FetchRequest(("default",), **more).listed_ms == expected
