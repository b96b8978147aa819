"""Which tenants have gauges of their own: those with most jobs; all others are one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.tenants import OTHER_TENANTS
from ojs_aws.services.tenants.admin import OPEN_STATES, by_load

NONE = dict.fromkeys(OPEN_STATES, 0)
AMOUNTS = st.integers(-2, 9)
HELD = st.dictionaries(
    st.sampled_from("abcdef"), st.dictionaries(st.sampled_from(OPEN_STATES), AMOUNTS), max_size=6
)


def test_those_with_most_jobs_have_names() -> None:
    """Of equals the first ones by their ids; what has ended counts nothing."""
    held = {
        "d": {"available": 1, "completed": 99},
        "c": {"scheduled": 2, "active": 1},
        "b": {"pending": 1, "retryable": 1},
        "a": {"available": 1},
    }
    assert by_load(held.items(), 2) == {
        "c": {**NONE, "scheduled": 2, "active": 1},
        "b": {**NONE, "pending": 1, "retryable": 1},
        OTHER_TENANTS: {**NONE, "available": 2},
    }
    assert [*by_load(held.items(), 3)] == ["c", "b", "a", OTHER_TENANTS]
    assert [*by_load(held.items(), 4)] == ["c", "b", "a", "d"]


def test_a_tenant_without_open_jobs_has_no_gauge() -> None:
    """Nor has one whose numbers are below zero."""
    held = {"a": {"completed": 3}, "b": {"available": -1, "active": 1}, "c": {"available": -1}}
    assert by_load(held.items(), 5) == {"b": {**NONE, "active": 1}}


@given(HELD, st.integers(0, 7))
def test_no_job_is_left_out(held: dict[str, dict[str, int]], most: int) -> None:
    """However many have names, and these are so many at most."""
    found = by_load(held.items(), most)
    assert len(found.keys() - {OTHER_TENANTS}) <= most
    for state in OPEN_STATES:
        there = sum(max(0, jobs.get(state, 0)) for jobs in held.values())
        assert sum(jobs[state] for jobs in found.values()) == there
