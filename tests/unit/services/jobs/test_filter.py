"""Which jobs a filter selects, where it looks, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.access import View
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Between, JobList
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.job_lists import END, MAX_TEXT, JobFilter, Part
from tests.contract.test_job_store import NOW, a_job

AT = Instant(5)


@pytest.mark.parametrize(
    "members",
    [
        {"type": "*"},
        {"type": "a.*"},
        {"tag": "x" * MAX_TEXT},
        {"error": "x" * MAX_TEXT},
        {"since": AT, "until": AT, "as_of": AT},
        {"until": AT},
    ],
)
def test_a_filter_that_can_match_is_accepted(members: dict[str, Any]) -> None:
    JobFilter(**members)


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"type": "Not a type"}, "type"),
        ({"tag": "x" * (MAX_TEXT + 1)}, "tag"),
        ({"error": "x" * (MAX_TEXT + 1)}, "error"),
        ({"since": AT, "until": Instant(4)}, "until"),
        ({"since": AT, "as_of": Instant(4)}, "as_of"),
    ],
)
def test_a_filter_that_can_match_nothing_is_refused(members: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        JobFilter(**members)
    assert error.value.details["field"] == field


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, True),
        ({"queue": "q", "states": frozenset({JobState.ACTIVE})}, True),
        ({"type": "a.b"}, False),
        ({"tag": "x"}, False),
        ({"error": "x"}, False),
        ({"since": AT}, False),
        ({"until": AT}, False),
        ({"as_of": AT}, False),
        ({"view": View(types=("a.b",))}, False),
        ({"view": View(queues=("q",))}, True),
    ],
)
def test_rows_count_as_jobs_where_nothing_else_decides(
    members: dict[str, Any], expected: bool
) -> None:
    assert JobFilter(**members).is_by_list == expected


@pytest.mark.parametrize(
    ("members", "between"),
    [
        ({}, None),
        ({"until": AT}, None),
        ({"since": AT}, Between(AT, END)),
        ({"as_of": AT}, Between(Instant(0), AT)),
        ({"since": Instant(3), "as_of": AT}, Between(Instant(3), AT)),
    ],
)
def test_lists_of_ended_jobs_are_read_in_the_range_that_may_match(
    members: dict[str, Any], between: Between | None
) -> None:
    """Lists in another order are read whole."""
    states = frozenset({JobState.COMPLETED, JobState.AVAILABLE})
    ready, *_, completed = JobFilter(states=states, **members).parts(NOW)
    assert (ready, completed) == (Part(JobList.READY), Part(JobList.COMPLETED, between))


@pytest.mark.parametrize(
    ("members", "accepted"),
    [
        ({"since": NOW, "until": NOW, "as_of": NOW}, True),
        ({"since": Instant(NOW + 1)}, False),
        ({"until": Instant(NOW - 1)}, False),
        ({"as_of": Instant(NOW - 1)}, False),
    ],
)
def test_ranges_of_time_include_both_ends(members: dict[str, Any], accepted: bool) -> None:
    assert JobFilter(**members).accepts(a_job()) == accepted


@pytest.mark.parametrize(("end", "speaks"), [("until", False), ("as_of", True)])
def test_only_an_end_that_need_not_be_sent_is_called_now(end: str, speaks: bool) -> None:
    members: dict[str, Any] = {"since": NOW, end: Instant(NOW - 1)}
    with pytest.raises(InvalidRequestError, match=f"after '{end}'") as caught:
        JobFilter(**members)
    assert ("now where it is not sent" in str(caught.value)) is speaks
