"""What a start costs by the run times of its type: within bounds, without a unit, 1 if unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.fairness import (
    DOUBTS,
    LEAST_COST,
    LEAST_RUNS,
    MOST_COST,
    MOST_RUNS,
    MOST_TYPES,
    Runs,
    added_runs,
    costs_of,
    read_run_times,
    run_times_text,
)

RUNS = st.builds(Runs, st.floats(0.1, 10_000), st.just(0.0) | st.floats(1, 1e12))
KNOWN = st.dictionaries(st.text(min_size=1, max_size=9), RUNS, max_size=12)


@given(KNOWN)
def test_no_cost_is_out_of_bounds(known: dict[str, Runs]) -> None:
    """However long jobs ran; all types have one, or none has."""
    costs = costs_of(known)
    assert costs.keys() in (known.keys(), set())
    assert all(LEAST_COST <= cost <= MOST_COST for cost in costs.values())


@given(KNOWN, st.floats(1, 1000))
def test_costs_have_no_unit(known: dict[str, Runs], factor: float) -> None:
    """Jobs that all run so many times as long cost the same."""
    longer = {name: Runs(each.count, each.total_ms * factor) for name, each in known.items()}
    found = costs_of(longer)
    assert found == {name: pytest.approx(cost, abs=2e-3) for name, cost in costs_of(known).items()}


@given(KNOWN)
def test_who_runs_longer_costs_more(known: dict[str, Runs]) -> None:
    """Among types of which as much is known."""
    even = {name: Runs(100, each.total_ms) for name, each in known.items()}
    costs = costs_of(even)
    order = sorted(costs, key=lambda name: even[name].total_ms)
    assert [costs[name] for name in order] == sorted(costs.values())


@given(st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1))
def test_jobs_cost_1_in_the_mean(lengths: dict[str, int]) -> None:
    """Where no bound is met: so virtual time is as fast as where every start costs 1."""
    known = {name: Runs(100_000, 100_000 * length) for name, length in lengths.items()}
    costs = costs_of(known)
    assert sum(costs.values()) / len(costs) == pytest.approx(1, abs=2e-3)


def test_jobs_four_times_as_long_cost_four_times_as_much() -> None:
    """Whatever their share of the queue is."""
    for many in (1_000, 100_000):
        costs = costs_of({"short": Runs(100_000, 1e8), "long": Runs(many, many * 4e3)})
        assert costs["long"] / costs["short"] == pytest.approx(4, rel=0.02)


def test_a_first_run_says_little() -> None:
    """As if five others had been as long as all jobs of the queue are."""
    known = {"usual": Runs(1_000_000, 1e9), "new": Runs(1, 7_000)}
    assert costs_of(known)["new"] == pytest.approx((7 + DOUBTS) / (1 + DOUBTS), abs=1e-3)


def test_without_run_times_nothing_has_a_cost() -> None:
    """Nor where all jobs ran for no time."""
    assert costs_of({}) == {}
    assert costs_of({"a": Runs(3, 0), "b": Runs(1, 0)}) == {}


def test_a_type_is_bounded_by_an_eighth_and_eight() -> None:
    known = {"a": Runs(10_000, 1e6), "b": Runs(10_000, 1e3), "c": Runs(100, 1e9)}
    assert costs_of(known) == {"a": LEAST_COST, "b": LEAST_COST, "c": MOST_COST}


@given(KNOWN, KNOWN)
def test_run_times_add_up_and_fade(known: dict[str, Runs], more: dict[str, Runs]) -> None:
    """No more are remembered than is allowed, and each type keeps its mean and its share."""
    found = added_runs(known, more)
    assert sum(each.count for each in found.values()) <= MOST_RUNS * 1.001
    for name, each in found.items():
        both = [runs[name] for runs in (known, more) if name in runs]
        count, total_ms = sum(r.count for r in both), sum(r.total_ms for r in both)
        assert each.total_ms / each.count == pytest.approx(total_ms / count)
        assert each.count <= count * 1.001
    whole = sum(each.count for each in (*known.values(), *more.values()))
    if whole <= MOST_RUNS:
        assert sum(each.count for each in found.values()) == pytest.approx(whole)


def test_types_that_ran_least_are_forgotten() -> None:
    """There are as many as there are; what faded away is gone, too."""
    known = {f"t{number:03}": Runs(1 + number, 10) for number in range(MOST_TYPES + 3)}
    assert sorted(added_runs(known, {})) == sorted(known)[3:]
    old = {"old": Runs(1, 10)}
    much = {"new": Runs(MOST_RUNS / LEAST_RUNS, 10)}
    assert added_runs(old, much).keys() == {"new"}
    assert added_runs(old, {"new": Runs(MOST_RUNS / LEAST_RUNS - 2, 10)}).keys() == {"old", "new"}


@given(KNOWN)
def test_run_times_are_read_as_they_were_written(known: dict[str, Runs]) -> None:
    """To a hundredth of a run, and a millisecond."""
    found = read_run_times(run_times_text(known))
    assert found.keys() == known.keys()
    for name, each in known.items():
        assert found[name].count == pytest.approx(each.count, abs=0.006)
        assert found[name].total_ms == pytest.approx(each.total_ms, abs=0.6)
    assert read_run_times("") == {}
