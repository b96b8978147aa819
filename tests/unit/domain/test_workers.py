"""Worker pools, and the order of the queues of a FETCH (ojs-fair-scheduling, sections 6 and 7)."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import InvalidRequestError, JsonValue, UnsupportedError
from ojs_aws.domain.workers import (
    TURN,
    Pool,
    Strategy,
    by_backlog,
    by_weight,
    in_rotation,
    ordered,
    point,
    read_choice,
    read_pool,
)

QUEUES = ("critical", "default", "low", "reports", "mail")
POINTS = st.integers(min_value=0, max_value=TURN - 1)
WEIGHTS = st.dictionaries(st.sampled_from(QUEUES), st.integers(1, 50), min_size=1)


@given(weights=WEIGHTS, phase=POINTS)
def test_each_queue_comes_first_at_its_share_within_a_bound(
    weights: dict[str, int], phase: int
) -> None:
    """However small its weight is, and whatever the draw of the process is."""
    turns, total = 2_000, sum(weights.values())
    firsts = [by_weight(weights, point(phase, turn))[0] for turn in range(turns)]
    for queue, weight in weights.items():
        share = weight / total
        at = [-1, *(turn for turn, first in enumerate(firsts) if first == queue), turns]
        assert abs(len(at) - 2 - turns * share) < 8
        gaps = [later - earlier for earlier, later in itertools.pairwise(at)]
        assert max(gaps) <= 3 / share + 1


@given(weights=WEIGHTS, at=POINTS)
def test_a_draw_orders_all_queues(weights: dict[str, int], at: int) -> None:
    assert sorted(by_weight(weights, at)) == sorted(weights)


def test_what_is_behind_the_first_queue_is_drawn_by_weight_too() -> None:
    """A worker that finds the first queue empty does not always go to the same second one."""
    weights = {"a": 1, "b": 3, "c": 1}
    orders = [by_weight(weights, point(7, turn)) for turn in range(5_000)]
    behind = Counter(order[1] for order in orders if order[0] == "a")
    assert behind["b"] / behind.total() == pytest.approx(0.75, abs=0.02)


def test_a_rotation_begins_with_each_queue_in_turn() -> None:
    found = [in_rotation("abc", turn) for turn in range(3)]
    assert found == [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]


def test_the_queue_whose_jobs_wait_longest_comes_first() -> None:
    """Behind those that nobody looked at: they may have more."""
    assert by_backlog(("a", "b", "c", "d"), {"a": 5, "b": 0, "d": 70}) == ("c", "d", "a", "b")


@pytest.mark.parametrize(
    ("strategy", "orders"),
    [
        (Strategy.STRICT, {("a", "b", "c")}),
        (Strategy.ROUND_ROBIN, {("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")}),
        (Strategy.LEAST_LOADED, {("b", "a", "c"), ("b", "c", "a")}),
    ],
)
def test_each_strategy_orders_the_queues(strategy: Strategy, orders: set[tuple[str, ...]]) -> None:
    pool = Pool(queues=("a", "b", "c"), strategy=strategy, weights={})
    waits = {"a": 1, "b": 9, "c": 1}
    assert {ordered(pool, 5, turn, waits) for turn in range(9)} == orders


@pytest.mark.parametrize(
    ("members", "queues", "strategy", "weights"),
    [
        ({"queues": ["a", "b"]}, ("a", "b"), "round-robin", {"a": 1, "b": 1}),
        ({"queues": ["a", "b"], "strategy": "strict"}, ("a", "b"), "strict", {"a": 1, "b": 1}),
        ({"queues": ["a", "b"], "weights": {"b": 3}}, ("a", "b"), "weighted", {"a": 1, "b": 3}),
        (
            {"queues": {"a": {"weight": 70}, "b": 30, "c": {}}, "strategy": "weighted"},
            ("a", "b", "c"),
            "weighted",
            {"a": 70, "b": 30, "c": 1},
        ),
    ],
)
def test_a_pool_is_read_in_each_of_its_forms(
    members: dict[str, JsonValue],
    queues: tuple[str, ...],
    strategy: str,
    weights: dict[str, int],
) -> None:
    """And what is stored of it is read as the same pool."""
    pool = read_pool("general", members)
    assert (pool.queues, pool.strategy.value, pool.weights) == (queues, strategy, weights)
    assert read_pool("general", pool.members()) == pool


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"queues": []},
        {"queues": "a"},
        {"queues": ["UPPER"]},
        {"queues": ["a"], "strategy": "fastest"},
        {"queues": ["a"], "weights": {"b": 1}},
        {"queues": ["a"], "weights": {"a": 0}},
        {"queues": ["a"], "weights": {"a": True}},
        {"queues": ["a"], "weights": [1]},
        {"queues": {"a": {"weight": "3"}}},
        {"queues": ["a"], "concurrency": 0},
        {"queues": ["a"], "name": "another"},
    ],
)
def test_a_malformed_pool_is_refused(members: dict[str, JsonValue]) -> None:
    with pytest.raises(InvalidRequestError):
        read_pool("general", members)


def test_a_pool_with_what_is_not_there_is_refused() -> None:
    """It would be ignored, and nobody would notice."""
    for name in ("isolated", "starvation_prevention"):
        with pytest.raises(UnsupportedError):
            read_pool("general", {"queues": ["a"], name: True})


@pytest.mark.parametrize("name", ["", "UPPER", "a b", "a" * 129, "-a"])
def test_a_malformed_name_of_a_pool_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequestError):
        read_pool(name, {"queues": ["a"]})


def test_a_fetch_is_strict_unless_it_says_otherwise() -> None:
    assert read_choice(["a"], None, None).strategy is Strategy.STRICT
    assert read_choice(["a"], None, {"a": 2}).strategy is Strategy.WEIGHTED
