"""The order of a worker's queues: strict, or by weights."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from ojs_aws.worker import Worker
from ojs_aws.worker.lifecycle import Turns
from tests.unit.worker.doubles import FakeSource


def test_names_keep_their_order() -> None:
    """PRI-R002, strict: all jobs of the first before any of the second."""
    turns = Turns(["critical", "default", "low"])
    assert [turns.next() for _ in range(3)] == [("critical", "default", "low")] * 3


def test_weights_are_the_shares_of_coming_first() -> None:
    """PRI-R002, weighted: of eight fetches 5, 2 and 1; and each of them asks all queues."""
    turns = Turns({"critical": 5, "default": 2, "low": 1})
    orders = [turns.next() for _ in range(8)]
    assert Counter(order[0] for order in orders) == {"critical": 5, "default": 2, "low": 1}
    assert all(sorted(order) == ["critical", "default", "low"] for order in orders)


def test_no_queue_waits_longer_than_a_round_for_its_turn() -> None:
    """However large the weights beside it."""
    turns = Turns({"big": 99, "small": 1})
    firsts = [turns.next()[0] for _ in range(300)]
    places = [at for at, name in enumerate(firsts) if name == "small"]
    assert len(places) == 3
    assert all(after - before <= 100 for before, after in itertools.pairwise(places))


@pytest.mark.parametrize("weight", [0, -1, 1.5, True, "2"])
def test_a_weight_that_is_none_is_refused(weight: Any) -> None:
    """Where the worker is made."""
    with pytest.raises(ValueError, match="positive integer"):
        Worker(source=FakeSource(), queues={"a": 1, "b": weight})


def test_a_worker_with_weights_serves_all_its_queues() -> None:
    """They are what it reports to the backend."""
    worker = Worker(source=FakeSource(), queues={"a": 3, "b": 1})
    assert worker.queues == ("a", "b")
