"""What every counter of bounded queues must do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ojs_aws.adapters.dynamodb.queues.depths import Depths
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.conflicts import QueueIsFullError
from ojs_aws.domain.queues import Depth
from tests.aws import embedded


@pytest.fixture
def depths() -> Iterator[Depths]:
    """Nothing is counted yet."""
    with embedded() as aws:
        yield build_backend(aws.settings, aws.clients).stores.depths()


def jobs(depths: Depths) -> int | None:
    """How many jobs are counted."""
    found = depths.load("q")
    return None if found is None else found.jobs


def test_places_are_taken_up_to_the_bound(depths: Depths) -> None:
    """From a counter that is not there yet; what does not fit counts nothing."""
    assert depths.take("q", 2, 3) == 2
    with pytest.raises(QueueIsFullError):
        depths.take("q", 2, 3)
    assert depths.take("q", 1, 3) == 3
    with pytest.raises(QueueIsFullError) as full:
        depths.take("q", 4, 3)
    assert (full.value.depth, jobs(depths)) == (3, 3)


def test_more_than_the_bound_never_fits(depths: Depths) -> None:
    """Not even where nothing is counted yet."""
    with pytest.raises(QueueIsFullError) as full:
        depths.take("q", 4, 3)
    assert (full.value.depth, jobs(depths)) == (0, None)


def test_only_what_is_bounded_is_counted(depths: Depths) -> None:
    """A queue's counter begins with its first place."""
    assert depths.add("q", 1) is None
    assert jobs(depths) is None
    depths.take("q", 2, 3)
    assert depths.add("q", -1) == 1


def test_a_counter_gets_the_jobs_that_were_there_before_it_once(depths: Depths) -> None:
    """Beside those that were counted since; and says so."""
    depths.take("q", 2, 3)
    assert depths.load("q") == Depth(2, 1, is_whole=False)
    assert depths.begin("q", 5)
    assert not depths.begin("q", 5)
    assert depths.load("q") == Depth(7, 2)
    assert depths.begin("r", 0)
    assert [*depths.counted()] == ["q", "r"]


def test_a_count_is_corrected_only_as_it_was_seen(depths: Depths) -> None:
    """Whoever counts a place meanwhile makes the reading worthless."""
    depths.begin("q", 5)
    seen = depths.load("q")
    assert isinstance(seen, Depth)
    depths.add("q", 1)
    assert not depths.correct("q", 7, seen)
    assert depths.correct("q", 7, replace(seen, version=seen.version + 1))
    assert jobs(depths) == 7
    depths.forget("q")
    assert jobs(depths) is None
